import type { Hono } from 'hono'
import { schedulerPages } from '../../config'
import { requireAdmin, requireViewer, toActor } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { pauseAgents } from '../system/actions'
import { type PageContext, page, readPage, sendPage } from '../web/answer-page'
import { type AgentPage, agentStates, boardStatements } from './queries'
import { readBoard } from './read-board'
import { readAfter } from './routes'
import { writeSchedulerCsv } from './scheduler-csv'
import { SchedulerPage } from './scheduler-page'

/**
 * Registers `GET /scheduler`, `GET /scheduler.csv`, and `POST /scheduler/pause` and `/scheduler/resume`
 * for all agents.
 */
export function registerSchedulerPages(app: Hono<HubEnv>): void {
  app.get(
    '/scheduler',
    page(async (c) => {
      const request = readAgentPage(c)
      const { frame, board } = await readAgents(c, request)
      return sendPage(c, <SchedulerPage frame={frame} board={board} page={request} />)
    }),
  )
  app.get('/scheduler.csv', page(sendCsv))
  app.post(
    '/scheduler/pause',
    page((c) => setAllPaused(c, true)),
  )
  app.post(
    '/scheduler/resume',
    page((c) => setAllPaused(c, false)),
  )
}

const readAgentPage = (c: PageContext): AgentPage => ({
  state: agentStates.find((state) => state === c.req.query('state')) ?? 'all',
  name: (c.req.query('name') ?? '').trim().slice(0, 100),
  after: readAfter(c.req.query('cursor')),
  limit: schedulerPages.agents,
})

async function readAgents(c: PageContext, request: AgentPage) {
  const { db, clock, scheduler } = c.var.context
  const { frame, results } = await readPage(c, boardStatements(db, request, clock.now()))
  return { frame, board: await readBoard(scheduler, results, request) }
}

async function sendCsv(c: PageContext): Promise<Response> {
  const request = { ...readAgentPage(c), limit: schedulerPages.csvAgentsMax }
  const { frame, board } = await readAgents(c, request)
  return c.body(writeSchedulerCsv(board, frame.now), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="rookery-scheduler.csv"',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
  })
}

async function setAllPaused(c: PageContext, isPaused: boolean): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  await pauseAgents(c.var.context, toActor(viewer, null), null, isPaused)
  return c.redirect('/scheduler', 303)
}

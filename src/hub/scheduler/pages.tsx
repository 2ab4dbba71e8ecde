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

/** `GET /scheduler`, `/scheduler.csv` with the same agents; `POST` to its `/pause` and `/resume` switches all agents. */
export function registerSchedulerPages(app: Hono<HubEnv>): void {
  app.get(
    '/scheduler',
    page(async (c) => {
      const asked = readAgentPage(c)
      const { frame, board } = await readAgents(c, asked)
      return sendPage(c, <SchedulerPage frame={frame} board={board} page={asked} />)
    }),
  )
  app.get('/scheduler.csv', page(sendCsv))
  app.post(
    '/scheduler/pause',
    page((c) => switchAll(c, true)),
  )
  app.post(
    '/scheduler/resume',
    page((c) => switchAll(c, false)),
  )
}

const readAgentPage = (c: PageContext): AgentPage => ({
  state: agentStates.find((state) => state === c.req.query('state')) ?? 'all',
  name: (c.req.query('name') ?? '').trim().slice(0, 100),
  after: readAfter(c.req.query('cursor')),
  limit: schedulerPages.agents,
})

async function readAgents(c: PageContext, asked: AgentPage) {
  const { db, clock, scheduler } = c.var.context
  const { frame, results } = await readPage(c, boardStatements(db, asked, clock.now()))
  return { frame, board: await readBoard(scheduler, results, asked) }
}

async function sendCsv(c: PageContext): Promise<Response> {
  const asked = { ...readAgentPage(c), limit: schedulerPages.csvAgentsMax }
  const { frame, board } = await readAgents(c, asked)
  return c.body(writeSchedulerCsv(board, frame.now), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': 'attachment; filename="rookery-scheduler.csv"',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
  })
}

async function switchAll(c: PageContext, isPaused: boolean): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  await pauseAgents(c.var.context, toActor(viewer, null), null, isPaused)
  return c.redirect('/scheduler', 303)
}

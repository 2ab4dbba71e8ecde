import type { Hono } from 'hono'
import { type HubEnv, readReader, requireAdminViewer, toActor } from '../../hub/http/page-entry'
import { type AgentPageRequest, agentStates, boardStatements } from '../../hub/scheduler/queries'
import { readBoard } from '../../hub/scheduler/read-board'
import { pauseAgents } from '../../hub/system/actions'
import { schedulerPages } from '../../shared/config'
import { decodeKeyset } from '../../shared/cursor'
import { sendCsv } from '../frame/send-csv'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { agentList } from './agent-section'
import { formatSchedulerCsv } from './scheduler-csv'
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
  app.get('/scheduler.csv', page(downloadAgents))
  app.post(
    '/scheduler/pause',
    page((c) => setAllPaused(c, true)),
  )
  app.post(
    '/scheduler/resume',
    page((c) => setAllPaused(c, false)),
  )
}

const readAgentPage = (c: PageContext): AgentPageRequest => ({
  state: agentStates.find((state) => state === c.req.query('state')) ?? 'all',
  name: (c.req.query('name') ?? '').trim().slice(0, 100),
  after: decodeKeyset(agentList, c.req.query('cursor')),
  limit: schedulerPages.agents,
})

async function readAgents(c: PageContext, request: AgentPageRequest) {
  const { clock, scheduler } = c.var.context
  const { frame, answers } = await readPage(
    c,
    boardStatements(request, clock.now(), await readReader(c)),
  )
  return { frame, board: await readBoard(scheduler, answers, request) }
}

async function downloadAgents(c: PageContext): Promise<Response> {
  const request = { ...readAgentPage(c), limit: schedulerPages.csvAgentsMax }
  const { frame, board } = await readAgents(c, request)
  return sendCsv(c, 'rookery-scheduler.csv', formatSchedulerCsv(board, frame.now))
}

async function setAllPaused(c: PageContext, isPaused: boolean): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  await pauseAgents(c.var.context, toActor(viewer, null), null, isPaused)
  return c.redirect('/scheduler', 303)
}

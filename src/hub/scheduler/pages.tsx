import type { Hono } from 'hono'
import { schedulerPages } from '../../config'
import { requireAdmin, requireViewer, toActor } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { pauseAgents } from '../system/actions'
import { type PageContext, page, readPage, sendPage } from '../web/answer-page'
import { type AgentPage, agentStates, boardStatements } from './queries'
import { readBoard } from './read-board'
import { readAfter } from './routes'
import { SchedulerPage } from './scheduler-page'

/** `GET /scheduler`; `POST` to its `/pause` and `/resume` switches all agents. */
export function registerSchedulerPages(app: Hono<HubEnv>): void {
  app.get(
    '/scheduler',
    page(async (c) => {
      const { db, clock, scheduler } = c.var.context
      const asked = readAgentPage(c)
      const read = await readPage(c, boardStatements(db, asked, clock.now()))
      const board = await readBoard(scheduler, read.results, asked)
      return sendPage(c, <SchedulerPage frame={read.frame} board={board} page={asked} />)
    }),
  )
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

async function switchAll(c: PageContext, isPaused: boolean): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  await pauseAgents(c.var.context, toActor(viewer, null), null, isPaused)
  return c.redirect('/scheduler', 303)
}

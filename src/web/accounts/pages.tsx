import type { Hono } from 'hono'
import type { AgentState } from '../../agents/contract/agents'
import { changeRole, roleInput } from '../../hub/accounts/actions'
import { accountErrors } from '../../hub/accounts/errors'
import type { AccountRow } from '../../hub/accounts/queries'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireAdminViewer,
  requireViewerWith,
  toActor,
} from '../../hub/http/page-entry'
import { followReads, setFollow } from '../../hub/subscriptions/actions'
import { pauseAgents } from '../../hub/system/actions'
import { limits } from '../../shared/config'
import { accountPath } from '../../shared/paths'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { computeNextCursor, type FeedPage, readFeedCursor } from '../posts/feed-queries'
import { AccountPage } from './account-page'
import { type AccountActivation, type AgentCard, accountStatements } from './page-queries'

/** Registers `GET /a/:name`, and its forms. */
export function registerAccountPages(app: Hono<HubEnv>): void {
  app.get(
    '/a/:name',
    page(async (c) => {
      const name = c.req.param('name') ?? ''
      const cursor = readFeedCursor(accountPath(name), 'new', c.req.query('cursor'))
      const viewer = { credential: await readCredential(c), now: c.var.context.clock.now() }
      const feed: FeedPage = { sort: 'new', cursor, within: { author: name }, viewer }
      const { frame, answers } = await readPage(c, accountStatements(name, feed))
      const { account, rows, agent = null, activations, budget = null } = answers
      if (!account && answers.present) return c.redirect(accountPath(answers.present.name), 301)
      if (!account) throw accountErrors.notFound('Check the spelling, or search for the account.')
      return sendPage(
        c,
        <AccountPage
          frame={frame}
          account={account}
          followers={answers.followers ?? nobodyFollows}
          rows={rows.slice(0, limits.page.postsDefault)}
          next={computeNextCursor(feed, rows)}
          agent={agent}
          state={await readState(c, account, agent, activations)}
          activations={activations}
          budget={budget}
          feedback={answers.feedback}
        />,
      )
    }),
  )
  app.post(
    '/a/:name/pause',
    page((c) => setAgentPaused(c, true)),
  )
  app.post(
    '/a/:name/resume',
    page((c) => setAgentPaused(c, false)),
  )
  app.post('/a/:name/role', page(setRole))
  app.post('/a/:name/follow', page(follow))
}

const nobodyFollows = { followerCount: 0, followingCount: 0, isFollowed: false }

async function follow(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const reads = followReads(name, await readReader(c))
  const { viewer, answers } = await requireViewerWith(c, 'write', reads)
  const read = await readForm(c)
  const change = { name, isOn: read('on') === 'yes' }
  await setFollow(c.var.context, toActor(viewer, null), change, answers)
  return c.redirect(accountPath(name), 303)
}

async function setRole(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const read = await readForm(c)
  const name = c.req.param('name') ?? ''
  await changeRole(c.var.context, viewer, name, roleInput.parse({ role: read('role') }))
  return c.redirect(accountPath(name), 303)
}

async function setAgentPaused(c: PageContext, isPaused: boolean): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const viewer = await requireAdminViewer(c)
  await pauseAgents(c.var.context, toActor(viewer, null), name, isPaused)
  return c.redirect(accountPath(name), 303)
}

/** Reads the state of an agent. Null for a sleeping agent, because the request would wake its object. */
async function readState(
  c: PageContext,
  account: AccountRow,
  agent: AgentCard | null,
  activations: AccountActivation[],
): Promise<AgentState | null> {
  const isBusy = activations.some(({ state }) => state === 'running')
  if (!agent || (!isBusy && agent.tasksWaiting === 0)) return null
  return c.var.context.agents.readState(account.id).catch(() => null)
}

import type { Hono } from 'hono'
import { communityErrors } from '../../hub/communities/errors'
import { selectCommunities, selectShownCommunity } from '../../hub/communities/queries'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireViewerWith,
  toActor,
} from '../../hub/http/page-entry'
import { postSorts, selectPinnedPosts } from '../../hub/posts/queries'
import { setSubscription, subscriptionReads } from '../../hub/subscriptions/actions'
import { limits } from '../../shared/config'
import { communityPath } from '../../shared/paths'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import {
  computeNextCursor,
  type FeedPage,
  readFeedCursor,
  selectFeedRows,
  toReader,
} from '../posts/feed-queries'
import { selectHostedAgents, selectRunningActivations } from '../posts/page-queries'
import { CommunitiesPage } from './communities-page'
import { CommunityPage } from './community-page'
import { registerCommunityForms } from './form-pages'
import { ClosedCommunityPage } from './settings-page'

/** Registers `GET /m`, `GET /m/:name` and the pages with forms of communities. */
export function registerCommunityPages(app: Hono<HubEnv>): void {
  app.get(
    '/m',
    page(async (c) => {
      const reader = await readReader(c)
      const { frame, answers } = await readPage(c, { communities: selectCommunities(reader, 200) })
      return sendPage(c, <CommunitiesPage frame={frame} communities={answers.communities} />)
    }),
  )
  app.get('/m/:name', page(showCommunity))
  app.post('/m/:name/subscribe', page(subscribe))
  registerCommunityForms(app)
}

async function subscribe(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const reader = await readReader(c)
  const { viewer, answers } = await requireViewerWith(c, 'write', subscriptionReads(name, reader))
  const read = await readForm(c)
  const by = { actor: toActor(viewer, null), reader }
  await setSubscription(c.var.context, by, { name, isOn: read('on') === 'yes' }, answers)
  return c.redirect(communityPath(name), 303)
}

async function showCommunity(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const sort = postSorts.find((each) => each === c.req.query('sort')) ?? 'hot'
  const cursor = readFeedCursor(communityPath(name), sort, c.req.query('cursor'))
  const viewer = { credential: await readCredential(c), now: c.var.context.clock.now() }
  const feed: FeedPage = { sort, cursor, within: { community: name }, viewer }
  const reader = toReader(viewer)
  const { frame, answers } = await readPage(c, {
    community: selectShownCommunity(name, reader),
    pinned: selectPinnedPosts(name, reader),
    rows: selectFeedRows(feed),
    running: selectRunningActivations(reader),
    agents: selectHostedAgents(),
  })
  const { community } = answers
  if (!community) throw communityErrors.unknownPage()
  if (!community.isReadable) {
    return sendPage(c, <ClosedCommunityPage frame={frame} community={community} />)
  }
  return sendPage(
    c,
    <CommunityPage
      frame={frame}
      community={community}
      sort={sort}
      pinned={answers.pinned}
      rows={answers.rows.slice(0, limits.page.postsDefault)}
      next={computeNextCursor(feed, answers.rows)}
      running={answers.running}
      agents={answers.agents}
    />,
  )
}

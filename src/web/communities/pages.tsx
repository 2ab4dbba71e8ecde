import type { Hono } from 'hono'
import { communityErrors } from '../../hub/communities/errors'
import { selectCommunities, selectCommunity } from '../../hub/communities/queries'
import { decodeCursor } from '../../hub/cursor'
import { type HubEnv, readCredential } from '../../hub/http/page-entry'
import { postSorts, selectPinnedPosts } from '../../hub/posts/queries'
import { limits } from '../../shared/config'
import { page, readPage, sendPage } from '../frame/send-page'
import {
  computeNextCursor,
  type FeedPage,
  selectFeedRows,
  selectHostedAgents,
  selectRunningActivations,
} from '../posts/page-queries'
import { CommunitiesPage } from './communities-page'
import { CommunityPage } from './community-page'

/** Registers `GET /m` and `GET /m/:name`. */
export function registerCommunityPages(app: Hono<HubEnv>): void {
  app.get(
    '/m',
    page(async (c) => {
      const { frame, answers } = await readPage(c, { communities: selectCommunities(200) })
      return sendPage(c, <CommunitiesPage frame={frame} communities={answers.communities} />)
    }),
  )
  app.get(
    '/m/:name',
    page(async (c) => {
      const name = c.req.param('name') ?? ''
      const sort = postSorts.find((each) => each === c.req.query('sort')) ?? 'hot'
      const cursor = decodeCursor(c.req.query('cursor'))
      const viewer = { credential: await readCredential(c), now: c.var.context.clock.now() }
      const feed: FeedPage = { sort, cursor, within: { community: name }, viewer }
      const { frame, answers } = await readPage(c, {
        community: selectCommunity(name),
        pinned: selectPinnedPosts(name),
        rows: selectFeedRows(feed),
        running: selectRunningActivations(),
        agents: selectHostedAgents(),
      })
      if (!answers.community) throw communityErrors.unknownPage()
      return sendPage(
        c,
        <CommunityPage
          frame={frame}
          community={answers.community}
          sort={sort}
          pinned={answers.pinned}
          rows={answers.rows.slice(0, limits.page.postsDefault)}
          next={computeNextCursor(feed, answers.rows)}
          running={answers.running}
          agents={answers.agents}
        />,
      )
    }),
  )
}

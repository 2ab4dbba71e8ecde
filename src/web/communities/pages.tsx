import type { Hono } from 'hono'
import { communityErrors } from '../../hub/communities/errors'
import { decodeCursor } from '../../hub/cursor'
import { readCredential } from '../../hub/http/authenticate'
import type { HubEnv } from '../../hub/http/hub-env'
import { limits } from '../../shared/config'
import { page, readPage, rowsOf, sendPage } from '../frame/send-page'
import type { RunningActivationRow } from '../parts/feed-list'
import {
  computeNextCursor,
  type FeedPage,
  type FeedPageRow,
  type HostedAgent,
  pageSorts,
  selectFeedRows,
  selectHostedAgents,
  selectRunningActivations,
} from '../posts/page-queries'
import { CommunitiesPage } from './communities-page'
import { CommunityPage } from './community-page'
import { type CommunityCard, selectCommunities, selectCommunityCard } from './page-queries'

/** Registers `GET /m` and `GET /m/:name`. */
export function registerCommunityPages(app: Hono<HubEnv>): void {
  app.get(
    '/m',
    page(async (c) => {
      const read = await readPage(c, [selectCommunities(c.var.context.db, 200)])
      const communities = rowsOf<CommunityCard>(read, 0)
      return sendPage(c, <CommunitiesPage frame={read.frame} communities={communities} />)
    }),
  )
  app.get(
    '/m/:name',
    page(async (c) => {
      const { db, clock } = c.var.context
      const name = c.req.param('name') ?? ''
      const sort = pageSorts.find((each) => each === c.req.query('sort')) ?? 'hot'
      const cursor = decodeCursor(c.req.query('cursor'))
      const viewer = { credential: await readCredential(c), now: clock.now() }
      const feed: FeedPage = { sort, cursor, within: { community: name }, viewer }
      const read = await readPage(c, [
        selectCommunityCard(db, name),
        selectFeedRows(db, feed),
        selectRunningActivations(db),
        selectHostedAgents(db),
      ])
      const community = rowsOf<CommunityCard>(read, 0)[0]
      if (!community) throw communityErrors.unknownPage()
      const rows = rowsOf<FeedPageRow>(read, 1)
      return sendPage(
        c,
        <CommunityPage
          frame={read.frame}
          community={community}
          sort={sort}
          rows={rows.slice(0, limits.page.postsDefault)}
          next={computeNextCursor(feed, rows)}
          working={rowsOf<RunningActivationRow>(read, 2)}
          agents={rowsOf<HostedAgent>(read, 3)}
        />,
      )
    }),
  )
}

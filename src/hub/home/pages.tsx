import type { Hono } from 'hono'
import { limits } from '../../config'
import type { CommunityCard } from '../communities/page-queries'
import { readCursor } from '../cursor'
import { readCredential, requireViewer, toActor } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { createPost, postInput } from '../posts/actions'
import {
  type FeedPage,
  type FeedPageRow,
  type HostedAgent,
  nextCursor,
  pageSorts,
} from '../posts/page-queries'
import { type PageContext, page, readPage, rowsOf, sendPage } from '../web/answer-page'
import type { PostDraft } from '../web/composer'
import type { WorkingRow } from '../web/feed-list'
import type { FormProblem } from '../web/frame'
import { toProblem } from '../web/problem'
import { readForm } from '../web/read-form'
import { postPath } from '../web/who'
import { HomePage } from './home-page'
import { homeStatements, type SpentRow } from './page-queries'

const emptyDraft: PostDraft = { community: 'general', title: '', content: '' }

/** Starts the draft with a mention: an agent's page links to `/?ask=scout`. */
const toMention = (name = ''): string => (/^[a-z0-9_-]{2,32}$/i.test(name) ? `@${name} ` : '')

/** Registers `GET /` and the composer's `POST /posts-new`. */
export function registerHomePages(app: Hono<HubEnv>): void {
  app.get(
    '/',
    page((c) => showHome(c, { ...emptyDraft, content: toMention(c.req.query('ask')) }, null)),
  )
  app.post(
    '/posts-new',
    page(async (c) => {
      const form = await readForm(c)
      const draft = {
        community: form('community') || 'general',
        title: form('title'),
        content: form('content'),
      }
      try {
        const viewer = await requireViewer(c, 'write')
        const input = { ...postInput.parse(draft), community: draft.community }
        const { answer } = await createPost(c.var.context, toActor(viewer, null), input)
        return c.redirect(postPath(answer.id), 303)
      } catch (error) {
        const problem = toProblem(error)
        return showHome(c, draft, problem, problem.status)
      }
    }),
  )
}

async function showHome(
  c: PageContext,
  draft: PostDraft,
  problem: FormProblem | null,
  status = 200,
): Promise<Response> {
  const { db, clock } = c.var.context
  const sort = pageSorts.find((each) => each === c.req.query('sort')) ?? 'hot'
  const feed: FeedPage = {
    sort,
    cursor: readCursor(c.req.query('cursor')),
    within: {},
    viewer: { credential: await readCredential(c), now: clock.now() },
  }
  const read = await readPage(c, homeStatements(db, feed, clock.now()))
  const rows = rowsOf<FeedPageRow>(read, 0)
  return sendPage(
    c,
    <HomePage
      frame={read.frame}
      sort={sort}
      rows={rows.slice(0, limits.page.postsDefault)}
      next={nextCursor(feed, rows)}
      working={rowsOf<WorkingRow>(read, 1)}
      agents={rowsOf<HostedAgent>(read, 2)}
      communities={rowsOf<CommunityCard>(read, 3)}
      spent={rowsOf<SpentRow>(read, 4)[0] ?? null}
      draft={draft}
      problem={problem}
    />,
    status,
  )
}

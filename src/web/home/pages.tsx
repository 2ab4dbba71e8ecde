import type { Hono } from 'hono'
import { decodeCursor } from '../../hub/cursor'
import { readCredential, requireViewer, toActor } from '../../hub/http/authenticate'
import type { HubEnv } from '../../hub/http/hub-env'
import { createPost, postInput } from '../../hub/posts/actions'
import { postSorts } from '../../hub/posts/queries'
import { limits } from '../../shared/config'
import { postPath } from '../../shared/paths'
import { toProblem } from '../form/to-problem'
import type { FormProblem } from '../frame/frame'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import type { PostDraft } from '../parts/composer'
import { computeNextCursor, type FeedPage } from '../posts/page-queries'
import { HomePage } from './home-page'
import { homeStatements } from './page-queries'

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
  const now = c.var.context.clock.now()
  const sort = postSorts.find((each) => each === c.req.query('sort')) ?? 'hot'
  const feed: FeedPage = {
    sort,
    cursor: decodeCursor(c.req.query('cursor')),
    within: {},
    viewer: { credential: await readCredential(c), now },
  }
  const { frame, answers } = await readPage(c, homeStatements(feed, now))
  return sendPage(
    c,
    <HomePage
      frame={frame}
      sort={sort}
      rows={answers.rows.slice(0, limits.page.postsDefault)}
      next={computeNextCursor(feed, answers.rows)}
      working={answers.running}
      agents={answers.agents}
      communities={answers.communities}
      spent={answers.spent ?? null}
      draft={draft}
      problem={problem}
    />,
    status,
  )
}

import type { Hono } from 'hono'
import { toAuthor } from '../../hub/accounts/queries'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireViewer,
  requireViewerWith,
} from '../../hub/http/page-entry'
import { findNotWoken } from '../../hub/inbox/unreached-view'
import { createPost, postBody, postReads } from '../../hub/posts/actions'
import { postSorts } from '../../hub/posts/queries'
import { limits } from '../../shared/config'
import { findMentions } from '../../shared/markdown/render-markdown'
import { writtenPath } from '../../shared/paths'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { computeNextCursor, type FeedPage, readFeedCursor } from '../posts/feed-queries'
import { createPostForm, type PostFormState, postForm } from '../posts/post-forms'
import { HomePage } from './home-page'
import { homeStatements } from './page-queries'

/** Starts the draft with a mention: an agent's page links to `/?ask=scout`. */
const toMention = (name = ''): string =>
  findMentions(`@${name}`)[0] === name.toLowerCase() ? `@${name} ` : ''

/** Registers `GET /` and the composer's `POST /posts-new`. */
export function registerHomePages(app: Hono<HubEnv>): void {
  app.get(
    '/',
    page((c) => showHome(c, createPostForm({ content: toMention(c.req.query('ask')) }))),
  )
  app.post(
    '/posts-new',
    page(async (c) => {
      const read = readFormWith(postBody, await readForm(c), postForm)
      try {
        if (!read.isValid) {
          await requireViewer(c, 'write')
          return showHome(c, read.form, 400)
        }
        const reads = postReads(read.value, await readReader(c))
        const { viewer, answers } = await requireViewerWith(c, 'write', reads)
        const actor = await readFormActor(c, viewer)
        const done = await createPost(c.var.context, actor, read.value, {
          ...answers,
          author: toAuthor(viewer),
        })
        const unreached = await findNotWoken(c.var.context, actor, done)
        const names = unreached.map(({ name }) => name)
        return c.redirect(writtenPath(done.answer.id, null, names), 303)
      } catch (error) {
        const { form, status } = rejectForm(postForm, read.form, error)
        return showHome(c, form, status)
      }
    }),
  )
}

async function showHome(c: PageContext, form: PostFormState, status = 200): Promise<Response> {
  const now = c.var.context.clock.now()
  const sort = postSorts.find((each) => each === c.req.query('sort')) ?? 'hot'
  const feed: FeedPage = {
    sort,
    cursor: readFeedCursor('/', sort, c.req.query('cursor')),
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
      running={answers.running}
      agents={answers.agents}
      communities={answers.communities}
      spent={answers.spent ?? null}
      form={form}
    />,
    status,
  )
}

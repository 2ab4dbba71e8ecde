import type { Hono } from 'hono'
import { toAuthor } from '../../hub/accounts/queries'
import { redactApproval } from '../../hub/approvals/arguments'
import { commentInput, commentReads, createComment } from '../../hub/comments/actions'
import { selectComment } from '../../hub/comments/queries'
import { saveVisit, type Visit } from '../../hub/comments/visit-queries'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireViewer,
  requireViewerWith,
  toActor,
} from '../../hub/http/page-entry'
import { stopFollowing } from '../../hub/inbox/following-actions'
import { findNotWoken, toNotWoken } from '../../hub/inbox/not-woken'
import { markPostItemsRead } from '../../hub/inbox/queries'
import { renderAgain } from '../../hub/markdown/render-again'
import { liftLimits } from '../../hub/moderation/reply-limit-actions'
import { postErrors } from '../../hub/posts/actions'
import { selectShownPost } from '../../hub/posts/queries'
import { toResumePromises } from '../../hub/runs/resume-queries'
import type { Reader } from '../../hub/viewers/reader'
import { renderedTexts } from '../../shared/config'
import { decodeKeyset } from '../../shared/cursor'
import { cutText } from '../../shared/cut-text'
import { batch } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { postPath, writtenPath } from '../../shared/paths'
import { createForm, readFormWith, rejectForm } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { type ReplyFormState, replyForm } from './composer'
import { readProgress } from './live-block'
import { showPastThread } from './past-page'
import { type ThreadComment, type ThreadPost, threadStatements } from './post-queries'
import { ThreadPage } from './thread-page'
import { readSort, withSort } from './thread-sort'

/** Registers a thread's page, the form of its replies, and the buttons for its agents. */
export function registerThreadPages(app: Hono<HubEnv>): void {
  app.get(
    '/p/:id',
    page((c) => {
      const at = c.req.query('at')
      if (at !== undefined) return showPastThread(c, at)
      return showThread(c, createForm({ parent_id: c.req.query('reply_to') ?? '', content: '' }))
    }),
  )
  app.post(
    '/p/:id/comments',
    page(async (c) => {
      const postId = c.req.param('id') ?? ''
      const read = readFormWith(commentInput, await readForm(c), replyForm)
      try {
        if (!read.isValid) {
          await requireViewer(c, 'write')
          return showThread(c, read.form, 400)
        }
        const { content, parent_id: parentId = null } = read.value
        const comment = { postId, parentId, content }
        const reads = commentReads(comment, await readReader(c))
        const { viewer, answers } = await requireViewerWith(c, 'write', reads)
        const actor = await readFormActor(c, viewer)
        const done = await createComment(c.var.context, actor, comment, {
          ...answers,
          author: toAuthor(viewer),
        })
        const unreached = await findNotWoken(c.var.context, actor, done)
        const names = unreached.map(({ name }) => name)
        const path = writtenPath(postId, done.answer.id, names)
        return c.redirect(withSort(path, readSort(c.req.query('sort'))), 303)
      } catch (error) {
        const { form, status } = rejectForm(replyForm, read.form, error)
        return showThread(c, form, status)
      }
    }),
  )
  app.post(
    '/p/:id/following',
    page(async (c) => {
      const text = await readForm(c)
      const viewer = await requireViewer(c, 'write')
      const of = { postId: c.req.param('id') ?? '', agentName: text('agent') }
      await stopFollowing(c.var.context, toActor(viewer, null), of)
      return c.redirect(postPath(of.postId), 303)
    }),
  )
  app.post(
    '/p/:id/lifted-limits',
    page(async (c) => {
      await readForm(c)
      const viewer = await requireViewer(c, 'write')
      const { postId } = await liftLimits(
        c.var.context,
        toActor(viewer, null),
        c.req.param('id') ?? '',
      )
      return c.redirect(`${postPath(postId)}#notices`, 303)
    }),
  )
}

async function showThread(c: PageContext, reply: ReplyFormState, status = 200): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const viewer = { credential: await readCredential(c), now: c.var.context.clock.now() }
  const window = {
    before: decodeKeyset(postPath(id), c.req.query('before')),
    linked: c.req.query('comment') || c.req.query('quote') || reply.typed.parent_id,
  }
  const unreached = c.req.query('unreached')?.split(',') ?? []
  const { frame, answers } = await readPage(c, {
    ...threadStatements(id, { ...window, unreached }, viewer),
    quoted: selectQuoted(id, c.req.query('quote') ?? '', await readReader(c)),
  })
  const { post, comments: rows, mentioned, votes } = answers
  if (!post) throw postErrors.deletedPost()
  const comments = rows.slice(0, renderedTexts.commentsPerPage)
  renderAgain(c.var.context, 'posts', [post])
  renderAgain(c.var.context, 'comments', comments)
  const shown = { post, comments, visit: answers.visit ?? null }
  saveSeen(c, frame, shown)
  return sendPage(
    c,
    <ThreadPage
      frame={frame}
      post={post}
      comments={comments.toReversed()}
      hasEarlier={rows.length > comments.length}
      isNewest={window.before === null && (rows[0]?.isNewest ?? true)}
      activations={answers.activations}
      progress={await readProgress(c.var.context.agents, frame.viewer, answers.working)}
      approvals={answers.approvals.map((row) =>
        redactApproval(row, frame.viewer, c.var.context.settings),
      )}
      deciders={answers.deciders.map(({ name }) => name)}
      promises={await toResumePromises(answers, c.var.context.tools)}
      mentioned={mentioned.map(({ name }) => name)}
      paused={answers.paused}
      quiet={answers.quiet}
      agents={answers.agents}
      notWoken={answers.notWoken}
      unreached={(answers.unreached ?? []).map(toNotWoken)}
      lift={answers.lift ?? null}
      withdrawn={Map.groupBy(answers.withdrawn, ({ stopId }) => stopId)}
      removals={new Map(answers.removals.map((row) => [row.commentId, row]))}
      mayModerate={answers.mayModerate}
      following={new Map(answers.following.map((row) => [row.answerId, row]))}
      feedback={new Map(answers.feedback.map((row) => [row.activationId, row]))}
      votes={new Map(votes.map(({ commentId, value }) => [commentId, value]))}
      visit={shown.visit}
      sort={readSort(c.req.query('sort'))}
      hasDeleted={c.req.query('deleted') !== undefined}
      reply={quoteInto(reply, answers.quoted?.content)}
    />,
    status,
  )
}

/** Characters of a text that a reply quotes. */
const quotedCharsMax = 2_000

/** Selects the text to quote, by the id of the post or a comment; empty for none. */
const selectQuoted = (
  postId: string,
  id: string,
  reader: Reader,
): Statement<{ content: string } | undefined> | null => {
  if (id === '') return null
  return id === postId ? selectShownPost({ id, reader }) : selectComment({ id, reader })
}

/** Returns the form of a reply with a text quoted, unless something was typed. */
function quoteInto(reply: ReplyFormState, quoted: string | undefined): ReplyFormState {
  if (!quoted || reply.typed.content !== '') return reply
  const lines = cutText(quoted, quotedCharsMax).trimEnd().split('\n')
  const content = `${lines.map((line) => `> ${line}`.trimEnd()).join('\n')}\n\n`
  return { ...reply, typed: { ...reply.typed, content } }
}

/** What a page of a thread shows, and up to where its viewer had read before. */
interface Shown {
  post: ThreadPost
  comments: ThreadComment[]
  visit: Visit | null
}

/**
 * Marks the inbox items of a thread as read for a person who opens it, and saves up to where they have read, after
 * the page was sent, so that the page costs one round trip. A browser that only fetches the page ahead, or a script
 * for a page that nobody looks at, has not shown it.
 */
function saveSeen(c: PageContext, { viewer }: Frame, { post, comments, visit }: Shown): void {
  if (!viewer?.canWrite || viewer.kind !== 'human') return
  const purpose = c.req.header('sec-purpose') ?? c.req.header('purpose')
  if (purpose?.includes('prefetch')) return
  const { db, clock, defer } = c.var.context
  const seenAt = Math.max(post.createdAt, ...comments.map(({ createdAt }) => createdAt))
  const isNews = visit === null || visit.seenAt < seenAt
  const writes = {
    items: viewer.unreadCount === 0 ? null : markPostItemsRead(viewer.id, clock.now(), post.id),
    visit: isNews ? saveVisit({ accountId: viewer.id, postId: post.id, seenAt }) : null,
  }
  if (writes.items === null && writes.visit === null) return
  // The page is sent first, and its cost is that of the page alone.
  const sent = new Promise((resolve) => setTimeout(resolve, 0))
  defer(sent.then(() => batch(db, writes)))
}

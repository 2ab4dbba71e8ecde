import type { Hono } from 'hono'
import { toAuthor } from '../../hub/accounts/queries'
import { toResumePromises } from '../../hub/activations/resume-view'
import { redactApproval } from '../../hub/approvals/redact-approval'
import { commentInput, commentReads, createComment } from '../../hub/comments/actions'
import { stopFollowing } from '../../hub/following/actions'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireViewer,
  requireViewerWith,
  toActor,
} from '../../hub/http/page-entry'
import { markPostItemsRead } from '../../hub/inbox/queries'
import { findNotWoken, toNotWoken } from '../../hub/inbox/unreached-view'
import { liftLimits } from '../../hub/lifted-limits/actions'
import { renderAgain } from '../../hub/markdown/render-again'
import { postErrors } from '../../hub/posts/errors'
import { renderedTexts } from '../../shared/config'
import { decodeKeyset } from '../../shared/cursor'
import { run } from '../../shared/db/batch'
import { postPath, writtenPath } from '../../shared/paths'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import type { Frame } from '../frame/frame'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { threadStatements } from './page-queries'
import { type ReplyFormState, replyForm } from './post-forms'
import { ThreadPage } from './thread-page'

/** Registers a thread's page, the form of its replies, and the buttons for its agents. */
export function registerThreadPages(app: Hono<HubEnv>): void {
  app.get(
    '/p/:id',
    page((c) =>
      showThread(c, createForm({ parent_id: c.req.query('reply_to') ?? '', content: '' })),
    ),
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
        return c.redirect(writtenPath(postId, done.answer.id, names), 303)
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
  const viewer = { credential: await readCredential(c), now: c.var.context.clock.now() }
  const window = {
    before: decodeKeyset(postPath(c.req.param('id') ?? ''), c.req.query('before')),
    linked: c.req.query('comment') || reply.typed.parent_id,
  }
  const unreached = c.req.query('unreached')?.split(',') ?? []
  const statements = threadStatements(c.req.param('id') ?? '', { ...window, unreached }, viewer)
  const { frame, answers } = await readPage(c, statements)
  const { post, comments: rows, mentioned, votes } = answers
  if (!post) throw postErrors.deletedPost()
  const comments = rows.slice(0, renderedTexts.commentsPerPage)
  renderAgain(c.var.context, 'posts', [post])
  renderAgain(c.var.context, 'comments', comments)
  markRead(c, frame, post.id)
  return sendPage(
    c,
    <ThreadPage
      frame={frame}
      post={post}
      comments={comments.toReversed()}
      hasEarlier={rows.length > comments.length}
      isNewest={window.before === null && (rows[0]?.isNewest ?? true)}
      activations={answers.activations}
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
      removals={new Map(answers.removals.map((row) => [row.commentId, row]))}
      mayModerate={answers.mayModerate}
      following={new Map(answers.following.map((row) => [row.answerId, row]))}
      feedback={new Map(answers.feedback.map((row) => [row.activationId, row]))}
      votes={new Map(votes.map(({ commentId, value }) => [commentId, value]))}
      reply={reply}
    />,
    status,
  )
}

/**
 * Marks the inbox items of a thread as read for a person who opens it, after the page was sent, so that the
 * page costs one round trip. A browser that only fetches the page ahead has not shown it.
 */
function markRead(c: PageContext, { viewer }: Frame, postId: string): void {
  if (!viewer?.canWrite || viewer.kind !== 'human' || viewer.unreadCount === 0) return
  if (c.req.header('sec-purpose')?.includes('prefetch')) return
  const { db, clock, defer } = c.var.context
  // The page is sent first, and its cost is that of the page alone.
  const sent = new Promise((resolve) => setTimeout(resolve, 0))
  defer(sent.then(() => run(db, markPostItemsRead(viewer.id, clock.now(), postId))))
}

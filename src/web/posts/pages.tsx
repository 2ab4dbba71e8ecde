import type { Hono } from 'hono'
import { commentInput, createComment } from '../../hub/comments/actions'
import { readCredential, requireViewer, toActor } from '../../hub/http/authenticate'
import type { HubEnv } from '../../hub/http/hub-env'
import { postErrors } from '../../hub/posts/errors'
import { postPath } from '../../shared/paths'
import { toProblem } from '../form/to-problem'
import type { FormProblem } from '../frame/frame'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { threadStatements } from './page-queries'
import { ThreadPage } from './thread-page'

interface Reply {
  parentId: string | null
  text: string
  problem: FormProblem | null
}

/** Registers `GET /p/:id` and `POST /p/:id/comments`, where the reply form is sent. */
export function registerThreadPages(app: Hono<HubEnv>): void {
  app.get(
    '/p/:id',
    page((c) =>
      showThread(c, { parentId: c.req.query('reply_to') ?? null, text: '', problem: null }),
    ),
  )
  app.post(
    '/p/:id/comments',
    page(async (c) => {
      const form = await readForm(c)
      const postId = c.req.param('id') ?? ''
      const parentId = form('parent_id') || null
      const text = form('content')
      try {
        const viewer = await requireViewer(c, 'write')
        const input = commentInput.parse({ content: text, parent_id: parentId })
        const { answer } = await createComment(c.var.context, toActor(viewer, null), {
          postId,
          parentId,
          content: input.content,
        })
        return c.redirect(`${postPath(postId)}#c-${answer.id}`, 303)
      } catch (error) {
        const { status, ...problem } = toProblem(error)
        return showThread(c, { parentId, text, problem }, status)
      }
    }),
  )
}

async function showThread(c: PageContext, reply: Reply, status = 200): Promise<Response> {
  const viewer = { credential: await readCredential(c), now: c.var.context.clock.now() }
  const { frame, answers } = await readPage(c, threadStatements(c.req.param('id') ?? '', viewer))
  const { post, comments, mentioned, votes } = answers
  if (!post) throw postErrors.deletedPost()
  return sendPage(
    c,
    <ThreadPage
      frame={frame}
      post={post}
      comments={comments.toReversed()}
      activations={answers.activations}
      mentioned={mentioned.map(({ name }) => name)}
      paused={answers.paused}
      agents={answers.agents}
      notWoken={answers.notWoken}
      votes={new Map(votes.map(({ commentId, value }) => [commentId, value]))}
      reply={reply}
    />,
    status,
  )
}

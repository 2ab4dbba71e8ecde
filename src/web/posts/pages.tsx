import type { Hono } from 'hono'
import { commentInput, createComment } from '../../hub/comments/actions'
import { readCredential, requireViewer, toActor } from '../../hub/http/authenticate'
import type { HubEnv } from '../../hub/http/hub-env'
import { postErrors } from '../../hub/posts/errors'
import type { NotWokenAgent } from '../../hub/reply-limits/queries'
import { postPath } from '../../shared/paths'
import type { FormProblem } from '../frame/frame'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, rowsOf, sendPage } from '../frame/send-page'
import { toProblem } from '../parts/problem'
import {
  type HostedAgent,
  type PausedAgent,
  type ThreadActivation,
  type ThreadComment,
  type ThreadPost,
  threadStatements,
} from './page-queries'
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
  const { db, clock } = c.var.context
  const viewer = { credential: await readCredential(c), now: clock.now() }
  const read = await readPage(c, threadStatements(db, c.req.param('id') ?? '', viewer))
  const post = rowsOf<ThreadPost>(read, 0)[0]
  if (!post) throw postErrors.deletedPost()
  const names = rowsOf<{ name: string }>(read, 3).map((each) => each.name)
  return sendPage(
    c,
    <ThreadPage
      frame={read.frame}
      post={post}
      comments={rowsOf<ThreadComment>(read, 1).reverse()}
      activations={rowsOf<ThreadActivation>(read, 2)}
      mentioned={names}
      paused={rowsOf<PausedAgent>(read, 4)}
      agents={rowsOf<HostedAgent>(read, 5)}
      notWoken={rowsOf<NotWokenAgent>(read, 6)}
      votes={toVotes(rowsOf<OwnVote>(read, 7))}
      reply={reply}
    />,
    status,
  )
}

interface OwnVote {
  commentId: string
  value: number
}

const toVotes = (rows: OwnVote[]) => new Map(rows.map(({ commentId, value }) => [commentId, value]))

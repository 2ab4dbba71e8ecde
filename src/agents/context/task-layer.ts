import type { Load, ThreadComment } from '../../hub/contract'
import { fence } from './fence'

/**
 * The task and its thread: the post, the words that ask, and as many of the newest other comments
 * as fit; what is left out is counted (L11). All of it is data (L16).
 */
export function taskLayer(load: Load, charsMax: number): string {
  const { thread } = load
  if (!thread) return 'The thread is gone.'
  const asking = new Set<string>(
    load.items.flatMap(({ commentId }) => (commentId ? [commentId] : [])),
  )
  const postAsks = load.items.some(({ commentId }) => commentId === null)
  const askers = [...new Set(load.items.map(({ from }) => `@${from.name}`))].join(', ')
  const post = fence(
    'post',
    {
      id: thread.post.id,
      author: thread.post.author.name,
      kind: thread.post.author.kind,
      community: thread.post.community,
      asks: postAsks,
    },
    cut(
      `${thread.post.title}\n\n${thread.post.content}${thread.post.url ? `\n\n${thread.post.url}` : ''}`,
      charsMax / 2,
    ),
  )
  const comments = chooseComments(thread.comments, asking, charsMax - post.length)
  const missing = thread.commentCount - comments.length
  return [
    `${askers} ${load.items.length > 1 ? 'have called' : 'has called'} you in m/${thread.post.community}. Answer what the blocks marked asks="true" ask of you.`,
    post,
    ...comments.map((comment) =>
      fence(
        'comment',
        {
          id: comment.id,
          author: comment.author.name,
          kind: comment.author.kind,
          asks: asking.has(comment.id),
        },
        cut(comment.content, charsMax / 4),
      ),
    ),
    ...(missing > 0 ? [`${missing} more comments of this thread are not shown.`] : []),
  ].join('\n\n')
}

/** The asking ones always; then the newest, as long as there is room. In the thread's order. */
function chooseComments(all: ThreadComment[], asking: Set<string>, room: number): ThreadComment[] {
  const chosen = new Set<string>(asking)
  let left = room
  for (const comment of [...all].reverse()) {
    if (left - comment.content.length < 0) break
    left -= comment.content.length + 120
    chosen.add(comment.id)
  }
  return all.filter(({ id }) => chosen.has(id))
}

function cut(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${text.slice(0, Math.max(0, charsMax))} [... cut]`
}

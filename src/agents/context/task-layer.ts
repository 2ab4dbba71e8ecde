import type { ClaimedItem, Load, Thread, ThreadComment } from '../../hub/contract'
import { cut } from './cut'
import { explorationLayer } from './exploration-layer'
import { fence } from './fence'

/** The task, whatever it is, with what belongs to it. All of it is data (L16). */
export function taskLayer(load: Load, charsMax: number): string {
  if (load.exploration) return explorationLayer(load.exploration, charsMax)
  if (!isInThread[load.task]) return givenTask(load, charsMax)
  return load.thread ? threadTask(load, load.thread, charsMax) : 'The thread is gone.'
}

/** Work given by hand, by a schedule or in a message: the words of whoever gave it (L2). */
function givenTask({ task, items }: Load, charsMax: number): string {
  return [
    `${sayOccasion(task, nameAskers(items))} Do what the blocks marked asks="true" ask.`,
    ...items.map(({ from, content }) =>
      fence(
        'task',
        { author: from.name, kind: from.kind, asks: true },
        cut(content, charsMax / items.length),
      ),
    ),
  ].join('\n\n')
}

const isInThread: Record<Load['task'], boolean> = {
  ...{ mention: true, reply: true, exploration: true },
  ...{ dm: false, scheduled: false, manual: false },
}

function sayOccasion(task: Load['task'], askers: string): string {
  if (task === 'scheduled') {
    return 'This is work by your schedule. Nobody waits for an answer and your final one is not posted: what shall be read you write with your tools.'
  }
  if (task === 'dm') {
    return `${askers} wrote to you in a direct message. Your answer is sent to them and to nobody else; what they say is private and belongs into no thread.`
  }
  return `You were given this by hand. Your answer goes to the inbox of ${askers}; in a thread you write with your tools.`
}

const nameAskers = (items: ClaimedItem[]): string =>
  [...new Set(items.map(({ from }) => `@${from.name}`))].join(', ')

/**
 * The post, the words that ask with the way to them, and as many of the newest other comments as fit;
 * what is left out is counted (L11).
 */
function threadTask({ items }: Load, thread: Thread, charsMax: number): string {
  const asking = new Set<string>(items.flatMap(({ commentId }) => (commentId ? [commentId] : [])))
  const post = showPost(thread, items, charsMax / 2)
  const room = charsMax - post.length
  const askingMax = Math.max(askingCharsMin, room / Math.max(1, asking.size) - fenceChars)
  const most = Math.min(charsMax / 4, askingMax)
  const comments = chooseComments(thread.comments, asking, { room, most })
  const missing = thread.commentCount - comments.length
  return [
    `${nameAskers(items)} ${items.length > 1 ? 'have called' : 'has called'} you in m/${thread.post.community}. Answer what the blocks marked asks="true" ask of you; your answer is posted under them.`,
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
        cut(comment.content, most),
      ),
    ),
    ...(missing > 0 ? [`${missing} more comments of this thread are not shown.`] : []),
  ].join('\n\n')
}

function showPost({ post }: Thread, items: ClaimedItem[], charsMax: number): string {
  return fence(
    'post',
    {
      id: post.id,
      author: post.author.name,
      kind: post.author.kind,
      community: post.community,
      asks: items.some(({ commentId }) => commentId === null),
    },
    cut(`${post.title}\n\n${post.content}${post.url ? `\n\n${post.url}` : ''}`, charsMax),
  )
}

/** What a comment takes beside its words: the fence around it, and what says that it was cut. */
const fenceChars = 160
/** However many ask: less of a question is none. */
const askingCharsMin = 80

/**
 * The asking ones always, then the way from each up to the post, then the newest, as long as there is
 * room. In the thread's order.
 *
 * @param most characters of one comment that are shown
 */
function chooseComments(
  all: ThreadComment[],
  asking: Set<string>,
  { room, most }: { room: number; most: number },
): ThreadComment[] {
  const sizeOf = ({ content }: ThreadComment) => Math.min(content.length, most) + fenceChars
  const byId = new Map<string, ThreadComment>(all.map((comment) => [comment.id, comment]))
  const asked = all.filter(({ id }) => asking.has(id))
  const chosen = new Set<string>(asking)
  let left = asked.reduce((sum, comment) => sum - sizeOf(comment), room)
  for (const comment of [...asked.flatMap((each) => findPath(each, byId)), ...all.toReversed()]) {
    if (chosen.has(comment.id)) continue
    left -= sizeOf(comment)
    if (left < 0) break
    chosen.add(comment.id)
  }
  return all.filter(({ id }) => chosen.has(id))
}

/** From a comment up to the post, the nearest first; a thread that loops ends where it began. */
function findPath(comment: ThreadComment, byId: Map<string, ThreadComment>): ThreadComment[] {
  const path: ThreadComment[] = []
  for (
    let parent = byId.get(comment.parentId ?? '');
    parent && !path.includes(parent);
    parent = byId.get(parent.parentId ?? '')
  ) {
    path.push(parent)
  }
  return path
}

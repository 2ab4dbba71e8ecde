import type { ClaimedItem, LoadedActivation, Thread, ThreadComment } from '../../hub/contract/hub'
import { fence } from '../text/fence'
import { toFenceAuthor } from '../text/fence-author'
import { truncate } from '../text/truncate'
import { buildExplorationLayer } from './exploration-layer'

/** Returns the task of any kind, with its thread. Texts of users are fenced as untrusted. */
export function buildTaskLayer(load: LoadedActivation, charsMax: number): string {
  if (load.exploration) return buildExplorationLayer(load.exploration, charsMax)
  if (!isInThread[load.task]) return directTask(load, charsMax)
  return load.thread ? threadTask(load, load.thread, charsMax) : 'The thread was deleted.'
}

/** Returns a task that was given by hand, by a schedule or in a direct message. */
function directTask({ task, items }: LoadedActivation, charsMax: number): string {
  return [
    `${describeOccasion(task, nameRequesters(items))} Do what the blocks marked asks="true" ask.`,
    ...items.map(({ from, content }) =>
      fence(
        'task',
        { author: from.name, kind: from.kind, asks: true },
        truncate(content, charsMax / items.length),
      ),
    ),
  ].join('\n\n')
}

/** Returns the task of a schedule, as the hub gives it to the agent. */
export const buildScheduledTask = (task: string): string =>
  [
    `${describeOccasion('scheduled', '')} Do what the blocks marked asks="true" ask.`,
    fence('task', { author: 'rookery', kind: 'system', asks: true }, task),
  ].join('\n\n')

const isInThread: Record<LoadedActivation['task'], boolean> = {
  mention: true,
  reply: true,
  exploration: true,
  dm: false,
  scheduled: false,
  manual: false,
}

function describeOccasion(task: LoadedActivation['task'], requesters: string): string {
  if (task === 'scheduled') {
    return 'This task comes from your schedule. Your final answer is not posted: publish with your tools what others should read.'
  }
  if (task === 'dm') {
    return `${requesters} wrote to you in a direct message. Your answer is sent to them only. Their messages are private: do not repeat them in a thread.`
  }
  return `${requesters} gave you this task. Your answer goes to their inbox; to write in a thread, use your tools.`
}

const nameRequesters = (items: ClaimedItem[]): string =>
  [...new Set(items.map(({ from }) => `@${from.name}`))].join(', ')

/**
 * Returns a task in a thread: the post, the requests with their parent comments, and as many of the
 * newest other comments as fit. The number of omitted comments is stated.
 */
function threadTask({ items }: LoadedActivation, thread: Thread, charsMax: number): string {
  const requestIds = new Set<string>(
    items.flatMap(({ commentId }) => (commentId ? [commentId] : [])),
  )
  const post = formatPost(thread, items, charsMax / 2)
  const charsLeft = charsMax - post.length
  const requestCharsMax = Math.max(
    requestCharsMin,
    charsLeft / Math.max(1, requestIds.size) - fenceChars,
  )
  const commentCharsMax = Math.min(charsMax / 4, requestCharsMax)
  const comments = chooseComments(thread.comments, requestIds, { charsLeft, commentCharsMax })
  const missing = thread.post.commentCount - comments.length
  return [
    `${describeRequests(items, thread)}Answer what the blocks marked asks="true" ask of you; your answer is posted under them.`,
    post,
    ...comments.map((comment) =>
      fence(
        'comment',
        {
          id: comment.id,
          ...toFenceAuthor(comment.author),
          asks: requestIds.has(comment.id),
        },
        truncate(comment.content, commentCharsMax),
      ),
    ),
    ...(missing > 0 ? [`${missing} more comments of this thread are not shown.`] : []),
  ].join('\n\n')
}

/** Says who wrote. Comments of the hub itself show what another service sent: a review. */
function describeRequests(items: ClaimedItem[], { post, comments }: Thread): string {
  const outside = new Set<string>(
    comments.flatMap(({ id, author }) => (author.kind === 'system' ? [id] : [])),
  )
  const isReview = ({ commentId }: ClaimedItem) => commentId !== null && outside.has(commentId)
  const reviews = items.filter(isReview)
  const own = items.filter((item) => !isReview(item))
  return [
    own.length > 0 &&
      `${nameRequesters(own)} wrote to you in m/${post.community}. ${describeFollowUps(own)}`,
    reviews.length > 0 &&
      `A review of your pull request reached your thread in m/${post.community}, on behalf of ${nameRequesters(reviews)}. Continue on the same branch, and say what you changed since. `,
  ]
    .filter((text) => text !== false)
    .join('')
}

/** Says whose comments do not name the agent; empty when all do. */
function describeFollowUps(items: ClaimedItem[]): string {
  const followUps = items.filter(({ isFollowUp }) => isFollowUp === true)
  if (followUps.length === 0) return ''
  return `${nameRequesters(followUps)} did not name you: this is a follow-up to your conversation. `
}

function formatPost({ post }: Thread, items: ClaimedItem[], charsMax: number): string {
  return fence(
    'post',
    {
      id: post.id,
      author: post.author.name,
      kind: post.author.kind,
      community: post.community,
      asks: items.some(({ commentId }) => commentId === null),
    },
    truncate(`${post.title}\n\n${post.content}${post.url ? `\n\n${post.url}` : ''}`, charsMax),
  )
}

/** Characters of a comment beside its text: the fence, and the note that it was truncated. */
const fenceChars = 160
/** Minimum length of a shown request, however many there are. */
const requestCharsMin = 80

/**
 * Chooses the comments to show: always the requests, then their parent comments, then the newest, as
 * long as they fit. Keeps the thread's order.
 *
 * @param commentCharsMax characters of one comment that are shown
 */
function chooseComments(
  all: ThreadComment[],
  requestIds: Set<string>,
  { charsLeft, commentCharsMax }: { charsLeft: number; commentCharsMax: number },
): ThreadComment[] {
  const sizeOf = ({ content }: ThreadComment) =>
    Math.min(content.length, commentCharsMax) + fenceChars
  const byId = new Map<string, ThreadComment>(all.map((comment) => [comment.id, comment]))
  const requests = all.filter(({ id }) => requestIds.has(id))
  const chosen = new Set<string>(requestIds)
  let left = requests.reduce((sum, comment) => sum - sizeOf(comment), charsLeft)
  for (const comment of [
    ...requests.flatMap((each) => findAncestors(each, byId)),
    ...all.toReversed(),
  ]) {
    if (chosen.has(comment.id)) continue
    left -= sizeOf(comment)
    if (left < 0) break
    chosen.add(comment.id)
  }
  return all.filter(({ id }) => chosen.has(id))
}

/** Returns a comment's ancestors, the nearest first; stops when the parents form a loop. */
function findAncestors(comment: ThreadComment, byId: Map<string, ThreadComment>): ThreadComment[] {
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

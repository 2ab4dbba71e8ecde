import type { ClaimedItem, LoadedActivation, Requester } from '../../hub/contract/hub'
import { planLimits } from '../../shared/config'
import type { LoadedFacts } from '../loop/event'
import { toSingleLine } from '../memory/compose-turn'
import { fence } from '../text/fence'
import { toFenceAuthor } from '../text/fence-author'
import { truncate } from '../text/truncate'

/** Characters of one request in a session's history. */
const askedCharsMax = 2_000
const slugCharsMax = 60

/** Returns the texts of a task's requests, to find facts and skills by. */
export const toSearchText = (load: LoadedActivation): string =>
  findRequests(load)
    .map(({ text }) => text)
    .join('\n')

/** Returns whether a task is the command `/compact` alone, and whether its requesters can give it in this thread. */
export function findCompact(load: LoadedActivation): LoadedFacts['compact'] | null {
  const { task, thread, items, requesters } = load
  const hasSession = task === 'mention' || task === 'reply' || task === 'dm'
  if (!hasSession || items.length === 0) return null
  if (!findRequests(load).every(({ text }) => isCompact(text))) return null
  const author = thread?.post.author.id
  const canCompact = ({ id, role }: Requester) => task === 'dm' || role === 'admin' || id === author
  return requesters.length > 0 && requesters.every(canCompact) ? 'allowed' : 'denied'
}

/** Whether a text is the command, with or without mentions around it. */
const isCompact = (text: string): boolean =>
  text.length <= 200 &&
  text
    .replace(/(^|\s)@[\w-]+[,:]?(?=\s|$)/g, ' ')
    .trim()
    .toLowerCase() === '/compact'

/** Returns the goal of a task: its requests on one line; empty when there are none. */
export const toGoal = (load: LoadedActivation): string =>
  toSingleLine(
    findRequests(load)
      .map(({ text }) => text)
      .join(' / '),
  )
    .slice(0, planLimits.goalCharsMax)
    .toWellFormed()

/** Returns a task's session id and how its session describes it; null when its thread was deleted. */
export function describeSession(
  load: LoadedActivation,
): NonNullable<LoadedFacts['session']> | null {
  const id = findSessionId(load)
  if (id === null) return null
  const requests = findRequests(load)
  const isPrivate = load.task === 'dm' || load.task === 'manual'
  return {
    id,
    task: [
      `${describeOccasion(load)}:`,
      ...requests.map(({ from, text }) =>
        fence('asked', toFenceAuthor(from), truncate(text, askedCharsMax)),
      ),
    ].join('\n\n'),
    gist: isPrivate ? '' : composeGist(load, requests),
  }
}

/** Returns `{channel}_{chat_id}`, or null when the task has neither thread nor item. */
function findSessionId({ task, thread, items, agent }: LoadedActivation): string | null {
  const [first] = items
  switch (task) {
    case 'exploration':
      return `explore_${agent.name}`
    case 'dm':
      return first ? `dm_${first.from.name}` : null
    case 'manual':
      return first ? `manual_${first.id}` : null
    case 'scheduled':
      return first ? `scheduled_${toSlug(first.content)}` : null
    default:
      return thread ? `${thread.post.community}_${thread.post.id}` : null
  }
}

/** Returns a schedule's id: schedules have no name, so their text is used. */
const toSlug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
    .slice(0, slugCharsMax)

interface TaskRequest {
  from: Pick<ClaimedItem['from'], 'name' | 'kind'>
  text: string
}

/** Finds the requests of a task, which are in its thread unless it has none; of a deleted one nothing is left. */
function findRequests({ thread, items }: LoadedActivation): TaskRequest[] {
  return items.map(({ from, postId, commentId, content }) => {
    if (!thread || postId === null) return { from, text: content }
    const { post, comments } = thread
    if (commentId === null) return { from, text: `${post.title}\n\n${post.content}` }
    const comment = comments.find(({ id }) => id === commentId)
    const isFromOutside = comment?.author.kind === 'system'
    return { from: isFromOutside ? comment.author : from, text: comment?.content ?? content }
  })
}

function describeOccasion({ task, thread }: LoadedActivation): string {
  if (thread) return `In m/${thread.post.community}, post ${thread.post.id}, you were asked`
  if (task === 'exploration') return 'You explored the hub'
  return task === 'scheduled' ? 'Your schedule gave you' : 'You were given'
}

function composeGist({ task, thread }: LoadedActivation, requests: TaskRequest[]): string {
  if (task === 'exploration') return 'I explored the hub.'
  const place = thread ? ` in m/${thread.post.community} (/p/${thread.post.id})` : ''
  const asked = requests.map(({ from, text }) => `@${from.name}${place}: ${toSingleLine(text)}`)
  return `${asked.join(' / ')} -`
}

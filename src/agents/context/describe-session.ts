import type { ClaimedItem, Load } from '../../hub/contract'
import type { LoadedFacts } from '../loop/event'
import { toLine } from '../memory/compose-turn'
import { cut } from './cut'
import { fence } from './fence'

/** Of what was asked, in a session's history. */
const askedCharsMax = 2_000
const slugCharsMax = 60

/** What was asked, to find facts and skills by. */
export const askedWords = (load: Load): string =>
  findWords(load)
    .map(({ text }) => text)
    .join('\n')

/** Where a task is remembered, and as what; null when its thread is gone. */
export function describeSession(load: Load): NonNullable<LoadedFacts['session']> | null {
  const id = findSessionId(load)
  if (id === null) return null
  const words = findWords(load)
  const isPrivate = load.task === 'dm' || load.task === 'manual'
  return {
    id,
    task: [
      `${describeOccasion(load)}:`,
      ...words.map(({ from, text }) =>
        fence('asked', { author: from.name, kind: from.kind }, cut(text, askedCharsMax)),
      ),
    ].join('\n\n'),
    gist: isPrivate ? '' : composeGist(load, words),
  }
}

/** `{channel}_{chat_id}`. */
function findSessionId({ task, thread, items, agent }: Load): string | null {
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

/** A schedule has no name but its words. */
const toSlug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, slugCharsMax)

interface Words {
  from: Pick<ClaimedItem['from'], 'name' | 'kind'>
  text: string
}

/** Of an item the hub gives the beginning; what is in the thread is there in full. */
function findWords({ thread, items }: Load): Words[] {
  return items.map(({ from, postId, commentId, content }) => {
    if (!thread || postId === null) return { from, text: content }
    const { post, comments } = thread
    if (commentId === null) return { from, text: `${post.title}\n\n${post.content}` }
    return { from, text: comments.find(({ id }) => id === commentId)?.content ?? content }
  })
}

function describeOccasion({ task, thread }: Load): string {
  if (thread) return `In m/${thread.post.community}, post ${thread.post.id}, you were asked`
  if (task === 'exploration') return 'You had a turn to look around'
  return task === 'scheduled' ? 'By your schedule you were given' : 'You were given'
}

function composeGist({ task, thread }: Load, words: Words[]): string {
  if (task === 'exploration') return 'I looked around.'
  const where = thread ? ` in m/${thread.post.community} (/p/${thread.post.id})` : ''
  const asked = words.map(({ from, text }) => `@${from.name}${where}: ${toLine(text)}`)
  return `${asked.join(' / ')} -`
}

import { shortenText } from '../../shared/cut-text'
import { commentPath, postPath } from '../../shared/paths'
import type { PushMessage } from '../contract/push'
import type { PushKind } from '../schema/push'
import type { DueMessage } from './queue-queries'

const bodyCharsMax = 160

/** Messages of one device that are shown one by one; more than this are one summary. */
const shownOneByOneMax = 3

const titles: Record<PushKind, (from: string) => string> = {
  mention: (from) => `${from} wrote to you`,
  dm: (from) => `Message from ${from}`,
  approval: (from) => `${from} requires approval`,
  run: (from) => `${from} answered`,
}

const shorten = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return shortenText(line, bodyCharsMax)
}

/** Returns the path that an inbox item is about. */
function toPath({ kind, postId, commentId, conversationId }: DueMessage): string {
  if (kind === 'approval') return '/approvals'
  if (conversationId !== null) return `/dm/${encodeURIComponent(conversationId)}`
  if (postId === null) return '/inbox'
  return commentId === null ? postPath(postId) : commentPath(postId, commentId)
}

const composeOne = (due: DueMessage): PushMessage => ({
  title: titles[due.kind](due.from === null ? 'The hub' : `@${due.from}`),
  body: shorten(due.content),
  path: toPath(due),
  tag: due.itemId,
})

/** Returns the notifications for what is due at one device: one each, or a summary of many. */
export function composeMessages(due: readonly DueMessage[]): PushMessage[] {
  if (due.length <= shownOneByOneMax) return due.map(composeOne)
  const names = [...new Set(due.flatMap(({ from }) => (from === null ? [] : [`@${from}`])))]
  const more = names.length > 3 ? ` and ${names.length - 3} more` : ''
  return [
    {
      title: `${due.length} new notifications`,
      body: names.length === 0 ? '' : `From ${names.slice(0, 3).join(', ')}${more}`,
      path: '/inbox',
      tag: 'summary',
    },
  ]
}

import { limits } from '../../shared/config'
import { presentTime } from '../accounts/present'
import type { SentMessage } from './actions'
import type { ConversationRow, MessageRow } from './queries'

/** Returns the beginning of a message, on one line. */
export const formatPreview = (content: string): string => {
  const line = content.replace(/\s+/g, ' ').trim()
  const { previewChars } = limits.directMessage
  return line.length <= previewChars ? line : `${line.slice(0, previewChars - 1).toWellFormed()}…`
}

export const presentConversation = (row: ConversationRow): object => ({
  conversation_id: row.id,
  id: row.id,
  status: row.status,
  with_agent: {
    id: row.otherId,
    name: row.otherName,
    kind: row.otherKind,
    description: row.otherDescription,
    karma: row.otherKarma,
  },
  you_initiated: row.isStartedByMe,
  is_blocked: row.isBlocked,
  unread_count: row.unread,
  last_message: row.lastContent === null ? null : formatPreview(row.lastContent),
  last_message_at: presentTime(row.lastMessageAt),
  created_at: presentTime(row.createdAt),
})

export const presentRequest = (row: ConversationRow): object => ({
  conversation_id: row.id,
  id: row.id,
  from: {
    id: row.otherId,
    name: row.otherName,
    kind: row.otherKind,
    description: row.otherDescription,
  },
  message_preview: formatPreview(row.lastContent ?? ''),
  created_at: presentTime(row.createdAt),
})

export const presentMessage = (row: MessageRow): object => ({
  id: row.id,
  from: { id: row.authorId, name: row.authorName, kind: row.authorKind },
  content: row.content,
  needs_human_input: row.needsHuman,
  activation_id: row.activationId,
  created_at: presentTime(row.createdAt),
})

export const presentSent = (sent: SentMessage): object => ({
  message: {
    id: sent.id,
    conversation_id: sent.conversationId,
    content: sent.content,
    created_at: presentTime(sent.createdAt),
  },
  conversation: {
    conversation_id: sent.conversationId,
    id: sent.conversationId,
    status: sent.status,
    with_agent: { name: sent.to },
  },
})

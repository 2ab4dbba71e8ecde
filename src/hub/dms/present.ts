import * as z from 'zod'
import { limits } from '../../shared/config'
import { shortenText } from '../../shared/cut-text'
import { briefPersonAnswer } from '../accounts/present'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { conversations } from '../schema/dms'
import type { SentMessage } from './actions'
import type { ConversationRow, MessageRow } from './queries'

/** Returns the beginning of a message, on one line. */
export const formatPreview = (content: string): string => {
  const line = content.replace(/\s+/g, ' ').trim()
  const { previewChars } = limits.directMessage
  return shortenText(line, previewChars)
}

export const statusFields = {
  conversation_id: z.string(),
  id: z.string().describe('The same as `conversation_id`.'),
  status: z
    .enum(conversations.status.enumValues)
    .describe('pending: a request that its recipient has not approved yet.'),
}

export const conversationAnswer = z
  .object({
    ...statusFields,
    with_agent: briefPersonAnswer.extend({ description: z.string(), karma: z.int() }),
    you_initiated: z.boolean(),
    is_blocked: z.boolean().describe('Whether you block the other account.'),
    unread_count: countAnswer,
    last_message: z.string().nullable().describe('The beginning of the last message.'),
    last_message_at: timeAnswer,
    created_at: timeAnswer,
  })
  .meta({ id: 'Conversation' })

export const presentConversation = (row: ConversationRow): z.input<typeof conversationAnswer> => ({
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

export const requestAnswer = z
  .object({
    conversation_id: z.string(),
    id: z.string().describe('The same as `conversation_id`.'),
    from: briefPersonAnswer.extend({ description: z.string() }),
    message_preview: z.string(),
    created_at: timeAnswer,
  })
  .meta({ id: 'MessageRequest' })

export const presentRequest = (row: ConversationRow): z.input<typeof requestAnswer> => ({
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

export const messageAnswer = z
  .object({
    id: z.string(),
    from: briefPersonAnswer,
    content: z.string(),
    needs_human_input: z.boolean(),
    activation_id: z.string().nullable().describe('The run of the agent that wrote the message.'),
    created_at: timeAnswer,
  })
  .meta({ id: 'Message' })

export const presentMessage = (row: MessageRow): z.input<typeof messageAnswer> => ({
  id: row.id,
  from: { id: row.authorId, name: row.authorName, kind: row.authorKind },
  content: row.content,
  needs_human_input: row.needsHuman,
  activation_id: row.activationId,
  created_at: presentTime(row.createdAt),
})

export const sentAnswer = z.object({
  message: z.object({
    id: z.string(),
    conversation_id: z.string(),
    content: z.string(),
    created_at: timeAnswer,
  }),
  conversation: z.object({ ...statusFields, with_agent: z.object({ name: z.string() }) }),
})

export const presentSent = (sent: SentMessage): z.input<typeof sentAnswer> => ({
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

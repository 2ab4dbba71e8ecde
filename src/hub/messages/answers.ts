import * as z from 'zod'
import { countAnswer, presenterOf, presentTime, timeAnswer } from '../http/answers'
import { personAnswer, presentAuthor, presentPerson } from '../rules/people'
import { conversations } from '../schema/dms'
import type { SentMessage } from './actions'
import { type ConversationRow, formatPreview, type MessageRow } from './queries'

export const statusFields = {
  id: z.string(),
  status: z
    .enum(conversations.status.enumValues)
    .describe('pending: a request that its recipient has not approved yet.'),
}

export const conversationAnswer = z
  .object({
    ...statusFields,
    account: personAnswer.extend({ description: z.string(), karma: z.int() }),
    is_initiator: z.boolean().describe('Whether you began it.'),
    is_blocked: z.boolean().describe('Whether you block the other account.'),
    unread_count: countAnswer,
    last_message: z.string().nullable().describe('The beginning of the last message.'),
    last_message_at: timeAnswer,
    created_at: timeAnswer,
  })
  .meta({ id: 'Conversation' })

const toOther = (row: ConversationRow) => ({
  ...presentPerson({
    id: row.otherId,
    name: row.otherName,
    kind: row.otherKind,
    displayName: row.otherDisplayName,
  }),
  description: row.otherDescription,
})

export const presentConversation = presenterOf(conversationAnswer).from<ConversationRow>({
  account: (row) => ({ ...toOther(row), karma: row.otherKarma }),
  is_initiator: (row) => row.isStartedByMe,
  unread_count: (row) => row.unread,
  last_message: (row) => (row.lastContent === null ? null : formatPreview(row.lastContent)),
})

export const requestAnswer = z
  .object({
    id: z.string().describe('Of the conversation.'),
    from: personAnswer.extend({ description: z.string() }),
    preview: z.string().describe('The beginning of the message.'),
    created_at: timeAnswer,
  })
  .meta({ id: 'MessageRequest' })

export const presentRequest = presenterOf(requestAnswer).from<ConversationRow>({
  from: toOther,
  preview: (row) => formatPreview(row.lastContent ?? ''),
})

export const messageAnswer = z
  .object({
    id: z.string(),
    from: personAnswer,
    content: z.string(),
    needs_human_input: z.boolean(),
    activation_id: z.string().nullable().describe('The run of the agent that wrote the message.'),
    created_at: timeAnswer,
  })
  .meta({ id: 'Message' })

export const presentMessage = presenterOf(messageAnswer).from<MessageRow>({
  from: presentAuthor,
  needs_human_input: (row) => row.needsHuman,
})

export const sentAnswer = z.object({
  message: z.object({
    id: z.string(),
    conversation_id: z.string(),
    content: z.string(),
    created_at: timeAnswer,
  }),
  conversation: z.object({ ...statusFields, account: personAnswer }),
})

export const presentSent = (sent: SentMessage): z.input<typeof sentAnswer> => ({
  message: {
    id: sent.id,
    conversation_id: sent.conversationId,
    content: sent.content,
    created_at: presentTime(sent.createdAt),
  },
  conversation: {
    id: sent.conversationId,
    status: sent.status,
    account: sent.to,
  },
})

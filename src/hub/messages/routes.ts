import * as z from 'zod'
import { limits } from '../../shared/config'
import { decodeKeyset, splitPage, toPageFields } from '../../shared/cursor'
import { knownFields } from '../../shared/known-fields'
import { countAnswer, pageFields, pageParameters } from '../http/answers'
import { type Call, presentIdempotent, type Route, routesOf } from '../http/route'
import {
  conversationReads,
  type Decision,
  decideConversation,
  dmErrors,
  firstMessageInput,
  messageInput,
  recipientReads,
  sendInConversation,
  sendToAccount,
} from './actions'
import {
  conversationAnswer,
  messageAnswer,
  presentConversation,
  presentMessage,
  presentRequest,
  presentSent,
  requestAnswer,
  sentAnswer,
  statusFields,
} from './answers'
import {
  type ConversationList,
  markReadStatements,
  selectConversation,
  selectConversations,
  selectMessages,
  selectUnreadCounts,
} from './queries'

const route = routesOf('inbox')

const pageQuery = z.object({
  ...pageParameters(limits.directMessage.pageMax, limits.directMessage.pageDefault),
})
type PageCall = Call<z.output<typeof pageQuery>, undefined>

/** Reads one page of conversations and the unread counts. */
async function readList(
  { context, credential, list: name, query, read }: PageCall,
  list: ConversationList,
) {
  const now = context.clock.now()
  const { limit } = query
  const before = decodeKeyset(name, query.cursor)
  const { answers } = await read({
    rows: selectConversations(credential, now, { list, before, limit: limit + 1 }),
    unread: selectUnreadCounts(credential, now),
  })
  const { page: shown, next } = splitPage(answers.rows, limit, name, (row) => [
    row.lastMessageAt,
    row.id,
  ])
  const unread = answers.unread ?? { messages: 0, conversations: 0, requests: 0 }
  return { shown, more: toPageFields(next), unread }
}

const conversationListAnswer = z.object({
  conversations: z.array(conversationAnswer),
  unread_count: countAnswer.describe('Unread messages of all conversations.'),
  ...pageFields,
})

const conversationPageAnswer = z.object({
  conversation: conversationAnswer,
  messages: z.array(messageAnswer),
  ...pageFields,
})

const conversationRoute = route({
  method: 'get',
  path: '/conversations/:id/messages',
  summary: 'Lists the messages of one of your conversations, oldest first, and marks it as read',
  access: 'own',
  query: pageQuery,
  answer: conversationPageAnswer,
  handle: async ({ context, credential, list, param, query, read }) => {
    const now = context.clock.now()
    const { limit } = query
    const conversationId = param('id')
    const before = decodeKeyset(list, query.cursor)
    const { answers } = await read({
      conversation: selectConversation(credential, now, conversationId),
      messages: selectMessages(credential, now, { conversationId, before, limit: limit + 1 }),
      markRead: markReadStatements(credential, now, conversationId),
    })
    const { conversation: row, messages } = answers
    if (!row) throw dmErrors.unknownConversation()
    const { page, next } = splitPage(messages, limit, list, (each) => [each.createdAt, each.id])
    return {
      conversation: presentConversation(row),
      messages: page.reverse().map(presentMessage),
      ...toPageFields(next),
    }
  },
})

const rejection = knownFields({ block: z.boolean().default(false) })

/** Declares a route that approves or declines a request, or blocks or unblocks a conversation. */
const decideRoute = (
  method: 'post' | 'put' | 'delete',
  path: string,
  decision: Decision,
  summary: string,
): Route =>
  route({
    method,
    path: `/conversations/${path}`,
    summary,
    access: 'write',
    body: decision === 'reject' ? rejection : undefined,
    answer: z.object({ conversation: z.object(statusFields) }),
    reads: ({ param, reader }) => conversationReads(param('id'), reader),
    handle: async (call, read) => {
      const id = call.param('id')
      const of = { conversationId: id, decision, isBlocking: call.body?.block ?? false }
      const done = await decideConversation(call.context, call.actor(), of, read)
      return presentIdempotent(call, done, (status) => ({
        conversation: { id, status },
      }))
    },
  })

export const dmRoutes: Route[] = [
  route({
    method: 'post',
    path: '/conversations',
    summary:
      'Sends a message to an account; the first one is a request that they approve, unless both are members or they are an agent of this hub',
    access: 'write',
    status: 201,
    body: firstMessageInput,
    answer: sentAnswer,
    reads: ({ body, reader }) => recipientReads(body.to, reader),
    handle: async (call, read) => {
      const { to, content } = call.body
      const done = await sendToAccount(call.context, call.actor(), to, { content }, read)
      return presentIdempotent(call, done, presentSent)
    },
  }),
  route({
    method: 'get',
    path: '/conversations/requests',
    summary: 'Lists message requests to you',
    access: 'own',
    query: pageQuery,
    answer: z.object({ requests: z.array(requestAnswer), ...pageFields }),
    handle: async (call) => {
      const { shown, more } = await readList(call, 'requests')
      return { requests: shown.map(presentRequest), ...more }
    },
  }),
  route({
    method: 'get',
    path: '/conversations',
    summary: 'Lists your conversations, most recent first',
    access: 'own',
    query: pageQuery,
    answer: conversationListAnswer,
    handle: async (call) => {
      const { shown, more, unread } = await readList(call, 'conversations')
      return {
        conversations: shown.map(presentConversation),
        unread_count: unread.messages,
        ...more,
      }
    },
  }),
  conversationRoute,
  route({
    method: 'post',
    path: '/conversations/:id/messages',
    summary: 'Sends a message in a conversation; a hosted agent answers in it',
    access: 'write',
    status: 201,
    body: messageInput,
    answer: sentAnswer,
    reads: ({ param, reader }) => conversationReads(param('id'), reader),
    handle: async (call, read) => {
      const { content, needs_human_input: needsHuman } = call.body
      const input = { conversationId: call.param('id'), content, needsHuman }
      const done = await sendInConversation(call.context, call.actor(), input, read)
      return presentIdempotent(call, done, presentSent)
    },
  }),
  decideRoute('post', 'requests/:id/approve', 'approve', 'Approves a message request'),
  decideRoute(
    'post',
    'requests/:id/reject',
    'reject',
    'Declines a message request; block: true also blocks its sender',
  ),
  decideRoute('put', ':id/block', 'block', 'Blocks the other account of a conversation'),
  decideRoute('delete', ':id/block', 'unblock', 'Unblocks the other account of a conversation'),
]

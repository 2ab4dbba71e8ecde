import * as z from 'zod'
import { limits } from '../../shared/config'
import { decodeKeyset, splitPage, toPageFields } from '../../shared/cursor'
import { countAnswer, pageFields } from '../http/answers'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import {
  conversationReads,
  type Decision,
  decideConversation,
  firstMessageInput,
  messageInput,
  recipientReads,
  sendInConversation,
  sendToAccount,
} from './actions'
import { dmErrors } from './errors'
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
} from './present'
import {
  type ConversationList,
  markReadStatements,
  selectConversation,
  selectConversations,
  selectMessages,
  selectUnreadCounts,
} from './queries'

const tag = 'messages'

const pageQuery = z.object({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(limits.directMessage.pageMax)
    .default(limits.directMessage.pageDefault),
  cursor: z.string().max(500).optional(),
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

const requestsAnswer = z.object({ count: countAnswer, items: z.array(requestAnswer) })

const checkAnswer = z.object({
  has_activity: z.boolean(),
  summary: z.string(),
  requests: requestsAnswer,
  messages: z.object({
    total_unread: countAnswer,
    conversations_with_unread: countAnswer,
    latest: z.array(conversationAnswer).describe('Conversations with unread messages.'),
  }),
})

const conversationListAnswer = z.object({
  total_unread: countAnswer,
  conversations: z.object({ count: countAnswer, items: z.array(conversationAnswer) }),
  ...pageFields,
})

const conversationPageAnswer = z.object({
  conversation: conversationAnswer,
  messages: z.array(messageAnswer),
  ...pageFields,
})

const checkRoute = route({
  method: 'get',
  path: '/agents/dm/check',
  summary: 'Returns your unread messages and pending message requests',
  tag,
  access: 'own',
  rate: 'read',
  answer: checkAnswer,
  handle: async (call) => {
    const page = { ...call, query: { limit: limits.directMessage.pageMax } }
    const { shown, unread } = await readList(page, 'all')
    const requests = shown.filter((row) => row.status === 'pending' && !row.isStartedByMe)
    const latest = shown.filter((row) => row.status === 'open' && row.unread > 0)
    return {
      has_activity: unread.requests + unread.messages > 0,
      summary: `${unread.requests} pending requests, ${unread.messages} unread messages`,
      requests: { count: unread.requests, items: requests.map(presentRequest) },
      messages: {
        total_unread: unread.messages,
        conversations_with_unread: unread.conversations,
        latest: latest.map(presentConversation),
      },
    }
  },
})

const conversationRoute = route({
  method: 'get',
  path: '/agents/dm/conversations/:id',
  summary: 'Returns one of your conversations, oldest message first, and marks it as read',
  tag,
  access: 'own',
  rate: 'read',
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

/** Declares a route that approves or declines a request, or blocks or unblocks a conversation. */
const decideRoute = (
  method: 'post' | 'delete',
  path: string,
  decision: Decision,
  summary: string,
): Route =>
  route({
    method,
    path: `/agents/dm/${path}`,
    summary,
    tag,
    access: 'write',
    rate: 'write',
    body: z.object({ block: z.boolean().default(false) }),
    answer: z.object({ conversation: z.object(statusFields) }),
    reads: ({ param, reader }) => conversationReads(param('id'), reader),
    handle: async (call, read) => {
      const id = call.param('id')
      const of = { conversationId: id, decision, isBlocking: call.body.block }
      const done = await decideConversation(call.context, call.actor(), of, read)
      return presentIdempotent(call, done, (status) => ({
        conversation: { conversation_id: id, id, status },
      }))
    },
  })

export const dmRoutes: Route[] = [
  checkRoute,
  route({
    method: 'post',
    path: '/agents/dm/request',
    summary: 'Sends a message to an account; the first one is a request that they approve',
    tag,
    access: 'write',
    rate: 'write',
    status: 201,
    body: firstMessageInput,
    answer: sentAnswer,
    reads: ({ body, reader }) => recipientReads(body.to, reader),
    handle: async (call, read) => {
      const { to, message } = call.body
      const done = await sendToAccount(call.context, call.actor(), to, { message }, read)
      return presentIdempotent(call, done, presentSent)
    },
  }),
  route({
    method: 'get',
    path: '/agents/dm/requests',
    summary: 'Lists message requests to you',
    tag,
    access: 'own',
    rate: 'read',
    query: pageQuery,
    answer: z.object({ requests: requestsAnswer, ...pageFields }),
    handle: async (call) => {
      const { shown, more, unread } = await readList(call, 'requests')
      return { requests: { count: unread.requests, items: shown.map(presentRequest) }, ...more }
    },
  }),
  route({
    method: 'get',
    path: '/agents/dm/conversations',
    summary: 'Lists your conversations, most recent first',
    tag,
    access: 'own',
    rate: 'read',
    query: pageQuery,
    answer: conversationListAnswer,
    handle: async (call) => {
      const { shown, more, unread } = await readList(call, 'conversations')
      return {
        total_unread: unread.messages,
        conversations: { count: shown.length, items: shown.map(presentConversation) },
        ...more,
      }
    },
  }),
  conversationRoute,
  route({
    method: 'post',
    path: '/agents/dm/conversations/:id/send',
    summary: 'Sends a message in a conversation; a hosted agent answers in it',
    tag,
    access: 'write',
    rate: 'write',
    status: 201,
    body: messageInput,
    answer: sentAnswer,
    reads: ({ param, reader }) => conversationReads(param('id'), reader),
    handle: async (call, read) => {
      const { message, needs_human_input: needsHuman } = call.body
      const input = { conversationId: call.param('id'), message, needsHuman }
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
  decideRoute(
    'post',
    'conversations/:id/block',
    'block',
    'Blocks the other account of a conversation',
  ),
  decideRoute(
    'delete',
    'conversations/:id/block',
    'unblock',
    'Unblocks the other account of a conversation',
  ),
]

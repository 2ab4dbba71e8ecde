import * as z from 'zod'
import { decodeKeyset, splitPage, toPageFields } from '../../shared/cursor'
import type { Statement } from '../../shared/db/statement'
import type { AccountId, CommentId, ConversationId, PostId } from '../../shared/ids'
import { briefPersonAnswer, kindAnswer } from '../accounts/present'
import type { Question } from '../contract/hub'
import { countAnswer, pageFields, presentTime, timeAnswer } from '../http/answers'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { runOnce } from '../idempotency/run-once'
import { inboxItems } from '../schema/inbox'
import { selectAnswer } from './answer-queries'
import { toQuestionProgress } from './answer-view'
import { inboxErrors } from './errors'
import {
  countOwnUnread,
  type InboxRow,
  markAllItemsRead,
  markItemsRead,
  markPostItemsRead,
  selectOwnItems,
} from './queries'
import { readUntil } from './read-until'

const tag = 'inbox'
const waitSecondsMax = 30

const itemAnswer = z
  .object({
    id: z.string(),
    type: z.enum(inboxItems.type.enumValues),
    post_id: z.string().nullable(),
    comment_id: z.string().nullable(),
    post_title: z.string().nullable(),
    conversation_id: z.string().nullable(),
    from_agent: briefPersonAnswer
      .extend({ name: z.string().nullable(), kind: kindAnswer.nullable() })
      .nullable(),
    content: z.string(),
    created_at: timeAnswer,
    read: z.boolean(),
  })
  .meta({ id: 'InboxItem' })

const presentItem = (item: InboxRow): z.input<typeof itemAnswer> => ({
  id: item.id,
  type: item.type,
  post_id: item.postId,
  comment_id: item.commentId,
  post_title: item.postTitle,
  conversation_id: item.conversationId,
  from_agent:
    item.fromId === null ? null : { id: item.fromId, name: item.fromName, kind: item.fromKind },
  content: item.content,
  created_at: presentTime(item.createdAt),
  read: item.readAt !== null,
})

const listQuery = z.object({
  unread: z.stringbool().default(false),
  limit: z.coerce.number().int().min(1).max(100).default(25),
  cursor: z.string().max(500).optional(),
  wait: z.coerce
    .number()
    .int()
    .min(0)
    .max(waitSecondsMax)
    .default(0)
    .describe('Seconds to wait until something is unread.'),
})

const listAnswer = z.object({
  notifications: z.array(itemAnswer),
  unread_count: countAnswer,
  ...pageFields,
})

async function listItems({
  context,
  credential,
  list,
  query,
  read,
  c,
}: Call<z.output<typeof listQuery>, undefined>): Promise<z.input<typeof listAnswer>> {
  const before = decodeKeyset(list, query.cursor)
  const readPage = () => {
    const now = context.clock.now()
    return read({
      items: selectOwnItems(credential, now, {
        isUnread: query.unread,
        before,
        limit: query.limit + 1,
      }),
      unread: countOwnUnread(credential, now),
    })
  }
  const { answers } = await readUntil(readPage, (found) => found.answers.unread > 0, {
    timeoutMs: query.wait * 1_000,
    isClosed: () => c.req.raw.signal.aborted,
  })
  const { page, next } = splitPage(answers.items, query.limit, list, (item) => [
    item.createdAt,
    item.id,
  ])
  return {
    notifications: page.map(presentItem),
    unread_count: answers.unread,
    ...toPageFields(next),
  }
}

/** Creates a route that lists the viewer's inbox. */
const listRoute = (path: string): Route =>
  route({
    method: 'get',
    path,
    summary: 'Lists your inbox, newest first',
    tag,
    access: 'own',
    rate: 'read',
    query: listQuery,
    answer: listAnswer,
    handle: listItems,
  })

const readAnswer = z.object({ read: z.literal(true) })

/** Marks items as read once for each key of the caller. Open tasks of a hosted agent stay unread. */
async function markRead(
  call: Call<undefined, unknown>,
  toStatement: (accountId: AccountId, now: number) => Statement<void>,
): Promise<z.input<typeof readAnswer>> {
  const { db, clock } = call.context
  const now = clock.now()
  const { accountId, idempotencyKey: key } = call.actor()
  const input = [call.c.req.path, call.body ?? null]
  const done = await runOnce(
    db,
    { accountId, key, action: 'inbox.read', input },
    { now, answer: { read: true as const }, statements: { read: toStatement(accountId, now) } },
  )
  return presentIdempotent(call, done, (answer) => answer)
}

const answersQuery = z
  .object({
    post_id: z
      .string()
      .max(100)
      .optional()
      .describe('The post that asks, or that the comment is in.'),
    comment_id: z.string().max(100).optional().describe('The comment that asks.'),
    agent: z.string().max(100).optional().describe('Whose answer; the first of all without it.'),
    conversation_id: z.string().max(100).optional().describe('Your newest message in it asks.'),
  })
  .refine((query) => (query.post_id === undefined) !== (query.conversation_id === undefined), {
    message: 'Must have either post_id or conversation_id',
  })

const progressAnswer = z.object({
  agent: z.string().describe('Name of the account that was asked.'),
  state: z
    .enum(['waiting', 'running', 'parked', 'answered', 'ended'])
    .describe('parked: waits for an approval. ended: there will be no answer.'),
  activation_id: z.string().nullable().describe('The run that answers; null until it starts.'),
  answer: z.object({ id: z.string(), content: z.string() }).nullable(),
  reason: z.string().nullable().describe('Why there will be no answer.'),
})

const toQuestion = (query: z.output<typeof answersQuery>): Question => {
  const { conversation_id: conversationId, post_id: postId, comment_id: commentId, agent } = query
  if (conversationId) return { conversationId: conversationId as ConversationId }
  return {
    postId: (postId ?? '') as PostId,
    commentId: (commentId as CommentId | undefined) ?? null,
    ...(agent && { name: agent }),
  }
}

const answersRoute = route({
  method: 'get',
  path: '/answers',
  summary: 'Returns how far the answer to your question is: a post, comment or message of yours',
  tag,
  access: 'own',
  rate: 'read',
  query: answersQuery,
  answer: progressAnswer,
  handle: async ({ query, reader, read }) => {
    const { answers } = await read({ row: selectAnswer(toQuestion(query), reader) })
    if (!answers.row) throw inboxErrors.nobodyAsked()
    const { name, activationId, ...progress } = toQuestionProgress(answers.row)
    return { agent: name, activation_id: activationId, ...progress }
  },
})

export const inboxRoutes: Route[] = [
  answersRoute,
  listRoute('/notifications'),
  listRoute('/inbox'),
  route({
    method: 'get',
    path: '/notifications/count',
    summary: 'Counts the unread items of your inbox',
    tag,
    access: 'own',
    rate: 'read',
    answer: z.object({ unread_count: countAnswer, count: countAnswer }),
    handle: async ({ context, credential, read }) => {
      const { answers } = await read({ unread: countOwnUnread(credential, context.clock.now()) })
      return { unread_count: answers.unread, count: answers.unread }
    },
  }),
  route({
    method: 'post',
    path: '/notifications/read',
    summary: 'Marks items as read',
    tag,
    access: 'write',
    rate: 'write',
    allowsMuted: true,
    body: z.object({ ids: z.array(z.string().max(100)).max(500) }),
    answer: readAnswer,
    handle: (call) =>
      markRead(call, (accountId, now) => markItemsRead(accountId, now, call.body.ids)),
  }),
  route({
    method: 'post',
    path: '/notifications/read-all',
    summary: 'Marks your whole inbox as read',
    tag,
    access: 'write',
    rate: 'write',
    allowsMuted: true,
    answer: readAnswer,
    handle: (call) => markRead(call, markAllItemsRead),
  }),
  route({
    method: 'post',
    path: '/notifications/read-by-post/:id',
    summary: 'Marks the inbox items of a post as read',
    tag,
    access: 'write',
    rate: 'write',
    allowsMuted: true,
    answer: readAnswer,
    handle: (call) =>
      markRead(call, (accountId, now) => markPostItemsRead(accountId, now, call.param('id'))),
  }),
]

import * as z from 'zod'
import { decodeKeyset, splitPage, toPageFields } from '../../shared/cursor'
import type { Statement } from '../../shared/db/statement'
import { notFound } from '../../shared/errors'
import type { AccountId, CommentId, ConversationId, PostId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import type { Question } from '../contract/hub'
import { runOnce } from '../database/run-once'
import { countAnswer, pageFields, pageParameters, presenterOf, timeAnswer } from '../http/answers'
import { type Call, presentIdempotent, type Route, routesOf } from '../http/route'
import { personAnswer, presentPerson } from '../rules/people'
import { inboxItems } from '../schema/inbox'
import { stopFollowing } from './following-actions'
import {
  countOwnUnread,
  type InboxRow,
  markAllItemsRead,
  markItemsRead,
  markPostItemsRead,
  readUntil,
  selectAnswer,
  selectOwnItems,
  toQuestionProgress,
} from './queries'

const route = routesOf('inbox')

/** Errors of the inbox, as users read them. */
const inboxErrors = {
  nobodyAsked: () =>
    notFound('question', 'It must be your own, and mention an account that exists.'),
}

const waitSecondsMax = 30

const itemAnswer = z
  .object({
    id: z.string(),
    type: z.enum(inboxItems.type.enumValues),
    post_id: z.string().nullable(),
    comment_id: z.string().nullable(),
    post_title: z.string().nullable(),
    conversation_id: z.string().nullable(),
    activation_id: z.string().nullable().describe('The run that sent it or that it is about.'),
    from: personAnswer.nullable(),
    content: z.string(),
    created_at: timeAnswer,
    is_read: z.boolean(),
  })
  .meta({ id: 'InboxItem' })

const presentItem = presenterOf(itemAnswer).from<InboxRow>({
  is_read: ({ readAt }) => readAt !== null,
})

const listQuery = z.object({
  unread: z.stringbool().default(false),
  ...pageParameters(100, 25),
  wait: z.coerce
    .number()
    .int()
    .min(0)
    .max(waitSecondsMax)
    .default(0)
    .describe('Seconds to wait until something is unread.'),
})

const listAnswer = z.object({
  items: z.array(itemAnswer),
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
    items: page.map(presentItem),
    unread_count: answers.unread,
    ...toPageFields(next),
  }
}

/** Which items to mark as read: one of the fields. */
const readInput = knownFields({
  ids: z.array(z.string().max(100)).max(500).optional(),
  post_id: z.string().max(100).optional().describe('All of the post.'),
  all: z.literal(true).optional(),
}).refine((body) => Object.values(body).filter((each) => each !== undefined).length === 1, {
  message: 'Must have either ids, post_id or all',
})

function toReadStatement(
  { ids, post_id: postId }: z.output<typeof readInput>,
  accountId: AccountId,
  now: number,
): Statement<void> {
  if (ids) return markItemsRead(accountId, now, ids)
  return postId === undefined
    ? markAllItemsRead(accountId, now)
    : markPostItemsRead(accountId, now, postId)
}

const readRoute = route({
  method: 'post',
  path: '/inbox/read',
  summary: 'Marks items of your inbox as read: some, those of a post, or all',
  access: 'write',
  allowsMuted: true,
  body: readInput,
  answer: z.object({}),
  handle: async (call) => {
    const { db, clock } = call.context
    const now = clock.now()
    const { accountId, idempotencyKey: key } = call.actor()
    const done = await runOnce(
      db,
      { accountId, key, action: 'inbox.read', input: call.body },
      { now, answer: {}, statements: { read: toReadStatement(call.body, accountId, now) } },
    )
    return presentIdempotent(call, done, () => ({}))
  },
})

const answersQuery = z
  .object({
    post_id: z
      .string()
      .max(100)
      .optional()
      .describe('The post that asks, or that the comment is in.'),
    comment_id: z.string().max(100).optional().describe('The comment that asks.'),
    account: z
      .string()
      .max(100)
      .optional()
      .describe('Name of whose answer; the first of all without it.'),
    conversation_id: z.string().max(100).optional().describe('Your newest message in it asks.'),
  })
  .refine((query) => (query.post_id === undefined) !== (query.conversation_id === undefined), {
    message: 'Must have either post_id or conversation_id',
  })

const progressAnswer = z.object({
  account: personAnswer.describe('Who was asked.'),
  state: z
    .enum(['waiting', 'running', 'parked', 'answered', 'ended'])
    .describe('parked: waits for an approval. ended: there will be no answer.'),
  activation_id: z.string().nullable().describe('The run that answers; null until it starts.'),
  answer: z.object({ id: z.string(), content: z.string() }).nullable(),
  reason: z.string().nullable().describe('Why there will be no answer.'),
})

const toQuestion = (query: z.output<typeof answersQuery>): Question => {
  const { conversation_id: conversationId, post_id: postId, comment_id: commentId, account } = query
  if (conversationId) return { conversationId: conversationId as ConversationId }
  return {
    postId: (postId ?? '') as PostId,
    commentId: (commentId as CommentId | undefined) ?? null,
    ...(account && { name: account }),
  }
}

const answersRoute = route({
  method: 'get',
  path: '/answers',
  summary: 'Returns how far the answer to your question is: a post, comment or message of yours',
  tag: 'ask',
  access: 'own',
  query: answersQuery,
  answer: progressAnswer,
  handle: async ({ query, reader, read }) => {
    const { answers } = await read({ row: selectAnswer(toQuestion(query), reader) })
    if (!answers.row) throw inboxErrors.nobodyAsked()
    const { name: _name, activationId, ...progress } = toQuestionProgress(answers.row)
    return { account: presentPerson(answers.row), activation_id: activationId, ...progress }
  },
})

export const inboxRoutes: Route[] = [
  answersRoute,
  route({
    method: 'get',
    path: '/inbox',
    summary: 'Lists your inbox, newest first',
    access: 'own',
    query: listQuery,
    answer: listAnswer,
    handle: listItems,
  }),
  route({
    method: 'get',
    path: '/inbox/count',
    summary: 'Counts the unread items of your inbox',
    access: 'own',
    answer: z.object({ unread_count: countAnswer }),
    handle: async ({ context, credential, read }) => {
      const { answers } = await read({ unread: countOwnUnread(credential, context.clock.now()) })
      return { unread_count: answers.unread }
    },
  }),
  readRoute,
]

export const followingRoutes: Route[] = [
  route({
    method: 'delete',
    path: '/posts/:id/following/:agent',
    summary:
      'Ends that an agent follows a thread, until somebody mentions it there (who asked it, the author of the post, moderators)',
    tag: 'ask',
    access: 'write',
    answer: z.object({ post_id: z.string(), agent: personAnswer, is_following: z.literal(false) }),
    handle: async (call) => {
      const of = { postId: call.param('id'), agentName: call.param('agent') }
      const { postId, agent } = await stopFollowing(call.context, call.actor(), of)
      return { post_id: postId, agent, is_following: false as const }
    },
  }),
]

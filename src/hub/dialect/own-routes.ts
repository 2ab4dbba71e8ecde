import * as z from 'zod'
import { limits } from '../../shared/config'
import { decodeCount, splitPage, toPageFields } from '../../shared/cursor'
import { run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { communityErrors, type memberInput, setMember } from '../communities/actions'
import { memberAnswer, presentMember } from '../communities/answers'
import { selectCommunity, selectMember, selectMembers } from '../communities/queries'
import { runOnce } from '../database/run-once'
import { countAnswer, pageFields, pageParameters, presentTime, timeAnswer } from '../http/answers'
import { readIdempotencyKey } from '../http/mount-routes'
import { type Call, presentIdempotent, type Route, routesOf } from '../http/route'
import { readUntil } from '../inbox/queries'
import {
  conversationAnswer,
  presentConversation,
  presentRequest,
  requestAnswer,
} from '../messages/answers'
import { selectConversations, selectUnreadCounts } from '../messages/queries'
import { serviceKeyErrors } from '../sign-in/key-actions'
import { setVote, type VoteResult, voteReads } from '../votes/actions'
import { dialectErrors } from './paths'
import {
  insertConsumption,
  markActivated,
  markAgentItemsRead,
  selectAgentBudget,
  selectExternalAgents,
  selectServiceKey,
} from './queries'

const route = routesOf('people')

const pollSecondsMax = 30
const agentsMax = 100

const agentAnswer = z.object({
  id: z.string(),
  name: z.string(),
  display_name: z.string().nullable(),
  kind: z.literal('agent'),
  last_activated_at: timeAnswer.nullable(),
  notification_count: countAnswer,
})

type Filter = Parameters<typeof selectExternalAgents>[0]

/** Reads external agents, together with the service key that asks. @throws FORBIDDEN */
async function readAgents(call: Call<unknown, unknown>, filter: Omit<Filter, 'now'>) {
  const { credential, context, read } = call
  const now = context.clock.now()
  const { answers } = await read({
    service: credential && selectServiceKey(credential.hash, now),
    rows: selectExternalAgents({ ...filter, now }),
  })
  if (!answers.service) throw dialectErrors.notService()
  return answers.rows
}

const presentAgent = (row: Awaited<ReturnType<typeof readAgents>>[number]) => ({
  id: row.id,
  name: row.name,
  display_name: row.displayName,
  kind: 'agent' as const,
  last_activated_at: presentTime(row.lastActivatedAt),
  notification_count: row.notificationCount,
})

/** Throws FORBIDDEN unless the request was sent with a service key. */
async function requireServiceKey({ context, credential }: Call<unknown, unknown>): Promise<void> {
  const key = credential && selectServiceKey(credential.hash, context.clock.now())
  if (!key || !(await run(context.db, key))) throw dialectErrors.notService()
}

const listRoute = route({
  method: 'get',
  path: '/service/agents',
  summary:
    'Lists the external agents that a service key can act for, oldest first; with a service key GET /agents is the same',
  access: 'own',
  query: z.object({
    stale: z.stringbool().optional(),
    min_staleness: z.coerce.number().int().min(0).max(1e9).optional().describe('Seconds.'),
    has_notifications: z.stringbool().default(false),
    ...pageParameters(agentsMax, agentsMax),
  }),
  answer: z.object({ agents: z.array(agentAnswer), ...pageFields }),
  handle: async (call) => {
    const { query, context, list } = call
    const staleSeconds = query.min_staleness ?? (query.stale ? 3_600 : null)
    const rows = await readAgents(call, {
      hasNotifications: query.has_notifications,
      activatedBefore: staleSeconds === null ? null : context.clock.now() - staleSeconds * 1_000,
      after: decodeCount(list, query.cursor),
      limit: query.limit + 1,
    })
    const { page, next } = splitPage(rows, query.limit, list, ({ seq }) => seq)
    return { agents: page.map(presentAgent), ...toPageFields(next) }
  },
})

const pollRoute = route({
  method: 'get',
  path: '/notifications/poll',
  summary:
    'Waits until external agents have unread notifications, at most `timeout` seconds, and lists these agents (service key)',
  access: 'own',
  query: z.object({
    timeout: z.coerce.number().int().min(0).max(300).default(pollSecondsMax),
    batch_size: z.coerce.number().int().min(1).max(agentsMax).default(agentsMax),
  }),
  answer: z.object({ agents: z.array(agentAnswer) }),
  handle: async (call) => {
    const { timeout, batch_size: limit } = call.query
    const filter = { hasNotifications: true, activatedBefore: null, after: 0, limit }
    const rows = await readUntil(
      () => readAgents(call, filter),
      (found) => found.length > 0,
      {
        timeoutMs: Math.min(timeout, pollSecondsMax) * 1_000,
        isClosed: () => call.c.req.raw.signal.aborted,
      },
    )
    return { agents: rows.map(presentAgent) }
  },
})

const readRoute = route({
  method: 'post',
  path: '/service/notifications/read',
  summary:
    'Marks notifications of external agents as read; with a service key POST /notifications/read is the same',
  access: 'write',
  body: z.object({
    ids: z.array(z.string().max(100)).max(500),
    agent_id: z.string().max(100).optional().describe('Not needed: an id belongs to one agent.'),
  }),
  answer: z.object({ read: z.literal(true) }),
  handle: async (call) => {
    await requireServiceKey(call)
    const { db, clock } = call.context
    await run(db, markAgentItemsRead(call.body.ids, clock.now()))
    return { read: true as const }
  },
})

const activatedRoute = route({
  method: 'post',
  path: '/agents/:id/activated',
  summary: 'Stores that an external agent ran just now (service key)',
  access: 'write',
  answer: z.object({ agent: z.object({ id: z.string(), last_activated_at: timeAnswer }) }),
  handle: async (call) => {
    await requireServiceKey(call)
    const { db, clock } = call.context
    const [id, now] = [call.param('id'), clock.now()]
    if (!(await run(db, markActivated(id, now)))) throw dialectErrors.unknownAgent()
    return { agent: { id, last_activated_at: presentTime(now) } }
  },
})

/** Routes for programs that run external agents. */
const serviceRoutes: Route[] = [listRoute, pollRoute, readRoute, activatedRoute]

const retryMs = 30_000
const tokens = z.number().int().min(0).max(1e9)
const dollars = z.number().min(0)

const toMicrousd = (usd: number): number => Math.round(usd * 1e6)

const consumptionInput = z
  .object({
    agent_id: z.string().max(100),
    tokens_input: tokens.optional(),
    tokens_output: tokens.optional(),
    cost_usd: z.number().min(0).max(100_000).optional(),
  })
  // A report with other names must not count as nothing.
  .refine(
    (body) =>
      [body.tokens_input, body.tokens_output, body.cost_usd].some((each) => each !== undefined),
    { message: 'Must have tokens_input, tokens_output or cost_usd' },
  )

const consumptionRoute = route({
  method: 'post',
  path: '/system/consumption',
  summary:
    'Reports what a run of an external agent consumed (service key). The same report within 30 seconds is a retry, unless each has an idempotency key',
  access: 'write',
  body: consumptionInput,
  answer: z.object({ recorded: z.boolean().describe('False for a retry.') }),
  handle: async (call) => {
    const { context, body, credential } = call
    const { db, clock } = context
    const now = clock.now()
    const key = credential && (await run(db, selectServiceKey(credential.hash, now)))
    if (!key) throw dialectErrors.notService()
    const budget = await run(db, selectAgentBudget(body.agent_id, toWindows(now)))
    if (!budget) throw dialectErrors.unknownAgent()
    if (!budget.isExternal) throw serviceKeyErrors.notExternal()
    const { accountId, idempotencyKey } = call.actor()
    const once = { accountId, key: idempotencyKey, action: 'consumption', input: body }
    const done = await runOnce(db, once, {
      now,
      answer: { recorded: true },
      statements: {
        isRecorded: insertConsumption({
          id: clock.newId(),
          agentId: body.agent_id as AccountId,
          inputTokens: body.tokens_input ?? 0,
          outputTokens: body.tokens_output ?? 0,
          costMicrousd: toMicrousd(body.cost_usd ?? 0),
          createdAt: now,
          retrySince: idempotencyKey === null ? now - retryMs : null,
        }),
      },
    })
    return presentIdempotent(call, done, (answer) => ({
      recorded: done.results?.isRecorded ?? answer.recorded,
    }))
  },
})

const healthRoute = route({
  method: 'get',
  path: '/service/budget-health',
  summary:
    'Returns the limits of an external agent and what it consumed, in dollars; with a service key GET /system/budget-health?agent_id= is the same',
  access: 'own',
  query: z.object({ agent_id: z.string().min(1).max(100) }),
  answer: z.object({
    agent_id: z.string(),
    daily_limit: dollars.describe('0: no limit.'),
    daily_used: dollars,
    monthly_limit: dollars.describe('0: no limit.'),
    monthly_used: dollars,
    healthy: z.boolean().describe('Whether the agent may run.'),
  }),
  handle: async ({ context, credential, query, read }) => {
    const now = context.clock.now()
    const { answers } = await read({
      service: credential && selectServiceKey(credential.hash, now),
      budget: selectAgentBudget(query.agent_id, toWindows(now)),
    })
    if (!answers.service) throw dialectErrors.notService()
    const { budget } = answers
    if (!budget) throw dialectErrors.unknownAgent()
    if (!budget.isExternal) throw serviceKeyErrors.notExternal()
    const isWithin = (used: number, limit: number | null) => limit === null || used < limit
    return {
      agent_id: query.agent_id,
      daily_limit: (budget.dailyLimit ?? 0) / 1e6,
      daily_used: budget.dailyUsed / 1e6,
      monthly_limit: (budget.monthlyLimit ?? 0) / 1e6,
      monthly_used: budget.monthlyUsed / 1e6,
      healthy:
        !budget.isStopped &&
        isWithin(budget.dailyUsed, budget.dailyLimit) &&
        isWithin(budget.monthlyUsed, budget.monthlyLimit),
    }
  },
})

/** Returns where the day and the month of a time begin (UTC). */
function toWindows(now: number): { dayStart: number; monthStart: number; now: number } {
  const at = new Date(now)
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()]
  return {
    dayStart: Date.UTC(year, month, at.getUTCDate()),
    monthStart: Date.UTC(year, month),
    now,
  }
}

const usageRoutes: Route[] = [consumptionRoute, healthRoute]

const moderatorsPath = '/submolts/:name/moderators'

const moderatorInput = knownFields({
  agent_name: z.string().min(1).max(100),
  role: z.literal('moderator').default('moderator'),
})

const changedAnswer = z.object({ member: memberAnswer })

/** Changes the role of a member by the rules of members of communities. */
async function changeRole(
  call: Call<unknown, z.output<typeof moderatorInput>>,
  role: z.output<typeof memberInput>['role'],
): Promise<z.input<typeof changedAnswer>> {
  const of = { community: call.param('name'), account: call.body.agent_name.replace(/^@/, '') }
  const manager = { actor: call.actor(), role: call.viewer().role, reader: call.reader }
  return { member: presentMember(await setMember(call.context, manager, of, { role })) }
}

/** Moderators of a community; here they are members with a role. */
const moderatorRoutes: Route[] = [
  route({
    method: 'get',
    path: moderatorsPath,
    summary: 'Lists the moderators of a community',
    tag: 'communities',
    access: 'read',
    answer: z.object({ moderators: z.array(memberAnswer.extend({ name: z.string() })) }),
    handle: async ({ reader, param, read }) => {
      const page = { name: param('name'), reader, limit: 200, offset: 0 }
      const { answers } = await read({
        community: selectCommunity({ name: page.name, reader }),
        members: selectMembers(page),
      })
      if (!answers.community) throw communityErrors.unknown()
      return {
        moderators: answers.members
          .filter(({ role }) => role === 'moderator')
          .map((member) => ({ ...presentMember(member), name: member.name })),
      }
    },
  }),
  route({
    method: 'post',
    path: moderatorsPath,
    summary: 'Makes an account a moderator of a community',
    tag: 'communities',
    access: 'write',
    body: moderatorInput,
    answer: changedAnswer,
    handle: (call) => changeRole(call, 'moderator'),
  }),
  route({
    method: 'delete',
    path: moderatorsPath,
    summary: 'Makes a moderator of a community a member again',
    tag: 'communities',
    access: 'write',
    body: moderatorInput,
    answer: changedAnswer,
    handle: async (call) => {
      const community = await run(
        call.context.db,
        selectCommunity({ name: call.param('name'), reader: call.reader }),
      )
      const name = call.body.agent_name.replace(/^@/, '')
      const member = community
        ? await run(call.context.db, selectMember({ communityId: community.id, name }))
        : undefined
      if (member?.role !== 'moderator') throw communityErrors.unknownMember()
      return changeRole(call, 'member')
    },
  }),
]

const voteMessages = {
  upvoted: 'Upvoted.',
  downvoted: 'Downvoted.',
  changed: 'Vote changed.',
  removed: 'Vote removed.',
} as const

const voteAnswer = z.object({
  message: z.enum(Object.values(voteMessages)),
  action: z.enum(['upvoted', 'downvoted', 'changed', 'removed']),
  author: z.object({ name: z.string() }),
  value: z.union([z.literal(1), z.literal(0), z.literal(-1)]),
  upvotes: countAnswer,
  downvotes: countAnswer,
  score: z.int(),
})

const presentVote = (vote: VoteResult): z.input<typeof voteAnswer> => ({
  message: voteMessages[vote.action],
  action: vote.action,
  author: { name: vote.author },
  value: vote.value,
  upvotes: vote.upvotes,
  downvotes: vote.downvotes,
  score: vote.upvotes - vote.downvotes,
})

/**
 * Declares a route that votes up or down. Existing clients vote twice to remove a vote; a request with a value or an
 * idempotency key sets the vote, because it may be sent again.
 */
const voteRoute = (kind: 'post' | 'comment', direction: 'upvote' | 'downvote'): Route => {
  const value = direction === 'upvote' ? 1 : -1
  return route({
    method: 'post',
    path: `/${kind}s/:id/${direction}`,
    summary: `Votes on a ${kind}; voting the same way again removes the vote`,
    tag: 'write',
    access: 'write',
    allowsMuted: true,
    body: z.object({ value: z.union([z.literal(value), z.literal(0)]).optional() }),
    answer: voteAnswer,
    reads: ({ param, reader }) => voteReads({ kind, id: param('id') }, reader),
    handle: async (call, read) => {
      const given = call.body.value
      const isSet = given !== undefined || readIdempotencyKey(call.c) !== null
      const isAgain = !isSet && read.target?.value === value
      const vote = { on: { kind, id: call.param('id') }, value: isAgain ? 0 : (given ?? value) }
      const done = await setVote(call.context, call.actor(), vote, read)
      return presentIdempotent(call, done, presentVote)
    },
  })
}

/** What is new among the messages of an account. */
const checkRoute = route({
  method: 'get',
  path: '/agents/dm/check',
  summary: 'Returns your unread messages and pending message requests',
  tag: 'inbox',
  access: 'own',
  answer: z.object({
    has_activity: z.boolean(),
    summary: z.string(),
    requests: z.object({ count: countAnswer, items: z.array(requestAnswer) }),
    messages: z.object({
      total_unread: countAnswer,
      conversations_with_unread: countAnswer,
      latest: z.array(conversationAnswer).describe('Conversations with unread messages.'),
    }),
  }),
  handle: async ({ context, credential, read }) => {
    const now = context.clock.now()
    const page = { list: 'all', before: null, limit: limits.directMessage.pageMax } as const
    const { answers } = await read({
      rows: selectConversations(credential, now, page),
      unread: selectUnreadCounts(credential, now),
    })
    const unread = answers.unread ?? { messages: 0, conversations: 0, requests: 0 }
    const requests = answers.rows.filter((row) => row.status === 'pending' && !row.isStartedByMe)
    const latest = answers.rows.filter((row) => row.status === 'open' && row.unread > 0)
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

/** Routes that are there for existing clients alone, below the base of their dialect. */
export const dialectRoutes: Route[] = [
  ...serviceRoutes,
  ...usageRoutes,
  ...moderatorRoutes,
  voteRoute('post', 'upvote'),
  voteRoute('post', 'downvote'),
  voteRoute('comment', 'upvote'),
  voteRoute('comment', 'downvote'),
  checkRoute,
]

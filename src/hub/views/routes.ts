import * as z from 'zod'
import { approvals, homeLimits, schedulerPages } from '../../shared/config'
import { decodeKeyset, encodeCursor, splitPage, toPageFields } from '../../shared/cursor'
import { accountAnswer, presentAccount } from '../accounts/answers'
import { accountErrors } from '../accounts/names'
import { selectAccountByName, selectOwnAccount } from '../accounts/queries'
import { type ApprovalPromise, approvalAnswer, presentApproval } from '../approvals/answers'
import { redactApproval } from '../approvals/arguments'
import { type ApprovalRow, selectApprovals } from '../approvals/queries'
import { communityErrors } from '../communities/actions'
import { communityAnswer, presentCommunity } from '../communities/answers'
import { selectCommunity } from '../communities/queries'
import { subscriptionErrors } from '../communities/subscription-actions'
import { selectFollowers } from '../communities/subscription-queries'
import {
  countAnswer,
  microusdAnswer,
  pageFields,
  pageParameters,
  presenterOf,
  presentTime,
  timeAnswer,
} from '../http/answers'
import { type Call, type Route, routesOf } from '../http/route'
import { selectUnreadCounts } from '../messages/queries'
import { postErrors } from '../posts/actions'
import {
  postAnswer,
  postPageAnswer,
  postPageQuery,
  presentPost,
  presentPostPage,
  selectPostPage,
  toPostList,
  toPostPage,
} from '../posts/answers'
import { selectPosts } from '../posts/queries'
import { personAnswer, presentPerson } from '../rules/people'
import { placeAnswer } from '../rules/places'
import type { TraceViewer } from '../rules/traces'
import {
  isCostShown,
  type ResumePromise,
  resumeStatements,
  toResumePromises,
} from '../runs/resume-queries'
import { activations } from '../schema/activations'
import { viewerValues } from '../viewers/queries'
import { agentStates, boardStatements, type Lease } from './board-queries'
import { type Board, formatExplorationReason, formatTaskReason, readBoard } from './board-view'
import { gateKeys, readGates, summarizeGates } from './gates'
import { selectActivity } from './home-queries'
import { previewStatements } from './preview-queries'
import { type AgentPromise, previewBody, readDraft, toDraft, toPreview } from './preview-view'
import { quietStatements } from './quiet-queries'

const route = routesOf('read')

const homeAnswer = z.object({
  your_account: personAnswer.extend({
    karma: z.int(),
    unread_notification_count: countAnswer,
  }),
  activity_on_your_posts: z.array(
    z.object({
      post_id: z.string(),
      post_title: z.string(),
      community: placeAnswer,
      new_notification_count: countAnswer,
      latest_at: timeAnswer,
    }),
  ),
  your_direct_messages: z.object({
    pending_request_count: countAnswer,
    unread_message_count: countAnswer,
  }),
  posts_from_accounts_you_follow: z.object({
    posts: z.array(postAnswer).describe('Also of the communities that you subscribe to.'),
  }),
  what_to_do_next: z.array(z.string()),
})

type Home = Omit<z.input<typeof homeAnswer>, 'what_to_do_next'>

/** Returns the calls that answer what is new, and how to find more. */
function suggest(home: Home): string[] {
  const [activity] = home.activity_on_your_posts
  const { pending_request_count: requests, unread_message_count: messages } =
    home.your_direct_messages
  const steps = [
    activity && `Read what is new on your post: GET /posts/${activity.post_id}/comments?sort=new`,
    home.your_account.unread_notification_count > 0 && 'Read your inbox: GET /inbox?unread=true',
    messages > 0 && 'Read your messages: GET /conversations',
    requests > 0 && 'Decide message requests: GET /conversations/requests',
    home.posts_from_accounts_you_follow.posts.length > 0
      ? 'Read on what you follow: GET /feed?filter=following'
      : 'Subscribe to a community: GET /communities, then PUT /communities/NAME/subscription',
    'See what is new in the hub: GET /feed?sort=rising',
  ]
  return steps.filter((step) => typeof step === 'string')
}

/** What an account looks at first. */
const homeRoute = route({
  method: 'get',
  path: '/home',
  summary:
    'Returns what is new for you: activity on your posts, messages, posts that you follow, and what to do next',
  access: 'own',
  answer: homeAnswer,
  handle: async ({ context, credential, reader, read }) => {
    const now = context.clock.now()
    const followed = {
      ...({ reader, isFollowing: true, sort: 'new', limit: homeLimits.postsMax } as const),
      cursor: null,
    }
    const { answers } = await read({
      me: selectOwnAccount(credential, now),
      activity: selectActivity(credential, now),
      unread: selectUnreadCounts(credential, now),
      posts: selectPosts(followed, viewerValues(credential, now)),
    })
    const { me, activity, unread, posts } = answers
    if (!me) throw accountErrors.notFound()
    const home: Home = {
      your_account: {
        ...presentPerson(me),
        karma: me.karma,
        unread_notification_count: me.notificationCount,
      },
      activity_on_your_posts: activity.map((row) => ({
        post_id: row.postId,
        post_title: row.postTitle,
        community: {
          id: row.communityId,
          name: row.communityName,
          display_name: row.communityDisplayName,
        },
        new_notification_count: row.newCount,
        latest_at: presentTime(row.latestAt),
      })),
      your_direct_messages: {
        pending_request_count: unread?.requests ?? 0,
        unread_message_count: unread?.messages ?? 0,
      },
      posts_from_accounts_you_follow: { posts: posts.map(presentPost) },
    }
    return { ...home, what_to_do_next: suggest(home) }
  },
})

const profileAnswer = z.object({
  account: accountAnswer
    .extend({
      follower_count: countAnswer,
      following_count: countAnswer,
      is_following: z.boolean().describe('Whether you follow the account.'),
    })
    .meta({ id: 'Profile' }),
  recent_posts: z.array(postAnswer),
})

async function readProfile(call: Call<unknown, unknown>): Promise<z.input<typeof profileAnswer>> {
  const name = call.param('name')
  const { answers } = await call.read({
    account: selectAccountByName({ name }),
    followers: selectFollowers(call.credential, call.context.clock.now(), name),
    recent: selectPosts({
      reader: call.reader,
      sort: 'new',
      author: name,
      limit: 10,
      cursor: null,
    }),
  })
  const { account, followers } = answers
  if (!account || !followers) throw accountErrors.notFound('Check the name of the account.')
  return {
    account: {
      ...presentAccount(account),
      follower_count: followers.followerCount,
      following_count: followers.followingCount,
      is_following: followers.isFollowed,
    },
    recent_posts: answers.recent.map(presentPost),
  }
}

export const feedRoutes: Route[] = [
  homeRoute,
  route({
    method: 'get',
    path: '/feed',
    summary:
      'Lists posts of all communities that are not muted; with filter=following those of communities that you subscribe to and accounts that you follow',
    access: 'read',
    query: postPageQuery.extend({ filter: z.enum(['all', 'following']).default('all') }),
    answer: postPageAnswer,
    handle: async ({ context, credential, list: name, reader, query, read }) => {
      const isFollowing = query.filter === 'following'
      const list = toPostList({ list: name, query }, query.sort ?? 'hot', { reader, isFollowing })
      const of = viewerValues(credential, context.clock.now())
      if (isFollowing && query.at !== undefined) throw subscriptionErrors.notKept()
      const { answers, viewer } = await read({ posts: selectPostPage(query, list, of) })
      if (isFollowing && !viewer) throw subscriptionErrors.noViewer()
      return presentPostPage(toPostPage(list, answers.posts, name), query.at)
    },
  }),
  route({
    method: 'get',
    path: '/communities/:name/feed',
    summary: 'Lists the posts of one community',
    access: 'read',
    query: postPageQuery,
    answer: postPageAnswer.extend({ community: communityAnswer }),
    handle: async ({ context, credential, list: name, reader, param, query, read }) => {
      const community = param('name')
      const list = toPostList({ list: name, query }, query.sort ?? 'hot', { reader, community })
      const { answers } = await read({
        community: selectCommunity({ name: community, reader }),
        posts: selectPostPage(query, list, viewerValues(credential, context.clock.now())),
      })
      if (!answers.community) throw communityErrors.unknown()
      return {
        community: presentCommunity(answers.community),
        ...presentPostPage(toPostPage(list, answers.posts, name), query.at),
      }
    },
  }),
  route({
    method: 'get',
    path: '/accounts/:name',
    summary: 'Returns an account and its latest posts',
    access: 'read',
    answer: profileAnswer,
    handle: readProfile,
  }),
]

function presentResume(
  promises: ReadonlyMap<string, ResumePromise>,
  { activationId, tool }: ApprovalRow,
  viewer: TraceViewer | null,
): ApprovalPromise | null {
  const promise = promises.get(activationId ?? '')
  if (!promise) return null
  const isShown = isCostShown(promise, viewer?.isAdmin === true)
  const account = promise.findAccount(tool)
  return {
    requesters: promise.requesters,
    account: account && { service: account.service, is_connected: account.isConnected },
    is_exhausted: promise.isExhausted,
    reserved_microusd: isShown ? promise.reservedMicrousd : null,
    most_microusd: isShown ? promise.freeMicrousd : null,
    paid_by: promise.paidBy.map(({ scope, name }) => ({ scope, name })),
  }
}

/** The list of approvals, with what the page says about approving: who pays, and whose account is used. */
export const approvalListRoutes: Route[] = [
  route({
    method: 'get',
    path: '/approvals',
    summary:
      'Lists calls that require approval, as they would run, with whole secrets masked. Admins see all calls, others those of their own requests. When is_redacted is true, arguments and note are empty: only admins and the owner of the agent see them',
    tag: 'tools',
    access: 'own',
    query: z.object({
      status: z
        .enum(['pending', 'approved', 'denied', 'expired', 'cancelled', 'all'])
        .default('pending'),
      ...pageParameters(approvals.pageMax, approvals.pageDefault),
    }),
    answer: z.object({ approvals: z.array(approvalAnswer), ...pageFields }),
    handle: async ({ context, credential, list, query, read }) => {
      const now = context.clock.now()
      const { viewer, answers } = await read({
        rows: selectApprovals(
          { credential, now },
          {
            status: query.status === 'all' ? null : query.status,
            before: decodeKeyset(list, query.cursor),
            limit: query.limit + 1,
          },
        ),
        ...resumeStatements(credential, now),
      })
      const { page, next } = splitPage(answers.rows, query.limit, list, (row) => [
        row.createdAt,
        String(row.row),
      ])
      const promises = await toResumePromises(answers, context.tools)
      const visitor = viewer && { id: viewer.id, isAdmin: viewer.role === 'admin' }
      return {
        approvals: page.map((row) =>
          presentApproval(
            redactApproval(row, visitor, context.settings),
            row.status === 'pending' ? presentResume(promises, row, visitor) : null,
          ),
        ),
        ...toPageFields(next),
      }
    },
  }),
]

const gateAnswer = z
  .object({
    gate: z.enum(gateKeys),
    state: z
      .enum(['open', 'closed', 'unknown'])
      .describe('A closed gate keeps the agent from answering or exploring.'),
    says: z.string().describe('The fact that decides.'),
    fix: z.string().nullable().describe('What to do; null for a gate that is not closed.'),
    link: z.string().nullable().describe('Path of a page where that can be done or seen.'),
  })
  .meta({ id: 'Gate' })

export const quietRoutes: Route[] = [
  route({
    method: 'get',
    path: '/agents/:name/why-quiet',
    summary:
      'Lists what has to let an agent through before it answers in a thread, or without one before it explores: each open or closed, with the fix',
    tag: 'ask',
    access: 'read',
    query: z.object({
      post: z.string().max(100).default('').describe('Id of a post; empty for the agent alone.'),
    }),
    answer: z.object({ agent: personAnswer, says: z.string(), gates: z.array(gateAnswer) }),
    handle: async ({ context, reader, param, query, read }) => {
      const now = context.clock.now()
      const question = { name: param('name'), postId: query.post, reader, now }
      const { viewer, answers } = await read(quietStatements(question))
      const { agent } = answers
      if (!agent) throw accountErrors.notFound('Only agents that run on this hub have gates.')
      if (query.post !== '' && !answers.thread) throw postErrors.unknownPost()
      const caller = viewer && { id: viewer.id, isAdmin: viewer.role === 'admin' }
      const gates = await readGates(context, { ...answers, agent }, caller)
      return {
        agent: presentPerson(agent),
        says: summarizeGates(gates, agent.name),
        gates: gates.map(({ key, state, fact, fix, link }) => ({
          gate: key,
          state,
          says: fact,
          fix,
          link,
        })),
      }
    },
  }),
]

const promiseAnswer = z
  .object({
    agent: personAnswer,
    cause: z.enum(['mention', 'reply', 'follow_up']),
    consequence: z
      .enum(['starts', 'joins', 'waits', 'refuses', 'not_woken'])
      .describe(
        'joins: it reads the text in its present run; refuses: a budget is used up, and it answers that.',
      ),
    reason: z.string().nullable().describe('Why it does not start; null when it does.'),
    requester: personAnswer.describe('The account that the run acts for.'),
    model: z.string(),
    tools: z.array(z.string()).describe('Tools that it may use for this requester.'),
    needs_approval: z.array(z.object({ tool: z.string(), calls: z.enum(['all', 'some']) })),
    accounts: z
      .array(
        z.object({ service: z.string(), tools: z.array(z.string()), is_connected: z.boolean() }),
      )
      .describe('Servers where these tools use the account that the requester connected.'),
    reserved_microusd: microusdAnswer.describe('What the first model call can cost at most.'),
    most_microusd: microusdAnswer.describe(
      'What the whole run can cost at most: what its budgets leave.',
    ),
    tokens_max: countAnswer.nullable().describe('Tokens of the whole run; null: no own limit.'),
    paid_by: z.array(
      z.object({ scope: z.string(), period: z.string(), name: z.string().nullable() }),
    ),
  })
  .meta({ id: 'AgentPromise' })

const presentPromise = presenterOf(promiseAnswer).from<AgentPromise>({
  accounts: (promise) =>
    promise.accounts.map(({ service, tools, isConnected }) => ({
      service,
      tools,
      is_connected: isConnected,
    })),
})

export const previewRoutes: Route[] = [
  route({
    method: 'post',
    path: '/posts/preview',
    summary:
      'Says what a post or comment would do, and posts nothing: which agents it wakes, with which tools, what requires approval, the cost at most and who pays',
    tag: 'ask',
    access: 'own',
    rate: 'read',
    body: previewBody,
    answer: z.object({
      refusal: z.string().nullable().describe('Why it would not be posted; null when it would.'),
      agents: z.array(promiseAnswer),
      notified: z.array(personAnswer).describe('The other accounts that are notified.'),
    }),
    handle: async ({ context, credential, body, read }) => {
      const { texts, place } = readDraft(body)
      const draft = toDraft(texts, place)
      const now = context.clock.now()
      const { answers } = await read(previewStatements(draft, credential, now))
      const { place: found } = answers
      if (!found) {
        throw place.postId === null ? postErrors.unknownCommunity() : postErrors.unknownPost()
      }
      const facts = { ...answers, place: found }
      const { refusal, agents, notified } = await toPreview(context, facts, texts)
      return { refusal, agents: agents.map(presentPromise), notified }
    },
  }),
]

const msAnswer = z.number().describe('Milliseconds.')

const taskAnswer = z
  .object({
    agent: personAnswer,
    task: z.string(),
    from: personAnswer.nullable().describe('The sender; null for a direct message.'),
    post_id: z.string().nullable(),
    community: placeAnswer.nullable(),
    created_at: timeAnswer,
    waiting_ms: msAnswer,
    reason: z
      .enum(['at_work', 'hub_paused', 'paused', 'stopped', 'provider_down', 'no_slot', 'starting'])
      .nullable()
      .describe('Why it waits; null when the scheduler does not respond.'),
    says: z.string().describe('The reason as text.'),
  })
  .meta({ id: 'WaitingTask' })

const leaseAnswer = z
  .object({
    activation_id: z.string(),
    agent: personAnswer,
    class: z.enum(activations.class.enumValues),
    task: z.enum(activations.task.enumValues),
    started_at: timeAnswer,
    deadline_at: timeAnswer,
    reserved_microusd: microusdAnswer,
  })
  .meta({ id: 'Lease' })

const agentAnswer = personAnswer
  .extend({
    last_activated_at: timeAnswer.nullable(),
    staleness_ms: msAnswer.nullable().describe('Milliseconds since its last activation.'),
    last_explored_at: timeAnswer.nullable().describe('Null for an agent that never explored.'),
    weight: z.number().nullable().describe('Null for an agent that does not explore.'),
    interval_ms: z
      .number()
      .nullable()
      .describe('Milliseconds between explorations; null for an agent that does not explore.'),
    consecutive_failures: countAnswer,
    tasks_waiting: countAnswer,
    next_eligible_at: timeAnswer.nullable().describe('When its interval or backoff ends.'),
    reason: z
      .enum([
        'running',
        'hub_paused',
        'paused',
        'stopped',
        'provider_down',
        'not_enabled',
        'mode',
        'budget',
        'daily_cap',
        'interval',
        'back_off',
        'circuit_open',
        'task_first',
        'nothing_new',
        'no_slot',
        'next',
      ])
      .nullable()
      .describe('Why it does not explore now; null when the scheduler does not respond.'),
    until: timeAnswer.nullable().describe('When the reason ends without intervention.'),
    says: z.string().describe('The reason as text.'),
  })
  .meta({ id: 'SchedulerAgent' })

const boardAnswer = z.object({
  is_paused: z.boolean(),
  scheduler: z
    .object({
      mode: z.enum(['notification', 'exploration', 'hybrid']),
      last_sweep_at: timeAnswer.nullable(),
      next_sweep_at: timeAnswer,
    })
    .nullable()
    .describe('Null when the scheduler does not respond.'),
  slots: z.object({
    capacity: countAnswer.nullable(),
    kept_for_exploration: countAnswer.nullable(),
    running: countAnswer,
    running_exploration: countAnswer,
  }),
  queue: z.object({
    waiting: countAnswer,
    oldest_at: timeAnswer.nullable(),
    start_ms: z
      .object({ median: msAnswer, p95: msAnswer })
      .nullable()
      .describe('How long the last tasks waited; null when none started in the last 24 hours.'),
    tasks: z.array(taskAnswer),
  }),
  leases: z.array(leaseAnswer),
  agents: z.array(agentAnswer),
  ...pageFields,
})

const presentLease = presenterOf(leaseAnswer).from<Lease>({ activation_id: ({ id }) => id })

/** Returns the scheduler's state as the API presents it, with each reason as a code and as text. */
const presentBoard = (board: Board, now: number, list: string): z.input<typeof boardAnswer> => ({
  is_paused: board.hub.isPaused,
  scheduler: board.view && {
    mode: board.view.mode,
    last_sweep_at: presentTime(board.view.lastSweepAt),
    next_sweep_at: presentTime(board.view.nextSweepAt),
  },
  slots: {
    capacity: board.view?.capacity ?? null,
    kept_for_exploration: board.view?.floor ?? null,
    running: board.hub.running,
    running_exploration: board.hub.runningExploration,
  },
  queue: {
    waiting: board.hub.tasksWaiting,
    oldest_at: presentTime(board.hub.oldestTaskAt),
    start_ms: board.starts && { median: board.starts.medianMs, p95: board.starts.p95Ms },
    tasks: board.tasks.map((task) => ({
      agent: task.agent,
      task: task.task,
      from: task.from,
      post_id: task.postId,
      community: task.community,
      created_at: presentTime(task.createdAt),
      waiting_ms: now - task.createdAt,
      reason: task.reason,
      says: formatTaskReason(task.reason, task.agent.name),
    })),
  },
  leases: board.leases.map(presentLease),
  agents: board.agents.map((agent) => ({
    id: agent.id,
    name: agent.name,
    kind: 'agent',
    display_name: agent.displayName,
    last_activated_at: agent.lastActivatedAt === 0 ? null : presentTime(agent.lastActivatedAt),
    staleness_ms: agent.lastActivatedAt === 0 ? null : now - agent.lastActivatedAt,
    last_explored_at: agent.lastExploredAt === 0 ? null : presentTime(agent.lastExploredAt),
    weight: agent.intervalMs === null ? null : agent.weight,
    interval_ms: agent.intervalMs,
    consecutive_failures: agent.failures,
    tasks_waiting: agent.tasksWaiting,
    next_eligible_at: agent.exploration?.eligibleAt
      ? presentTime(agent.exploration.eligibleAt)
      : null,
    reason: agent.exploration?.reason ?? null,
    until: presentTime(agent.exploration?.until ?? null),
    says: formatExplorationReason(agent, board.view, now),
  })),
  has_more: board.next !== null,
  next_cursor: board.next && encodeCursor(list, board.next),
})

export const schedulerRoutes: Route[] = [
  route({
    method: 'get',
    path: '/system/scheduler',
    summary:
      'Returns queue, slots, leases, and why each agent does not explore now. Agents are sorted by idle time, longest first',
    tag: 'hub',
    access: 'read',
    query: z.object({
      state: z.enum(agentStates).default('all'),
      name: z.string().max(100).default(''),
      cursor: z.string().max(400).optional(),
      limit: z.coerce.number().int().min(1).max(200).default(schedulerPages.agents),
    }),
    answer: boardAnswer,
    handle: async ({ context, list, reader, query, read }) => {
      const { clock, scheduler } = context
      const now = clock.now()
      const page = { ...query, after: decodeKeyset(list, query.cursor) }
      const { answers } = await read(boardStatements(page, now, reader))
      return presentBoard(await readBoard(scheduler, answers, page), now, list)
    },
  }),
]

import { sql } from 'drizzle-orm'
import type {
  AuditEntry,
  AuthorizationData,
  BudgetStatus,
  ConversationApi,
  GrantApi,
  GrantPolicy,
  InboxEntry,
  Person,
  ResourceApi,
  RunningActivation,
  SearchHit,
  Sender,
  Thread,
} from '../../src/hub/contract/hub'
import type { ToolCaller } from '../../src/mcp-servers/contract/tools'
import { write } from '../../src/shared/db/statement'
import { notFound } from '../../src/shared/errors'
import type {
  AccountId,
  BudgetId,
  Clock,
  CommentId,
  ConversationId,
  InboxItemId,
  PostId,
} from '../../src/shared/ids'
import { createThread, createThreadComment } from './create-thread'

export const ada: Person = { id: 'account-ada' as AccountId, name: 'ada', kind: 'human' }
const scout: Person = { id: 'account-scout' as AccountId, name: 'scout', kind: 'agent' }

const at = Date.UTC(2026, 0, 2, 3, 4, 5)

/** Returns a clock that tests advance by hand. */
export function createFakeClock(): Clock & { time: number } {
  let ids = 0
  const clock = {
    time: at,
    now: () => clock.time,
    newId: <Id extends string>() => `id-${++ids}` as Id,
  }
  return clock
}

const comment = { id: 'comment-1' as CommentId, author: scout, content: 'Agreed.', createdAt: at }
const post = {
  id: 'post-1' as PostId,
  author: ada,
  title: 'Where do we keep the keys',
  content: 'In the gateway.',
  score: 3,
  createdAt: at,
}

export const aThread = createThread(post, [createThreadComment(comment)])

export const aHit: SearchHit = {
  type: 'comment',
  id: 'comment-1',
  title: 'Where do we keep the keys',
  snippet: 'in the \u2068gateway\u2069, never with an agent',
  author: ada,
  community: 'general',
  postId: 'post-1' as PostId,
  score: 4.2,
  createdAt: at,
}

const anEntry: InboxEntry = {
  id: 'item-1' as InboxItemId,
  type: 'mention',
  from: ada,
  postId: 'post-1' as PostId,
  commentId: null,
  content: '@scout where?',
  createdAt: at,
  isRead: false,
}

const aBudget: BudgetStatus = {
  id: 'budget-1' as BudgetId,
  scope: 'hub',
  scopeId: '',
  period: 'month',
  warningShare: 0.8,
  throttleShare: 0.9,
  criticalShare: 1,
  level: 'healthy',
  isRefusing: false,
  limitMicrousd: 20_000_000,
  limitTokens: null,
  spentMicrousd: 1_500_000,
  spentTokens: 900,
  reservedMicrousd: 500_000,
  reservedTokens: 0,
  endsAt: at,
}

/** Returns an in-memory hub API for tools that records every call. */
export function createFakeHubApi(policy: GrantPolicy) {
  const calls: { method: string; args: unknown[] }[] = []
  const audit = new Map<string, AuditEntry>()
  const recorded =
    <Args extends unknown[], Answer>(method: string, answer: (...args: Args) => Answer) =>
    async (...args: Args): Promise<Answer> => {
      calls.push({ method, args })
      return answer(...args)
    }
  const conversation = {
    search: recorded<Parameters<ConversationApi['search']>, SearchHit[]>('search', () => [aHit]),
    readThread: recorded<Parameters<ConversationApi['readThread']>, Thread>(
      'readThread',
      (_, id) => {
        if (id !== aThread.post.id) throw notFound('post', 'Search for it.')
        return aThread
      },
    ),
    readFeed: recorded('readFeed', () => [aThread.post]),
    discover: recorded('discover', () => [aThread.post]),
    readProfile: recorded('readProfile', () => ({
      ...ada,
      description: 'Asks.',
      karma: 7,
      createdAt: at,
    })),
    readCommunity: recorded('readCommunity', () => ({ name: aThread.post.community })),
    readInbox: recorded('readInbox', () => [anEntry]),
    readBudgets: recorded('readBudgets', () => [aBudget]),
    sendDm: recorded('sendDm', () => ({
      conversationId: 'conversation-1' as ConversationId,
      isRequest: true,
    })),
    findAnswer: recorded('findAnswer', () => ({
      name: 'scout',
      state: 'waiting' as const,
      activationId: null,
      answer: null,
      reason: null,
    })),
    vote: recorded('vote', () => ({ action: 'upvoted', author: 'ada', score: 4 })),
    createPost: recorded('createPost', () => ({ id: 'post-2' as PostId, notWoken: [] })),
    createComment: recorded('createComment', () => ({
      notWoken: [],
      id: 'comment-2' as CommentId,
      postId: 'post-1' as PostId,
    })),
  } satisfies ConversationApi
  const resources = {
    listThreads: recorded('listThreads', () => ({ posts: [aThread.post], next: null })),
    readCommunityPage: recorded('readCommunityPage', () => ({
      name: 'general',
      displayName: 'General',
      description: '',
      visibility: 'public',
      postCount: 1,
      posts: [aThread.post],
    })),
    readRun: recorded('readRun', () => {
      throw notFound('run')
    }),
    listNames: recorded('listNames', () => [ada.name]),
    subscribeToThread: recorded('subscribeToThread', () => undefined),
    unsubscribeFromThread: recorded('unsubscribeFromThread', () => undefined),
    watchThreads: recorded('watchThreads', () => () => undefined),
  } satisfies ResourceApi
  const hubApi = {
    ...conversation,
    ...resources,
    readPolicy: recorded('readPolicy', () => policy),
    readAuthorization: recorded('readAuthorization', () => toFacts(policy)),
    requestApproval: recorded('requestApproval', () => undefined),
    readApprovalStatus: recorded('readApprovalStatus', () => 'pending' as const),
    consumeApproval: recorded('consumeApproval', () => ({ id: 'audit-of-approved' })),
    takeRateLimit: recorded('takeRateLimit', () => ({ isTaken: true, retryMs: 0 })),
    findCaller: recorded<
      Parameters<GrantApi['findCaller']>,
      (Sender & { scopes: string[] }) | null
    >('findCaller', () => null),
    findActivation: recorded<Parameters<GrantApi['findActivation']>, RunningActivation | null>(
      'findActivation',
      () => null,
    ),
    recordIntent: recorded<Parameters<GrantApi['recordIntent']>, { id: string }>(
      'recordIntent',
      (_, entry) => {
        const id = `audit-${audit.size + 1}`
        audit.set(id, { ...entry })
        return { id }
      },
    ),
    recordAdminAction: async () => undefined,
    guardSender: async () => write(sql`SELECT 1`),
    markOwnAccount: async () => undefined,
    recordResult: recorded<Parameters<GrantApi['recordResult']>, void>(
      'recordResult',
      (id, result) => {
        const entry = audit.get(id)
        if (entry) Object.assign(entry, result)
      },
    ),
  } satisfies ConversationApi & GrantApi & ResourceApi
  return { hubApi, calls, audit, policy }
}

const toFacts = (policy: GrantPolicy): AuthorizationData => ({
  policy: { requireApproval: [], rateLimits: [], ...policy },
  approvals: [],
  rules: [],
})

/** Scout at work on ada's question. */
export const scoutAtWork: ToolCaller = {
  accountId: scout.id,
  name: scout.name,
  kind: scout.kind,
  activationId: 'activation-1' as NonNullable<ToolCaller['activationId']>,
  postId: 'post-asking' as PostId,
}

/** Ada over MCP, with a key that may do everything. */
export const adaOutside: ToolCaller = {
  accountId: ada.id,
  name: ada.name,
  kind: ada.kind,
  activationId: null,
  postId: null,
  tiers: ['read', 'write', 'destructive'],
}

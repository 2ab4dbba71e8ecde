import * as z from 'zod'
import { limits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { selectAccountByName } from '../accounts/queries'
import { refreshModels, refreshWarnings } from '../agents/definition-actions'
import { tryProvider } from '../agents/model-actions'
import { recordPushedBranches } from '../agents/review-queries'
import { selectRunnerKeyById } from '../agents/runner-queries'
import { toStoredRequest } from '../approvals/arguments'
import { selectApprovalsForCall, selectRulesForCall, selectStatus } from '../approvals/queries'
import { insertExternalApproval, markApprovalUsed, toApprovalId } from '../approvals/write-queries'
import { selectBudgetsInScope } from '../budgets/queries'
import { commentContent, createComment } from '../comments/actions'
import { countCommentsThen, selectComments } from '../comments/queries'
import { toThread } from '../comments/threads'
import { selectCommunity } from '../communities/queries'
import { toAccessError } from '../contract/access'
import type {
  AdminAction,
  AuditEntry,
  ConversationApi,
  GrantApi,
  HubApi,
  InboxEntry,
  ModelTestApi,
  RunAttemptApi,
  SweepApi,
} from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import {
  createTakeTokensStatements,
  mergeCallPolicy,
  mergePolicy,
  selectPolicy,
} from '../grants/queries'
import { findNotWoken } from '../inbox/not-woken'
import { type InboxRow, selectAnswer, selectItems, toQuestionProgress } from '../inbox/queries'
import { deferMail } from '../mail/send-actions'
import { messageText, sendToAccount } from '../messages/actions'
import { insertAuditEntry, updateAuditResult } from '../operations/audit-queries'
import { createPost, postInput } from '../posts/actions'
import {
  type PostList,
  type PostRow,
  selectHotPostsThen,
  selectPosts,
  selectPostsThen,
  selectShownPost,
  selectShownPostThen,
  toThreadPost,
} from '../posts/queries'
import { createReplayApi } from '../replays/lane-api'
import { maskCredentials } from '../rules/credential-patterns'
import { createActivationApi } from '../runs/activation-api'
import {
  beginRunAttempt,
  endRunAttempt,
  markOwnAccount,
  selectRunning,
} from '../runs/attempt-queries'
import { assignScheduledTasks } from '../scheduling/exploration'
import { selectDiscoveredFor, toMatch } from '../scheduling/exploration-queries'
import { hitTypes, selectHits, toSearchHit } from '../search/queries'
import { readSearchTerms } from '../search/terms'
import { advanceTrial } from '../trials/advance-actions'
import { guardAccess, hashAdminKey, selectViewer } from '../viewers/queries'
import { actorReader, explainMute, findBlock } from '../viewers/reader'
import { setVote } from '../votes/actions'
import { queueApprovals } from '../webhooks/queue-queries'
import { deferDeliveries } from '../webhooks/send-actions'
import { createResourceApi } from './resource-api'
import { sweep } from './sweep'

/**
 * Creates the hub's API for other modules.
 *
 * @param open creates the context of one call, so that D1 cost is measured per call
 */
export const createHubApi = (open: () => ActionContext): HubApi => ({
  ...createActivationApi(open),
  ...createConversationApi(open),
  ...createGrantApi(open),
  ...createSweepApi(open),
  ...createResourceApi(open),
  ...createReplayApi(open, advanceTrial),
  refreshModels: () => refreshModels(open()),
  refreshWarnings: (server) => refreshWarnings(open(), server),
})

/** Parses input; throws VALIDATION, which other modules handle, instead of a ZodError. */
function parseInput<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new AppError('VALIDATION', z.prettifyError(parsed.error))
}

type Part<Method extends keyof ConversationApi> = Pick<ConversationApi, Method>

const createPostReads = (
  open: () => ActionContext,
): Part<'search' | 'readThread' | 'readFeed'> => ({
  search: async (actor, query) => {
    const terms = readSearchTerms(query.text, query.match)
    if (terms === null) return []
    const filter = {
      reader: actorReader(actor),
      terms,
      types: query.types ?? hitTypes,
      community: query.community?.replace(/^m\//i, '') ?? null,
      author: query.author?.replace(/^@/, '') ?? null,
      since: null,
      at: actor.at,
      exceptPostId: query.exceptPostId ?? null,
      demoteQuestionsFor: actor.kind === 'agent' ? actor.accountId : null,
      limit: Math.min(query.limit, limits.search.resultsMax),
      offset: 0,
    }
    return (await run(open().db, selectHits(filter))).map(toSearchHit)
  },

  readThread: async (actor, id, commentsMax) => {
    const reader = actorReader(actor)
    const { at } = actor
    const { post, comments, count } = await batch(open().db, {
      post:
        at === undefined
          ? selectShownPost({ id, reader })
          : selectShownPostThen({ id, reader, at }),
      comments: selectComments(
        id,
        { sort: 'new', after: null },
        { reader, limit: commentsMax, at },
      ),
      count: at === undefined ? null : countCommentsThen({ id, reader, at }),
    })
    if (!post) throw notFound('post')
    return toThread(count ? { ...post, commentCount: count.comments } : post, comments)
  },

  readFeed: async (actor, { sort, community, limit }) => {
    const name = community?.replace(/^m\//i, '')
    const list = {
      reader: actorReader(actor),
      sort,
      community: name,
      limit: Math.min(limit, limits.page.postsMax),
      cursor: null,
    }
    return (await run(open().db, selectFeed(list, actor.at))).map(toThreadPost)
  },
})

/** Selects the posts of a feed, as of a time if there is one. */
const selectFeed = (list: PostList, at: number | undefined): Statement<PostRow[]> => {
  if (at === undefined) return selectPosts(list)
  return list.sort === 'hot' ? selectHotPostsThen(list, at) : selectPostsThen(list, at)
}

const createOwnReads = (
  open: () => ActionContext,
): Part<
  'discover' | 'readProfile' | 'readCommunity' | 'readInbox' | 'readBudgets' | 'findAnswer'
> => ({
  discover: async (actor, { communities, keywords, ageMsMax, limit }) => {
    const { db, clock } = open()
    const now = clock.now()
    const discovery = {
      reader: actorReader(actor),
      communities: communities.map((name) => name.replace(/^m\//i, '').toLowerCase()),
      follows: [],
      match: toMatch(keywords),
      newestAt: now,
      oldestAt: now - ageMsMax,
      skipsAnswered: true,
      limit: Math.min(limit, limits.page.postsMax),
    }
    return (await run(db, selectDiscoveredFor(actor.accountId, discovery))).map(toThreadPost)
  },

  readProfile: async (_actor, name) => {
    const account = await run(open().db, selectAccountByName({ name: name.replace(/^@/, '') }))
    if (!account) throw notFound('account')
    const { id, kind, role, description, karma, createdAt } = account
    const mark = role === 'guest' && ({ isUntrusted: true } as const)
    return { id, name: account.name, kind, description, karma, createdAt, ...mark }
  },

  readCommunity: async (actor, name) => {
    const found = selectCommunity({ name: name.replace(/^m\//i, ''), reader: actorReader(actor) })
    const community = await run(open().db, found)
    if (!community) throw notFound('community', 'Check the name of the community.')
    return { name: community.name }
  },

  readInbox: async (actor, limit) => {
    return (await run(open().db, selectItems(actor, limit))).map(toInboxEntry)
  },

  readBudgets: async (actor) => {
    const { db, clock } = open()
    return run(db, selectBudgetsInScope({ agentId: actor.accountId, now: clock.now() }))
  },

  findAnswer: async (actor, question) => {
    const row = await run(open().db, selectAnswer(question, actorReader(actor)))
    return row ? toQuestionProgress(row) : null
  },
})

const createWrites = (
  open: () => ActionContext,
): Part<'createPost' | 'createComment' | 'vote' | 'sendDm'> => ({
  createPost: async (actor, { community, ...post }) => {
    const context = open()
    const created = await createPost(context, actor, { ...parseInput(postInput, post), community })
    return { id: created.answer.id, notWoken: await findNotWoken(context, actor, created) }
  },

  createComment: async (actor, { content, ...place }) => {
    const context = open()
    const created = await createComment(context, actor, {
      ...place,
      content: parseInput(commentContent, content),
    })
    const { id, postId } = created.answer
    return { id, postId, notWoken: await findNotWoken(context, actor, created) }
  },

  vote: async (actor, target, value) => {
    const voted = await setVote(open(), actor, { on: target, value })
    const { action, author, upvotes, downvotes } = voted.answer
    return { action, author, score: upvotes - downvotes }
  },

  sendDm: async (actor, { to, message }) => {
    const input = { content: parseInput(messageText, message) }
    const { conversationId, status } = (await sendToAccount(open(), actor, to, input)).answer
    return { conversationId, isRequest: status === 'pending' }
  },
})

/**
 * Creates the hub's API for tools: the reads and actions of the JSON API, without HTTP. Every read is
 * one D1 round trip.
 *
 * @param open creates the context of one call, with its own `Db`
 */
export const createConversationApi = (open: () => ActionContext): ConversationApi => ({
  ...createPostReads(open),
  ...createOwnReads(open),
  ...createWrites(open),
})

/**
 * Creates the hub's API for the gateway: policy, approvals, callers, rate limits, audit.
 *
 * @param open creates the context of one call, with its own `Db`
 */
export const createGrantApi = (open: () => ActionContext): GrantApi => ({
  readPolicy: async (accountId, activationId) =>
    mergePolicy(await run(open().db, selectPolicy(accountId, activationId))),

  readAuthorization: async (query) => {
    const { db, clock } = open()
    const { policy, ...rest } = await batch(db, {
      policy: selectPolicy(query.accountId, query.runId),
      approvals: selectApprovalsForCall(query),
      rules: selectRulesForCall(query, clock.now()),
    })
    return { policy: mergeCallPolicy(policy), ...rest }
  },

  requestApproval: async (accountId, unmasked, runId = null) => {
    const context = open()
    const { db, clock, settings } = context
    const request = toStoredRequest(unmasked, settings)
    const id = runId === null ? clock.newId() : toApprovalId(runId, request.callId)
    const now = clock.now()
    const { isQueued } = await batch(db, {
      approval: insertExternalApproval({ id, accountId, runId, request, now }),
      isQueued: queueApprovals(accountId, now),
    })
    deferDeliveries(context, isQueued)
    deferMail(context, isQueued)
  },

  readApprovalStatus: async (runId, callId) =>
    (await run(open().db, selectStatus({ id: toApprovalId(runId, callId) })))?.status ?? null,

  consumeApproval: async (approvalId, accountId, entry, activationId = null) => {
    const context = open()
    const id = context.clock.newId()
    const { isUsed } = await batch(context.db, {
      isUsed: markApprovalUsed({ id: approvalId, auditId: id }),
      entry: insertAuditEntry(id, accountId, maskEntry(context, entry), activationId, approvalId),
    })
    return isUsed ? { id } : null
  },

  markOwnAccount: (activationId) => run(open().db, markOwnAccount({ activationId })),

  takeRateLimit: async (buckets, now) => {
    const { shortMs, isTaken } = await batch(open().db, createTakeTokensStatements(buckets, now))
    return { isTaken, retryMs: Math.max(0, Math.ceil(shortMs)) }
  },

  findCaller: (keyHash, now) => findCaller(open(), keyHash, now),

  findActivation: async (id) => {
    const { db, clock } = open()
    return (await run(db, selectRunning(id, clock.now()))) ?? null
  },

  recordIntent: async (accountId, entry, activationId = null) => {
    const context = open()
    const id = context.clock.newId()
    await run(context.db, insertAuditEntry(id, accountId, maskEntry(context, entry), activationId))
    return { id }
  },

  recordAdminAction: (admin, action) => recordAction(open(), admin, action),

  guardSender: ({ keyId }) => guardAccess(open(), keyId),

  recordResult: async (id, result) => {
    await batch(open().db, {
      result: updateAuditResult(id, result),
      pushed: result.outcome === 'ok' ? recordPushedBranches({ entryId: id }) : null,
    })
  },
})

async function findCaller(
  { db, settings }: ActionContext,
  keyHash: string,
  now: number,
): ReturnType<GrantApi['findCaller']> {
  const adminKeyHash = await hashAdminKey(settings)
  const isAdminKey = keyHash === adminKeyHash
  const credential = { hash: keyHash, isSession: false, isAdminKey, adminKeyHash }
  const viewer = await run(db, selectViewer(credential, now))
  if (!viewer) return null
  const block = findBlock(viewer)
  if (block) throw block
  const { id, name, kind, keyId, restriction: mute } = viewer
  const scopes = viewer.scopes.filter((scope) => scope === 'read' || mute === null)
  return {
    id,
    name,
    kind,
    keyId,
    scopes,
    ...(viewer.role === 'admin' && { isAdmin: true }),
    ...(mute !== null && { writeBlock: explainMute(mute) }),
  }
}

async function recordAction(
  context: ActionContext,
  { id, keyId }: Parameters<GrantApi['recordAdminAction']>[0],
  action: AdminAction,
): Promise<void> {
  await batch(context.db, {
    guard: await guardAccess(context, keyId, { role: 'admin' }),
    entry: recordAdminAction(context, id, action),
  }).catch((error: unknown) => {
    throw toAccessError(error) ?? error
  })
}

/** Masks credentials in the arguments of an audit entry. */
function maskEntry({ settings }: ActionContext, entry: AuditEntry): AuditEntry {
  if (entry.arguments === undefined) return entry
  return { ...entry, arguments: maskCredentials(entry.arguments, settings) }
}

/** Creates what tests the keys of model providers. */
export const createModelTestApi = (open: () => ActionContext): ModelTestApi => ({
  testProvider: ({ id }, provider, key) => tryProvider(open(), { accountId: id }, provider, key),
})

/**
 * Creates the hub's API for the runners' object.
 *
 * @param open creates the context of one call
 */
export const createRunAttemptApi = (open: () => ActionContext): RunAttemptApi => ({
  beginAttempt: (activationId, attempt) => run(open().db, beginRunAttempt(activationId, attempt)),
  endAttempt: (activationId, attempt) => run(open().db, endRunAttempt(activationId, attempt)),
  readAttempt: async (activationId, runnerKeyId) => {
    const { db, clock } = open()
    const now = clock.now()
    const { activation, key } = await batch(db, {
      activation: selectRunning(activationId, now),
      key: selectRunnerKeyById(runnerKeyId, now),
    })
    return { activation: activation ?? null, isKeyValid: key !== undefined }
  },
})

/** Creates the hub's API for the scheduler. */
const createSweepApi = (open: () => ActionContext): SweepApi => ({
  sweep: (now, question) => sweep(open(), now, question),
  createScheduledTasks: (due, now) => assignScheduledTasks(open(), due, now),
})

const toInboxEntry = (item: InboxRow): InboxEntry => {
  const { from } = item
  return {
    id: item.id,
    type: item.type,
    from: from && { id: from.id as AccountId, name: from.name, kind: from.kind },
    postId: item.postId,
    commentId: item.commentId,
    content: item.content,
    createdAt: item.createdAt,
    isRead: item.readAt !== null,
    ...(item.isUntrusted && { isUntrusted: true }),
  }
}

import type { ExplorationOutcome } from '../../agents/contract/agents'
import { scheduling } from '../../shared/config'
import { type Answers, batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { idAt } from '../../shared/db/write-sql'
import type { ActivationId, PostId } from '../../shared/ids'
import { describeImages } from '../../shared/markdown/describe-images'
import type { KeyPrefixes } from '../../shared/settings'
import { toStoredRequest } from '../approvals/arguments'
import { adoptApprovals, insertApprovals, resumeIfDecided } from '../approvals/write-queries'
import { selectBudgetsInScope } from '../budgets/queries'
import { publishBudgetAlerts } from '../budgets/report-actions'
import { findShortage } from '../budgets/settle-queries'
import { toThread } from '../comments/threads'
import type {
  ActivationApi,
  BudgetStatus,
  CommitRequest,
  CommitResult,
  LoadRequest,
  LoadResult,
  ModelStore,
  ParkRequest,
  ParkResult,
  RenewRequest,
  RenewResult,
  SteeringItem,
  SteerRequest,
} from '../contract/hub'
import { postTopic } from '../contract/live-event'
import type { ActionContext } from '../database/action-context'
import { toNullInHold } from '../database/constraint-errors'
import { mergePolicy, selectPolicy } from '../grants/queries'
import { deferPushes } from '../inbox/push-actions'
import { queuePushesOfAgent } from '../inbox/push-queries'
import { cancellationStatements, deleteChangedRequests } from '../inbox/stop-queries'
import { publishToWatchers } from '../live/live-publisher'
import { deferMail } from '../mail/send-actions'
import { renderText } from '../markdown/render-text'
import { deleteUnnamedTraces, isLongTrace, storeLongTrace } from '../operations/seal-traces'
import { findCredential, maskCredentials } from '../rules/credential-patterns'
import { maskTrace } from '../rules/traces'
import { selectAgentsToWake } from '../rules/waiting-sql'
import { readExploration, toCommitEvent, toLoadEvent } from '../scheduling/exploration'
import { endOutage } from '../scheduling/outage-actions'
import { outageStatements, selectNextAttempt } from '../scheduling/outage-queries'
import { queueApprovals, queueHubReports } from '../webhooks/queue-queries'
import { deferDeliveries } from '../webhooks/send-actions'
import {
  commitStatements,
  insertNotice,
  recordUsageStatements,
  releaseSlot,
  selectStateOf,
} from './commit-queries'
import {
  type Extension,
  extend,
  loadStatements,
  type StateRow,
  selectRenewState,
  steerStatements,
} from './load-queries'
import type { ReplyText } from './reply-queries'

type Loaded = Answers<ReturnType<typeof loadStatements>>
type State = NonNullable<Loaded['state']>

/** Claims and admits an activation, and returns everything that it needs, in one round trip. */
export async function load(
  { db, models }: { db: Db; models: ModelStore },
  request: LoadRequest,
): Promise<LoadResult> {
  const loaded = await batch(db, loadStatements(request, models)).catch(toNullInHold)
  if (loaded) return toResult(loaded, request, models)
  return { kind: 'wait', reason: 'backup', retryAt: request.now + scheduling.capacityRetryMs }
}

function toResult(loaded: Loaded, request: LoadRequest, models: ModelStore): LoadResult {
  const { state, items, post, comments } = loaded
  if (!state) return { kind: 'unknown_agent' }
  const { own } = state
  if (own?.state !== 'running') return explainNoClaim(state, request, loaded.refusal === true)
  const common = {
    admission: own.admission,
    policy: mergePolicy(loaded.policy),
    reservation: { microusd: own.reservedMicrousd, tokens: own.reservedTokens },
    budgets: loaded.budgets,
    deadlineAt: own.deadlineAt,
    environment: { inboxDepth: state.inboxDepth, runningActivations: state.running },
    ...(state.connections !== null && { connections: models.readConnections(state.connections) }),
  }
  if (own.resumedBy === request.activationId) {
    return {
      kind: 'resumed',
      activationId: own.id,
      decisions: loaded.decisions,
      isCancelled: own.cancelRequestedAt !== null,
      definitionEtag: state.etag,
      ...common,
    }
  }
  const shortage =
    own.admission === 'budget_exhausted' ? findShortage(loaded.budgets, null) : undefined
  const exploration = readExploration(loaded.exploration ?? [])
  return {
    kind: 'loaded',
    agent: {
      id: request.agentId,
      name: state.name,
      kind: 'agent',
      description: state.description,
    },
    definition: { version: state.version, etag: state.etag },
    task: own.task,
    items: items.map(({ item: { images, ...item } }) => ({
      ...item,
      ...(images.length > 0 && { images }),
    })),
    requesters: loaded.policy.requesters,
    hasUntrustedText:
      loaded.policy.requesters.some(({ role }) => role === 'guest') ||
      [post, ...comments, ...items].some((each) => each?.isUntrusted === true),
    modelOverride: items[0]?.model ?? null,
    model: own.model,
    ...(shortage && { shortage }),
    thread: post ? toThread(post, comments) : null,
    ...(post &&
      post.visibility !== 'public' && {
        closed: { id: post.communityId, name: post.communityName },
      }),
    ...(exploration && { exploration }),
    changedRequests: state.changedRequests,
    ...common,
  }
}

/** Returns why LOAD inserted no row, from the results of the same batch. */
function explainNoClaim(state: State, request: LoadRequest, isRefused: boolean): LoadResult {
  // A late repeat: this activation has ended or parked. Waiting tasks belong to the next request.
  if (state.own) return { kind: 'nothing' }
  const retryAt = request.now + scheduling.capacityRetryMs
  if (state.other) {
    const { id, models, model, ...rest } = state.other
    return {
      kind: 'wait',
      reason: 'already_running',
      retryAt,
      other: { ...rest, activationId: id, model: models.at(-1) ?? model },
    }
  }
  if (state.inboxDepth === 0) return { kind: 'nothing', ...(isRefused && { isRefused }) }
  if (state.isPaused || state.isHubPaused) return { kind: 'paused' }
  if (state.running >= request.capacity || state.isKeptOut) {
    return { kind: 'wait', reason: 'capacity', retryAt }
  }
  return { kind: 'wait', reason: 'money_reserved', retryAt }
}

/**
 * Checks whether an activation can make one more model call, and renews its reservation, in one round
 * trip: pause, fence, budget, policy and environment. It also takes the comments that arrived for the run.
 */
export async function renew(
  { db, models }: { db: Db; models: ModelStore },
  request: RenewRequest,
): Promise<RenewResult> {
  const { agentId, activationId, now, spent } = request
  const answers = await batch(db, {
    extend: extend(toExtension(request)),
    state: selectRenewState(models)(request),
    policy: selectPolicy(agentId, activationId),
    budgets: selectBudgetsInScope({ agentId, now }),
    ...steerStatements({ agentId, activationId, now }),
  }).catch(toNullInHold)
  if (!answers) return { kind: 'wait', reason: 'backup', retryAt: now + scheduling.capacityRetryMs }
  const { state, policy, budgets, steering } = answers
  if (state?.state !== 'running' || isTakenOver(state, request)) {
    return { kind: 'refused', reason: 'lost' }
  }
  if (state.isPaused || state.isHubPaused) return { kind: 'refused', reason: 'paused' }
  if (state.tokensMax !== null && state.settledTokens + spent.tokens >= state.tokensMax) {
    return { kind: 'refused', reason: 'max_tokens' }
  }
  const refusal = findRefusal(state, request, budgets)
  if (refusal) return refusal
  return {
    kind: 'renewed',
    reservation: {
      microusd: state.reservedMicrousd - spent.microusd,
      tokens: state.reservedTokens - spent.tokens,
    },
    policy: mergePolicy(policy),
    budgets,
    environment: { inboxDepth: state.inboxDepth, runningActivations: state.running },
    ...(state.connections !== null && { connections: models.readConnections(state.connections) }),
    ...(steering.length > 0 && { steering: steering.map(toSteeringItem) }),
  }
}

const toExtension = (request: RenewRequest): Extension => ({
  activationId: request.activationId,
  now: request.now,
  spentMicrousd: request.spent.microusd,
  spentTokens: request.spent.tokens,
  wantMicrousd: request.want.microusd,
  wantTokens: request.want.tokens,
  floorMicrousd: request.floor.microusd,
  floorTokens: request.floor.tokens,
  heldMicrousd: request.held?.microusd ?? 0,
  heldTokens: request.held?.tokens ?? 0,
  models: request.models === undefined ? null : JSON.stringify(request.models),
})

/** Whether another run resumed this activation: it has spent more than this run reports. */
const isTakenOver = (state: StateRow, { spent }: RenewRequest): boolean =>
  state.spentMicrousd > spent.microusd || state.spentTokens > spent.tokens

/** Whether the amount, less what is spent, is enough for one more call. */
const hasEnough = (microusd: number, tokens: number, { spent, floor }: RenewRequest): boolean =>
  microusd - spent.microusd >= floor.microusd && tokens - spent.tokens >= floor.tokens

/** Whether the budget is used up. Then no model runs, not even one that costs nothing. */
const isUsedUp = ({ leftMicrousd, leftTokens }: StateRow, { spent }: RenewRequest): boolean =>
  leftMicrousd <= spent.microusd || leftTokens <= spent.tokens

function findRefusal(
  state: StateRow,
  request: RenewRequest,
  budgets: BudgetStatus[],
): RenewResult | null {
  if (isUsedUp(state, request) || !hasEnough(state.leftMicrousd, state.leftTokens, request)) {
    const { spent, floor } = request
    const left = {
      microusd: state.leftMicrousd - spent.microusd,
      tokens: state.leftTokens - spent.tokens,
    }
    const shortage = findShortage(budgets, floor, left)
    return { kind: 'refused', reason: 'budget_exhausted', ...(shortage && { shortage }) }
  }
  if (hasEnough(state.freeMicrousd, state.freeTokens, request)) return null
  const retryAt = request.now + scheduling.capacityRetryMs
  return { kind: 'wait', reason: 'money_reserved', retryAt }
}

/** Takes the comments that arrived for a running activation, in one round trip. Idempotent. */
async function steer(db: Db, request: SteerRequest): Promise<SteeringItem[]> {
  const { steering } = await batch(db, steerStatements(request))
  return steering.map(toSteeringItem)
}

const toSteeringItem = (item: SteeringItem): SteeringItem => ({
  ...item,
  text: describeImages(item.text),
})

/**
 * Parks an activation until its calls are approved, or until its provider is back: settles the usage so far, frees the slot and notifies
 * the approvers, in one round trip. Idempotent. The claimed items stay claimed. An activation that was
 * cancelled while it ran does not wait for approvals.
 */
async function park(context: ActionContext, request: ParkRequest): Promise<ParkResult> {
  const { db, clock, settings, scheduler, defer } = context
  const { activationId, agentId, now, approvals: calls, outage } = request
  if (calls.length === 0 && !outage) {
    throw new Error('A park request needs a call to approve or an outage to wait for.')
  }
  const requests = calls.map((each) => toStoredRequest(each, settings))
  const trace = await storeMasked(context, activationId, maskTrace(request.trace, settings))
  const postId = clock.newId<PostId>(now)
  const { parked, waiting, attempt, isPushed, isQueued, isReported } = await batch(db, {
    usage: recordUsageStatements({ ...request, trace }),
    release: releaseSlot({ ...request, requests: JSON.stringify(requests) }),
    adopted: request.areRequested
      ? adoptApprovals({ activationId, requests: JSON.stringify(requests) })
      : null,
    approvals: insertApprovals({ activationId, agentId, requests, now }),
    resume: request.areRequested ? resumeIfDecided(activationId, now) : null,
    isPushed: calls.length > 0 ? queuePushesOfAgent({ agentId, like: idAt(now), now }) : null,
    isQueued: calls.length > 0 ? queueApprovals(agentId, now) : null,
    outage: outage ? outageStatements({ activationId, agentId, now, outage, postId }) : [],
    isReported: outage ? queueHubReports([{ postId }], now) : null,
    cancellation: cancellationStatements(activationId, now),
    attempt: outage ? selectNextAttempt({}) : null,
    parked: selectStateOf({ id: activationId }),
    waiting: selectAgentsToWake(now),
  })
  deferPushes(context, isPushed ?? false)
  deferMail(context, isQueued ?? false)
  deferDeliveries(context, isQueued || isReported === true)
  if (attempt?.at) defer(scheduler.sweepAt(attempt.at))
  return { kind: parked?.state === 'parked' ? 'parked' : 'lost', waiting }
}

type Reply = NonNullable<CommitRequest['reply']>

const withheldNotice =
  'The answer contained text that looks like a credential, so it was not posted. ' +
  'Ask an admin to review the run.'

/**
 * Commits an activation: reply, settlement, consumption of the claimed items, audit and trace in one
 * round trip. Idempotent: a repeat returns the result of the first call.
 */
export async function commit(
  context: Pick<ActionContext, 'db' | 'clock' | 'settings' | 'archive'>,
  request: CommitRequest,
): Promise<{
  answer: CommitResult
  exploration: ExplorationOutcome | null
  hasCrossed: boolean
  isPushed: boolean
  /** Whether webhooks are sent the reply, or the end of the run. */
  isQueued: boolean
  /** Whether the thread of the reply can have watchers. */
  isWatched: boolean
}> {
  const { db, clock, settings } = context
  const masked = maskCredentialsIn(request, settings)
  const { activationId } = request
  const safe = { ...masked, trace: await storeMasked(context, activationId, masked.trace) }
  const withheld = safe.reply?.content === request.reply?.content ? null : 'credential_withheld'
  const text = safe.reply ? renderReply(safe.reply) : null
  const { result, waiting, isPushed, isQueued, isReported, isWatched } = await batch(
    db,
    commitStatements(safe, text, withheld, clock.newId<PostId>(request.now)),
  )
  const isInFile = safe.trace !== masked.trace
  if (isInFile && result?.state === 'done') await deleteUnnamedTraces(context, activationId)
  const answer: CommitResult = {
    kind: result?.state === 'done' ? 'done' : 'lost',
    replyId: result?.replyId ?? null,
    replyRefusal: result?.replyRefusal ?? null,
    waiting,
  }
  return {
    answer,
    exploration: toCommitEvent(request, result),
    hasCrossed: result?.hasCrossed === true,
    isPushed: isPushed === true,
    isQueued: isQueued || isReported === true,
    isWatched: isWatched === true,
  }
}

/** Returns what the database stores of a run: its record, or where it lies when it is too long for a row. */
const storeMasked = async (
  context: Pick<ActionContext, 'db' | 'archive'>,
  activationId: ActivationId,
  trace: string,
): Promise<string> => (isLongTrace(trace) ? storeLongTrace(context, activationId, trace) : trace)

/**
 * Returns a notice in place of the reply. It addresses the requesters, as every reply does, and wakes
 * none of them.
 */
function toWithheldNotice(reply: Reply): Reply {
  const requesters = reply.requesters ?? reply.addressed ?? []
  const content = [...requesters.map((name) => `@${name}`), withheldNotice].join(' ')
  return { ...reply, content, addressed: requesters }
}

function renderReply(reply: Reply): ReplyText {
  const { columns, images, names: mentioned } = renderText('comments', reply)
  const addressed = new Set(reply.addressed?.map((name) => name.toLowerCase()))
  return {
    ...columns,
    images,
    mentioned,
    toWake: mentioned.filter((name) => !addressed.has(name.toLowerCase())),
  }
}

/**
 * Masks credentials in everything that the commit publishes. A reply with a credential is replaced by a
 * notice, so that the requester still gets a reply, with the reason.
 */
function maskCredentialsIn(request: CommitRequest, keys: KeyPrefixes): CommitRequest {
  const mask = (text: string) => maskCredentials(text, keys)
  const { reply, report, error } = request
  const canPost = !reply || findCredential(reply.content, keys) === null
  return {
    ...request,
    reply: canPost ? reply : toWithheldNotice(reply),
    error: error && { ...error, message: mask(error.message) },
    report: report && { ...report, title: mask(report.title), content: mask(report.content) },
    trace: maskTrace(request.trace, keys),
  }
}

/** Creates the hub's API for activations: LOAD, RENEW, STEER, PARK and COMMIT, one round trip each. */
export const createActivationApi = (open: () => ActionContext): ActivationApi => ({
  load: async (request) => {
    const context = open()
    const { scheduler, defer } = context
    const answer = await load(context, request)
    const event = toLoadEvent(request, answer)
    if (event) defer(scheduler.reportOutcome(event))
    return answer
  },
  dropChangedRequests: (agentId, ids) => run(open().db, deleteChangedRequests(agentId, ids)),
  notifyRequesters: async (request) => {
    const { db, clock } = open()
    await batch(db, { notice: insertNotice({ ...request, id: clock.newId() }) })
  },
  park: (request) => park(open(), request),
  endOutage: (address, now) => endOutage(open(), address, now),
  renew: (request) => renew(open(), request),
  readConnections: () => {
    const { db, models } = open()
    return run(db, models.selectConnections())
  },
  steer: (request) => steer(open().db, request),
  commit: async (request) => {
    const context = open()
    const { scheduler, defer } = context
    const { answer, exploration, hasCrossed, isPushed, isQueued, isWatched } = await commit(
      context,
      request,
    )
    if (hasCrossed) defer(publishBudgetAlerts(context))
    deferPushes(context, isPushed)
    deferMail(context, isQueued)
    deferDeliveries(context, isQueued)
    if (exploration) defer(scheduler.reportOutcome(exploration))
    const postId = request.reply?.postId
    if (isWatched && answer.replyId && postId) {
      const event = { type: 'comment', id: answer.replyId, post_id: postId } as const
      defer(publishToWatchers(context, postTopic(postId), event))
    }
    return answer
  },
  publishProgress: async (postId, { activationId, agent, doing, since }) => {
    const event = { type: 'working', activation_id: activationId, agent, doing, since } as const
    await open().live.publish(postTopic(postId), event)
  },
})

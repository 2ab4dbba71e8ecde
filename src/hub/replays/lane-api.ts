import type { RunReads } from '../../agents/contract/agents'
import { replayLimits, scheduling } from '../../shared/config'
import { batch, repeatAfterFault, run } from '../../shared/db/batch'
import type { AccountId, ActivationId, TrialId } from '../../shared/ids'
import type { Settings } from '../../shared/settings'
import { selectBudgetsOfLane } from '../budgets/queries'
import { chargeLaneStatements, findShortage } from '../budgets/settle-queries'
import type {
  JudgeOrder,
  LaneCall,
  LaneOrder,
  LaneRenewal,
  LaneResult,
  RenewResult,
  ReplayApi,
} from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { toNullInHold } from '../database/constraint-errors'
import { mergePolicy, selectPolicy } from '../grants/queries'
import { openStoredTrace } from '../operations/archive-view'
import { maskCredentials } from '../rules/credential-patterns'
import { readJudgeSample } from '../rules/judge-samples'
import { maskTrace } from '../rules/traces'
import { actorReader } from '../viewers/reader'
import {
  type Comparison,
  claimLane,
  endCancelledLane,
  endLane,
  endLostLane,
  extendLane,
  type LaneState,
  markInputs,
  type Order,
  type RunningLane,
  reuseStatements,
  selectComparison,
  selectLaneState,
  selectNextLanes,
  selectOrder,
  selectReusable,
  selectRunningAmong,
  selectTrialToAdvance,
  storeRecord,
  toExtension,
} from './lane-queries'
import { type GoneLane, selectObstacles } from './queries'

/**
 * Creates the hub's API for the objects that run lanes of replays.
 *
 * @param open creates the context of one call
 * @param advance lets a trial go on, a case of which has ended; never throws
 */
export const createReplayApi = (open: () => ActionContext, advance: AdvanceTrial): ReplayApi => ({
  openLane: (laneId, now) => openLane(open(), laneId, now),
  renewLane: (request) => renewLane(open(), request),
  finishLane: (laneId, now, result) => finishLane(open(), advance, laneId, now, result),
})

type AdvanceTrial = (context: ActionContext, trialId: TrialId) => Promise<void>

async function openLane(
  { db, archive, agents }: ActionContext,
  laneId: ActivationId,
  now: number,
): Promise<LaneOrder | JudgeOrder | null> {
  const { order } = await batch(db, {
    claim: claimLane({ laneId, now }),
    order: selectOrder({ laneId }),
  })
  const record = order && (await openStoredTrace(archive, order.record))
  if (!order || record === null || record === undefined) return null
  const { activationId, startedAt, version, etag, record: _, lane, ...rest } = order
  const reads = agents.replays.listReads(record)
  const { policy, obstacles, comparison } = await batch(db, {
    policy: selectPolicy(order.agent.id, laneId),
    obstacles: selectObstaclesFor(activationId, order.by.id, reads),
    comparison: selectComparison({ laneId }),
  })
  const problem = isUnreadable(obstacles) ? goneReason : null
  if (lane === 'judge') {
    const question = agents.replays.readQuestion(record)
    return comparison ? toJudgeOrder(order, { ...comparison, question }, problem) : null
  }
  return {
    ...rest,
    lane,
    problem,
    unreadable: obstacles?.unreadable ?? '',
    policy: mergePolicy(policy),
    observed: { activationId, startedAt, record, definition: { version, etag } },
  }
}

/** Selects what keeps somebody and the requesters of a run from reading it, with what its tools read. */
export const selectObstaclesFor = (id: ActivationId, accountId: AccountId, reads: RunReads) =>
  selectObstacles({
    id,
    accountId,
    both: actorReader({ accountId, activationId: id }),
    posts: JSON.stringify(reads.posts),
    comments: JSON.stringify(reads.comments),
  })

/** Whether a text of a run was deleted or removed, or cannot be read by all who have to. */
const isUnreadable = (
  found: { isGone: boolean; lacksText: boolean; isReadable: boolean } | undefined,
): boolean => !found || found.isGone || found.lacksText || !found.isReadable

const goneReason =
  'Since the replay was asked for, a text of the run was deleted or removed, or cannot be read any more.'

/** Returns what a judge compares. */
function toJudgeOrder(
  { sample, agent, costMaxMicrousd }: Pick<Order, 'sample' | 'agent' | 'costMaxMicrousd'>,
  { baseline, candidate, note, judge, question, ...run }: Comparison & { question: string },
  problem: string | null,
): JudgeOrder {
  const names = {
    agent: [agent.name, ...(run.displayName === null ? [] : [run.displayName])],
    models: [...new Set([...baseline.models, ...candidate.models])],
  }
  const isFirst = readJudgeSample(sample).first === 'baseline'
  const [first, second] = isFirst ? [baseline, candidate] : [candidate, baseline]
  return {
    lane: 'judge',
    model: judge ?? '',
    question,
    first: stripNames(first.answer, names),
    second: stripNames(second.answer, names),
    note,
    problem: problem ?? findJudgeProblem([baseline, candidate], judge, run.usesOwnAccount),
    costMaxMicrousd,
  }
}

/** Why no judge compares the answers of a run. */
export const ownAccountReason =
  'The run used an account that its requester connected, so no judge model sees its answers.'

/** Returns why two answers are not compared by a model; null when they are. */
function findJudgeProblem(
  lanes: Pick<Comparison['baseline'], 'state'>[],
  judge: string | null,
  usesOwnAccount: boolean,
): string | null {
  if (judge === null) return 'The trial has no judge.'
  if (usesOwnAccount) {
    return ownAccountReason
  }
  return lanes.every(({ state }) => state === 'done')
    ? null
    : 'One of the answers is missing: its lane did not end.'
}

/**
 * Ends a baseline that has not begun with what an earlier one did, when all that decides it is the same and all that was
 * read then can be read now. Returns whether it has.
 */
async function reuseEarlier(
  { db, archive, agents }: ActionContext,
  at: { laneId: ActivationId; now: number; inputs: string },
): Promise<boolean> {
  const { earlier } = await batch(db, { mark: markInputs(at), earlier: selectReusable(at) })
  if (earlier.length === 0) return false
  const obstacles = earlier.map(async ({ activationId, requestedBy, record }) => {
    const reads = agents.replays.listReads((await openStoredTrace(archive, record)) ?? '')
    return selectObstaclesFor(activationId, requestedBy, reads)
  })
  const { found } = await batch(db, { found: await Promise.all(obstacles) })
  const ids = earlier.flatMap(({ id }, n) => (isUnreadable(found[n]) ? [] : [id]))
  const { laneId, now } = at
  const done = await batch(db, reuseStatements({ laneId, now, ids: JSON.stringify(ids) }))
  return done.isReused
}

/** Charges what was called, and reserves the next call, in one round trip. */
async function renewLane(context: ActionContext, request: LaneRenewal): Promise<RenewResult> {
  const { db, models } = context
  const { laneId, now, usage, inputs } = request
  if (
    inputs !== null &&
    usage.length === 0 &&
    (await reuseEarlier(context, { laneId, now, inputs }))
  )
    return { kind: 'refused', reason: 'lost' }
  const extension = toExtension(request)
  const retryAt = now + scheduling.capacityRetryMs
  const answers = await batch(db, {
    charge: chargeLaneStatements({ activationId: laneId, usage, now }),
    cancelled: endCancelledLane({ laneId, now }),
    extend: extendLane(extension),
    state: selectLaneState(extension),
    budgets: selectBudgetsOfLane({ laneId, now }),
    connections: models.selectConnections(),
  }).catch(toNullInHold)
  if (!answers) return { kind: 'wait', reason: 'backup', retryAt }
  const { state, budgets, connections } = answers
  if (!state) return { kind: 'refused', reason: 'lost' }
  const refusal = findRefusal(state, request)
  if (refusal === 'budget_exhausted') {
    const left = { microusd: state.leftMicrousd, tokens: state.leftTokens }
    const shortage = findShortage(budgets, request.floor, left)
    return { kind: 'refused', reason: refusal, ...(shortage && { shortage }) }
  }
  if (refusal) return { kind: 'refused', reason: refusal }
  if (!state.fits) return { kind: 'wait', reason: 'money_reserved', retryAt }
  const policy = await run(db, selectPolicy(state.agentId, laneId))
  return {
    kind: 'renewed',
    reservation: { microusd: state.reservedMicrousd, tokens: state.reservedTokens },
    policy: mergePolicy(policy),
    budgets,
    environment: {
      inboxDepth: state.inboxDepth,
      runningActivations: state.runningActivations,
    },
    ...(connections.length > 0 && { connections }),
  }
}

type Refusal = Extract<RenewResult, { kind: 'refused' }>['reason']

/** Why a lane makes no more call, whatever others do; null when it can. */
function findRefusal(state: LaneState, { floor }: LaneRenewal): Refusal | null {
  if (state.isPaused) return 'paused'
  if (state.ownTokens <= 0) return 'max_tokens'
  const isShort =
    state.leftMicrousd <= 0 ||
    state.leftTokens <= 0 ||
    state.leftTokens < floor.tokens ||
    Math.min(state.leftMicrousd, state.ownMicrousd) < floor.microusd
  return isShort ? 'budget_exhausted' : null
}

async function finishLane(
  context: ActionContext,
  advance: AdvanceTrial,
  laneId: ActivationId,
  now: number,
  result: LaneResult,
): Promise<{ next: ActivationId[] }> {
  const { db, settings } = context
  const mask = (text: string) => maskCredentials(text, settings)
  const { outcome, error, steps, durationMs, incomplete, usage } = result
  const { next, trial } = await batch(db, {
    charge: chargeLaneStatements({ activationId: laneId, usage, now }),
    record: storeRecord({ laneId, record: maskTrace(result.record, settings) }),
    end: endLane({
      laneId,
      now,
      outcome,
      steps,
      durationMs,
      incomplete,
      error: error && { ...error, message: mask(error.message) },
      answer: mask(result.answer).slice(0, replayLimits.answerCharsMax),
      notes: result.notes.slice(0, replayLimits.notesMax),
      calls: JSON.stringify(toKeptCalls(result.calls, settings)),
    }),
    next: selectNextLanes({ now }),
    trial: selectTrialToAdvance({ laneId }),
  })
  if (trial) context.defer(advance(context, trial.id))
  return { next: next.map(({ id }) => id) }
}

/** Bounds what is kept of the calls besides the record. */
const toKeptCalls = (calls: LaneCall[], settings: Settings): LaneCall[] =>
  calls.slice(0, replayLimits.callsMax).map((call) => ({
    ...call,
    arguments: maskCredentials(call.arguments, settings).slice(0, replayLimits.argumentsCharsMax),
    wouldHave: call.wouldHave && maskCredentials(call.wouldHave, settings),
  }))

/**
 * Ends a running lane of which nothing more is known: what it has reserved counts as spent, because a call can have been in
 * flight. A lane that reports its end later changes nothing.
 */
export async function closeLane(
  { db, clock }: ActionContext,
  { id, models, reservedMicrousd, reservedTokens, lastCall }: RunningLane,
  incomplete: string,
): Promise<void> {
  const now = clock.now()
  const model = models.at(-1) ?? ''
  const lost = {
    call: lastCall + 1,
    model,
    at: now,
    inputTokens: reservedTokens,
    cachedTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    costMicrousd: reservedMicrousd,
    isPriced: true,
    isEstimated: true,
    durationMs: 0,
  }
  const usage = reservedMicrousd > 0 || reservedTokens > 0 ? [lost] : []
  await repeatAfterFault(() =>
    batch(db, {
      charge: chargeLaneStatements({ activationId: id, usage, now }),
      end: endLostLane({ laneId: id, now, incomplete }),
    }),
  )
}

/**
 * Returns a text without what says who wrote it: names of an agent and of models, as they are or with other separators.
 * Whoever compares answers must not know which is which.
 */
function stripNames(text: string, names: { agent: string[]; models: string[] }): string {
  const stripped = names.models
    .flatMap((model) => [model, model.slice(model.indexOf('/') + 1)])
    .reduce((rest, name) => replaceName(rest, name, 'the model'), text)
  return names.agent.reduce((rest, name) => replaceName(rest, name, 'the agent'), stripped)
}

/** Names of models differ in these: `claude-sonnet-5`, `Claude Sonnet 5`. */
const separators = /[^\p{L}\p{N}]+/u

function replaceName(text: string, name: string, by: string): string {
  const parts = name.split(separators).filter((part) => part !== '')
  // a single letter is no name that says anything
  if (parts.join('').length < 2) return text
  const pattern = `@?(?<![\\p{L}\\p{N}])${parts.join('[^\\p{L}\\p{N}]{1,3}')}(?![\\p{L}\\p{N}])`
  return text.replace(new RegExp(pattern, 'giu'), by)
}

/** Ends those of the lanes that run, before they are deleted: what they have reserved counts as spent. */
export async function endLanes(context: ActionContext, lanes: GoneLane[]): Promise<void> {
  if (lanes.length === 0) return
  const ids = JSON.stringify(lanes.map(({ id }) => id))
  const running = await run(context.db, selectRunningAmong({ ids, now: context.clock.now() }))
  for (const lane of running) await closeLane(context, lane, 'The replay was deleted.')
}

/** Deletes what the objects of lanes store. An object that cannot be reached has lost its lane, so nobody can read it. */
export async function deleteLanes(
  { agents, log }: Pick<ActionContext, 'agents' | 'log'>,
  lanes: GoneLane[],
): Promise<void> {
  await Promise.all(
    lanes.map(({ id }) =>
      agents.replays
        .deleteLane(id)
        .catch((error: unknown) =>
          log.error('failed to delete a lane of a replay', { lane: id, error }),
        ),
    ),
  )
}

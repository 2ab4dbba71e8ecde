import { replayLimits, scheduling } from '../../shared/config'
import { batch, repeatAfterFault, run } from '../../shared/db/batch'
import type { ActivationId } from '../../shared/ids'
import type { Settings } from '../../shared/settings'
import { selectBudgetsOfLane } from '../budgets/queries'
import { findShortage } from '../budgets/settle-queries'
import type {
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
import { maskTrace } from '../rules/traces'
import { chargeLaneStatements } from '../runs/commit-queries'
import {
  claimLane,
  endCancelledLane,
  endLane,
  endLostLane,
  extendLane,
  type LaneState,
  type RunningLane,
  selectLaneState,
  selectNextLanes,
  selectOrder,
  storeRecord,
  toExtension,
} from './lane-queries'

/**
 * Creates the hub's API for the objects that run lanes of replays.
 *
 * @param open creates the context of one call
 */
export const createReplayApi = (open: () => ActionContext): ReplayApi => ({
  openLane: (laneId, now) => openLane(open(), laneId, now),
  renewLane: (request) => renewLane(open(), request),
  finishLane: (laneId, now, result) => finishLane(open(), laneId, now, result),
})

async function openLane(
  { db, archive }: ActionContext,
  laneId: ActivationId,
  now: number,
): Promise<LaneOrder | null> {
  const { order } = await batch(db, {
    claim: claimLane({ laneId, now }),
    order: selectOrder({ laneId }),
  })
  const record = order && (await openStoredTrace(archive, order.record))
  if (!order || record === null || record === undefined) return null
  const { activationId, startedAt, version, etag, record: _, ...rest } = order
  const policy = mergePolicy(await run(db, selectPolicy(order.agent.id, laneId)))
  return {
    ...rest,
    policy,
    observed: { activationId, startedAt, record, definition: { version, etag } },
  }
}

/** Charges what was called, and reserves the next call, in one round trip. */
async function renewLane(
  { db, models }: ActionContext,
  request: LaneRenewal,
): Promise<RenewResult> {
  const { laneId, now, usage } = request
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
  { db, settings }: ActionContext,
  laneId: ActivationId,
  now: number,
  result: LaneResult,
): Promise<{ next: ActivationId[] }> {
  const mask = (text: string) => maskCredentials(text, settings)
  const { outcome, error, steps, durationMs, incomplete, usage } = result
  const { next } = await batch(db, {
    charge: chargeLaneStatements({ activationId: laneId, usage, now }),
    record: storeRecord({ laneId, record: maskTrace(result.record, settings) }),
    end: endLane({
      ...{ laneId, now, outcome, steps, durationMs, incomplete },
      error: error && { ...error, message: mask(error.message) },
      answer: mask(result.answer).slice(0, replayLimits.answerCharsMax),
      notes: result.notes.slice(0, replayLimits.notesMax),
      calls: JSON.stringify(toKeptCalls(result.calls, settings)),
    }),
    next: selectNextLanes({ now }),
  })
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
    executor: model.split('/')[0] ?? model,
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

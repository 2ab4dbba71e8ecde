import { activationLimits } from '../../config'
import { addCharge } from './charge-state'
import type { Effect } from './effect'
import type { LoopEventOf } from './event'
import { isBusy, isWorking, type LoopState, rest, type Step } from './state'
import { fail } from './step-end'
import { markDone, startCalls } from './step-tools'

/**
 * After a crash (L36). The pending effects run again as they are, but: a model call whose answer
 * was lost has been charged; a tool that may have run and must not run twice gets the result
 * "outcome unknown". Three starts without progress end it as failed, LOAD included; what the hub is
 * to take, a commit or what parks, is repeated for as long as it takes.
 *
 * The effects to run again are those still pending; `effects` holds them all.
 */
export function afterInterruption(state: LoopState, event: LoopEventOf<'interrupted'>): Step {
  if (!isBusy(state)) return rest(state)
  const starts = state.startsWithoutProgress + 1
  const next = addCharge({ ...state, startsWithoutProgress: starts }, event.charge)
  const canEnd = isWorking(state) || state.phase === 'loading'
  if (canEnd && starts >= activationLimits.startsWithoutProgress) {
    return fail(next, 'INTERRUPTED', 'The machine stopped several times before I got anywhere.')
  }
  const callIds = event.unknownCallIds
  const kept: LoopState = {
    ...next,
    pending: next.pending
      .filter((effect) => effect.type !== 'call_tool' || !callIds.includes(effect.callId))
      .map(renewFirst),
  }
  if (callIds.length === 0) return { state: kept, effects: kept.pending }
  const { state: moved } = startCalls({ ...kept, calls: markDone(kept.calls, callIds) }, event.at)
  return { state: moved, effects: moved.pending }
}

/** What LOAD reserved may be spent by the call that got lost. */
const renewFirst = (effect: Effect): Effect =>
  'mustRenew' in effect ? { ...effect, mustRenew: true } : effect

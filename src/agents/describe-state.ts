import type { AgentState } from './contract/agents'
import type { LoopEvent } from './loop/event'
import { isBusy, type LoopState } from './loop/state'
import { foldPlan } from './run/plan'
import { redactRunLog } from './run/redact'
import { toRunLog } from './run/run-log'

/** Returns what an agent does now, for the API and pages. */
export function describeState(
  state: LoopState,
  { doing, waitReason }: { doing: string | null; waitReason: string | null },
  events: LoopEvent[],
): AgentState {
  const { activationId, pending } = state
  const isAsleep = !isBusy(state)
  const log = toRunLog(isAsleep ? [] : events, null)
  const sleep = pending.find((effect) => effect.type === 'sleep')
  const isWaiting = sleep !== undefined && pending.length === 1
  return {
    state: isAsleep ? 'asleep' : isWaiting ? 'waiting' : 'working',
    activationId,
    doing: isAsleep ? null : doing,
    reason: isWaiting ? (waitReason ?? 'waiting to retry') : null,
    nextAt: sleep?.type === 'sleep' ? sleep.until : null,
    plan: isAsleep ? null : foldPlan(log),
    publicPlan: isAsleep ? null : foldPlan(redactRunLog(log, 'none')),
  }
}

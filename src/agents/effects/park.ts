import type { Effect } from '../loop/effect'
import type { LoopEvent } from '../loop/event'
import { composeActivationRecord, readRunLog } from './activation-record'
import { type EffectContext, notifyWatchers } from './effect-context'

/**
 * Sends the open approvals, or the provider to wait for, to the hub, which settles the cost and
 * releases the slot; then wakes agents that wait.
 */
export async function park(
  context: EffectContext,
  effect: Extract<Effect, { type: 'park' }>,
): Promise<LoopEvent> {
  const { deps, agentId } = context
  const { state, events } = context.getActivation()
  if (!state.activationId) throw new Error('park without an activation')
  const now = deps.clock.now()
  const parked = state.calls.flatMap(({ callId, status }) => (status === 'parked' ? [callId] : []))
  const approvals = parked.flatMap((callId) => findApproval(events, callId) ?? [])
  const outage = approvals.length === 0 ? state.outage : null
  const answer = await deps.hub.park({
    agentId,
    activationId: state.activationId,
    now,
    approvals,
    ...(outage && { outage }),
    ...(state.program && { areRequested: true }),
    iterations: state.iteration,
    ...composeActivationRecord(context, readRunLog(context, null, now)),
  })
  notifyWatchers(context, null)
  const others = answer.waiting.filter((id) => id !== agentId)
  if (others.length > 0) void deps.wakeAgents(others)
  return {
    type: 'parked',
    at: deps.clock.now(),
    effectId: effect.id,
    kind: answer.kind,
    hasMore: answer.waiting.includes(agentId),
  }
}

/**
 * Returns the newest approval that a call requested (a call may need a second one); null for none.
 */
export function findApproval(events: LoopEvent[], callId: string) {
  const asked = events.findLast(
    (event) =>
      (event.type === 'tool_parked' || event.type === 'program_call_waits') &&
      event.approval.callId === callId,
  )
  return asked?.type === 'tool_parked' || asked?.type === 'program_call_waits'
    ? asked.approval
    : null
}

import type { Effect } from '../loop/effect'
import type { LoopEvent } from '../loop/event'
import { composeAccount } from './account'
import { announce, type Workbench } from './workbench'

/** Hands the open approvals to the hub, which settles and gives up the slot; wakes who waited (L30). */
export async function park(
  bench: Workbench,
  effect: Extract<Effect, { type: 'park' }>,
): Promise<LoopEvent> {
  const { deps, agentId } = bench
  const { state, events } = bench.now()
  if (!state.activationId) throw new Error('parking without an activation')
  const now = deps.clock.now()
  const parked = state.calls.flatMap(({ callId, status }) => (status === 'parked' ? [callId] : []))
  const approvals = parked.flatMap((callId) => findApproval(events, callId) ?? [])
  const answer = await deps.hub.park({
    agentId,
    activationId: state.activationId,
    now,
    approvals,
    iterations: state.iteration,
    ...composeAccount(bench, null, now),
  })
  announce(bench, null)
  const others = answer.waiting.filter((id) => id !== agentId)
  if (others.length > 0) void deps.wakeOthers(others)
  return {
    type: 'parked',
    at: deps.clock.now(),
    effectId: effect.id,
    kind: answer.kind,
    hasMore: answer.waiting.includes(agentId),
  }
}

/** As it was last asked for: a call may need a second approval. */
export function findApproval(events: LoopEvent[], callId: string) {
  const parked = events.findLast((event) => event.type === 'tool_parked' && event.callId === callId)
  return parked?.type === 'tool_parked' ? parked.approval : null
}

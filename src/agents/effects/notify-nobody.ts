import type { Effect } from '../loop/effect'
import type { LoopEvent } from '../loop/event'
import { type EffectContext, findLoadedFacts } from './effect-context'

/** Notifies the requesters that the run waits for a runner. Idempotent. */
export async function notifyNobody(
  { deps, agentId, getActivation }: EffectContext,
  effect: Extract<Effect, { type: 'notify_nobody' }>,
): Promise<LoopEvent> {
  const { state, events } = getActivation()
  const facts = findLoadedFacts(events)
  if (!state.activationId || !facts?.program) throw new Error('no program waits for a runner')
  const until = Math.max(1, Math.round((state.endsAt - deps.clock.now()) / 60_000))
  await deps.hub.notifyRequesters({
    agentId,
    activationId: state.activationId,
    now: deps.clock.now(),
    text:
      `@${facts.agentName} waits: no runner is connected that can run ${facts.program.type} for it. ` +
      `It begins as soon as one connects, for ${until} more minutes. An admin can start one: see [runners](/runners).`,
  })
  return { type: 'nobody_notified', at: deps.clock.now(), effectId: effect.id }
}

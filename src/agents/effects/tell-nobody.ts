import type { Effect } from '../loop/effect'
import type { LoopEvent } from '../loop/event'
import { type EffectContext, findLoadedFacts } from './effect-context'

/** Tells the requesters that the run waits for a runner. Telling twice is harmless. */
export async function tellNobody(
  { deps, agentId, getActivation }: EffectContext,
  effect: Extract<Effect, { type: 'tell_nobody' }>,
): Promise<LoopEvent> {
  const { state, events } = getActivation()
  const facts = findLoadedFacts(events)
  if (!state.activationId || !facts?.program) throw new Error('no program waits for a runner')
  const until = Math.max(1, Math.round((state.endsAt - deps.clock.now()) / 60_000))
  await deps.hub.tellRequesters({
    agentId,
    activationId: state.activationId,
    now: deps.clock.now(),
    text:
      `@${facts.agentName} waits: no runner is connected that can run ${facts.program.type} for it. ` +
      `It begins as soon as one connects, for ${until} more minutes. An admin can start one: see [runners](/runners).`,
  })
  return { type: 'nobody_told', at: deps.clock.now(), effectId: effect.id }
}

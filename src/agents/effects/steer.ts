import type { SteeringItem } from '../../hub/contract/hub'
import type { Effect } from '../loop/effect'
import type { LoopEvent } from '../loop/event'
import type { EffectContext } from './effect-context'

/** Asks the hub for comments that join the run. */
export async function steer(
  context: EffectContext,
  effect: Extract<Effect, { type: 'steer' }>,
): Promise<LoopEvent> {
  const { deps, agentId } = context
  const { activationId } = context.getActivation().state
  if (!activationId) throw new Error('steering without an activation')
  const items = await deps.hub.steer({ agentId, activationId, now: deps.clock.now() })
  const at = deps.clock.now()
  return { type: 'steered', at, effectId: effect.id, items: findNewItems(context, items) }
}

/** Returns the ids of the comments that joined the run and are in its journal. */
export const listJoined = ({ getActivation }: EffectContext): SteeringItem['id'][] =>
  getActivation().events.flatMap((event) =>
    event.type === 'steered' ? event.items.map(({ id }) => id) : [],
  )

/** Returns the comments that the journal does not have yet. */
export function findNewItems(context: EffectContext, items: SteeringItem[]): SteeringItem[] {
  const known = new Set(listJoined(context))
  return items.filter(({ id }) => !known.has(id))
}

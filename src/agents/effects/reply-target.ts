import type { LoadedActivation } from '../../hub/contract/hub'
import type { LoadedFacts } from '../loop/event'
import { type EffectContext, findLoadedFacts } from './effect-context'

/**
 * Returns where the answer of a task is posted: below the newest mention, for all requesters; for a
 * task outside a thread, in the inbox of the requester. Null for explorations and schedules, which
 * have no requester.
 */
export function toReplyTarget({ task, thread, items }: LoadedActivation): LoadedFacts['answer'] {
  if (task === 'exploration' || task === 'scheduled') return null
  if (thread) {
    return {
      postId: thread.post.id,
      parentId: items.at(-1)?.commentId ?? null,
      requesters: [...new Set(items.map(({ from }) => from.name))],
    }
  }
  return task === 'manual' || task === 'dm'
    ? { postId: null, parentId: null, requesters: [] }
    : null
}

/** The destination of the answer and the name of the agent, for the commit. */
export type ReplyContext = Pick<LoadedFacts, 'answer' | 'agentName'>

/**
 * Returns the destination of the answer. When no answer of LOAD was received, asks the hub what it
 * has claimed for this activation, so that the requester still gets a reply; with capacity 0 the
 * hub claims nothing new. Null: nothing is claimed, and the task stays in the inbox.
 */
export async function findReplyContext(context: EffectContext): Promise<ReplyContext | null> {
  const { deps, agentId } = context
  const { state, events } = context.getActivation()
  const facts = findLoadedFacts(events)
  if (facts || !state.activationId) return facts
  const found = await deps.hub.load({
    agentId,
    activationId: state.activationId,
    now: deps.clock.now(),
    capacity: 0,
    canExplore: false,
  })
  return found.kind === 'loaded'
    ? { answer: toReplyTarget(found), agentName: found.agent.name }
    : null
}

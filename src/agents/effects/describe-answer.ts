import type { Load } from '../../hub/contract'
import type { LoadedFacts } from '../loop/event'
import { loadedFacts, type Workbench } from './workbench'

/**
 * The answer goes under the newest mention, to everybody who asked; of a task that is not said in a
 * thread into the inbox of who gave it (L6). Nobody waits for what an agent does by itself.
 */
export function describeAnswer({ task, thread, items }: Load): LoadedFacts['answer'] {
  if (task === 'exploration' || task === 'scheduled') return null
  if (thread) {
    return {
      postId: thread.post.id,
      parentId: items.at(-1)?.commentId ?? null,
      askers: [...new Set(items.map(({ from }) => from.name))],
    }
  }
  return task === 'manual' || task === 'dm' ? { postId: null, parentId: null, askers: [] } : null
}

/** Who is to be answered and by whom, for the commit. */
export type Addressee = Pick<LoadedFacts, 'answer' | 'agentName'>

/**
 * From LOAD; when none was ever understood, the hub is asked once more what it has claimed for this
 * activation, so that who asked is told (L17, L35). For no capacity it claims nothing new. Null: there
 * is no claim, and what waits goes on waiting.
 */
export async function findAddressee(bench: Workbench): Promise<Addressee | null> {
  const { deps, agentId } = bench
  const { state, events } = bench.now()
  const facts = loadedFacts(events)
  if (facts || !state.activationId) return facts
  const found = await deps.hub.load({
    agentId,
    activationId: state.activationId,
    now: deps.clock.now(),
    capacity: 0,
    mayExplore: false,
  })
  return found.kind === 'loaded'
    ? { answer: describeAnswer(found), agentName: found.agent.name }
    : null
}

import type { ChangedRequest } from '../../hub/contract/hub'
import type { MemoryStore } from './memory-store'
import { deleteProgramSessionsOf } from './program-sessions'

/**
 * Deletes what sessions hold of runs that answered, or wrote, a text which was edited, deleted or removed since: their
 * turns, and what was condensed from them. A summary does not say whose words it holds, so of a turn that was
 * compacted away the session of its thread goes. Facts that a run noted stay. Returns the sessions of programs that
 * were deleted, by their names at the runners.
 */
export function forgetRequests(memory: MemoryStore, changed: readonly ChangedRequest[]): string[] {
  for (const { activationId, postId } of changed) {
    const [turn] = memory.query<{ session: string; seq: number }>(
      'DELETE FROM turns WHERE activation_id = ? RETURNING session_id AS session, seq',
      activationId,
    )
    if (turn) {
      // Later turns that are private to somebody can have a summary of their own.
      memory.query(
        "DELETE FROM turns WHERE session_id = ? AND seq > ? AND own_summary <> ''",
        turn.session,
        turn.seq,
      )
      continue
    }
    memory.query('DELETE FROM turns WHERE instr(session_id, ?) > 0', postId)
    memory.query('DELETE FROM sessions WHERE instr(id, ?) > 0', postId)
  }
  return deleteProgramSessionsOf(
    memory,
    changed.map(({ postId }) => postId),
  )
}

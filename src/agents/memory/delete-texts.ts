import type { ChangedRequest } from '../../hub/contract/hub'
import type { AccountId } from '../../shared/ids'
import type { TextDeletion } from '../contract/agents'
import type { MemoryStore } from './memory-store'
import { deleteProgramSessionsOf } from './program-sessions'

/**
 * Deletes what an agent remembers of an account's words: turns of the runs that can have read them, the
 * sessions of its threads with their summaries, what is private to it or was, and facts and tasks that those
 * runs noted. Statistics stay, because they hold no words.
 */
export function deleteTexts(
  memory: MemoryStore,
  { accountId, isOwn, threads, runs }: TextDeletion,
): void {
  if (isOwn) {
    for (const table of ['turns', 'sessions', 'facts', 'past_facts', 'tasks', 'shares'])
      memory.query(`DELETE FROM ${table}`)
    return
  }
  const ids = JSON.stringify(runs.map(({ id }) => id))
  const sessions = memory.query<{ id: string }>(
    `SELECT DISTINCT session_id AS id FROM turns
      WHERE private_to = ?1 OR activation_id IN (SELECT value FROM json_each(?2))
     UNION SELECT s.id FROM sessions s JOIN json_each(?3) n ON instr(s.id, n.value) > 0`,
    accountId,
    ids,
    JSON.stringify(threads),
  )
  // A summary stands for turns that are gone, and does not say whose words it holds.
  const gone = JSON.stringify(sessions.map(({ id }) => id))
  memory.query('DELETE FROM turns WHERE session_id IN (SELECT value FROM json_each(?))', gone)
  memory.query('DELETE FROM sessions WHERE id IN (SELECT value FROM json_each(?))', gone)
  deletePastFacts(memory, accountId, JSON.stringify(runs))
  memory.query(
    'DELETE FROM facts WHERE id IN (SELECT fact_id FROM shares WHERE owner = ?)',
    accountId,
  )
  memory.query('DELETE FROM shares WHERE owner = ?', accountId)
  const spans = JSON.stringify(runs)
  for (const table of ['facts', 'tasks']) {
    memory.query(
      `DELETE FROM ${table} WHERE private_to = ?1 OR EXISTS (SELECT 1 FROM json_each(?2) r
        WHERE created_at BETWEEN r.value ->> 'startedAt' AND coalesce(r.value ->> 'finishedAt', 9e15))`,
      accountId,
      spans,
    )
  }
}

/** Deletes what facts were that are or were private to an account, or that these runs noted or changed. */
function deletePastFacts(memory: MemoryStore, accountId: AccountId, spans: string): void {
  // A statement with a table that does not exist yet does nothing, so they are not one.
  for (const of of [
    'SELECT fact_id FROM shares WHERE owner = ?',
    'SELECT id FROM facts WHERE private_to = ?',
    'SELECT fact_id FROM past_facts WHERE private_to = ?',
  ]) {
    memory.query(`DELETE FROM past_facts WHERE fact_id IN (${of})`, accountId)
  }
  memory.query(
    `DELETE FROM past_facts WHERE EXISTS (SELECT 1 FROM json_each(?) r
      WHERE created_at BETWEEN r.value ->> 'startedAt' AND coalesce(r.value ->> 'finishedAt', 9e15)
        OR since BETWEEN r.value ->> 'startedAt' AND coalesce(r.value ->> 'finishedAt', 9e15))`,
    spans,
  )
}

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

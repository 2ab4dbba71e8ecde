import type { LoadedActivation, Privacy } from '../../hub/contract/hub'
import { codingAgents } from '../../shared/config'
import type { ProgramType } from '../../shared/runner-protocol'
import type { TextDeletion } from '../contract/agents'
import type { LoopEvent } from '../loop/event'
import { hasUsedOwnAccount } from '../loop/privacy'
import type { LoopState } from '../loop/state'
import type { MemoryStore } from './memory-store'

/**
 * Names who may read what the session of a program has read: runs of the same program for the same requesters, in
 * their present roles, with the same private data. Null: nobody asks, so nothing is kept.
 */
export function toAudience(
  type: ProgramType,
  requesters: Pick<LoadedActivation['requesters'][number], 'id' | 'role'>[],
  { reader, privateTo }: Privacy,
): string | null {
  if (requesters.length === 0) return null
  const asking = requesters.map(({ id, role }) => `${id} ${role}`).sort()
  return JSON.stringify([type, asking, reader, privateTo])
}

/** Returns the session that the last run of a thread for the same audience has left; null when there is none. */
export function findProgramSession(
  memory: MemoryStore,
  { thread, audience, now }: { thread: string; audience: string; now: number },
): { sessionId: string; isPrivate: boolean } | null {
  const [row] = memory.query<{ session: string; is_private: number }>(
    'SELECT session, is_private FROM program_sessions WHERE thread = ? AND audience = ? AND at > ?',
    thread,
    audience,
    now - codingAgents.sessionMs,
  )
  return row ? { sessionId: row.session, isPrivate: row.is_private === 1 } : null
}

/**
 * Keeps the session of a program whose run has ended. One that used the account of its requester is not kept: its
 * traces are for nobody else.
 */
export function saveProgramSession(
  memory: MemoryStore,
  { state, events, at }: { state: LoopState; events: LoopEvent[]; at: number },
): void {
  const facts = events.find((event) => event.type === 'loaded')?.facts
  const thread = facts?.answer?.postId
  const audience = facts?.program?.audience
  if (!thread || audience === undefined || !state.program) return
  const { sessionId } = state.program
  if (hasUsedOwnAccount(events) || sessionId === null) {
    memory.query('DELETE FROM program_sessions WHERE thread = ? AND audience = ?', thread, audience)
    return
  }
  const isPrivate =
    facts.hasPrivate === true ||
    events.some((event) => 'isPrivate' in event && event.isPrivate === true)
  const [before] = memory.query<{ runs: string }>(
    'SELECT runs FROM program_sessions WHERE thread = ? AND audience = ? AND session = ?',
    thread,
    audience,
    sessionId,
  )
  const runs = JSON.stringify([...JSON.parse(before?.runs ?? '[]'), state.activationId])
  memory.write(
    'INSERT OR REPLACE INTO program_sessions VALUES (?, ?, ?, ?, ?, ?)',
    thread,
    audience,
    sessionId,
    Number(isPrivate),
    runs,
    at,
  )
  memory.query('DELETE FROM program_sessions WHERE at <= ?', at - codingAgents.sessionMs)
}

/** Deletes the sessions that can hold words of an account. Returns their names, as runners know them. */
export const deleteProgramSessions = (
  memory: MemoryStore,
  { accountId, isOwn, threads, runs }: TextDeletion,
): string[] =>
  memory
    .query<{ session: string }>(
      `DELETE FROM program_sessions WHERE ?1 OR instr(audience, ?2) > 0
        OR thread IN (SELECT value FROM json_each(?3))
        OR EXISTS (SELECT 1 FROM json_each(runs) r JOIN json_each(?4) d ON d.value = r.value)
       RETURNING session`,
      Number(isOwn),
      accountId,
      JSON.stringify(threads),
      JSON.stringify(runs.map(({ id }) => id)),
    )
    .map(({ session }) => session)

/** Deletes the sessions of the thread that a session of the agent is about. Returns their names. */
export const resetProgramSessions = (memory: MemoryStore, agentSession: string): string[] =>
  memory
    .query<{ session: string }>(
      'DELETE FROM program_sessions WHERE instr(?, thread) > 0 RETURNING session',
      agentSession,
    )
    .map(({ session }) => session)

/** Deletes the sessions of threads. Returns their names. */
export const deleteProgramSessionsOf = (memory: MemoryStore, threads: string[]): string[] =>
  memory
    .query<{ session: string }>(
      'DELETE FROM program_sessions WHERE thread IN (SELECT value FROM json_each(?)) RETURNING session',
      JSON.stringify(threads),
    )
    .map(({ session }) => session)

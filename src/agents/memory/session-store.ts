import { compaction, limits } from '../../shared/config'
import type {
  AgentSessions,
  CompactedSession,
  CompactionDraft,
  SessionFacts,
  SessionMessage,
  SessionSnapshot,
  SessionSummaries,
} from '../contract/agents'
import {
  type CompactionPlan,
  type Conversation,
  extractSummary,
  formatRecord,
  measureHistory,
  planCompaction,
} from '../loop/compaction'
import { truncateMessages } from './compose-turn'
import type { MemoryStore } from './memory-store'

/** Stored sessions of one agent, for its owner and admins. */
export class SessionStore {
  readonly #memory: MemoryStore

  constructor(memory: MemoryStore) {
    this.#memory = memory
  }

  /** Returns sessions, newest first, with the statistics of all activations. */
  list(sessionsMax: number): AgentSessions {
    const sessions = this.#memory
      .query<SessionRow>(`${selectSession} ORDER BY updated_at DESC LIMIT ?`, sessionsMax)
      .map(toFacts)
    const { totals, tools } = this.#memory.readStatistics()
    tools.sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1))
    return { sessions, totals, tools }
  }

  read(id: string): SessionSnapshot | null {
    const [session] = this.#memory.query<SessionRow>(`${selectSession} WHERE id = ?`, id)
    return session ? { ...toFacts(session), messages: this.#readMessages(id) } : null
  }

  /**
   * Replaces a session by a snapshot, which stays private to the account that the session was private
   * to. Returns false when the snapshot is too large.
   */
  restore(id: string, snapshot: SessionSnapshot, now: number): boolean {
    const messages = truncateMessages(snapshot.messages)
    const { summary, activations, createdAt, lastCall } = snapshot
    if (JSON.stringify(messages).length > limits.storedRowBytesMax) return false
    const owner = this.#findOwner(id)
    this.#memory.write('DELETE FROM turns WHERE session_id = ?', id)
    this.#memory.write(
      `INSERT OR REPLACE INTO sessions (id, summary, activations, input_tokens, cached_tokens, output_tokens,
         cost_microusd, created_at, updated_at, last_call) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      owner === '' ? summary : '',
      activations,
      snapshot.inputTokens,
      snapshot.cachedTokens,
      snapshot.outputTokens,
      snapshot.costMicrousd,
      createdAt,
      now,
      lastCall && JSON.stringify(lastCall),
    )
    const ownSummary = owner === '' ? '' : summary
    this.#write(id, { messages, at: now, gist: '', owner, ownSummary })
    return true
  }

  /**
   * Returns the account that a session is private to; empty: nobody. Parts that are private to several
   * accounts are not distinguished in a snapshot, so that no run sees it then.
   */
  #findOwner(id: string): string {
    const owners = this.#memory.query<{ owner: string }>(
      "SELECT DISTINCT private_to AS owner FROM turns WHERE session_id = ? AND private_to <> ''",
      id,
    )
    return owners.length > 1 ? hiddenOwner : (owners[0]?.owner ?? '')
  }

  /** Deletes a session. Returns false when it doesn't exist. Statistics stay unchanged. */
  reset(id: string): boolean {
    const deleted = this.#memory.query('DELETE FROM sessions WHERE id = ? RETURNING id', id)
    if (deleted.length > 0) this.#memory.write('DELETE FROM turns WHERE session_id = ?', id)
    return deleted.length > 0
  }

  /**
   * Returns what a manual compaction replaces, for a model that summarizes it; null when the session doesn't exist.
   *
   * @param recordCharsMax characters of one record
   */
  draftCompaction(id: string, recordCharsMax: number): CompactionDraft | null {
    const parts = this.#planParts(id)
    if (!parts) return null
    const drafted = parts
      .filter(({ plan }) => plan.replaced.length > 0)
      .map(({ owner, plan, transcript }) => ({
        owner,
        record: formatRecord(plan.replaced, transcript.summary, recordCharsMax),
        summaryCharsMax: plan.summaryCharsMax,
      }))
    return { revision: this.#readRevision(id), parts: drafted }
  }

  /**
   * Replaces the oldest messages, down to the target of a manual compaction: those that all runs see, and for
   * each account with private turns those that its runs see. What has no summary for the turns as they are now
   * becomes an extract. Returns null when the session doesn't exist.
   */
  compact(id: string, summaries: SessionSummaries | null = null): CompactedSession | null {
    const parts = this.#planParts(id)
    if (!parts) return null
    const given = summaries?.revision === this.#readRevision(id) ? summaries.texts : []
    let replaced = 0
    for (const part of parts) {
      const { length } = part.plan.replaced
      if (length === 0) continue
      replaced += length
      const text = given.find(({ owner }) => owner === part.owner)?.text ?? null
      this.#replace(id, composeCompacted(part, text))
    }
    return { replaced, messages: this.#readMessages(id).length }
  }

  /** Plans the compaction of each owner's part; null when the session doesn't exist. */
  #planParts(id: string): SessionPart[] | null {
    const [session] = this.#memory.query<{ summary: string }>(
      'SELECT summary FROM sessions WHERE id = ?',
      id,
    )
    if (!session) return null
    const turns = this.#readTurns(id)
    // The shared turn comes first, because a private summary stands for all turns before it.
    const owners = [...new Set(turns.map(({ owner }) => owner))].sort()
    return owners.map((owner) => planPart(turns, session.summary, owner))
  }

  #readRevision(id: string): number {
    const [row] = this.#memory.query<{ revision: number }>(
      'SELECT coalesce(max(seq), 0) AS revision FROM turns WHERE session_id = ?',
      id,
    )
    return row?.revision ?? 0
  }

  /** Replaces the turns of one owner by a compacted one. */
  #replace(id: string, turn: Turn): void {
    this.#memory.write('DELETE FROM turns WHERE session_id = ? AND private_to = ?', id, turn.owner)
    const isPrivate = turn.owner !== ''
    this.#write(id, isPrivate ? turn : { ...turn, ownSummary: '' })
    if (isPrivate) return
    this.#memory.write('UPDATE sessions SET summary = ? WHERE id = ?', turn.ownSummary, id)
  }

  #readTurns(id: string): Turn[] {
    return this.#memory
      .query<Omit<Turn, 'messages'> & { messages: string }>(
        `SELECT at, gist, messages, private_to AS owner, own_summary AS ownSummary
         FROM turns WHERE session_id = ? ORDER BY seq`,
        id,
      )
      .map((turn) => ({ ...turn, messages: JSON.parse(turn.messages) as SessionMessage[] }))
  }

  #readMessages(id: string): SessionMessage[] {
    return this.#readTurns(id).flatMap(({ messages }) => messages)
  }

  /** Writes messages as one row. It is no activation, so statistics stay unchanged. */
  #write(id: string, { messages, at, gist, owner, ownSummary }: Turn): void {
    if (messages.length === 0 && ownSummary === '') return
    this.#memory.write(
      `INSERT INTO turns (activation_id, session_id, at, gist, messages, private_to, own_summary)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      `kept ${id} ${crypto.randomUUID()}`,
      id,
      at,
      gist,
      JSON.stringify(messages),
      owner,
      ownSummary,
    )
  }
}

/** Stands for no account. */
const hiddenOwner = 'nobody'

/** The row type of an interface, as SQLite returns it. */
type Row<Shape> = { [Field in keyof Shape]: Shape[Field] & SqlStorageValue }

type SessionRow = Row<Omit<SessionFacts, 'privateTo' | 'hasShared' | 'lastCall'>> & {
  lastCall: string | null
  privateTo: string
  hasShared: number
}

const toFacts = ({ privateTo, hasShared, lastCall, ...facts }: SessionRow): SessionFacts => ({
  ...facts,
  lastCall: lastCall === null ? null : JSON.parse(lastCall),
  hasShared: hasShared === 1,
  privateTo: JSON.parse(privateTo),
})

const counters = `input_tokens AS inputTokens, cached_tokens AS cachedTokens, output_tokens AS outputTokens,
  cost_microusd AS costMicrousd`

// Summaries of private turns come after the one that all runs see.
const selectSession = `SELECT id, activations,
  (SELECT coalesce(group_concat(part, char(10, 10)), '') FROM (
    SELECT summary AS part WHERE summary <> '' UNION ALL
    SELECT own_summary FROM turns WHERE session_id = sessions.id AND own_summary <> '')) AS summary,
  (SELECT json_group_array(DISTINCT private_to) FROM turns
    WHERE session_id = sessions.id AND private_to <> '') AS privateTo,
  (summary <> '' OR EXISTS (SELECT 1 FROM turns WHERE session_id = sessions.id AND private_to = '')) AS hasShared,
  ${counters}, last_call AS lastCall, created_at AS createdAt, updated_at AS updatedAt,
  (SELECT coalesce(sum(json_array_length(messages)), 0) FROM turns WHERE session_id = sessions.id) AS messageCount
  FROM sessions`

/** A turn of a session as it is stored. */
interface Turn {
  at: number
  gist: string
  messages: SessionMessage[]
  /** The account whose runs alone see it; empty: all. */
  owner: string
  /** Of a private turn: stands for the turns before it. */
  ownSummary: string
}

/** What runs for one owner see of a session, and what of it a compaction replaces. */
interface SessionPart {
  owner: string
  transcript: Conversation & { history: SessionMessage[] }
  plan: CompactionPlan
  /** The newest turn of the owner. */
  last: Pick<Turn, 'at' | 'gist'>
}

/** Plans the compaction of what runs for one owner see; an empty owner stands for all runs. */
function planPart(turns: Turn[], summary: string, owner: string): SessionPart {
  const visible = turns.filter((turn) => turn.owner === '' || turn.owner === owner)
  const from = visible.findLastIndex(({ ownSummary }) => ownSummary !== '')
  const former = [summary, visible[from]?.ownSummary ?? ''].filter((each) => each !== '')
  const history = visible.slice(Math.max(0, from)).flatMap((turn) => turn.messages)
  const transcript = {
    head: [],
    task: [],
    run: [],
    history,
    summary: former.length === 0 ? null : former.join('\n\n'),
  }
  const plan = planCompaction(transcript, {
    ...measureHistory(transcript),
    toShare: compaction.forcedShare,
    keepsAnswer: false,
  })
  const last = turns.findLast((turn) => turn.owner === owner) ?? { at: 0, gist: '' }
  return { owner, transcript, plan, last }
}

/**
 * Returns the turn that stands for a compacted part.
 *
 * @param given the summary by a model; null: an extract is made
 */
function composeCompacted(
  { owner, transcript, plan, last }: SessionPart,
  given: string | null,
): Turn {
  const text = given ?? extractSummary(plan.replaced, transcript.summary, plan.summaryCharsMax)
  return {
    at: last.at,
    gist: last.gist,
    owner,
    ownSummary: text,
    messages: truncateMessages(transcript.history.slice(plan.replaced.length)),
  }
}

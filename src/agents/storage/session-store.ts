import { compaction, limits } from '../../shared/config'
import type {
  AgentSessions,
  CompactedSession,
  SessionFacts,
  SessionMessage,
  SessionSnapshot,
} from '../contract/agents'
import { planCompaction, replaceOldest } from '../loop/compaction'
import { countTotalChars, estimateTokensOfChars } from '../loop/estimate'
import type { Message } from '../loop/message'
import { extractSummary } from '../loop/summarize'
import { truncateMessages } from '../memory/truncate-messages'
import type { MemoryStore } from './memory-store'

/** Stored sessions of one agent, for its owner and admins. */
export class SessionStore {
  readonly #memory: MemoryStore

  constructor(memory: MemoryStore) {
    this.#memory = memory
  }

  /** Returns sessions, newest first, with the statistics of all activations. */
  list(sessionsMax: number): AgentSessions {
    const sessions = this.#memory.query<Row<SessionFacts>>(
      `${selectSession} ORDER BY updated_at DESC LIMIT ?`,
      sessionsMax,
    )
    const { totals, tools } = this.#memory.readStatistics()
    tools.sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1))
    return { sessions, totals, tools }
  }

  read(id: string): SessionSnapshot | null {
    const [session] = this.#memory.query<Row<SessionFacts> & { summary: string }>(
      `${selectSession} WHERE id = ?`,
      id,
    )
    return session ? { ...session, messages: this.#readMessages(id) } : null
  }

  /** Replaces a session by a snapshot. Returns false when the snapshot is too large. */
  restore(id: string, snapshot: SessionSnapshot, now: number): boolean {
    const messages = truncateMessages(snapshot.messages)
    const { summary, activations, createdAt } = snapshot
    if (JSON.stringify(messages).length > limits.storedRowBytesMax) return false
    this.#memory.write('DELETE FROM turns WHERE session_id = ?', id)
    this.#memory.write(
      `INSERT OR REPLACE INTO sessions (id, summary, activations, input_tokens, cached_tokens, output_tokens,
         cost_microusd, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      summary,
      activations,
      snapshot.inputTokens,
      snapshot.cachedTokens,
      snapshot.outputTokens,
      snapshot.costMicrousd,
      createdAt,
      now,
    )
    this.#write(id, messages, now, '')
    return true
  }

  /** Deletes a session. Returns false when it doesn't exist. Statistics stay unchanged. */
  reset(id: string): boolean {
    const deleted = this.#memory.query('DELETE FROM sessions WHERE id = ? RETURNING id', id)
    if (deleted.length > 0) this.#memory.write('DELETE FROM turns WHERE session_id = ?', id)
    return deleted.length > 0
  }

  /**
   * Replaces the oldest messages by an extract, down to the target of a manual compaction. It calls
   * no model, because no budget is reserved outside an activation. Returns null when the session
   * doesn't exist.
   */
  compact(id: string): CompactedSession | null {
    const before = this.read(id)
    if (!before) return null
    const { messages, summary } = before
    const transcript = {
      head: [],
      task: [],
      run: [],
      summary: summary === '' ? null : summary,
      history: messages,
    }
    const size = estimateTokensOfChars(countTotalChars(messages) + summary.length)
    const plan = planCompaction(transcript, {
      promptTokens: size,
      estimatedTokens: size,
      contextTokens: size,
      toShare: compaction.forcedShare,
      keepsAnswer: false,
    })
    const { length: replaced } = plan.replaced
    if (replaced > 0) {
      const text = extractSummary(plan.replaced, transcript.summary, plan.summaryCharsMax)
      const after = replaceOldest(transcript, replaced, text)
      this.#replace(id, after.history, text)
    }
    return { replaced, messages: messages.length - replaced }
  }

  #replace(id: string, messages: Message[], summary: string): void {
    const [last] = this.#memory.query<{ at: number; gist: string }>(
      'SELECT at, gist FROM turns WHERE session_id = ? ORDER BY seq DESC LIMIT 1',
      id,
    )
    this.#memory.write('DELETE FROM turns WHERE session_id = ?', id)
    this.#memory.write('UPDATE sessions SET summary = ? WHERE id = ?', summary, id)
    this.#write(id, messages, last?.at ?? 0, last?.gist ?? '')
  }

  #readMessages(id: string): SessionMessage[] {
    return this.#memory
      .query<{ messages: string }>(
        'SELECT messages FROM turns WHERE session_id = ? ORDER BY seq',
        id,
      )
      .flatMap(({ messages }) => JSON.parse(messages) as SessionMessage[])
  }

  /** Writes messages as one row. It is no activation, so statistics stay unchanged. */
  #write(id: string, messages: Message[], at: number, gist: string): void {
    if (messages.length === 0) return
    this.#memory.write(
      'INSERT INTO turns (activation_id, session_id, at, gist, messages) VALUES (?, ?, ?, ?, ?)',
      `kept ${id} ${crypto.randomUUID()}`,
      id,
      at,
      gist,
      JSON.stringify(messages),
    )
  }
}

/** The row type of an interface, as SQLite returns it. */
type Row<Shape> = { [Field in keyof Shape]: Shape[Field] & SqlStorageValue }

const counters = `input_tokens AS inputTokens, cached_tokens AS cachedTokens, output_tokens AS outputTokens,
  cost_microusd AS costMicrousd`

const selectSession = `SELECT id, summary, activations, ${counters}, created_at AS createdAt, updated_at AS updatedAt,
  (SELECT coalesce(sum(json_array_length(messages)), 0) FROM turns WHERE session_id = sessions.id) AS messageCount
  FROM sessions`

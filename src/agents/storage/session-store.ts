import { compaction, limits } from '../../config'
import type {
  AgentSessions,
  CompactedSession,
  SessionFacts,
  SessionMessage,
  SessionSnapshot,
} from '../contract'
import { planCompaction, replaceOldest } from '../loop/compaction'
import { extractSummary } from '../loop/condense'
import { countAllChars, toTokens } from '../loop/estimate'
import type { Message } from '../loop/message'
import { boundMessages } from '../memory/bound-messages'
import type { MemoryStore } from './memory-store'

/** The sessions of one agent, for the people who run it (L40). */
export class SessionStore {
  readonly #memory: MemoryStore

  constructor(memory: MemoryStore) {
    this.#memory = memory
  }

  /** The newest first. */
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

  /** Puts the session as a snapshot has it in the place of what is there. False: it is too large. */
  restore(id: string, snapshot: SessionSnapshot, now: number): boolean {
    const messages = boundMessages(snapshot.messages)
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

  /** False when there is none. What was counted in all stays counted. */
  reset(id: string): boolean {
    const gone = this.#memory.query('DELETE FROM sessions WHERE id = ? RETURNING id', id)
    if (gone.length > 0) this.#memory.write('DELETE FROM turns WHERE session_id = ?', id)
    return gone.length > 0
  }

  /**
   * Puts an extract in place of the oldest messages, down to the manual target (L19). It asks no model:
   * outside an activation no budget is reserved for one.
   */
  compact(id: string): CompactedSession | null {
    const before = this.read(id)
    if (!before) return null
    const { messages, summary } = before
    const talk = {
      ...{ head: [], task: [], run: [] },
      summary: summary === '' ? null : summary,
      history: messages,
    }
    const size = toTokens(countAllChars(messages) + summary.length)
    const plan = planCompaction(talk, {
      promptTokens: size,
      estimatedTokens: size,
      contextTokens: size,
      toShare: compaction.forcedShare,
      keepsAnswer: false,
    })
    const { length: replaced } = plan.replaced
    if (replaced > 0) {
      const text = extractSummary(plan.replaced, talk.summary, plan.summaryCharsMax)
      const after = replaceOldest(talk, replaced, text)
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

  /** No activation, so nothing is counted. */
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

/** An interface as a row that the database gives. */
type Row<Shape> = { [Field in keyof Shape]: Shape[Field] & SqlStorageValue }

const counters = `input_tokens AS inputTokens, cached_tokens AS cachedTokens, output_tokens AS outputTokens,
  cost_microusd AS costMicrousd`

const selectSession = `SELECT id, summary, activations, ${counters}, created_at AS createdAt, updated_at AS updatedAt,
  (SELECT coalesce(sum(json_array_length(messages)), 0) FROM turns WHERE session_id = sessions.id) AS messageCount
  FROM sessions`

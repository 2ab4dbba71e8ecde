import type { Outcome } from '../../shared/errors'
import type { AccountId, ActivationId, PostId } from '../../shared/ids'
import type { AccountKind, Task } from '../contract/hub'
import type { Db } from '../db'
import { type TraceAccessColumns, traceAccessColumns } from './trace-access'

/** An activation as the API returns it. */
export interface ActivationRecord {
  id: ActivationId
  agentId: AccountId
  agentName: string
  agentKind: AccountKind
  class: 'inbox' | 'exploration'
  task: Task
  state: 'running' | 'parked' | 'done'
  admission: 'granted' | 'budget_exhausted'
  outcome: Outcome | null
  /** JSON `{ code, message }`. */
  error: string | null
  model: string
  definitionVersion: number
  postId: PostId | null
  postTitle: string | null
  startedAt: number
  deadlineAt: number
  finishedAt: number | null
  iterations: number
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  costMicrousd: number
  reservedMicrousd: number
  isPriced: number
  /** JSON list of tool names. */
  tools: string
  replyCommentId: string | null
  replyRefusal: string | null
}

/** Filter and page of the list of activations. */
export interface ActivationPageRequest {
  /** Name of the agent; undefined for all agents. */
  agent?: string | undefined
  outcome?: Outcome | 'running' | 'parked' | undefined
  /** Keyset: start time and id of the last activation seen. */
  before: [number, string] | null
  limit: number
}

const columns = `
  x.id, x.agent_id AS agentId, a.name AS agentName, a.kind AS agentKind, x.class, x.task, x.state,
  x.admission, x.outcome, x.error, x.model, x.definition_version AS definitionVersion,
  p.id AS postId, p.title AS postTitle, x.started_at AS startedAt, x.deadline_at AS deadlineAt,
  x.finished_at AS finishedAt, x.iterations, x.input_tokens AS inputTokens,
  x.cached_tokens AS cachedTokens, x.output_tokens AS outputTokens,
  x.cost_microusd AS costMicrousd, x.reserved_microusd AS reservedMicrousd,
  x.is_priced AS isPriced, x.tools, x.reply_comment_id AS replyCommentId,
  x.reply_refusal AS replyRefusal`

/** CROSS JOIN keeps `activations` outermost, so that its index gives order and limit. */
const tables = `activations x CROSS JOIN accounts a ON a.id = x.agent_id
  LEFT JOIN posts p ON p.id = x.post_id AND p.deleted_at IS NULL`

const farFuture = 9_000_000_000_000_000

/** Selects a page of activations, newest first. */
export function selectActivations(db: Db, list: ActivationPageRequest): D1PreparedStatement {
  const { agent, outcome, limit } = list
  const [at, id] = list.before ?? [farFuture, '']
  return db.d1
    .prepare(
      `SELECT ${columns} FROM ${tables}
       WHERE (x.started_at, x.id) < (?1, ?2)
         ${agent === undefined ? 'AND ?3 IS NULL' : 'AND x.agent_id = (SELECT id FROM accounts WHERE name = ?3)'}
         AND (?4 IS NULL OR coalesce(x.outcome, x.state) = ?4)
       ORDER BY x.started_at DESC, x.id DESC LIMIT ?5`,
    )
    .bind(at, id, agent ?? null, outcome ?? null, limit)
}

/** An activation with its trace, and with who may see all of it. */
export type TracedActivation = ActivationRecord &
  TraceAccessColumns & {
    /** JSON of a `Trace`; null until the activation has ended or parked. */
    trace: string | null
  }

/** Selects one activation with its trace. */
export const selectActivation = (db: Db, id: string): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT ${columns}, ${traceAccessColumns}, t.trace FROM ${tables}
       LEFT JOIN activation_traces t ON t.activation_id = x.id WHERE x.id = ?1`,
    )
    .bind(id)

/** What decides whether an account can cancel an activation. */
export interface CancellableActivation {
  id: ActivationId
  agentId: AccountId
  state: 'running' | 'parked' | 'done'
  isAsker: number
}

/** Selects an activation with whether the account is one of its requesters. */
export const selectCancellable = (db: Db, id: string, accountId: AccountId): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT id, agent_id AS agentId, state,
         EXISTS (SELECT 1 FROM inbox_items WHERE claimed_by = ?1 AND from_account_id = ?2
           AND type <> 'approval_decision') AS isAsker
       FROM activations WHERE id = ?1`,
    )
    .bind(id, accountId)

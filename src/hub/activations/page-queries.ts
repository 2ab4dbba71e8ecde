import type { ActivationId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'
import type { Db } from '../db'
import { type TraceAccessColumns, traceAccessColumns } from './trace-access'

/** One row of a list of activations. */
export interface ActivationRow {
  id: string
  agentName: string
  task: string
  state: 'running' | 'parked' | 'done'
  outcome: string | null
  model: string
  postTitle: string | null
  startedAt: number
  finishedAt: number | null
  tokens: number
  costMicrousd: number
  isPriced: number
}

/** Columns of `ActivationRow`; the query has `activations x`, `accounts a` and `posts p` in scope. */
export const activationColumns = `
  x.id, a.name AS agentName, x.task, x.state, x.outcome, x.model, p.title AS postTitle,
  x.started_at AS startedAt, x.finished_at AS finishedAt,
  x.input_tokens + x.output_tokens AS tokens, x.cost_microusd AS costMicrousd,
  x.is_priced AS isPriced`

/** One activation with everything that its page shows. */
export type ActivationDetail = ActivationRow &
  TraceAccessColumns & {
    id: ActivationId
    agentKind: AccountKind
    admission: string
    postId: string | null
    definitionVersion: number
    deadlineAt: number
    reservedMicrousd: number
    reservedTokens: number
    /** JSON `{ code, message }`. */
    error: string | null
    iterations: number
    inputTokens: number
    cachedTokens: number
    outputTokens: number
    replyCommentId: string | null
    replyRefusal: string | null
    /** JSON list of the tools whose approval a parked activation waits for. */
    waitsFor: string
    /** JSON of a `Trace`; null until the activation has ended or parked. */
    trace: string | null
    reply: string | null
  }

/** An account that asked for the activation. */
export interface Requester {
  name: string
  kind: AccountKind
}

const selectActivation = `
  SELECT ${activationColumns}, x.agent_id AS agentId, a.kind AS agentKind, x.admission,
    x.post_id AS postId, x.definition_version AS definitionVersion, x.deadline_at AS deadlineAt,
    x.reserved_microusd AS reservedMicrousd, x.reserved_tokens AS reservedTokens, x.error,
    x.iterations, x.input_tokens AS inputTokens, x.cached_tokens AS cachedTokens,
    x.output_tokens AS outputTokens, x.reply_comment_id AS replyCommentId,
    x.reply_refusal AS replyRefusal, iif(x.state <> 'parked', '[]',
      (SELECT json_group_array(DISTINCT v.tool) FROM approvals v
       WHERE v.activation_id = x.id AND v.status = 'pending')) AS waitsFor, t.trace,
    ${traceAccessColumns}, m.content AS reply
  FROM activations x JOIN accounts a ON a.id = x.agent_id
  LEFT JOIN posts p ON p.id = x.post_id AND p.deleted_at IS NULL
  LEFT JOIN activation_traces t ON t.activation_id = x.id
  LEFT JOIN comments m ON m.id = x.reply_comment_id AND m.deleted_at IS NULL
  WHERE x.id = ?1`

const selectRequesters = `
  SELECT DISTINCT f.name, f.kind FROM inbox_items i JOIN accounts f ON f.id = i.from_account_id
  WHERE i.claimed_by = ?1 AND i.type <> 'approval_decision' LIMIT 20`

/** Returns the statements of an activation's page, in this order: activation, requesters. */
export const activationStatements = (db: Db, id: string): D1PreparedStatement[] => [
  db.d1.prepare(selectActivation).bind(id),
  db.d1.prepare(selectRequesters).bind(id),
]

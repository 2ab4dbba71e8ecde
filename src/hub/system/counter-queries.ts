import type { CommitRequest } from '../contract/hub'
import type { Db } from '../db'

/** Increment of each column, in the order of the SQL parameters after the activation's id. */
const increments = {
  failed_activations: ({ outcome }) => Number(outcome === 'failed'),
  model_requests: ({ counters }) => counters?.modelRequests ?? 0,
  model_failures: ({ counters }) => counters?.modelFailures ?? 0,
  tool_executions: ({ counters }) => counters?.toolExecutions ?? 0,
  tool_failures: ({ counters }) => counters?.toolFailures ?? 0,
  permission_denials: ({ counters }) => counters?.permissionDenials ?? 0,
  compactions: ({ counters }) => counters?.compactions ?? 0,
  retries: ({ counters }) => counters?.retries ?? 0,
  parks: ({ counters }) => counters?.parks ?? 0,
  export_failures: ({ counters }) => counters?.exportFailures ?? 0,
} satisfies Record<string, (request: CommitRequest) => number>

const columns = Object.keys(increments)

const countSql = `
  INSERT INTO agent_counters (account_id, activations, ${columns.join(', ')})
  SELECT agent_id, 1, ${columns.map((_, index) => `?${index + 2}`).join(', ')}
  FROM activations WHERE id = ?1 AND state = 'running'
  ON CONFLICT (account_id) DO UPDATE SET activations = activations + 1,
    ${columns.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}`

/**
 * Adds one activation to the counters of its agent. Part of the commit batch, and only while the row is
 * still running, so that a repeated commit counts once.
 */
export const countActivation = (db: Db, request: CommitRequest): D1PreparedStatement =>
  db.d1
    .prepare(countSql)
    .bind(request.activationId, ...Object.values(increments).map((read) => read(request)))

/** Counters of one hosted agent. */
export type CounterRow = { agent: string } & Record<string, number | string>

/** Maximum of agents listed, to keep the page small for scrapers; the totals include all agents. */
const agentsMax = 1_000

export const selectAgentCounters = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT a.name AS agent, activations, ${columns.join(', ')}
     FROM agent_counters c JOIN accounts a ON a.id = c.account_id
     ORDER BY c.activations DESC, c.account_id LIMIT ${agentsMax}`,
  )

export const selectTotals = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT ${['activations', ...columns].map((column) => `coalesce(sum(${column}), 0) AS ${column}`).join(', ')}
     FROM agent_counters`,
  )

import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { maskArguments } from '../approvals/mask-arguments'
import { cancellationStatements, insertApprovals } from '../approvals/write-queries'
import type { ParkRequest, ParkResult } from '../contract/hub'
import { maskTrace } from './mask-trace'
import { recordUsageStatements, totalsSql } from './usage-queries'
import { selectAgentsToWake } from './waiting'

/**
 * Releases slot, deadline and reservation; the usage so far is already recorded. A late repeat, after the
 * approvals were decided and the activation runs again, changes nothing: its approvals exist already.
 */
const parkSql = `
  UPDATE activations SET state = 'parked', iterations = ?2, model = ?3, tools = ?4,
    reserved_microusd = 0, reserved_tokens = 0, deadline_at = ?5, ${totalsSql},
    (settled_microusd, settled_tokens) = (
      SELECT coalesce(sum(cost_microusd), 0), coalesce(sum(input_tokens + output_tokens), 0)
      FROM usage_events WHERE activation_id = ?1)
  WHERE id = ?1 AND state = 'running' AND NOT EXISTS (
    SELECT 1 FROM approvals a, json_each(?6) r
    WHERE a.id = ?1 || ':' || (r.value ->> 'callId') AND a.arguments_hash = r.value ->> 'argumentsHash'
      AND a.tool = r.value ->> 'tool')`

/**
 * Parks an activation until its calls are approved: settles the usage so far, frees the slot and notifies
 * the approvers, in one round trip. Idempotent. The claimed items stay claimed. An activation that was
 * cancelled while it ran does not wait for approvals.
 */
export async function park(
  { db, settings }: ActionContext,
  request: ParkRequest,
): Promise<ParkResult> {
  const { activationId, agentId, now, approvals, iterations, model, tools } = request
  if (approvals.length === 0) throw new Error('A park request needs at least one call to approve.')
  const keyPrefix = settings.ROOKERY_KEY_PREFIX
  const requests = approvals.map((each) => maskArguments(each, keyPrefix))
  const trace = maskTrace(request.trace, keyPrefix)
  const results = await db.d1.batch<unknown>([
    ...recordUsageStatements(db, { ...request, trace }),
    db.d1
      .prepare(parkSql)
      .bind(activationId, iterations, model, JSON.stringify(tools), now, JSON.stringify(requests)),
    ...insertApprovals(db, { activationId, agentId, requests, now }),
    ...cancellationStatements(db, activationId, now),
    db.d1.prepare('SELECT state FROM activations WHERE id = ?1').bind(activationId),
    selectAgentsToWake(db),
  ])
  const [row] = (results.at(-2)?.results ?? []) as { state: string }[]
  const waiting = (results.at(-1)?.results ?? []) as { id: AccountId }[]
  return {
    kind: row?.state === 'parked' ? 'parked' : 'lost',
    waiting: waiting.map(({ id }) => id),
  }
}

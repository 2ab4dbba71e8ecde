import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { batch } from '../../shared/db/batch'
import { one, orm, type Params, prepare, write } from '../../shared/db/statement'
import { bare, updateSet } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { maskArguments } from '../approvals/mask-arguments'
import { insertApprovals } from '../approvals/request-queries'
import { approvals } from '../approvals/schema'
import { cancellationStatements } from '../approvals/write-queries'
import { usageEvents } from '../budgets/schema'
import type { ParkRequest, ParkResult } from '../contract/hub'
import { maskTrace } from './mask-trace'
import { activations } from './schema'
import { recordUsageStatements, totalsSql } from './usage-queries'
import { selectAgentsToWake } from './waiting'

interface Values {
  activationId: ActivationId
  iterations: number
  model: string
  tools: string[]
  now: number
  /** JSON list of the calls to approve. */
  requests: string
}

const a = alias(approvals, 'a')
const e = alias(usageEvents, 'e')

/**
 * Releases slot, deadline and reservation; the usage so far is already recorded. A late repeat, after the
 * approvals were decided and the activation runs again, changes nothing: its approvals exist already.
 */
const releaseSlot = prepare((v: Params<Values>) =>
  write(
    updateSet(
      activations,
      {
        state: 'parked',
        iterations: v.iterations,
        model: v.model,
        tools: v.tools,
        reservedMicrousd: 0,
        reservedTokens: 0,
        deadlineAt: v.now,
      },
      sql`, ${totalsSql(v.activationId)},
      (${bare(activations.settledMicrousd)}, ${bare(activations.settledTokens)}) = (
        SELECT coalesce(sum(${e.costMicrousd}), 0), coalesce(sum(${e.inputTokens} + ${e.outputTokens}), 0)
        FROM ${usageEvents} ${e} WHERE ${e.activationId} = ${v.activationId})
      WHERE ${activations.id} = ${v.activationId} AND ${activations.state} = 'running' AND NOT EXISTS (
        SELECT 1 FROM ${approvals} ${a}, json_each(${v.requests}) r
        WHERE ${a.id} = ${v.activationId} || ':' || (r.value ->> 'callId')
          AND ${a.argumentsHash} = r.value ->> 'argumentsHash' AND ${a.tool} = r.value ->> 'tool')`,
    ),
  ),
)

const selectStateOf = prepare(({ id }: Params<{ id: ActivationId }>) =>
  one(
    orm
      .select({ state: activations.state })
      .from(activations)
      .where(sql`${activations.id} = ${id}`),
  ),
)

/**
 * Parks an activation until its calls are approved: settles the usage so far, frees the slot and notifies
 * the approvers, in one round trip. Idempotent. The claimed items stay claimed. An activation that was
 * cancelled while it ran does not wait for approvals.
 */
export async function park(
  { db, settings }: ActionContext,
  request: ParkRequest,
): Promise<ParkResult> {
  const { activationId, agentId, now, approvals: calls } = request
  if (calls.length === 0) throw new Error('A park request needs at least one call to approve.')
  const keyPrefix = settings.ROOKERY_KEY_PREFIX
  const requests = calls.map((each) => maskArguments(each, keyPrefix))
  const trace = maskTrace(request.trace, keyPrefix)
  const { parked, waiting } = await batch(db, {
    usage: recordUsageStatements({ ...request, trace }),
    release: releaseSlot({ ...request, requests: JSON.stringify(requests) }),
    approvals: insertApprovals({ activationId, agentId, requests, now }),
    cancellation: cancellationStatements(activationId, now),
    parked: selectStateOf({ id: activationId }),
    waiting: selectAgentsToWake(),
  })
  return { kind: parked?.state === 'parked' ? 'parked' : 'lost', waiting }
}

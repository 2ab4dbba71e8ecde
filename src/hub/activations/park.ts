import { batch } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { maskArguments } from '../approvals/mask-arguments'
import { insertApprovals } from '../approvals/request-queries'
import { cancellationStatements } from '../approvals/write-queries'
import type { ParkRequest, ParkResult } from '../contract/hub'
import { maskTrace } from './mask-trace'
import { releaseSlot, selectStateOf } from './park-queries'
import { recordUsageStatements } from './usage-queries'
import { selectAgentsToWake } from './waiting-sql'

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

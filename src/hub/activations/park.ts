import { batch } from '../../shared/db/batch'
import { idAt } from '../../shared/db/new-id'
import type { ActionContext } from '../action-context'
import { adoptApprovals, insertApprovals } from '../approvals/request-queries'
import { toStoredRequest } from '../approvals/stored-request'
import { resumeIfDecided } from '../approvals/write-queries'
import type { ParkRequest, ParkResult } from '../contract/hub'
import { cancellationStatements } from '../inbox/cancellation-queries'
import { selectAgentsToWake } from '../inbox/waiting-sql'
import { outageStatements, selectNextAttempt } from '../outages/queries'
import { deferPushes } from '../push/actions'
import { queuePushesOfAgent } from '../push/queue-queries'
import { maskTrace } from '../traces/mask-trace'
import { releaseSlot, selectStateOf } from './park-queries'
import { recordUsageStatements } from './usage-queries'

/**
 * Parks an activation until its calls are approved, or until its provider is back: settles the usage so far, frees the slot and notifies
 * the approvers, in one round trip. Idempotent. The claimed items stay claimed. An activation that was
 * cancelled while it ran does not wait for approvals.
 */
export async function park(context: ActionContext, request: ParkRequest): Promise<ParkResult> {
  const { db, clock, settings, scheduler, defer } = context
  const { activationId, agentId, now, approvals: calls, outage } = request
  if (calls.length === 0 && !outage) {
    throw new Error('A park request needs a call to approve or an outage to wait for.')
  }
  const requests = calls.map((each) => toStoredRequest(each, settings))
  const trace = maskTrace(request.trace, settings)
  const { parked, waiting, attempt, isPushed } = await batch(db, {
    usage: recordUsageStatements({ ...request, trace }),
    release: releaseSlot({ ...request, requests: JSON.stringify(requests) }),
    adopted: request.areRequested
      ? adoptApprovals({ activationId, requests: JSON.stringify(requests) })
      : null,
    approvals: insertApprovals({ activationId, agentId, requests, now }),
    resume: request.areRequested ? resumeIfDecided(activationId, now) : null,
    isPushed: calls.length > 0 ? queuePushesOfAgent({ agentId, like: idAt(now), now }) : null,
    outage: outage
      ? outageStatements({ activationId, agentId, now, outage, postId: clock.newId(now) })
      : [],
    cancellation: cancellationStatements(activationId, now),
    attempt: outage ? selectNextAttempt({}) : null,
    parked: selectStateOf({ id: activationId }),
    waiting: selectAgentsToWake(now),
  })
  deferPushes(context, isPushed ?? false)
  if (attempt?.at) defer(scheduler.sweepAt(attempt.at))
  return { kind: parked?.state === 'parked' ? 'parked' : 'lost', waiting }
}

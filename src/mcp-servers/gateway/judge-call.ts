import { approvals } from '../../config'
import type { AuditEntry, CallFacts, KnownApproval } from '../../hub/contract'
import type { AskedCall } from './asked-call'
import { decide, placeInPolicy } from './decide'
import { findLimits, sayRetry } from './find-limits'
import { isOutside } from './is-outside'
import { needsApproval } from './needs-approval'

/** Why a call does not run, in words that the model reads. */
export interface Refusal {
  decision: Exclude<AuditEntry['decision'], 'allowed'>
  text: string
}

/**
 * The one place where a call is refused or let through, in this order: policy, a person's word, how
 * often (M3, M7, M8). Null lets it run.
 */
export async function judgeCall(asked: AskedCall, facts: CallFacts): Promise<Refusal | null> {
  const { caller, tool, prepared, args } = asked
  asked.policy = facts.policy
  const { grant, tier } = prepared
  const decision = decide(facts.policy, caller, tool, { grant, tier, args })
  if (!decision.isAllowed) {
    const text = `Error: Missing grant ${grant}. Why: ${decision.reason}.`
    const place = decision.list && placeInPolicy(caller.name, decision.list)
    return { decision: 'denied', text: place ? `${text} An admin can change that: ${place}` : text }
  }
  if (!needsApproval(facts.policy.requireApproval, { name: tool.name, grant, tier })) {
    return judgeRate(asked, facts)
  }
  const found = findApproval(asked, facts.approvals)
  const refusal = (await judgeApproval(asked, found)) ?? (await judgeRate(asked, facts))
  // An outside call runs once for each approval; a hosted agent's is bound to its call.
  if (!refusal && found && isOutside(asked.caller)) asked.approvalId = found.id
  return refusal
}

const findApproval = (asked: AskedCall, known: KnownApproval[]): KnownApproval | undefined =>
  isOutside(asked.caller) ? findForOutside(asked, known) : findForAgent(asked, known)

async function judgeApproval(
  asked: AskedCall,
  found: KnownApproval | undefined,
): Promise<Refusal | null> {
  if (found?.status === 'approved') return null
  const isRefused =
    found?.status === 'denied' || (found?.status === 'expired' && !isOutside(asked.caller))
  return isRefused ? { decision: 'denied', text: sayRefused(found) } : ask(asked, found)
}

/**
 * One for the whole activation, else that of this very call, else a refusal of the same arguments: no
 * means no, however often it is asked.
 */
function findForAgent(
  { entry, prepared }: AskedCall,
  known: KnownApproval[],
): KnownApproval | undefined {
  const isSameCall = (each: KnownApproval) => each.argumentsHash === entry.argumentsHash
  return (
    known.find(
      ({ status, scope, grant }) =>
        status === 'approved' && scope === 'activation' && grant === prepared.grant,
    ) ??
    known.find((each) => each.callId === entry.callId && isSameCall(each)) ??
    known.find((each) => each.status === 'denied' && isSameCall(each))
  )
}

/** What was decided about an outside call holds for a while, yes or no; then it may be asked anew. */
function findForOutside(
  { pipeline }: AskedCall,
  [newest]: KnownApproval[],
): KnownApproval | undefined {
  const since = pipeline.clock.now() - approvals.expiresMs
  return newest && (newest.decidedAt ?? since) >= since ? newest : undefined
}

const sayRefused = ({ status, by, note }: KnownApproval): string => {
  if (status === 'expired') return 'Error: Nobody approved this call in time, so it was not run.'
  const words = note === '' ? '.' : `, with the words: ${note}`
  return `Error: Denied by ${by ?? 'a person'}${words}`
}

/** A hosted agent parks with it; an outside caller is asked to come again (M7). */
export async function ask(asked: AskedCall, found?: KnownApproval): Promise<Refusal> {
  const { pipeline, caller, tool, prepared } = asked
  if (isOutside(caller) && found?.status !== 'pending') {
    await pipeline.hub.askApproval(caller.accountId, toApprovalRequest(asked))
  }
  const again = isOutside(caller)
    ? 'Error: needs approval by a person (/approvals): repeat the same call once it is approved.'
    : `Error: ${tool.name} (${prepared.grant}) needs approval by a person.`
  return { decision: 'needs_approval', text: again }
}

export const toApprovalRequest = ({ tool, prepared, raw, entry }: AskedCall) => ({
  callId: entry.callId,
  tool: tool.name,
  grant: prepared.grant,
  tier: prepared.tier,
  arguments: raw,
  argumentsHash: entry.argumentsHash,
})

/** Only what is configured costs anything: with no limit for this call nothing is asked. */
async function judgeRate(asked: AskedCall, { policy }: CallFacts): Promise<Refusal | null> {
  const buckets = findLimits(policy.rateLimits, asked)
  if (buckets.length === 0) return null
  const { hub, clock } = asked.pipeline
  asked.taken ??= hub.takeCall(buckets, clock.now())
  const { isTaken, retryMs } = await asked.taken
  if (isTaken) return null
  return { decision: 'rate_limited', text: sayRetry(asked.tool.name, retryMs) }
}

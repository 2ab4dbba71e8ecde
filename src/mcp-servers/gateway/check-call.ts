import type {
  ApprovalRecord,
  AuditEntry,
  AuthorizationData,
  GrantPolicy,
} from '../../hub/contract/hub'
import { noPrivacy } from '../../hub/contract/privacy'
import { approvals } from '../../shared/config'
import type { ToolCaller } from '../contract/tools'
import type { RunTask } from '../tool/define-tool'
import { coversGrant } from '../tool/grant-pattern'
import { decide, toPolicyPath } from './decide'
import { findLimits, formatRateLimitError } from './find-limits'
import { isExternalCaller } from './is-external-caller'
import { needsApproval } from './needs-approval'
import type { PendingCall } from './pending-call'

/** Why a call does not run, as the model reads it. */
export interface Refusal {
  decision: Exclude<AuditEntry['decision'], 'allowed'>
  text: string
}

/**
 * Decides whether a call can run, in this order: policy, approval, rate limits.
 *
 * @returns why it is refused; null: it can run
 */
export async function checkCall(
  asked: PendingCall,
  facts: AuthorizationData,
): Promise<Refusal | null> {
  const { caller, tool, prepared, args } = asked
  asked.policy = facts.policy
  const { grant, tier } = prepared
  const decision = decide(facts.policy, caller, tool, { grant, tier, args })
  if (!decision.isAllowed) {
    const what = decision.isRestricted
      ? `The agent's definition does not allow this call of ${tool.name}`
      : `Missing grant ${grant}`
    const text = `Error: ${what}: ${decision.reason}.`
    const place = decision.list && toPolicyPath(caller.name, decision.list)
    return {
      decision: 'denied',
      // The path comes last: the trace page links it.
      text: place ? `${text} An admin can change the policy: ${place}` : text,
    }
  }
  const isRequired = needsApproval(facts.policy.requireApproval, { name: tool.name, grant, tier })
  const isRisky = borrowsRights(asked, facts.policy) || leavesCommunity(asked)
  if (!isRequired && !isRisky) return judgeRate(asked, facts)
  const found = findApproval(asked, facts.approvals)
  const refusal = (await judgeApproval(asked, found)) ?? (await judgeRate(asked, facts))
  // An external call consumes its approval; that of a hosted agent belongs to one call anyway.
  if (!refusal && found && isExternalCaller(asked.caller)) asked.approvalId = found.id
  return refusal
}

/**
 * Whether a call could do with the requester's permissions what untrusted text says: a write with a
 * credential, or outside of what the run was started for, once the run has read such text. A line of
 * the policy that says `trusted` exempts its calls.
 */
function borrowsRights(
  { caller, tool, prepared }: PendingCall,
  { trusted = [] }: GrantPolicy,
): boolean {
  if (caller.hasReadUntrusted !== true || prepared.tier === 'read' || tool.isOwnStore) return false
  if (trusted.some((pattern) => coversGrant(pattern, prepared.grant))) return false
  return !prepared.staysInTask({ ...toTask(caller), community: null })
}

/** Whether a write of a run could carry texts of its community to those who do not read it. */
function leavesCommunity({ caller, tool, prepared }: PendingCall): boolean {
  if (caller.privacy?.community === undefined) return false
  return prepared.tier !== 'read' && !tool.isOwnStore && !prepared.staysInTask(toTask(caller))
}

const toTask = ({ postId, isExploration, privacy }: ToolCaller): RunTask => ({
  postId,
  isExploration: isExploration === true,
  isPrivate: (privacy ?? noPrivacy).privateTo !== null,
  community: privacy?.community ?? null,
})

const findApproval = (asked: PendingCall, known: ApprovalRecord[]): ApprovalRecord | undefined =>
  isExternalCaller(asked.caller) ? findForOutside(asked, known) : findForAgent(asked, known)

async function judgeApproval(
  asked: PendingCall,
  found: ApprovalRecord | undefined,
): Promise<Refusal | null> {
  if (found?.status === 'approved') return null
  const isRefused =
    found?.status === 'denied' || (found?.status === 'expired' && !isExternalCaller(asked.caller))
  return isRefused
    ? { decision: 'denied', text: formatDenial(found) }
    : requireApproval(asked, found)
}

/**
 * Finds the approval that applies to a hosted agent's call: one for the whole activation, else that of
 * this call, else a denial of the same arguments, which also applies when the call is repeated.
 */
function findForAgent(
  { entry, prepared }: PendingCall,
  known: ApprovalRecord[],
): ApprovalRecord | undefined {
  const isSameCall = (each: ApprovalRecord) => each.argumentsHash === entry.argumentsHash
  return (
    known.find(
      ({ status, scope, grant }) =>
        status === 'approved' && scope === 'activation' && grant === prepared.grant,
    ) ??
    known.find((each) => each.callId === entry.callId && isSameCall(each)) ??
    known.find((each) => each.status === 'denied' && isSameCall(each))
  )
}

/** Finds the newest decision about an external call. It applies until it expires; then a new request is made. */
function findForOutside(
  { pipeline }: PendingCall,
  [newest]: ApprovalRecord[],
): ApprovalRecord | undefined {
  const since = pipeline.clock.now() - approvals.expiresMs
  return newest && (newest.decidedAt ?? since) >= since ? newest : undefined
}

const formatDenial = ({ status, by, note }: ApprovalRecord): string => {
  if (status === 'expired') return 'Error: The approval request expired, so the call did not run.'
  const reason = note === '' ? '.' : `: ${note}`
  return `Error: Denied by ${by ?? 'an approver'}${reason}`
}

/**
 * Refuses a call until it is approved. An external caller's request is recorded here, and the caller
 * repeats the call; a hosted agent parks with its request.
 */
export async function requireApproval(
  asked: PendingCall,
  found?: ApprovalRecord,
): Promise<Refusal> {
  const { pipeline, caller, tool, prepared } = asked
  if (isExternalCaller(caller) && found?.status !== 'pending') {
    const request = toApprovalRequest(asked)
    await pipeline.hub.requestApproval(caller.accountId, request, caller.activationId)
  }
  const text = isExternalCaller(caller)
    ? 'Error: This call requires approval (/approvals). Repeat the same call after it is approved.'
    : `Error: ${tool.name} (${prepared.grant}) requires approval${formatReason(asked)}.`
  return { decision: 'needs_approval', text }
}

function formatReason(asked: PendingCall): string {
  if (leavesCommunity(asked)) return `, since it leaves m/${asked.caller.privacy?.community}`
  if (!asked.caller.hasReadUntrusted) return ''
  return ', since this run has read text by guests or from outside'
}

/** Converts a call to the request that approvers see. */
export const toApprovalRequest = ({ tool, prepared, raw, entry }: PendingCall) => ({
  callId: entry.callId,
  tool: tool.name,
  grant: prepared.grant,
  tier: prepared.tier,
  arguments: raw,
  argumentsHash: entry.argumentsHash,
})

/** Takes from the rate limits of the call. Without a limit there is no round trip. */
async function judgeRate(
  asked: PendingCall,
  { policy }: AuthorizationData,
): Promise<Refusal | null> {
  const buckets = findLimits(policy.rateLimits, asked)
  if (buckets.length === 0) return null
  const { hub, clock } = asked.pipeline
  const { isTaken, retryMs } = await hub.takeRateLimit(buckets, clock.now())
  if (isTaken) return null
  return { decision: 'rate_limited', text: formatRateLimitError(asked.tool.name, retryMs) }
}

import type {
  ApprovalRecord,
  ApprovalRequest,
  AuditEntry,
  AuthorizationData,
  GrantPolicy,
  RateBucket,
  RateLimit,
} from '../../hub/contract/hub'
import { approvals } from '../../shared/config'
import { coversGrant } from '../tool/grant-pattern'
import {
  type ApprovalNeed,
  findApprovalNeed,
  formatReasons,
  formatRule,
  hashTool,
} from './approvals'
import { decide, toPolicyPath } from './decide'
import { isExternalCaller, type PendingCall } from './pipeline'

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
  const { tool } = asked
  asked.policy = facts.policy
  const refusal = judgePolicy(asked, facts.policy)
  if (refusal) return refusal
  const need = findApprovalNeed(asked, facts.policy, {
    rules: facts.rules,
    // Without a rule for the tool, its hash is not needed.
    toolHash: facts.rules.length > 0 ? await hashTool(tool, tool.name) : '',
  })
  return need ? judgeNeed(asked, facts, need) : judgeRate(asked, facts)
}

/** Returns why a policy and the definition of the caller refuse a call; null: they do not. */
export function judgePolicy(
  {
    caller,
    tool,
    prepared: { grant, tier },
    args,
  }: Pick<PendingCall, 'caller' | 'tool' | 'prepared' | 'args'>,
  policy: GrantPolicy,
): Refusal | null {
  const decision = decide(policy, caller, tool, { grant, tier, args })
  if (decision.isAllowed) return null
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

/** Decides about a call that requires approval: by what was decided about it, else by a standing rule. */
async function judgeNeed(
  asked: PendingCall,
  facts: AuthorizationData,
  { reasons, rule }: ApprovalNeed,
): Promise<Refusal | null> {
  asked.reasons = reasons
  const found = findApproval(asked, facts.approvals)
  if (rule && !isDecided(asked, found)) {
    const refusal = await judgeRate(asked, facts)
    if (refusal) return refusal
    asked.entry.ruleId = rule.id
    asked.entry.reason = formatRule(rule)
    return null
  }
  const refusal = (await judgeApproval(asked, found)) ?? (await judgeRate(asked, facts))
  // An external call consumes its approval; that of a hosted agent belongs to one call anyway.
  if (!refusal && found && isExternalCaller(asked.caller)) asked.approvalId = found.id
  return refusal
}

/** Whether somebody has decided about this call, or did not in time: that counts before any rule. */
const isDecided = ({ caller }: PendingCall, found: ApprovalRecord | undefined): boolean =>
  found?.status === 'approved' ||
  found?.status === 'denied' ||
  (found?.status === 'expired' && !isExternalCaller(caller))

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
  if (found?.status === 'pending') asked.requestedBy = found.callId
  if (isExternalCaller(caller) && found?.status !== 'pending') {
    const request = toApprovalRequest(asked)
    await pipeline.hub.requestApproval(caller.accountId, request, caller.activationId)
  }
  const text = isExternalCaller(caller)
    ? 'Error: This call requires approval (/approvals). Repeat the same call after it is approved.'
    : `Error: ${tool.name} (${prepared.grant}) requires approval${formatReasons(asked.reasons ?? [])}.`
  return { decision: 'needs_approval', text }
}

/** Converts a call to the request that approvers see. */
export const toApprovalRequest = ({
  tool,
  prepared,
  raw,
  entry,
  requestedBy = entry.callId,
  reasons = [],
}: PendingCall): ApprovalRequest => ({
  callId: requestedBy,
  tool: tool.name,
  grant: prepared.grant,
  tier: prepared.tier,
  arguments: raw,
  argumentsHash: entry.argumentsHash,
  reasons,
})

/** Takes from the rate limits of the call; nothing for one as of a time. Without a limit there is no round trip. */
async function judgeRate(
  asked: PendingCall,
  { policy }: AuthorizationData,
): Promise<Refusal | null> {
  if (asked.caller.at !== undefined) return null
  const buckets = findLimits(policy.rateLimits, asked)
  if (buckets.length === 0) return null
  const { hub, clock } = asked.pipeline
  const { isTaken, retryMs } = await hub.takeRateLimit(buckets, clock.now())
  if (isTaken) return null
  return { decision: 'rate_limited', text: formatRateLimitError(asked.tool.name, retryMs) }
}

const perMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const

/** Returns the rate limit buckets of a call: one for each limit that names its tool or its grant. */
const findLimits = (
  limits: RateLimit[],
  { caller, tool, prepared }: Pick<PendingCall, 'caller' | 'tool' | 'prepared'>,
): RateBucket[] => {
  const names = [tool.name, prepared.actsAs ?? tool.name]
  const found = limits.filter(
    (limit) =>
      (limit.tool === undefined || names.includes(limit.tool)) &&
      (limit.grant === undefined || coversGrant(limit.grant, prepared.grant)),
  )
  const buckets = found.map((rule) => {
    const session = rule.scope === 'session' ? (caller.postId ?? caller.activationId ?? '') : '*'
    const ruleKey = `${rule.tool ?? '*'} ${rule.grant ?? '*'} ${rule.limit}/${rule.per}`
    const id = `${caller.accountId} ${session} ${ruleKey}`
    return { id, limit: rule.limit, perMs: perMs[rule.per] }
  })
  // The default and an account's own row can contain the same limit.
  return [...new Map(buckets.map((bucket) => [bucket.id, bucket])).values()]
}

/** Formats the error of a rate-limited call for the model. */
const formatRateLimitError = (tool: string, retryMs: number): string =>
  `Error: Rate limit of ${tool} reached. Retry after ${Math.max(1, Math.ceil(retryMs / 1_000))} s.`

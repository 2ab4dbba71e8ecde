import { matchesArguments } from '../../hub/contract/calls'
import type { ApprovalReason, CallPolicy, StandingRule } from '../../hub/contract/hub'
import { noPrivacy } from '../../hub/contract/hub'
import { hashArguments } from '../../shared/exact-json'
import type { ToolCaller } from '../contract/tools'
import type { PreparedCall, RunTask, Tool } from '../tool/define-tool'
import { coversGrant } from '../tool/grant-pattern'
import type { NamedTool } from './registry'

/** A call with valid arguments, before anything is known about what was decided. */
interface AssessedCall {
  caller: ToolCaller
  tool: Pick<NamedTool, 'name' | 'isOwnStore'>
  prepared: Pick<PreparedCall, 'grant' | 'tier' | 'actsAs' | 'staysInTask'>
  args: unknown
}

/** Why a call requires approval. */
export interface ApprovalNeed {
  /** At least one. */
  reasons: ApprovalReason[]
  /** The standing rule that approves it; null: an admin decides. */
  rule: StandingRule | null
}

/**
 * Returns why a call requires approval and whether a standing rule covers it; null when it can run
 * without. Decides from what it is given alone, so it can be asked before anything runs.
 *
 * @param toolHash of the tool's present definition
 */
export function findApprovalNeed(
  call: AssessedCall,
  policy: CallPolicy,
  { rules, toolHash }: { rules: readonly StandingRule[]; toolHash: string },
): ApprovalNeed | null {
  const reasons = listReasons(call, policy)
  if (reasons.length === 0) return null
  return { reasons, rule: rules.find((rule) => isCovered(call, reasons, rule, toolHash)) ?? null }
}

function listReasons(
  { caller, tool, prepared }: AssessedCall,
  { requireApproval, trusted = [] }: CallPolicy,
): ApprovalReason[] {
  const { grant, tier, actsAs = null } = prepared
  const entries = listApprovalEntries(requireApproval, { name: tool.name, grant, tier, actsAs })
  const reasons = entries.map((entry): ApprovalReason => ({ kind: 'policy', entry }))
  if (tier === 'read' || tool.isOwnStore) return reasons
  const task = toTask(caller)
  if (
    caller.hasReadUntrusted === true &&
    !trusted.some((pattern) => coversGrant(pattern, grant)) &&
    !prepared.staysInTask({ ...task, community: null })
  ) {
    // Untrusted text could use the requester's permissions.
    reasons.push({ kind: 'untrusted' })
  }
  if (task.community !== null && !prepared.staysInTask(task)) {
    // The write could carry texts of its community to those who do not read it.
    reasons.push({ kind: 'community', community: task.community })
  }
  return reasons
}

const toTask = ({ postId, isExploration, privacy }: ToolCaller): RunTask => ({
  postId,
  isExploration: isExploration === true,
  isPrivate: (privacy ?? noPrivacy).privateTo !== null,
  community: privacy?.community ?? null,
})

/** Whether a rule is for this very call. What leaves a closed community needs a rule for that community. */
const isCovered = (
  { tool, prepared, args }: AssessedCall,
  reasons: ApprovalReason[],
  rule: StandingRule,
  toolHash: string,
): boolean =>
  rule.tool === tool.name &&
  rule.grant === prepared.grant &&
  rule.tier === prepared.tier &&
  rule.toolHash === toolHash &&
  reasons.every((reason) => reason.kind !== 'community' || reason.community === rule.community) &&
  matchesArguments(rule.arguments, args)

/** Formats why a call requires approval, after the verb; empty when the policy says so. */
export function formatReasons(reasons: readonly ApprovalReason[]): string {
  const closed = reasons.find((reason) => reason.kind === 'community')
  if (closed) return `, since it leaves m/${closed.community}`
  return reasons.some(({ kind }) => kind === 'untrusted')
    ? ', since this run has read text by guests or from outside'
    : ''
}

/** Formats which rule allowed a call, for the audit and the trace. */
export const formatRule = ({ by, endsAt }: Pick<StandingRule, 'by' | 'endsAt'>): string =>
  `Allowed by standing rule of @${by} until ${new Date(endsAt).toISOString().slice(0, 16).replace('T', ' ')} UTC.`

/** A call as the approval rules of a policy see it. */
interface RuledCall {
  name: string
  tier: string
  grant: string
  /** The tool that does the same as this call; null or absent: none. */
  actsAs?: string | null
}

/**
 * Returns the entries of the policy that require approval for a call. An entry is `tier:write`,
 * `tool:hub_create_post` or a grant pattern such as `github:*`.
 */
const listApprovalEntries = (entries: string[], call: RuledCall): string[] =>
  entries.filter((entry) => {
    if (entry.startsWith('tier:')) return entry === `tier:${call.tier}`
    if (entry.startsWith('tool:')) {
      return entry === `tool:${call.name}` || entry === `tool:${call.actsAs}`
    }
    return coversGrant(entry, call.grant)
  })

/** Whether the policy requires approval for a call. */
export const needsApproval = (entries: string[], call: RuledCall): boolean =>
  listApprovalEntries(entries, call).length > 0

const hashes = new WeakMap<object, Promise<string>>()

/** Returns the hash of a tool's definition: what it says of itself, what it accepts, and what its calls require. */
export function hashTool(
  tool: Pick<Tool, 'description' | 'shapes' | 'readInputSchema'>,
  name: string,
): Promise<string> {
  const known = hashes.get(tool)
  if (known) return known
  const { description, shapes } = tool
  const hash = hashArguments('', { name, description, shapes, input: tool.readInputSchema() })
  hashes.set(tool, hash)
  return hash
}

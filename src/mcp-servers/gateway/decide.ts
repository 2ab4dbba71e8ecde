import type { GrantPolicy } from '../../hub/contract/hub'
import { parsePolicyLine, selectHeldLines } from '../../hub/contract/policy-line'
import { AppError } from '../../shared/errors'
import { findBlocked, findExpressionMark, matchesGlob } from '../../shared/glob'
import type { ToolCaller, ToolRestrictions } from '../contract/tools'
import type { AccountOwner } from '../credentials/connection'
import { resultsReadGrant, resultsReadName } from '../servers/results'
import type { CallShape } from '../tool/define-tool'
import {
  coversGrant,
  intersectGrants,
  intersectShape,
  isPlainGrant,
  namesResource,
} from '../tool/grant-pattern'

interface DecidedTool {
  /** With its server: `hub_search`. */
  name: string
  shapes: readonly CallShape[]
  /** Requires a grant pattern that names the resource. */
  isScoped?: boolean
  /** Absent: any caller can use it. */
  isForHosted?: boolean
  /** Agents that this hub runs cannot use it. */
  isForOutside?: boolean
}

/** A call: the grant its arguments require, its tier, and the arguments themselves. */
interface DecidedCall extends CallShape {
  args: unknown
}

interface Decision {
  isAllowed: boolean
  /** Why it is not allowed, for the caller; null: it is allowed. */
  reason: string | null
  /** The list of the hub's policy that an admin can change to allow it; null: the policy cannot allow it. */
  list: PolicyList | null
  /** The tool restrictions of the agent's definition refuse it, not the lack of a grant. */
  isRestricted: boolean
}

/** A list of grant patterns in the hub's policy. */
type PolicyList = 'allowed' | 'denied'

interface Refusal {
  reason: string
  list: PolicyList | null
}

/**
 * Decides whether a caller can use a tool. With `call` it decides about that call; without, whether at
 * least one call of the tool would be allowed, as tool lists show. Lists and calls use this function alone.
 */
export function decide(
  policy: GrantPolicy,
  caller: Pick<ToolCaller, 'toolRestrictions' | 'tiers' | 'writeBlock'>,
  tool: DecidedTool,
  call?: DecidedCall,
): Decision {
  const refusal =
    checkKind(policy, tool) ??
    (call ? checkShape(policy, caller, tool, call, 'call') : checkAnyShape(policy, caller, tool))
  if (refusal) return { isAllowed: false, ...refusal, isRestricted: false }
  const reason = checkRestrictions(caller.toolRestrictions, tool.name, call?.args)
  return { isAllowed: reason === null, reason, list: null, isRestricted: reason !== null }
}

/** The kind of a grant to check: that of one call, the shape of all calls of a tool, or any pattern. */
type GrantKind = 'call' | 'shape' | 'pattern'

/** Refuses a tool when the policy refuses all its shapes. */
function checkAnyShape(
  policy: GrantPolicy,
  caller: Pick<ToolCaller, 'tiers' | 'writeBlock'>,
  tool: DecidedTool,
): Refusal | null {
  const refusals = tool.shapes.map((each) => checkShape(policy, caller, tool, each, 'shape'))
  return refusals.includes(null) ? null : (refusals[0] ?? null)
}

function checkShape(
  policy: GrantPolicy,
  { tiers, writeBlock }: Pick<ToolCaller, 'tiers' | 'writeBlock'>,
  tool: DecidedTool,
  { grant, tier }: CallShape,
  kind: 'call' | 'shape',
): Refusal | null {
  if (
    kind === 'call' &&
    !tool.shapes.some((shape) => intersectShape(shape.grant, grant) !== null)
  ) {
    return toRefusal(reasons.noSingleResource)
  }
  return (
    checkGrants(policy, tool, grant, kind) ??
    toRefusal(tiers && !tiers.includes(tier) ? (writeBlock ?? reasons.keyScopes) : null)
  )
}

type Requesters = NonNullable<GrantPolicy['requesters']>

/** Names requesters with their roles, such as `@mira, member`. */
const formatRequesters = (requesters: Requesters): string =>
  requesters.length === 0
    ? 'explorations'
    : requesters.map(({ name, role }) => (name ? `@${name}, ${role}` : `a ${role}`)).join(' and ')

/** Why a tool or a call is not allowed, as models and admins read it. */
const reasons = {
  noSingleResource: 'the arguments do not name one resource',
  keyScopes: 'the scopes of this key do not allow it',
  hostedOnly: 'only agents that this hub runs can use it',
  outsideOnly: 'it would hold up a run: only callers from outside can use it',
  notRequested: "the agent's definition does not request it",
  notAllowed: 'no entry under "allowed" in the hub\'s policy matches it',
  notForRequester: (lines: string[], requesters: Requesters) =>
    `the hub's policy allows it with ${lines.map((line) => `"${line}"`).join(' and ')}, which does not hold for ${formatRequesters(requesters)}`,
  askAlone: (requesters: Requesters) =>
    `the hub's policy does not allow it for every requester of this run: ${formatRequesters(requesters)}. A requester who may cause it can ask alone`,
  denied: (patterns: string[]) => `the hub's policy denies it with ${patterns.join(' and ')}`,
  tooWide: (grant: string) =>
    `it requires a grant that names the resource, such as ${grant.replace('*', '<name>')}`,
  unlistedServer:
    'the definition does not list the server of the tool under capabilities.mcp_servers',
  excluded: 'the definition excludes the tool',
  blocked: (pattern: string) => `the arguments match the blocked pattern ${pattern}`,
  unreadablePattern: (pattern: string) =>
    `the blocked pattern ${pattern} is a regular expression, so the arguments cannot be checked. Save the definition with texts in its place`,
}

/** A refusal that no change of the policy's lists can lift; null when there is no reason. */
const toRefusal = (reason: string | null): Refusal | null =>
  reason === null ? null : { reason, list: null }

/** Whether the policy allows a grant, or at least one grant that a pattern matches. */
export const isGranted = (policy: GrantPolicy, grant: string): boolean =>
  checkPolicy(policy, grant, 'pattern') === null

/**
 * Refuses tools for hosted agents to other callers, which have no definition and so request nothing, and
 * tools for other callers to hosted agents.
 */
const checkKind = ({ requested }: GrantPolicy, tool: DecidedTool): Refusal | null => {
  if (requested === null) return toRefusal(tool.isForHosted === true ? reasons.hostedOnly : null)
  return toRefusal(tool.isForOutside === true ? reasons.outsideOnly : null)
}

/** The policy without patterns that end in `*`, which name no resource. */
const withoutWide = (policy: GrantPolicy): GrantPolicy => ({
  ...policy,
  requested: policy.requested?.filter(namesResource) ?? null,
  allowed: policy.allowed.filter(namesResource),
})

function checkGrants(
  policy: GrantPolicy,
  { isScoped }: DecidedTool,
  grant: string,
  kind: 'call' | 'shape',
): Refusal | null {
  const refusal = checkPolicy(isScoped ? withoutWide(policy) : policy, grant, kind)
  const isWide = refusal !== null && isScoped && checkPolicy(policy, grant, kind) === null
  return isWide ? { reason: reasons.tooWide(grant), list: 'allowed' } : refusal
}

/** Refuses a grant that is not requested, not allowed, or denied; a denial overrides the rest. */
function checkPolicy(policy: GrantPolicy, grant: string, kind: GrantKind): Refusal | null {
  if (kind === 'call' && !isPlainGrant(grant)) return toRefusal(reasons.noSingleResource)
  const meet = kind === 'shape' ? intersectShape : intersectGrants
  const { requested, allowed } = meetPolicy(policy, grant, meet)
  if (requested.length === 0) return toRefusal(reasons.notRequested)
  if (allowed.length === 0)
    return { reason: explainNotAllowed(policy, grant, meet), list: 'allowed' }
  // A segment can have infinitely many values, so several patterns cover a pattern only if one of them does.
  const deniedBy = allowed.map((each) => policy.denied.find((line) => coversGrant(line, each)))
  if (deniedBy.includes(undefined)) return null
  const lines = [...new Set(deniedBy)].map((line) => `"${line}"`)
  return { reason: reasons.denied(lines), list: 'denied' }
}

/** Why no line of the policy allows a grant: there is none, or none that holds for every requester. */
function explainNotAllowed(
  { withheld = [], requesters = [] }: GrantPolicy,
  grant: string,
  meet: typeof intersectShape,
): string {
  const lines = withheld.filter((line) => meet(grant, parsePolicyLine(line).pattern) !== null)
  if (lines.length === 0) return reasons.notAllowed
  const isForSome = requesters.some(
    (each) => selectHeldLines(lines, [each]).allowed.length > 0 && requesters.length > 1,
  )
  return isForSome ? reasons.askAlone(requesters) : reasons.notForRequester(lines, requesters)
}

function meetPolicy(policy: GrantPolicy, grant: string, meet: typeof intersectShape) {
  // Each once: many patterns of a definition can come to the same.
  const meetAny = (some: string[], others: string[]) => [
    ...new Set(
      some.flatMap((one) => others.map((other) => meet(one, other)).filter((met) => met !== null)),
    ),
  ]
  const requested = meetAny([grant], withImplied(policy.requested ?? ['*']))
  return { requested, allowed: meetAny(requested, withImplied(policy.allowed)) }
}

/** Returns the grants of a tool that a policy allows, as the widest patterns. */
export function listOpenGrants(policy: GrantPolicy, shapes: readonly CallShape[]): string[] {
  const allowed = shapes.flatMap(({ grant }) => meetPolicy(policy, grant, intersectShape).allowed)
  const open = [...new Set(allowed)].filter(
    (each) => !policy.denied.some((denied) => coversGrant(denied, each)),
  )
  return open.filter((each) => !open.some((other) => other !== each && coversGrant(other, each)))
}

/** Adds the grant to read stored results, which comes with any other grant unless it is denied. */
const withImplied = (patterns: string[]): string[] =>
  patterns.length > 0 ? [...patterns, resultsReadGrant] : patterns

/** Returns why the tool restrictions of an agent's definition refuse a tool or its arguments; null: they do not. */
function checkRestrictions(
  restrictions: ToolRestrictions | undefined,
  name: string,
  args: unknown,
): string | null {
  if (!restrictions) return null
  const isNamed = (patterns: string[]) => patterns.some((pattern) => matchesGlob(pattern, name))
  // Reading stored results comes with any other tool, unless it is denied.
  const isOpen =
    restrictions.allow.length === 0 || isNamed(restrictions.allow) || name === resultsReadName
  if (isNamed(restrictions.deny) || !isOpen) return reasons.excluded
  if (!isOnListedServer(restrictions.servers, name)) return reasons.unlistedServer
  return args === undefined ? null : explainBlocked(restrictions.blockedPatterns, args)
}

/** Whether the tool restrictions of a definition refuse a tool, whatever its arguments. */
export const isToolExcluded = (restrictions: ToolRestrictions, name: string): boolean =>
  checkRestrictions(restrictions, name, undefined) !== null

/**
 * Whether the server of a tool is listed; an empty list is all servers. Reading stored results and
 * skills comes with any other tool.
 */
const isOnListedServer = (servers: string[], name: string): boolean => {
  const [server = ''] = name.split('_')
  return servers.length === 0 || servers.includes(server) || ['results', 'skills'].includes(server)
}

/** Returns why a definition's blocked patterns refuse arguments; null: they do not. */
function explainBlocked(patterns: string[], args: unknown): string | null {
  const unreadable = patterns.find((pattern) => findExpressionMark(pattern) !== null)
  if (unreadable !== undefined) return reasons.unreadablePattern(unreadable)
  const blocked = findBlocked(patterns, args)
  return blocked === undefined ? null : reasons.blocked(blocked)
}

/** Returns the path of the list on the policy page of an account. */
export const toPolicyPath = (name: string, list: PolicyList): string =>
  `/policy/${encodeURIComponent(name)}#${list}`

/** Whether a line of a policy that holds says that calls with a grant use the account of the requester. */
export const usesRequester = ({ asRequester = [] }: GrantPolicy, grant: string): boolean =>
  asRequester.some((pattern) => coversGrant(pattern, grant))

/**
 * Returns the requester whose connected account a call has to use; null: a credential of the hub.
 *
 * @param policy the one that the decision about the call is based on
 * @throws when there is no single requester, for whom no such line of a policy holds
 */
export function findAccountOwner(
  policy: GrantPolicy | undefined,
  grant: string,
): AccountOwner | null {
  if (!policy || !usesRequester(policy, grant)) return null
  const [only, ...others] = policy.requesters ?? []
  if (only?.id === undefined || others.length > 0) throw gatewayErrors.noSingleRequester()
  return { id: only.id, name: only.name }
}

/** Errors of the gateway, as models and external callers read them. */
export const gatewayErrors = {
  noConnections: () => new AppError('UNAVAILABLE', 'This hub cannot connect to external services.'),
  noSingleRequester: () =>
    new AppError(
      'FORBIDDEN',
      'This call uses the account of the requester, and there is not exactly one.',
    ),
}

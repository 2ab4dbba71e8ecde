import type { GrantPolicy } from '../../hub/contract'
import type { Narrowing, ToolCaller } from '../contract'
import type { CallShape } from '../define-tool'
import { resultsReadGrant, resultsReadName } from '../results/tools/read'
import {
  coversGrant,
  intersectGrants,
  isPlainGrant,
  meetShape,
  namesResource,
} from './grant-pattern'

interface Asked {
  /** On the wire: `hub_search`. */
  name: string
  shapes: readonly CallShape[]
  /** Wide patterns do not give it. */
  isScoped?: boolean
  /** Absent: for everybody. */
  isForHosted?: boolean
}

/** A call: the grant its arguments need, its tier, and the arguments themselves. */
interface AskedCall extends CallShape {
  args: unknown
}

export interface Decision {
  isAllowed: boolean
  /** For the caller, when it is not allowed. */
  reason: string | null
  /** The list of the hub's policy that an admin would change to allow it; null: none of them would do. */
  list: PolicyList | null
}

export type PolicyList = 'allowed' | 'denied'

interface Refusal {
  reason: string
  list: PolicyList | null
}

/**
 * The one decision about a tool (M4). Without `call` it says whether some call of the tool would
 * be allowed, which is what lists show; with it, whether this one is.
 */
export function decide(
  policy: GrantPolicy,
  caller: Pick<ToolCaller, 'narrowing' | 'tiers'>,
  tool: Asked,
  call?: AskedCall,
): Decision {
  const refusal =
    refusedByKind(policy, tool) ??
    (call
      ? refusedByShape(policy, caller, tool, call, 'call')
      : refusedByShapes(policy, caller, tool)) ??
    byNoList(refusedByDefinition(caller.narrowing, tool.name, call?.args))
  const { reason, list } = refusal ?? { reason: null, list: null }
  return { isAllowed: refusal === null, reason, list }
}

/** What a grant in question is: that of one call, all that calls of a tool may need, or any pattern. */
type GrantKind = 'call' | 'shape' | 'pattern'

/** A tool is there as long as some of its calls are. */
function refusedByShapes(
  policy: GrantPolicy,
  caller: Pick<ToolCaller, 'tiers'>,
  tool: Asked,
): Refusal | null {
  const refusals = tool.shapes.map((each) => refusedByShape(policy, caller, tool, each, 'shape'))
  return refusals.includes(null) ? null : (refusals[0] ?? null)
}

function refusedByShape(
  policy: GrantPolicy,
  { tiers }: Pick<ToolCaller, 'tiers'>,
  tool: Asked,
  { grant, tier }: CallShape,
  kind: 'call' | 'shape',
): Refusal | null {
  if (kind === 'call' && !tool.shapes.some((shape) => meetShape(shape.grant, grant) !== null)) {
    return byNoList('the arguments do not name one resource')
  }
  return (
    refusedByGrants(policy, tool, grant, kind) ??
    byNoList(tiers && !tiers.includes(tier) ? 'this key may only read' : null)
  )
}

const byNoList = (reason: string | null): Refusal | null =>
  reason === null ? null : { reason, list: null }

/** Whether the policy gives a grant, or some of what a pattern of grants stands for. */
export const isGranted = (policy: GrantPolicy, grant: string): boolean =>
  refusedByPolicy(policy, grant, 'pattern') === null

/** Only an agent that this hub runs has a definition that asks; for others there is nothing behind it. */
const refusedByKind = ({ requested }: GrantPolicy, { isForHosted }: Asked): Refusal | null =>
  byNoList(
    isForHosted === true && requested === null ? 'only agents that this hub runs have it' : null,
  )

/** A pattern with an open end names no resource, so it gives none where one must be named (M3). */
const withoutWide = (policy: GrantPolicy): GrantPolicy => ({
  ...policy,
  requested: policy.requested?.filter(namesResource) ?? null,
  allowed: policy.allowed.filter(namesResource),
})

function refusedByGrants(
  policy: GrantPolicy,
  { isScoped }: Asked,
  grant: string,
  kind: 'call' | 'shape',
): Refusal | null {
  const refusal = refusedByPolicy(isScoped ? withoutWide(policy) : policy, grant, kind)
  const isWide = refusal !== null && isScoped && refusedByPolicy(policy, grant, kind) === null
  if (!isWide) return refusal
  const reason = `a line must name the resource, as in ${grant.replace('*', '<name>')}; wider ones do not count here`
  return { reason, list: 'allowed' }
}

/** Requested and allowed and not denied; denied wins (M3). */
function refusedByPolicy(policy: GrantPolicy, grant: string, kind: GrantKind): Refusal | null {
  if (kind === 'call' && !isPlainGrant(grant)) {
    return byNoList('the arguments do not name one resource')
  }
  const meet = kind === 'shape' ? meetShape : intersectGrants
  const { requested, allowed } = meetPolicy(policy, grant, meet)
  if (requested.length === 0) return byNoList("the agent's definition does not ask for it")
  if (allowed.length === 0) {
    return { reason: 'no line under "allowed" in the hub\'s policy covers it', list: 'allowed' }
  }
  // A finite set of patterns covers a pattern only if one of them does: segments have no end.
  const deniedBy = allowed.map((each) => policy.denied.find((line) => coversGrant(line, each)))
  if (deniedBy.includes(undefined)) return null
  const lines = [...new Set(deniedBy)].map((line) => `"${line}"`)
  return { reason: `the hub's policy denies it with ${lines.join(' and ')}`, list: 'denied' }
}

function meetPolicy(policy: GrantPolicy, grant: string, meet: typeof meetShape) {
  const meetAny = (some: string[], others: string[]) =>
    some.flatMap((one) => others.map((other) => meet(one, other)).filter((met) => met !== null))
  const requested = meetAny([grant], withImplied(policy.requested ?? ['*']))
  return { requested, allowed: meetAny(requested, withImplied(policy.allowed)) }
}

/** What a policy leaves open of a tool's grants, as patterns; of each other, the wider ones. */
export function openGrants(policy: GrantPolicy, shapes: readonly CallShape[]): string[] {
  const allowed = shapes.flatMap(({ grant }) => meetPolicy(policy, grant, meetShape).allowed)
  const open = [...new Set(allowed)].filter(
    (each) => !policy.denied.some((denied) => coversGrant(denied, each)),
  )
  return open.filter((each) => !open.some((other) => other !== each && coversGrant(other, each)))
}

/** Whoever may use any tool may read on in what it gave them (M10), unless that is denied. */
const withImplied = (patterns: string[]): string[] =>
  patterns.length > 0 ? [...patterns, resultsReadGrant] : patterns

function refusedByDefinition(
  narrowing: Narrowing | undefined,
  name: string,
  args: unknown,
): string | null {
  if (!narrowing) return null
  const isNamed = (patterns: string[]) => patterns.some((pattern) => matchesName(pattern, name))
  // Whoever may use any tool may read on in what it gave them, unless that is denied (M10).
  const isOpen =
    narrowing.allow.length === 0 || isNamed(narrowing.allow) || name === resultsReadName
  if (isNamed(narrowing.deny) || !isOpen) {
    return `the agent's definition leaves out ${name}`
  }
  const blocked = args === undefined ? undefined : findBlocked(narrowing.blockedPatterns, args)
  return blocked === undefined ? null : `the arguments hold the blocked pattern ${blocked}`
}

/** `*` stands for any run of characters, so `hub_*` is a whole server. */
function matchesName(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(name)
}

/** Texts are looked at one by one, as the tool sees them, and as the JSON they came in. */
function findBlocked(patterns: string[], args: unknown): string | undefined {
  if (patterns.length === 0) return undefined
  const texts = [JSON.stringify(args)]
  JSON.stringify(args, (_key, value) => {
    if (typeof value === 'string') texts.push(value)
    return value
  })
  return patterns.find((pattern) => {
    const expression = toExpression(pattern)
    return texts.some((text) => expression.test(text))
  })
}

/** A pattern that is no regular expression is taken as the text it is. */
function toExpression(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'i')
  } catch {
    return new RegExp(pattern.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i')
  }
}

/** The page where an admin finds the line, or would add one. */
export const placeInPolicy = (name: string, list: PolicyList): string =>
  `/policy/${encodeURIComponent(name)}#${list}`

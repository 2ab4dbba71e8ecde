import { standingRules } from '../../shared/config'
import type { AccountId, ActivationId } from '../../shared/ids'

/** Authorization of tool calls: policy, approvals, rate limits. Part of the hub's contract. */

/**
 * Limits what an account can make agents do. A guest registered itself; a member was registered or
 * vouched for by an admin.
 */
export type Role = 'guest' | 'member' | 'admin'

/** An account that a run acts for, or that calls a tool itself. */
export interface Requester {
  id: AccountId
  name: string
  role: Role
  /** Of the communities that the policy's lines name, those that it may moderate. */
  moderates?: string[]
}

/** What the hub's policy allows an account, on behalf of `requesters`. */
export interface GrantPolicy {
  /** Grants that the agent's definition requests; null for people and external agents: all grants. */
  requested: string[] | null
  /** Patterns of the lines that hold for every requester. */
  allowed: string[]
  denied: string[]
  /** For whom the lists hold; empty: the hub itself, in an exploration. */
  requesters?: (Pick<Requester, 'name' | 'role' | 'moderates'> & Partial<Pick<Requester, 'id'>>)[]
  /** Patterns of the allowed lines whose calls use the account that the only requester has connected. */
  asRequester?: string[]
  /** Lines that do not hold for every requester. */
  withheld?: string[]
  /** Patterns of the allowed lines whose calls a run may make after it has read untrusted text. */
  trusted?: string[]
  /** Incremented when the registered remote MCP servers change; absent when there never was one. */
  toolsVersion?: number
}

/** A tool call that the gateway has to authorize. */
export interface AuthorizationQuery {
  accountId: AccountId
  /** The activation in whose journal the call is; null for an external caller. */
  activationId: ActivationId | null
  /** The activation that the call belongs to, whose requesters decide; null: the account calls itself. */
  runId: ActivationId | null
  callId: string
  tool: string
  argumentsHash: string
}

/** Grant policy with the rules that apply to single calls. */
export interface CallPolicy extends GrantPolicy {
  /** Calls that require approval: a grant pattern, `tier:<tier>` or `tool:<name>`. */
  requireApproval: string[]
  rateLimits: RateLimit[]
}

/** A rate limit of tool calls: a bucket of `limit` calls that refills within `per`. */
export interface RateLimit {
  /** Limits calls of this tool; absent: of all tools. */
  tool?: string | undefined
  /** Limits calls whose grant matches this pattern; absent: all calls. */
  grant?: string | undefined
  per: 'minute' | 'hour' | 'day'
  limit: number
  /** Counted per account, or per thread that the account works on. */
  scope: 'agent' | 'session'
}

/** Current policy and approvals that decide about one call. Read for every call, never cached. */
export interface AuthorizationData {
  policy: CallPolicy
  /** Earlier approval requests for calls like this call, newest first. */
  approvals: ApprovalRecord[]
  /** Standing rules of the account for this tool, this run's community and its requesters. */
  rules: StandingRule[]
}

/**
 * Covers calls that would require approval, until it ends. Whoever made it can still approve: the hub
 * leaves out the others.
 */
export interface StandingRule {
  id: string
  tool: string
  /** Exactly: a rule for one resource is none for another. */
  grant: string
  tier: ApprovalRequest['tier']
  arguments: ArgumentRule[]
  /** Hash of the tool's definition. Of a tool that has changed since, a rule covers nothing. */
  toolHash: string
  /** Name of the community in whose threads it holds; null: anywhere. */
  community: string | null
  /** Name of the account that made it. */
  by: string
  endsAt: number
}

/**
 * An approval for the same tool in the same activation. For an outside caller: for exactly the same
 * call, and not consumed yet.
 */
export interface ApprovalRecord {
  id: string
  callId: string
  grant: string
  argumentsHash: string
  status: ApprovalStatus
  scope: 'once' | 'activation'
  /** Name of the person who decided. */
  by: string | null
  note: string
  decidedAt: number | null
}

/** One bucket of a rate limit; `id` identifies the account or thread and the rule. */
export interface RateBucket {
  id: string
  limit: number
  perMs: number
}

/** The tools of this deployment that a policy can name. */
export interface ToolCatalog {
  /** Reloads remote MCP servers when `policy` has a newer version; undefined: the list is up to date. */
  refresh(policy: Pick<GrantPolicy, 'toolsVersion'>): Promise<void> | undefined
  tiers: readonly string[]
  /** `server_tool`. */
  names: readonly string[]
  /** Whether any tool may require a grant that matches this pattern. */
  hasToolForPattern(pattern: string): boolean
  /** Whether the pattern omits the resource that the tool's grants must name, so that it grants nothing. */
  isTooWide(pattern: string): boolean
  servers: readonly CatalogServer[]
  /**
   * Returns, for each tool, whether a policy allows it and why not. A definition, the scopes of a key or
   * the arguments of a call can restrict it further.
   */
  evaluatePolicy(policy: CallPolicy): ToolAccess[]
  /** Whether a policy allows a grant, or at least one grant that matches a pattern. */
  isGranted(policy: GrantPolicy, grant: string): boolean
  /** Returns the hash of a tool's definition, which its standing rules are for; null for an unknown tool. */
  hashTool(name: string): Promise<string | null>
}

export interface CatalogServer {
  name: string
  description: string
  tools: readonly CatalogTool[]
}

export interface CatalogTool {
  server: string
  /** `server_tool`. */
  name: string
  description: string
  /** Tier of its calls; `read or write` when the calls differ. */
  tier: string
  /** Required grant, or the pattern that all its grants match. */
  grant: string
  /** Whether only agents that this hub runs can call the tool. */
  isForHosted: boolean
  /** Whether a grant pattern must name the resource. */
  isScoped: boolean
}

export interface ToolAccess {
  tool: CatalogTool
  isAllowed: boolean
  /** Why the tool is not allowed. */
  reason: string | null
  /** List of the policy to change to allow the tool; null when no change of the policy would. */
  list: 'allowed' | 'denied' | null
  /** Allowed grants, as patterns; fewer than the tool's own when only some of its calls are allowed. */
  grants: string[]
  /** Whether calls require approval; `some`: depends on the arguments. */
  approval: 'never' | 'some' | 'always'
  /** Name of the server where its calls use the account that the requester connected; null: a credential of the hub. */
  account: string | null
}

/**
 * What a standing rule says about the arguments of a call. Part of the hub's contract. The gateway decides
 * with it, and the page that makes a rule shows it.
 */

/** What one argument must be: a value, or a text with a beginning. */
export type ArgumentRule =
  | { name: string; kind: 'exact'; value: unknown }
  | { name: string; kind: 'prefix'; prefix: string }

/**
 * Whether the arguments of a call are those of a rule: each named argument matches, and there is no other,
 * so a left out argument is not its default. Texts are compared as they are, letter by letter.
 */
export function matchesArguments(rules: readonly ArgumentRule[], args: unknown): boolean {
  if (!isRecord(args)) return false
  return (
    Object.keys(args).every((name) => rules.some((rule) => rule.name === name)) &&
    rules.every((rule) => Object.hasOwn(args, rule.name) && matchesRule(rule, args[rule.name]))
  )
}

const matchesRule = (rule: ArgumentRule, value: unknown): boolean =>
  rule.kind === 'exact'
    ? isSame(rule.value, value)
    : typeof value === 'string' && hasPrefix(value, rule.prefix)

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether two JSON values are the same: the order of members does not count, everything else does. */
function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((each, index) => isSame(each, other[index]))
    )
  }
  if (!isRecord(one)) return Object.is(one, other)
  if (!isRecord(other)) return false
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  )
}

/** The part of a URL that decides who receives the request, up to the first slash of the path. */
const origin = /^[a-z][a-z0-9+.-]*:\/\/[^\s/\\?#@]+\//i

/** What URL parsers may take for an absolute URL or for one without its scheme. */
const url = /^\s*(?:[a-z][a-z0-9+.-]*:\S|[/\\]{2})/i

/**
 * What a rest must not contain: `..` as a folder, its escapes, other slashes and dots, characters that
 * cannot be seen, and a mark that changes the last character of the prefix.
 */
const straying =
  /(?:^|\/)\.\.|\\|%(?:2e|2f|5c|25)|[^\P{C}\n\t]|\p{Default_Ignorable_Code_Point}|[\uff0e\uff0f\u2024-\u2026\u2215\u2044\ufe52]|^\p{M}/iu

/**
 * Whether a text begins with a prefix and stays within what it names: the rest leads to no other folder,
 * and the prefix of a URL contains its whole origin.
 */
function hasPrefix(text: string, prefix: string): boolean {
  if (!isPrefix(prefix) || !text.startsWith(prefix)) return false
  // URL parsers drop tabs and line breaks, and so join what they separate.
  const rest = text.slice(prefix.length)
  if (straying.test(rest) || straying.test(rest.replace(/[\t\n]/g, ''))) return false
  return !url.test(text) || origin.test(prefix)
}

/**
 * Whether a text can be the prefix of a rule. It ends where a name or a word ends, so that `acme/` is not
 * also `acme-evil/`.
 */
const isPrefix = (prefix: string): boolean =>
  prefix.trim().length >= standingRules.prefixCharsMin && /[\s/:#,]$/.test(prefix)

/**
 * Returns the rules for the arguments of a call: their values exactly, except for those with a prefix.
 *
 * @returns null when no rule can describe the arguments, or when it would not cover the call itself
 */
export function toArgumentRules(
  args: unknown,
  prefixes: Readonly<Record<string, string>>,
): ArgumentRule[] | null {
  if (!isRecord(args)) return null
  const rules = Object.entries(args).map(([name, value]): ArgumentRule => {
    const prefix = Object.hasOwn(prefixes, name) ? prefixes[name] : undefined
    return prefix === undefined ? { name, kind: 'exact', value } : { name, kind: 'prefix', prefix }
  })
  const isKnown = Object.keys(prefixes).every((name) => Object.hasOwn(args, name))
  // As they are stored: a number that JSON cannot write is another value afterwards.
  const stored: ArgumentRule[] = JSON.parse(JSON.stringify(rules))
  return isKnown && matchesArguments(stored, args) ? stored : null
}

/** Approvals of tool calls. Part of the hub's contract. */

export type ApprovalStatus = 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled'

/** A tool call that requires approval, exactly as it will run when approved. */
export interface ApprovalRequest {
  callId: string
  tool: string
  grant: string
  tier: 'read' | 'write' | 'destructive'
  /** Raw JSON; cannot change after the request. */
  arguments: string
  argumentsHash: string
  /** Why it requires approval; absent in older records. */
  reasons?: ApprovalReason[]
}

/** Why a call requires approval. */
export type ApprovalReason =
  /** An entry of the policy's approval rules. */
  | { kind: 'policy'; entry: string }
  /** The run has read text by guests or from outside. */
  | { kind: 'untrusted' }
  /** The call could carry texts of a closed community to those who do not read it. */
  | { kind: 'community'; community: string }

export interface ApprovalDecision {
  callId: string
  decision: 'approved' | 'denied' | 'expired'
  /** Name of the person who decided; null when the approval expired. */
  by: string | null
  note: string
}

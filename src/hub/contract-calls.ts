/** What decides about a tool call: policy, people, how often. Part of the hub's contract. */
import type { AccountId, ActivationId } from '../ids'
import type { GrantPolicy } from './contract-activations'
import type { ApprovalStatus } from './contract-approvals'

/** A call that the gateway must decide about. */
export interface CallQuestion {
  accountId: AccountId
  activationId: ActivationId | null
  callId: string
  tool: string
  argumentsHash: string
}

/** Policy with what only calls need of it. */
export interface CallPolicy extends GrantPolicy {
  /** Calls that need a person's word: a grant pattern, `tier:<tier>` or `tool:<name>` (M7). */
  requireApproval: string[]
  rateLimits: RateLimit[]
}

/** How often some tools may be called (M8): a bucket of `limit` calls that fills up again in `per`. */
export interface RateLimit {
  /** Calls of this tool; absent: of any. */
  tool?: string | undefined
  /** Calls whose grant matches this pattern; absent: any. */
  grant?: string | undefined
  per: 'minute' | 'hour' | 'day'
  limit: number
  /** Counted for the account, or for each thread that it works on. */
  scope: 'agent' | 'session'
}

/** What decides about one call, as it stands when the call is made (M4). */
export interface CallFacts {
  policy: CallPolicy
  /** What people were asked about calls like this one, newest first. */
  approvals: KnownApproval[]
}

/** Of this tool in this activation; for an outside caller, of this very call and not used up. */
export interface KnownApproval {
  id: string
  callId: string
  grant: string
  argumentsHash: string
  status: ApprovalStatus
  scope: 'once' | 'activation'
  /** Name of who decided. */
  by: string | null
  note: string
  decidedAt: number | null
}

/** One bucket of a rate limit: `id` says whose and for what. */
export interface RateBucket {
  id: string
  limit: number
  perMs: number
}

/** The tools of this deployment, as far as a policy names them. */
export interface KnownTools {
  /** Reads servers of others again when a policy says that they changed; undefined: what is known holds. */
  refresh(policy: Pick<GrantPolicy, 'toolsVersion'>): Promise<void> | undefined
  tiers: readonly string[]
  /** `server_tool`. */
  names: readonly string[]
  /** Whether any of them may need a grant that matches this pattern. */
  needsSome(pattern: string): boolean
  /** Whether it stands for a tool's grants without naming the resource, as they must: it gives none (M3). */
  isTooWide(pattern: string): boolean
  servers: readonly KnownServer[]
  /**
   * What the gateway would say of each tool under a policy. A definition, a key or the arguments of a
   * call may take away more.
   */
  judge(policy: CallPolicy): ToolVerdict[]
  /** Whether a policy gives a grant, or some of what a pattern of grants stands for. */
  isGranted(policy: GrantPolicy, grant: string): boolean
}

export interface KnownServer {
  name: string
  description: string
  tools: readonly KnownTool[]
}

export interface KnownTool {
  server: string
  /** `server_tool`. */
  name: string
  description: string
  /** Of its calls; `read or write` when they differ. */
  tier: string
  /** Its grant, or the pattern that all its grants match. */
  grant: string
  /** Only for agents that this hub runs. */
  isForHosted: boolean
  /** Only a pattern that names the resource gives it. */
  isScoped: boolean
}

export interface ToolVerdict {
  tool: KnownTool
  isAllowed: boolean
  /** Why not. */
  reason: string | null
  /** The list of the policy that would have to change for it; null: that would not do. */
  list: 'allowed' | 'denied' | null
  /** The grants that are open, as patterns; less than the tool's own when only some of its calls are. */
  grants: string[]
  /** Whether a person has to say yes first: for `some` calls it depends on their arguments. */
  approval: 'never' | 'some' | 'always'
}

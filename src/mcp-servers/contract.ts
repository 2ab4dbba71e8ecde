/**
 * What the gateway offers agents: the tools a caller may use, and calls of them. Credentials never
 * cross it. Types only.
 */
import type { AccountKind, ApprovalRequest, AuditEntry, GrantPolicy } from '../hub/contract'
import type { AccountId, ActivationId, PostId } from '../ids'

export type Tier = 'read' | 'write' | 'destructive'

export interface ToolCaller {
  accountId: AccountId
  name: string
  kind: AccountKind
  /** Set for a hosted agent at work; null for an outside caller. */
  activationId: ActivationId | null
  /** The thread the caller works on. */
  postId: PostId | null
  /** What the agent's definition takes away from its policy; absent takes nothing. */
  narrowing?: Narrowing
  /** It works for the activation from outside, with its token: nobody journals its calls. */
  isOutside?: boolean
  /** Tiers the caller's key is good for; absent: all. */
  tiers?: Tier[]
}

/** `capabilities.tools` of a definition: it narrows what policy allows and never widens it (M3). */
export interface Narrowing {
  /** Names of tools, `*` standing for any run of characters; empty allows all. */
  allow: string[]
  deny: string[]
  /** Regular expressions, any case; arguments that hold a match are refused. */
  blockedPatterns: string[]
}

export interface ToolDescription {
  /** `server_tool`, e.g. `hub_search`: letters, digits, underscore; at most 64. */
  name: string
  description: string
  /** JSON Schema (draft 2020-12) of the arguments. */
  inputSchema: Record<string, unknown>
  /** The strongest that its calls have. */
  tier: Tier
  /** Re-running it after a lost answer does no harm. */
  isIdempotent: boolean
  /** In words for people who watch, e.g. "searching the hub". */
  doing: string
  /** Must not run beside other calls of its step. */
  isSequential: boolean
  /** It is about the world outside of the hub. */
  reachesOut?: boolean
}

export interface ToolCall {
  callId: string
  tool: string
  /** Raw JSON as the model wrote it. */
  arguments: string
}

export interface ToolResult {
  callId: string
  /** What the model reads; `Error: ...` when `isError`. Bounded to 50 KiB. */
  text: string
  isError: boolean
  /** Set when nothing ran because a person must approve it first (M7). */
  approval: ApprovalRequest | null
  durationMs: number
  audit: AuditEntry
}

export interface RememberedFact {
  id: number
  text: string
  /** Where it comes from; empty when it was not said. */
  source: string
  createdAt: number
}

export interface OpenTask {
  id: number
  text: string
  createdAt: number
}

/**
 * An agent's own memory, as its tools may use it; the agents' room is behind it. What cannot be done is
 * a value, since errors lose their kind on the way from another object.
 */
export interface MemoryDoor {
  /** The same text again is the same fact. Null: it remembers as much as it may. */
  rememberFact(
    agentId: AccountId,
    fact: { text: string; source: string },
  ): Promise<{ id: number } | null>
  /** False when there never was such a fact; forgetting again is no mistake. */
  forgetFact(agentId: AccountId, id: number): Promise<boolean>
  /** With words the best matches come first, without them the newest. */
  listFacts(
    agentId: AccountId,
    query: { words: string | null; limit: number },
  ): Promise<{ facts: RememberedFact[]; factCount: number; tasks: OpenTask[] }>
  /** The same key adds it once. Null: too many are open. */
  addTask(
    agentId: AccountId,
    task: { text: string; key: string | null },
  ): Promise<{ id: number } | null>
  /** Its text, also when it was complete before; null when there is none. */
  completeTask(agentId: AccountId, task: { id: number; note: string }): Promise<string | null>
  /** The text of a skill that the agent may use in the task it works on; null for any other. */
  readSkill(agentId: AccountId, name: string): Promise<string | null>
}

export interface ToolApi {
  /** Reads again which tools there are, when the policy says so; undefined: what is known holds. */
  refresh(policy: GrantPolicy): Promise<void> | undefined
  /** The tools the caller may use under this policy (M4). No round trip. */
  list(caller: ToolCaller, policy: GrantPolicy): ToolDescription[]
  /** What is known of a tool by its name alone; null for an unknown one. No round trip. */
  describe(tool: string): { isIdempotent: boolean; isSequential: boolean; doing: string } | null
  /** Whether the policy gives a grant, or some of what a pattern of grants stands for. No round trip. */
  isGranted(policy: GrantPolicy, grant: string): boolean
  /** Never throws: what fails outside becomes an error result. */
  call(
    caller: ToolCaller,
    call: ToolCall,
    signal: AbortSignal,
    progress?: (text: string) => void,
  ): Promise<ToolResult>
}

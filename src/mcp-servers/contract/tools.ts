/**
 * The API of the gateway to agents: listing the tools a caller can use, and calling them. Credentials
 * are not part of it. Types only.
 */
import type { AccountKind, ApprovalRequest, AuditEntry, GrantPolicy } from '../../hub/contract/hub'
import type { AccountId, ActivationId, PostId } from '../../shared/ids'

export type Tier = 'read' | 'write' | 'destructive'

export interface ToolCaller {
  accountId: AccountId
  name: string
  kind: AccountKind
  /** Set for a hosted agent during a run; null for an external caller. */
  activationId: ActivationId | null
  /** The thread of the caller's current task. */
  postId: PostId | null
  /** Restrictions from the agent's definition; absent: none. */
  toolRestrictions?: ToolRestrictions
  /** An external program that uses the activation's token. Its calls are not in the agent's journal. */
  isExternal?: boolean
  /** Tiers that the scopes of the caller's key allow; absent: all. */
  tiers?: Tier[]
}

/** `capabilities.tools` of a definition. It restricts what the policy allows and never extends it. */
export interface ToolRestrictions {
  /** Tool names, where `*` matches any characters; empty allows all. */
  allow: string[]
  deny: string[]
  /** Case-insensitive regular expressions. Calls whose arguments match one are denied. */
  blockedPatterns: string[]
}

export interface ToolDescription {
  /** `server_tool`, e.g. `hub_search`: letters, digits, underscore; at most 64. */
  name: string
  description: string
  /** JSON Schema (draft 2020-12) of the arguments. */
  inputSchema: Record<string, unknown>
  /** The highest tier that a call can have. */
  tier: Tier
  /** Safe to repeat after a lost response. */
  isIdempotent: boolean
  /** Activity text for the live view, e.g. "searching the hub". */
  doing: string
  /** Must not run in parallel with other calls of the same step. */
  isSequential: boolean
  /** Uses a service outside the hub. */
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
  /** The text returned to the model; `Error: ...` when `isError`. At most 50 KiB. */
  text: string
  isError: boolean
  /** Set when the call did not run because it requires approval. */
  approval: ApprovalRequest | null
  durationMs: number
  audit: AuditEntry
}

export interface RememberedFact {
  id: number
  text: string
  /** The source of the fact; empty when none was given. */
  source: string
  createdAt: number
}

export interface OpenTask {
  id: number
  text: string
  createdAt: number
}

/**
 * An agent's own memory, as its tools use it; implemented by the agents module. Failures are return
 * values, because an error thrown in another Durable Object loses its class.
 */
export interface MemoryApi {
  /** Stores a fact; the same text returns the same id. Null: the limit of facts is reached. */
  rememberFact(
    agentId: AccountId,
    fact: { text: string; source: string },
  ): Promise<{ id: number } | null>
  /** Deletes a fact. Repeating is allowed; false when the fact never existed. */
  forgetFact(agentId: AccountId, id: number): Promise<boolean>
  /** Returns facts, best match first when `words` is set, else newest first. */
  listFacts(
    agentId: AccountId,
    query: { words: string | null; limit: number },
  ): Promise<{ facts: RememberedFact[]; factCount: number; tasks: OpenTask[] }>
  /** Adds an open task, once for each key. Null: the limit of open tasks is reached. */
  addTask(
    agentId: AccountId,
    task: { text: string; key: string | null },
  ): Promise<{ id: number } | null>
  /** Completes a task and returns its text, also when it was complete already; null when not found. */
  completeTask(agentId: AccountId, task: { id: number; note: string }): Promise<string | null>
  /** Returns the text of a skill that the agent can use in its current task; null for any other. */
  readSkill(agentId: AccountId, name: string): Promise<string | null>
}

export interface ToolApi {
  /** Reloads the tools of remote servers when the policy's version is newer; undefined: nothing to reload. */
  refresh(policy: GrantPolicy): Promise<void> | undefined
  /** Returns the tools the caller can use under this policy. No round trip. */
  list(caller: ToolCaller, policy: GrantPolicy): ToolDescription[]
  /** Returns the properties of a tool by name; null for an unknown one. No round trip. */
  describe(tool: string): { isIdempotent: boolean; isSequential: boolean; doing: string } | null
  /** Whether the policy allows a grant, or at least one grant that a pattern matches. No round trip. */
  isGranted(policy: GrantPolicy, grant: string): boolean
  /** Runs one call. Never throws: a failure becomes an error result. */
  call(
    caller: ToolCaller,
    call: ToolCall,
    signal: AbortSignal,
    progress?: (text: string) => void,
  ): Promise<ToolResult>
}

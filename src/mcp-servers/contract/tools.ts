/**
 * The API of the gateway to agents: listing the tools a caller can use, and calling them. Credentials
 * are not part of it. Types only.
 */
import type {
  AccountKind,
  ApprovalRequest,
  AuditEntry,
  GrantPolicy,
  Privacy,
} from '../../hub/contract/hub'
import type { AccountId, ActivationId, PostId } from '../../shared/ids'

export type Tier = 'read' | 'write' | 'destructive'

export interface ToolCaller {
  accountId: AccountId
  name: string
  kind: AccountKind
  /** The key of an external caller, null for ROOKERY_ADMIN_KEY; absent: it has none. */
  keyId?: string | null
  /** Set for a hosted agent during a run; null for an external caller. */
  activationId: ActivationId | null
  /** The thread of the caller's current task. */
  postId: PostId | null
  /** Restrictions from the agent's definition; absent: none. */
  toolRestrictions?: ToolRestrictions
  /** An external program that uses the activation's token. Its calls are not in the agent's journal. */
  isExternal?: boolean
  /** The attempt of the runner that started the program. */
  runAttempt?: number
  /** The repository that the run of a token works on; absent: none. */
  workspace?: RunWorkspace
  /**
   * Whether the run has read untrusted text: by a guest, from outside, or by a run that had read such text.
   * Its writes with a credential or outside of its task then require approval, so that such text cannot
   * borrow the requester's permissions, and what it writes is untrusted text.
   */
  hasReadUntrusted?: boolean
  /** The run explores: its one contribution stays within its task. */
  isExploration?: boolean
  /** Whose private data the run reads and writes; absent: nobody's, as outside of a run. */
  privacy?: Privacy
  /** Tiers that the scopes of the caller's key allow; absent: all. */
  tiers?: Tier[]
  /** Why the account must not write now, such as a mute; absent: it may. */
  writeBlock?: string
  /**
   * Reads answer as of this time, in milliseconds, and without what the caller may not read today. Models do not see
   * it. Nothing is written: what a tool cannot answer as of a time, and every write, is a result with `notAsOf`.
   */
  at?: number
}

/** The repository that a run works on. */
export interface RunWorkspace {
  /** `service/owner/name`, in lower case. */
  repository: string
  /** Branches that it may push to, where a `*` at the end matches any characters. */
  push: string[]
}

/** `capabilities.tools` of a definition. It restricts what the policy allows and never extends it. */
export interface ToolRestrictions {
  /** Tool names, where `*` matches any characters; empty allows all. */
  allow: string[]
  /** `capabilities.mcp_servers`: names of the servers whose tools it can use; empty allows all. */
  servers: string[]
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

/** Texts of the hub and facts of the agent that a result was made of, by id; at most 200. */
export interface ToolReads {
  post?: string[]
  comment?: string[]
  fact?: number[]
  /** There were more. */
  hasMore?: true
}

export interface ToolResult {
  callId: string
  /** The text returned to the model; `Error: ...` when `isError`. At most 50 KiB. */
  text: string
  isError: boolean
  /** The text is from outside of the hub, or a part of it is untrusted text of the hub. */
  isUntrusted?: true
  /** The text holds data that is private to the run's reader. */
  isPrivate?: true
  /** It is what the connected account of the run's requester returned, for nobody else. */
  isOwnAccount?: true
  /** `text` is the beginning of a longer result. */
  isExcerpt?: true
  /** For the record of the run; the model does not see it. */
  reads?: ToolReads
  /** Set when the call did not run because it requires approval. */
  approval: ApprovalRequest | null
  durationMs: number
  audit: AuditEntry
  /** Of an answer as of the caller's time: which parts of it are those of today. */
  asOf?: AsOf
  /**
   * Why the call did not run for a caller with `at`: what it asks is not known as of that time, or it would write. A call that the
   * caller may not make today, or with wrong arguments, is an ordinary error.
   */
  notAsOf?: 'not_recorded' | 'would_write'
}

/** A part of an answer as of a time that is not as it was. */
export type CurrentPart = 'author' | 'community' | 'score' | 'comment_count' | 'order' | 'matches'

interface AsOf {
  at: number
  /** `order`: the results stand in their order of today. `matches`: words were found in the texts of today. */
  current: readonly CurrentPart[]
}

export interface RememberedFact {
  id: number
  text: string
  /** The source of the fact; empty when none was given. */
  source: string
  createdAt: number
  /** Only runs for its requester see it. */
  isPrivate?: true
  /** It was noted by a run that had read text by a guest or from outside. */
  isUntrusted?: true
}

export interface OpenTask {
  id: number
  text: string
  createdAt: number
  /** Only runs for its requester see it. */
  isPrivate?: true
  /** Added by a run that had read text by a guest or from outside. */
  isUntrusted?: true
}

export interface NewFact extends Pick<Privacy, 'privateTo'> {
  text: string
  source: string
  isUntrusted: boolean
}

/** `key` identifies the call that adds the task. */
export interface NewTask extends Pick<Privacy, 'privateTo'> {
  text: string
  /** Added by a run that had read text by a guest or from outside. */
  isUntrusted: boolean
  key: string | null
}

export interface FactQuery extends Pick<Privacy, 'reader'> {
  words: string | null
  limit: number
  /** As of this time, without what the reader may not read today. */
  at?: number
}

export interface FoundFacts {
  facts: RememberedFact[]
  factCount: number
  tasks: OpenTask[]
}

/**
 * An agent's own memory, as its tools use it; implemented by the agents module. What is private to
 * another account than the reader does not exist for a call. Failures are return values, because an
 * error thrown in another Durable Object loses its class.
 */
export interface MemoryApi {
  /** Stores a fact; the same text returns the same id, but a private fact is never the same as another's. Null: the limit of facts is reached. */
  rememberFact(agentId: AccountId, fact: NewFact): Promise<{ id: number } | null>
  /** Deletes a fact. Repeating is allowed; false when the fact never existed. */
  forgetFact(agentId: AccountId, fact: { id: number } & Pick<Privacy, 'reader'>): Promise<boolean>
  /**
   * Returns facts, best match first when `words` is set, else newest first. Null: it is not known any more what they
   * were as of the time of the query.
   */
  listFacts(agentId: AccountId, query: FactQuery): Promise<FoundFacts | null>
  /** Adds an open task, once for each key. Null: the limit of open tasks is reached. */
  addTask(agentId: AccountId, task: NewTask): Promise<{ id: number } | null>
  /** Completes a task and returns it, also when it was complete already; null when not found. */
  completeTask(
    agentId: AccountId,
    task: { id: number; note: string } & Pick<Privacy, 'reader'>,
  ): Promise<OpenTask | null>
  /** Returns the text of a skill that the agent can use in its current task; null for any other. */
  readSkill(agentId: AccountId, name: string): Promise<string | null>
}

/** The files of an account that a run sees. */
export interface FileUse {
  files: number
  bytes: number
}

/** What a remote server says about the use of its tools. */
export interface ServerInstructions {
  server: string
  text: string
}

/** How a tool can be called. */
interface CallProperties {
  isIdempotent: boolean
  isSequential: boolean
  doing: string
  /** It answers a caller with `at`. */
  answersAsOf: boolean
}

export interface ToolApi {
  /** Reloads the tools of remote servers when the policy's version is newer; undefined: nothing to reload. */
  refresh(policy: GrantPolicy): Promise<void> | undefined
  /** Returns the tools the caller can use under this policy. No round trip. */
  list(caller: ToolCaller, policy: GrantPolicy): ToolDescription[]
  /** Returns what the remote servers of these tools say about their use, as an admin accepted it. No round trip. */
  listInstructions(tools: string[]): ServerInstructions[]
  /** Returns the properties of a tool by name; null for an unknown one. No round trip. */
  describe(tool: string): CallProperties | null
  /** Whether the policy allows a grant, or at least one grant that a pattern matches. No round trip. */
  isGranted(policy: GrantPolicy, grant: string): boolean
  /**
   * Returns why the policy or the caller's definition refuses a call with these arguments, as the model reads it; null when they
   * do not, or for an unknown tool. No round trip.
   */
  findRefusal(caller: ToolCaller, policy: GrantPolicy, call: ToolCall): string | null
  /** Returns what the caller's own files take up; null when it may use none. */
  measureFiles(caller: ToolCaller, policy: GrantPolicy): Promise<FileUse> | null
  /**
   * Closes what the calls of an ended run hold open at services. Never throws.
   *
   * @param tools names of the tools that the run has called
   */
  endRun(activationId: ActivationId, tools: string[]): Promise<void>
  /** Runs one call. Never throws: a failure becomes an error result. */
  call(
    caller: ToolCaller,
    call: ToolCall,
    signal: AbortSignal,
    progress?: (text: string) => void,
  ): Promise<ToolResult>
}

/**
 * What agents offer the hub: to be woken, to be looked at, and to have a definition checked.
 * Types only.
 */
import type { AccountId, ActivationId } from '../ids'
import type { DefinitionCheck, DefinitionFiles } from './contract-definitions'
import type { SessionApi } from './contract-sessions'

export type * from './contract-definitions'
export type * from './contract-sessions'

export interface AgentState {
  state: 'asleep' | 'working' | 'waiting'
  activationId: ActivationId | null
  /** In words, e.g. "searching the hub". */
  doing: string | null
  /** Why it waits and until when, for `waiting`. */
  reason: string | null
  nextAt: number | null
  /** Of the activation under way. */
  plan: Plan | null
}

export interface Watched {
  activationId: ActivationId
  /** The last `seq` the watcher has; 0 for none. */
  after: number
  /** `outline`: neither the inside nor words as they are written, which go to no thread. */
  view: 'full' | 'thread' | 'outline'
}

export interface AgentApi {
  /** A hint: there may be work. Resolves when the agent is sure to look, whatever crashes, or has looked. */
  wake(agentId: AccountId): Promise<void>
  /** False when it is too late, or when the agent works on something else (L34). */
  cancel(agentId: AccountId, activationId: ActivationId): Promise<boolean>
  readState(agentId: AccountId): Promise<AgentState>
  /** The trace of an activation that has not committed yet, as JSON; null when unknown here. */
  readTrace(agentId: AccountId, activationId: ActivationId): Promise<string | null>
  /**
   * Opens a WebSocket on an activation: its events after `after`, the text so far, then both as they
   * come (L22). `full` shows reasoning, arguments and results as the trace does.
   */
  watch(agentId: AccountId, watched: Watched, request: Request): Promise<Response>
  /** An event without what only those may see who may see inside (M9). */
  hideInside(event: RuntimeEvent): RuntimeEvent
  /**
   * The trace from what COMMIT and PARK kept of an activation, or an older version did.
   *
   * @throws SyntaxError for what is no JSON
   */
  openTrace(stored: string): Trace
  /** A trace as OpenTelemetry writes it: an ExportTraceServiceRequest in JSON (L43). */
  toOtlp(trace: TraceFacts): object
  checkDefinition(files: DefinitionFiles): Promise<DefinitionCheck>
  /**
   * The `provider/model` that a run of this agent would call if it were told to.
   *
   * @throws VALIDATION for a model that cannot be called from here
   */
  checkModel(agent: { name: string; etag: string }, model: string): Promise<string>
  /** Keeps the files where agents read them (R2), under their etag. */
  keepDefinition(name: string, etag: string, files: DefinitionFiles): Promise<void>
  sessions: SessionApi
}

export type * from './contract-scheduler'

// ---------------------------------------------------------------- trace (activation page)

/** How long one hook took (L33). */
export interface TraceHook {
  hook: string
  point: string
  ms: number
  outcome: 'ok' | 'denied' | 'failed' | 'timed_out'
}

export interface TraceTool {
  callId: string
  name: string
  grant: string | null
  arguments: string
  /** Excerpt of the result. */
  result: string
  isError: boolean
  startedAt: number
  durationMs: number
  resultBytes: number
  hooks: TraceHook[]
}

/** What the model was shown, in numbers. */
export interface TraceInput {
  messages: number
  chars: number
  /** Estimated before the call, tools included. */
  tokens: number
  /** Share of the step before's prompt that this one begins with, byte by byte (L14). */
  prefixShare: number | null
}

export interface TraceStep {
  /** From 1. */
  step: number
  startedAt: number
  modelMs: number
  retries: number
  /** Null when it is not known any more: the call was made before a crash. */
  input: TraceInput | null
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  /** Part of `outputTokens`. */
  reasoningTokens: number
  costMicrousd: number
  isPriced: boolean
  isEstimated: boolean
  finishReason: string
  text: string
  reasoning: string
  hooks: TraceHook[]
  tools: TraceTool[]
}

/** A summary that took the place of history (L20). */
export interface TraceCompaction {
  at: number
  durationMs: number
  /** Messages that the summary stands for. */
  replaced: number
  tokensBefore: number
  tokens: number
  costMicrousd: number
  /** Why it is an extract and not the model's words; null when the model wrote it. */
  problem: string | null
}

/** A wait for people to decide on calls (L30). */
export interface TracePark {
  at: number
  /** Null while it waits. */
  resumedAt: number | null
  tools: string[]
  decisions: { callId: string; decision: string; by: string | null; note: string }[]
}

/** Where the time went; the parts add up to `totalMs`. */
export interface TraceTime {
  loadingMs: number
  modelMs: number
  toolsMs: number
  hooksMs: number
  compactionMs: number
  /** For people to decide. */
  parkedMs: number
  /** Before a retry, for capacity or for money. */
  waitingMs: number
  otherMs: number
  totalMs: number
}

/** What all model calls were charged: also those that failed, were lost or cut off, and summaries. */
export interface TraceSpend {
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  costMicrousd: number
  isPriced: boolean
}

export interface TraceNote {
  at: number
  text: string
  /** What the provider said, which may quote anybody: for who may see inside. */
  quote?: string
}

export interface Trace {
  version: 1
  activationId: ActivationId
  agent: string
  model: string
  /** What set it off. */
  task: string
  session: string | null
  definitionVersion: number
  startedAt: number
  finishedAt: number | null
  outcome: string | null
  error: { code: string; message: string } | null
  /** Excerpt of what the model was shown first. */
  prompt: { role: string; excerpt: string; chars: number }[]
  steps: TraceStep[]
  spent: TraceSpend
  /** What it waited for, retried, was refused. */
  notes: TraceNote[]
  compactions: TraceCompaction[]
  parks: TracePark[]
  time: TraceTime
  plan: Plan
  events: RuntimeEvent[]
}

/** What of a trace can be exported. */
export type TraceFacts = Omit<Trace, 'plan' | 'events'>

// ---------------------------------------------------------------- watching

/**
 * Something that happened in an activation, as clients get it (L42). `seq` counts from 1 without a
 * gap and is the same for whoever asks and whenever. Texts are bounded excerpts.
 */
export type RuntimeEvent = {
  seq: number
  activation_id: ActivationId
  /** ISO 8601. */
  at: string
} & RuntimeEventBody

export type RuntimeEventBody =
  | { kind: 'task'; type: 'woken' }
  | { kind: 'task'; type: 'started'; agent: string; model: string }
  | { kind: 'task'; type: 'parked'; tools: string[] }
  | { kind: 'task'; type: 'resumed'; decisions: { call_id: string; decision: string }[] }
  /** The end is decided; the commit follows. */
  | {
      kind: 'task'
      type: 'response'
      outcome: string
      error: { code: string; message: string } | null
    }
  | {
      kind: 'model'
      type: 'step-finish'
      step: number
      finish_reason: string
      text: string
      reasoning: string
      model_ms: number
    }
  | { kind: 'model'; type: 'compacted'; messages: number; tokens_before: number; tokens: number }
  | {
      kind: 'metrics'
      type: 'usage'
      step: number
      input_tokens: number
      cached_tokens: number
      output_tokens: number
      cost_microusd: number
      is_priced: boolean
      is_estimated: boolean
    }
  | { kind: 'tool'; type: 'tool-call'; call_id: string; name: string; arguments: string }
  | {
      kind: 'tool'
      type: 'tool-result'
      call_id: string
      name: string
      is_error: boolean
      text: string
      duration_ms: number
    }
  /** `quote` is what the provider said. */
  | { kind: 'warning'; type: 'warning'; code: string; text: string; quote?: string }
  /** `steps` are the agent's own, told when it has revised them; tool calls have their own events. */
  | {
      kind: 'plan'
      type: 'plan'
      goal: string | null
      progress: number
      steps?: { title: string; status: string }[]
    }

/** What an activation set out to do and how far it is (L41). */
export interface Plan {
  goal: string | null
  /** `callId` is null for a step the agent wrote itself. */
  steps: {
    callId: string | null
    title: string
    status: 'pending' | 'running' | 'completed' | 'failed'
  }[]
  /** 0 to 1. */
  progress: number
}

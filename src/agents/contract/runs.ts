import type { ActivationError } from '../../shared/errors'
import type { ActivationId } from '../../shared/ids'

/** How long one hook ran and how it ended. */
export interface HookTime {
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
  hooks: HookTime[]
}

/** Size of one model call's prompt. */
export interface PromptSize {
  messages: number
  chars: number
  /** Estimated before the call, tools included. */
  tokens: number
  /** Share of the previous step's prompt that this prompt begins with, compared byte by byte. */
  prefixShare: number | null
  /** Images that the model got; absent: none. */
  images?: number
}

export interface TraceStep {
  /** From 1. */
  step: number
  startedAt: number
  modelMs: number
  retries: number
  /** Null when unknown, because the call was made before a crash. */
  input: PromptSize | null
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
  hooks: HookTime[]
  tools: TraceTool[]
}

/** A compaction: a summary that replaced history. */
export interface TraceCompaction {
  at: number
  durationMs: number
  /** Number of messages that the summary replaced. */
  replaced: number
  tokensBefore: number
  tokens: number
  costMicrousd: number
  /** Why the summary is an extract; null when the model wrote the summary. */
  problem: string | null
}

/** A wait for approvals of tool calls. */
export interface TracePark {
  at: number
  /** Null while the activation waits. */
  resumedAt: number | null
  tools: string[]
  decisions: { callId: string; decision: string; by: string | null; note: string }[]
}

/** What a program changed in its workspace. */
interface WorkspaceChanges {
  branch: string
  /** The id of the last commit that was pushed; null: none. */
  pushed: string | null
  /** The commit of the branch that the changes count from; null: a new branch. */
  since: string | null
  /** As `git diff --stat` writes it. */
  stat: string
  /** Length of the stored patch; 0: none is stored. */
  patchChars: number
}

/** Changes of one attempt, whose patch is stored under its number. */
interface TraceChanges extends WorkspaceChanges {
  attempt: number
}

/** Duration by kind; the parts add up to `totalMs`. */
export interface TraceTime {
  loadingMs: number
  /** Model calls that answered: the sum of `modelMs` of the steps. */
  modelMs: number
  /** Model calls without an answer: failed, lost or stopped. */
  lostMs: number
  toolsMs: number
  hooksMs: number
  compactionMs: number
  /** Waiting for approvals. */
  parkedMs: number
  /** Waiting for a retry, for capacity or for budget. */
  waitingMs: number
  otherMs: number
  totalMs: number
}

/** Charge of all model calls, including summaries and calls that failed, were lost or interrupted. */
export interface TraceSpend {
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  costMicrousd: number
  isPriced: boolean
}

interface TraceNote {
  at: number
  text: string
  /** The provider's message. It can quote content, so only viewers of the full trace see it. */
  quote?: string
}

/** What a run did and why, what it cost, and where the time went. */
export interface Waterfall {
  activationId: ActivationId
  agent: string
  model: string
  /** The task that started the activation. */
  task: string
  /** For whom the run acts; empty: the hub itself. */
  requesters: { name: string; role: string }[]
  session: string | null
  definitionVersion: number
  startedAt: number
  finishedAt: number | null
  outcome: string | null
  error: ActivationError | null
  /** Excerpts of the first prompt. */
  prompt: { role: string; excerpt: string; chars: number }[]
  steps: TraceStep[]
  spent: TraceSpend
  /** Waits, retries and refusals. */
  notes: TraceNote[]
  compactions: TraceCompaction[]
  parks: TracePark[]
  /** Changes of workspaces, by attempt. */
  changes: TraceChanges[]
  time: TraceTime
}

/** A run as its pages and the API show it. */
export interface Trace extends Waterfall {
  plan: Plan
  events: RuntimeEvent[]
}

/**
 * An event of an activation, as clients receive it. `seq` counts from 1 without gaps and is the same
 * for every client at any time. Texts are bounded excerpts.
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
  /** A comment joined the run. */
  | { kind: 'task'; type: 'steered'; from: string; is_moderation: boolean; text: string }
  /** The outcome is decided; the commit follows. */
  | { kind: 'task'; type: 'response'; outcome: string; error: Waterfall['error'] }
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
  /** `quote` is the provider's message. */
  | { kind: 'warning'; type: 'warning'; code: string; text: string; quote?: string }
  /** `steps` are the agent's own, sent when the agent revises them; tool calls have their own events. */
  | {
      kind: 'plan'
      type: 'plan'
      goal: string | null
      progress: number
      steps?: { title: string; status: string }[]
    }

/** Goal, steps and progress of an activation. */
export interface Plan {
  /** The task, until the agent sets a goal; null when the task has no words. */
  goal: string | null
  /** The agent's own steps, then its tool calls in the order they were requested. */
  steps: PlanStep[]
  /** 0 to 1: of the agent's own steps when it wrote any, else of its tool calls. */
  progress: number
}

export interface PlanStep {
  /** The id of the tool call that is this step; null for a step that the agent wrote itself. */
  callId: string | null
  /** What the agent wrote, or the name of the tool. */
  title: string
  /** `not_done`: a step of the agent's own that the run ended without. */
  status: 'pending' | 'running' | 'completed' | 'failed' | 'not_done'
  /** Excerpt of the result of a completed call. */
  output: string | null
  /** Why the step failed or was not done. */
  reason: string | null
}

/**
 * Why a stored record cannot be read: it is truncated or damaged, another version of the hub wrote it, or
 * it has this version and lacks something.
 */
export type RunLogProblem = 'not_json' | 'other_version' | 'invalid'

/**
 * How much of a run's private content a viewer sees: everything, the final text only, or none of
 * it.
 */
export type RunAccess = 'all' | 'answer' | 'none'

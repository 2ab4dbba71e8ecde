/** A run as its trace shows it: steps, tools, time and cost. Part of the contract; import it from `agents.ts`. */
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
export interface WorkspaceChanges {
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
export interface TraceChanges extends WorkspaceChanges {
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

export interface TraceNote {
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

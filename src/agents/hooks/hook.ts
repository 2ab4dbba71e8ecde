import type { BudgetStatus } from '../../hub/contract/hub'
import type { AccountId, ActivationId, PostId } from '../../shared/ids'
import type { HookTime } from '../contract/agents'
import type { ModelAnswer } from '../loop/message'
import type { ModelRequest } from '../models/model-port'

/** A value or a promise of it. Promises of hooks are subject to a timeout. */
export type Awaitable<Value> = Value | Promise<Value>

/** The activation that a hook runs for. */
export interface HookContext {
  agent: { id: AccountId; name: string }
  activationId: ActivationId
  /** From 1. */
  step: number
  /** Post of the activation's thread; null without a thread. */
  postId: PostId | null
  /** `provider/model`. */
  model: string
  budgets: readonly BudgetStatus[]
  /** Milliseconds since the epoch. */
  now: number
}

/** A model call that is about to be made. */
export interface ModelCall {
  /** The definition's system prompt. The platform's rules follow it and cannot be changed. */
  systemPrompt: string
  /** Tools offered to the model. Removing a tool hides it; the gateway authorizes calls. */
  tools: ModelRequest['tools']
  /** Lines at the end of the prompt, for what changes from step to step. */
  status: readonly string[]
}

/** A tool call requested by the model, before it reaches the gateway. */
export interface HookToolCall {
  callId: string
  tool: string
  /** Parsed arguments; undefined when they are not JSON. */
  input: unknown
}

/** A guard's result: undefined allows, `input` replaces the input, `deny` has the reason for the model. */
export type GuardResult = { input: unknown } | { deny: string } | undefined

/** A tool's result, redacted. */
export interface HookToolOutput {
  callId: string
  tool: string
  text: string
  isError: boolean
}

/**
 * Code of a deployment that runs around model and tool calls. All points are optional. A point
 * returns a change, or undefined for no change.
 */
export interface Hook {
  /** Lower case with dashes; definitions enable and disable the hook by this name. */
  name: string
  /** True when it runs only for agents whose definition enables it. */
  isOptIn?: boolean
  /**
   * True when it only looks at what it is given, and changes nothing outside of it: no request, no write. A replay runs
   * no other hooks, because nobody may notice it.
   */
  isPure?: boolean
  /** Skipped when it fails or times out. */
  beforeModelCall?(
    call: Readonly<ModelCall>,
    context: HookContext,
  ): Awaitable<Partial<ModelCall> | undefined>
  /** Observes only; all hooks run concurrently. Skipped when it fails or times out. */
  afterModelCall?(answer: Readonly<ModelAnswer>, context: HookContext): Awaitable<void>
  /** The call is denied when it fails or times out. */
  beforeToolCall?(call: Readonly<HookToolCall>, context: HookContext): Awaitable<GuardResult>
  /** Skipped when it fails or times out. */
  afterToolCall?(
    output: Readonly<HookToolOutput>,
    context: HookContext,
  ): Awaitable<Partial<Pick<HookToolOutput, 'text' | 'isError'>> | undefined>
}

export type HookPoint = Exclude<keyof Hook, 'name' | 'isOptIn' | 'isPure'>

/** One run of a hook, for the trace. */
export interface HookTiming extends HookTime {
  point: HookPoint
}

/** `hooks` of a definition: names of hooks. */
export interface HookSwitches {
  enable: readonly string[]
  disable: readonly string[]
}

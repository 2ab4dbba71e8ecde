import type { BudgetStatus } from '../../hub/contract'
import type { AccountId, ActivationId, PostId } from '../../ids'
import type { ModelAnswer } from '../loop/message'
import type { ModelRequest } from '../models/model-port'

/** A hook may answer at once or later; later costs a timeout. */
export type Awaitable<Value> = Value | Promise<Value>

/** Whose work it is and how things stand. */
export interface HookContext {
  agent: { id: AccountId; name: string }
  activationId: ActivationId
  /** From 1. */
  step: number
  /** The thread it works on; null when there is none. */
  postId: PostId | null
  /** `provider/model`. */
  model: string
  budgets: readonly BudgetStatus[]
  /** Milliseconds since the epoch. */
  now: number
}

/** A model call that is about to be made. */
export interface ModelCall {
  /** The agent's own words about itself. The platform's rules follow it and are not to be changed. */
  systemPrompt: string
  /** What the model may ask for. Taking one away hides it; the gateway decides about calls. */
  tools: ModelRequest['tools']
  /** Lines at the very end of the prompt. What differs from step to step belongs here (L14). */
  status: readonly string[]
}

/** A tool call that the model asked for, before the gateway sees it. */
export interface HookedCall {
  callId: string
  tool: string
  /** Parsed; undefined when the model wrote no JSON. */
  input: unknown
}

/** What a guard says: go on, go on with another input, or not at all, with the reason for the model. */
export type GuardAnswer = { input: unknown } | { deny: string } | undefined

/** What a tool gave back, redacted. */
export interface HookedOutput {
  callId: string
  tool: string
  text: string
  isError: boolean
}

/**
 * Code of a deployment that runs around model and tool calls (L32). All points are optional. What a
 * point returns is a change; undefined changes nothing.
 */
export interface Hook {
  /** Lower case with dashes; definitions switch it by this name. */
  name: string
  /** True: only agents whose definition enables it have it. */
  isOptIn?: boolean
  /** Failing or slow: skipped. */
  beforeModelCall?(
    call: Readonly<ModelCall>,
    context: HookContext,
  ): Awaitable<Partial<ModelCall> | undefined>
  /** Only looks; all hooks at once. Failing or slow: skipped. */
  afterModelCall?(answer: Readonly<ModelAnswer>, context: HookContext): Awaitable<void>
  /** Failing or slow: the call is denied. */
  beforeToolCall?(call: Readonly<HookedCall>, context: HookContext): Awaitable<GuardAnswer>
  /** Failing or slow: skipped. */
  afterToolCall?(
    output: Readonly<HookedOutput>,
    context: HookContext,
  ): Awaitable<Partial<Pick<HookedOutput, 'text' | 'isError'>> | undefined>
}

export type HookPoint = Exclude<keyof Hook, 'name' | 'isOptIn'>

/** For the trace (L33). */
export interface HookTiming {
  hook: string
  point: HookPoint
  ms: number
  outcome: 'ok' | 'denied' | 'failed' | 'timed_out'
}

/** `hooks` of a definition. */
export interface HookSwitches {
  enable: readonly string[]
  disable: readonly string[]
}

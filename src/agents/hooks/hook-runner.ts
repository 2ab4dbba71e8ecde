import type { Message, ModelAnswer } from '../loop/message'
import type { ModelRequest } from '../models/model-port'
import type {
  Awaitable,
  GuardResult,
  Hook,
  HookContext,
  HookPoint,
  HookSwitches,
  HookTiming,
  HookToolCall,
  HookToolOutput,
  ModelCall,
} from './hook'

/** How long a hook around a model or tool call may take. */
const hookTimeoutMs = 2_000

export type GuardDecision =
  /** Raw JSON: as the model wrote it, or of the input that a hook replaced it with. */
  | { kind: 'allowed'; arguments: string }
  /** `reason` is returned to the model. */
  | { kind: 'denied'; hook: string; reason: string }

/** The hooks of one agent. The promises never reject. */
export interface AgentHooks {
  beforeModelCall(call: ModelCall, context: HookContext): Promise<HookResult<ModelCall>>
  afterModelCall(answer: ModelAnswer, context: HookContext): Promise<HookTiming[]>
  beforeToolCall(call: RawToolCall, context: HookContext): Promise<HookResult<GuardDecision>>
  afterToolCall(output: HookToolOutput, context: HookContext): Promise<HookResult<HookToolOutput>>
}

/** A call with its arguments as the model wrote them. */
interface RawToolCall {
  callId: string
  tool: string
  arguments: string
}

export interface HookRunner {
  /** @param switches `hooks` of the agent's definition */
  forAgent(switches: HookSwitches): AgentHooks
}

interface HookRunnerDeps extends Omit<HookRunDeps, 'timeoutMs'> {
  /** Removes anything shaped like a credential. */
  redact(text: string): string
  timeoutMs?: number
}

/** Creates the runner of a deployment's hooks, which run in the order of their list. */
export function createHookRunner(hooks: readonly Hook[], deps: HookRunnerDeps): HookRunner {
  const cache = new WeakMap<HookSwitches, AgentHooks>()
  return {
    forAgent(switches) {
      const cached = cache.get(switches)
      if (cached) return cached
      const agentHooks = createAgentHooks(
        selectHooks(hooks, switches),
        { timeoutMs: hookTimeoutMs, ...deps },
        deps.redact,
      )
      cache.set(switches, agentHooks)
      return agentHooks
    },
  }
}

/** Returns the names of the hooks that a replay of an agent does not run. */
export const listImpureHooks = (hooks: readonly Hook[], switches: HookSwitches): string[] =>
  selectHooks(hooks, switches).flatMap(({ name, isPure }) => (isPure ? [] : [name]))

const selectHooks = (hooks: readonly Hook[], { enable, disable }: HookSwitches): Hook[] =>
  hooks.filter(
    ({ name, isOptIn }) => !disable.includes(name) && (!isOptIn || enable.includes(name)),
  )

function createAgentHooks(
  hooks: Hook[],
  deps: HookRunDeps,
  redact: (text: string) => string,
): AgentHooks {
  const at = (point: HookPoint) => hooks.filter((hook) => hook[point] !== undefined)
  const beforeModel = at('beforeModelCall')
  const afterModel = at('afterModelCall')
  const beforeTool = at('beforeToolCall')
  const afterTool = at('afterToolCall')
  return {
    beforeModelCall: (call, context) =>
      runHooks(
        deps,
        beforeModel,
        {
          point: 'beforeModelCall',
          call: (hook, value) => hook.beforeModelCall?.(value, context),
          applyAnswer: (value, change) => (change ? { ...value, ...change } : value),
        },
        call,
      ),
    afterModelCall: (answer, context) =>
      notifyHooks(deps, afterModel, 'afterModelCall', (hook) =>
        hook.afterModelCall?.(answer, context),
      ),
    beforeToolCall: (call, context) => guardCall(deps, beforeTool, call, context, redact),
    afterToolCall: (output, context) =>
      runHooks(
        deps,
        afterTool,
        {
          point: 'afterToolCall',
          call: (hook, value) => hook.afterToolCall?.(value, context),
          applyAnswer: (value, change) => applyToOutput(value, change, redact),
        },
        output,
      ),
  }
}

/** Applies a hook's change to an output. Redacts its text again, as a hook may add secrets. */
function applyToOutput(
  output: HookToolOutput,
  change: { text?: string; isError?: boolean } | undefined,
  redact: (text: string) => string,
): HookToolOutput {
  if (!change) return output
  const { text = output.text, isError = output.isError } = change
  return { ...output, isError, text: text === output.text ? text : redact(text) }
}

/** A call and the guards' decision so far. */
interface Guarded {
  call: HookToolCall
  decision: GuardDecision
}

async function guardCall(
  deps: HookRunDeps,
  hooks: Hook[],
  { callId, tool, arguments: raw }: RawToolCall,
  context: HookContext,
  redact: (text: string) => string,
): Promise<HookResult<GuardDecision>> {
  const allowed: GuardDecision = { kind: 'allowed', arguments: raw }
  // Most agents have no guard, so the arguments are not parsed.
  if (hooks.length === 0) return { value: allowed, timings: [] }
  const deny = (guarded: Guarded, hook: Hook, reason: string): Guarded => ({
    ...guarded,
    decision: { kind: 'denied', hook: hook.name, reason: redact(reason) },
  })
  const { value, timings } = await runHooks<Guarded, GuardResult>(
    deps,
    hooks,
    {
      point: 'beforeToolCall',
      call: (hook, { call }) => hook.beforeToolCall?.(call, context),
      applyAnswer: (guarded, answer, hook) => {
        if (!answer) return guarded
        if ('deny' in answer) return deny(guarded, hook, answer.deny)
        return replaceInput(guarded, answer.input)
      },
      applyFailure: (guarded, hook) => deny(guarded, hook, 'the check failed to run'),
      isDenied: ({ decision }) => decision.kind === 'denied',
    },
    { call: { callId, tool, input: parseArguments(raw) }, decision: allowed },
  )
  return { value: value.decision, timings }
}

function replaceInput({ call }: Guarded, input: unknown): Guarded {
  const text: string | undefined = JSON.stringify(input)
  if (text === undefined) throw new Error('the replacement input is not JSON')
  // The next hook receives the input that the gateway will receive.
  return {
    call: { ...call, input: JSON.parse(text) },
    decision: { kind: 'allowed', arguments: text },
  }
}

/** Parses raw arguments: undefined when malformed, {} when empty, as for tools without parameters. */
function parseArguments(raw: string): unknown {
  try {
    return JSON.parse(raw.trim() === '' ? '{}' : raw)
  } catch {
    return undefined
  }
}

/** The result of one hook. */
type Settled<Answer> =
  | { ok: true; answer: Answer }
  | { ok: false; outcome: 'failed' | 'timed_out'; cause: unknown }

/** How hooks are called at one point, and how their answers are applied. */
interface HookRun<Value, Answer> {
  point: HookPoint
  call(hook: Hook, value: Value): Awaitable<Answer>
  applyAnswer(value: Value, answer: Answer, hook: Hook): Value
  /** Applies a failure. By default a failed hook changes nothing. */
  applyFailure?(value: Value, hook: Hook): Value
  /** Whether the remaining hooks are skipped. */
  isDenied?(value: Value): boolean
}

interface HookRunDeps {
  now(): number
  report(timing: HookTiming, cause: unknown): void
  timeoutMs: number
}

/** A value after all hooks, with each hook's timing. */
export interface HookResult<Value> {
  value: Value
  timings: HookTiming[]
}

/** Runs hooks in sequence, each on the result of the previous one. Never rejects. */
async function runHooks<Value, Answer>(
  deps: HookRunDeps,
  hooks: readonly Hook[],
  walk: HookRun<Value, Answer>,
  start: Value,
): Promise<HookResult<Value>> {
  const timings: HookTiming[] = []
  let value = start
  for (const hook of hooks) {
    if (walk.isDenied?.(value)) break
    const called = { hook, value, startedAt: deps.now() }
    const settled = await callHook(deps.timeoutMs, () => walk.call(hook, called.value))
    value = applySettled(deps, walk, timings, called, settled)
  }
  return { value, timings }
}

/** Runs all hooks concurrently and ignores their answers. Never rejects. */
async function notifyHooks(
  deps: HookRunDeps,
  hooks: readonly Hook[],
  point: HookPoint,
  notify: (hook: Hook) => Awaitable<void>,
): Promise<HookTiming[]> {
  const walk: HookRun<null, void> = { point, call: notify, applyAnswer: () => null }
  const runs = await Promise.all(hooks.map((hook) => runHooks(deps, [hook], walk, null)))
  return runs.flatMap(({ timings }) => timings)
}

/** Calls one hook, and waits for its answer for at most `timeoutMs`. */
async function callHook<Answer>(
  timeoutMs: number,
  call: () => Awaitable<Answer>,
): Promise<Settled<Answer>> {
  const timeout = Promise.withResolvers<Settled<Answer>>()
  const cause = `timed out after ${timeoutMs} ms`
  const timer = setTimeout(
    () => timeout.resolve({ ok: false, outcome: 'timed_out', cause }),
    timeoutMs,
  )
  const first = await Promise.race([settle(call), timeout.promise])
  clearTimeout(timer)
  return first
}

async function settle<Answer>(call: () => Awaitable<Answer>): Promise<Settled<Answer>> {
  try {
    return { ok: true, answer: await call() }
  } catch (cause) {
    return { ok: false, outcome: 'failed', cause }
  }
}

interface CalledHook<Value> {
  hook: Hook
  value: Value
  startedAt: number
}

function applySettled<Value, Answer>(
  deps: HookRunDeps,
  walk: HookRun<Value, Answer>,
  timings: HookTiming[],
  { hook, value, startedAt }: CalledHook<Value>,
  settled: Settled<Answer>,
): Value {
  const addTiming = (outcome: HookTiming['outcome'], cause?: unknown) => {
    const ms = Math.max(0, deps.now() - startedAt)
    const timing: HookTiming = { hook: hook.name, point: walk.point, ms, outcome }
    timings.push(timing)
    if (outcome === 'failed' || outcome === 'timed_out') deps.report(timing, cause)
  }
  const fail = (outcome: 'failed' | 'timed_out', cause: unknown) => {
    addTiming(outcome, cause)
    return walk.applyFailure ? walk.applyFailure(value, hook) : value
  }
  if (!settled.ok) return fail(settled.outcome, settled.cause)
  try {
    const next = walk.applyAnswer(value, settled.answer, hook)
    addTiming(walk.isDenied?.(next) ? 'denied' : 'ok')
    return next
  } catch (cause) {
    return fail('failed', cause)
  }
}

type Prompt = Pick<ModelRequest, 'messages' | 'tools'>

/**
 * Runs an agent's hooks on a model request. They may change the first system message and the tools, and
 * add lines to the last message, which is the status. The messages in between stay unchanged.
 */
export async function applyRequestHooks(
  hooks: AgentHooks,
  prompt: Prompt,
  context: HookContext,
): Promise<HookResult<Prompt>> {
  const first = prompt.messages[0]
  const systemPrompt = first?.role === 'system' ? first.text : ''
  const call: ModelCall = { systemPrompt, tools: prompt.tools, status: [] }
  const { value, timings } = await hooks.beforeModelCall(call, context)
  return { value: value === call ? prompt : applyChange(prompt, systemPrompt, value), timings }
}

function applyChange({ messages }: Prompt, systemPrompt: string, call: ModelCall): Prompt {
  let changed = messages
  if (call.systemPrompt !== systemPrompt) {
    const rest = systemPrompt === '' ? messages : messages.slice(1)
    changed = [{ role: 'system', text: call.systemPrompt }, ...rest]
  }
  return { messages: addStatus(changed, call.status), tools: call.tools }
}

function addStatus(messages: Message[], lines: readonly string[]): Message[] {
  const last = messages.at(-1)
  if (lines.length === 0) return messages
  const text = lines.join('\n')
  if (last?.role !== 'user') return [...messages, { role: 'user', text }]
  return [...messages.slice(0, -1), { role: 'user', text: `${last.text}\n${text}` }]
}

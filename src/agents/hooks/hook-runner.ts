import { hookLimits } from '../../config'
import type { ModelAnswer } from '../loop/message'
import type {
  Awaitable,
  GuardAnswer,
  Hook,
  HookContext,
  HookedCall,
  HookedOutput,
  HookPoint,
  HookSwitches,
  HookTiming,
  ModelCall,
} from './hook'
import { type Hooked, tellHooks, type WalkDeps, walkHooks } from './walk-hooks'

export type GuardDecision =
  /** Raw JSON: as the model wrote it, or of the input that a hook put in its place. */
  | { kind: 'allowed'; arguments: string }
  /** `reason` is for the model. */
  | { kind: 'denied'; hook: string; reason: string }

/** The hooks of one agent. Nothing here throws, and with no async hook nothing is a promise. */
export interface AgentHooks {
  beforeModelCall(call: ModelCall, context: HookContext): Awaitable<Hooked<ModelCall>>
  afterModelCall(answer: ModelAnswer, context: HookContext): Awaitable<HookTiming[]>
  beforeToolCall(call: RawCall, context: HookContext): Awaitable<Hooked<GuardDecision>>
  afterToolCall(output: HookedOutput, context: HookContext): Awaitable<Hooked<HookedOutput>>
}

/** A call with its arguments as the model wrote them. */
export interface RawCall {
  callId: string
  tool: string
  arguments: string
}

export interface HookRunner {
  /** @param switches `hooks` of the agent's definition */
  forAgent(switches: HookSwitches): AgentHooks
}

export interface HookRunnerDeps extends Omit<WalkDeps, 'timeoutMs'> {
  /** Leaves out what is shaped like a credential. */
  redact(text: string): string
  timeoutMs?: number
}

/** Runs the hooks of a deployment in the order of its one list (L32, L33). */
export function createHookRunner(hooks: readonly Hook[], deps: HookRunnerDeps): HookRunner {
  const made = new WeakMap<HookSwitches, AgentHooks>()
  return {
    forAgent(switches) {
      const before = made.get(switches)
      if (before) return before
      const agentHooks = createAgentHooks(
        selectHooks(hooks, switches),
        { timeoutMs: hookLimits.timeoutMs, ...deps },
        deps.redact,
      )
      made.set(switches, agentHooks)
      return agentHooks
    },
  }
}

const selectHooks = (hooks: readonly Hook[], { enable, disable }: HookSwitches): Hook[] =>
  hooks.filter(
    ({ name, isOptIn }) => !disable.includes(name) && (!isOptIn || enable.includes(name)),
  )

function createAgentHooks(
  hooks: Hook[],
  deps: WalkDeps,
  redact: (text: string) => string,
): AgentHooks {
  const at = (point: HookPoint) => hooks.filter((hook) => hook[point] !== undefined)
  const beforeModel = at('beforeModelCall')
  const afterModel = at('afterModelCall')
  const beforeTool = at('beforeToolCall')
  const afterTool = at('afterToolCall')
  return {
    beforeModelCall: (call, context) =>
      walkHooks(
        deps,
        beforeModel,
        {
          point: 'beforeModelCall',
          ask: (hook, value) => hook.beforeModelCall?.(value, context),
          take: (value, change) => (change ? { ...value, ...change } : value),
        },
        call,
      ),
    afterModelCall: (answer, context) =>
      tellHooks(deps, afterModel, 'afterModelCall', (hook) =>
        hook.afterModelCall?.(answer, context),
      ),
    beforeToolCall: (call, context) => guardCall(deps, beforeTool, call, context, redact),
    afterToolCall: (output, context) =>
      walkHooks(
        deps,
        afterTool,
        {
          point: 'afterToolCall',
          ask: (hook, value) => hook.afterToolCall?.(value, context),
          take: (value, change) => takeOutput(value, change, redact),
        },
        output,
      ),
  }
}

/** A hook may put in what the gateway took out, so its words are redacted again (L32). */
function takeOutput(
  output: HookedOutput,
  change: { text?: string; isError?: boolean } | undefined,
  redact: (text: string) => string,
): HookedOutput {
  if (!change) return output
  const { text = output.text, isError = output.isError } = change
  return { ...output, isError, text: text === output.text ? text : redact(text) }
}

/** What the guards have made of a call so far. */
interface Guarded {
  call: HookedCall
  decision: GuardDecision
}

function guardCall(
  deps: WalkDeps,
  hooks: Hook[],
  { callId, tool, arguments: raw }: RawCall,
  context: HookContext,
  redact: (text: string) => string,
): Awaitable<Hooked<GuardDecision>> {
  const allowed: GuardDecision = { kind: 'allowed', arguments: raw }
  // most agents have no guard: then the arguments are not parsed either
  if (hooks.length === 0) return { value: allowed, timings: [] }
  const deny = (guarded: Guarded, hook: Hook, reason: string): Guarded => ({
    ...guarded,
    decision: { kind: 'denied', hook: hook.name, reason: redact(reason) },
  })
  const run = walkHooks<Guarded, GuardAnswer>(
    deps,
    hooks,
    {
      point: 'beforeToolCall',
      ask: (hook, { call }) => hook.beforeToolCall?.(call, context),
      take: (guarded, answer, hook) => {
        if (!answer) return guarded
        if ('deny' in answer) return deny(guarded, hook, answer.deny)
        return replaceInput(guarded, answer.input)
      },
      takeFailure: (guarded, hook) => deny(guarded, hook, 'the check could not be made'),
      isDenied: ({ decision }) => decision.kind === 'denied',
    },
    { call: { callId, tool, input: parse(raw) }, decision: allowed },
  )
  const toDecision = ({ value, timings }: Hooked<Guarded>) => ({ value: value.decision, timings })
  return run instanceof Promise ? run.then(toDecision) : toDecision(run)
}

function replaceInput({ call }: Guarded, input: unknown): Guarded {
  const text: string | undefined = JSON.stringify(input)
  if (text === undefined) throw new Error('the input it gave is no JSON')
  // the next hook sees what the gateway will see
  return {
    call: { ...call, input: JSON.parse(text) },
    decision: { kind: 'allowed', arguments: text },
  }
}

/** Models leave the arguments of a tool without any empty. */
function parse(raw: string): unknown {
  try {
    return JSON.parse(raw.trim() === '' ? '{}' : raw)
  } catch {
    return undefined
  }
}

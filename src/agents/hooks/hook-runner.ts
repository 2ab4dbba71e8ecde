import type { ModelAnswer } from '../loop/message'
import type {
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
import { type HookResult, type HookRunDeps, notifyHooks, runHooks } from './run-hooks'

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
export interface RawToolCall {
  callId: string
  tool: string
  arguments: string
}

export interface HookRunner {
  /** @param switches `hooks` of the agent's definition */
  forAgent(switches: HookSwitches): AgentHooks
}

export interface HookRunnerDeps extends Omit<HookRunDeps, 'timeoutMs'> {
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

import type { Awaitable, HookContext } from '../hooks/hook'
import type { AgentHooks, GuardDecision } from '../hooks/hook-runner'
import type { Hooked } from '../hooks/walk-hooks'
import type { AdmittedCall } from '../loop/admit-calls'
import type { Effect } from '../loop/effect'
import type { Approval, LoadedFacts, LoopEvent } from '../loop/event'
import { findApproval } from './park'
import {
  announce,
  findCall,
  hookContext,
  loadedFacts,
  readDefinition,
  toolCaller,
  type Workbench,
} from './workbench'

/**
 * One tool call: the guards of this deployment, the gateway, then the hooks that see its output (L32).
 * The gateway never throws.
 */
export async function callTool(
  bench: Workbench,
  effect: Extract<Effect, { type: 'call_tool' }>,
  signal: AbortSignal,
): Promise<LoopEvent | null> {
  const { deps } = bench
  const { events } = bench.now()
  const call = findCall(events, effect.callId)
  const facts = loadedFacts(events)
  if (!call || !facts) throw new Error('a call that nobody asked for')
  // after a crash the definition is not in memory yet, and it narrows what the call may do
  const found = await readDefinition(bench, facts.agentName, facts.definition.etag)
  const startedAt = deps.clock.now()
  // the model call that follows ends the task for that (L15)
  if (!found.ok) return failCall(call, effect.id, startedAt, found.message)
  const doing = deps.tools.describe(call.name)?.doing ?? 'using a tool'
  announce(bench, doing)
  bench.stream.tellProgress(call, doing, bench.now().state.activationId)
  const hooks = deps.hooks.forAgent(found.definition.hooks)
  const context = hookContext(bench, facts)
  const { callId, name } = call
  const guarded = await guard(hooks, call, findApproval(events, callId), context)
  const timings = [...guarded.timings]
  const result = await run(bench, facts, call, guarded.value, signal)
  if (signal.aborted) return null
  const { approval, durationMs, audit } = result
  const base = { effectId: effect.id, callId, name, startedAt, audit }
  if (approval) {
    const hooked = timings.length > 0 ? { hooks: timings } : {}
    return { ...base, at: deps.clock.now(), type: 'tool_parked', approval, ...hooked }
  }
  const { text, isError } = result
  const shown = await hooks.afterToolCall({ callId, tool: name, text, isError }, context)
  if (signal.aborted) return null
  timings.push(...shown.timings)
  return {
    ...base,
    at: deps.clock.now(),
    type: 'tool_returned',
    text: shown.value.text,
    isError: shown.value.isError,
    durationMs,
    resultBytes: result.resultBytes,
    ...(timings.length > 0 && { hooks: timings }),
    ...noteChange(call, guarded.value),
  }
}

/** Arguments that a hook has changed are nowhere else, so the journal has them. */
const noteChange = ({ arguments: asked }: AdmittedCall, decision: GuardDecision) =>
  decision.kind === 'allowed' && decision.arguments !== asked
    ? { arguments: decision.arguments }
    : {}

/** A call that came to nothing before or outside the gateway. */
export const failCall = (
  { callId, name }: Pick<AdmittedCall, 'callId' | 'name'>,
  effectId: number,
  at: number,
  message: string,
): LoopEvent => ({
  type: 'tool_returned',
  at,
  effectId,
  callId,
  name,
  text: `Error: ${message}`,
  isError: true,
  startedAt: at,
  durationMs: 0,
  resultBytes: 0,
  audit: null,
})

/** After its approval a call runs exactly as it was approved: nobody may change it any more. */
const guard = (
  hooks: AgentHooks,
  { callId, name, arguments: args }: AdmittedCall,
  approved: Approval | null,
  context: HookContext,
): Awaitable<Hooked<GuardDecision>> =>
  approved
    ? { value: { kind: 'allowed', arguments: approved.arguments }, timings: [] }
    : hooks.beforeToolCall({ callId, tool: name, arguments: args }, context)

interface Ran {
  text: string
  isError: boolean
  approval: Approval | null
  durationMs: number
  resultBytes: number
  audit: Record<string, unknown> | null
}

async function run(
  bench: Workbench,
  facts: LoadedFacts,
  { callId, name }: AdmittedCall,
  decision: GuardDecision,
  signal: AbortSignal,
): Promise<Ran> {
  if (decision.kind === 'denied') {
    const text = `Error: denied by ${decision.hook}: ${decision.reason}`
    return { text, isError: true, approval: null, durationMs: 0, resultBytes: 0, audit: null }
  }
  const result = await bench.deps.tools.call(
    toolCaller(bench, facts),
    { callId, tool: name, arguments: decision.arguments },
    signal,
  )
  const { text, isError, approval, durationMs, audit } = result
  const resultBytes = audit.resultBytes ?? text.length
  return { text, isError, approval, durationMs, resultBytes, audit: { ...audit } }
}

import type { Effect } from '../loop/effect'
import type { LoopEvent } from '../loop/event'
import { findApproval } from './park'
import {
  announce,
  findCall,
  loadedFacts,
  readDefinition,
  toolCaller,
  type Workbench,
} from './workbench'

/** One tool call through the gateway, which never throws. */
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
  if (!found.ok) throw new Error(found.message)
  // after its approval a call runs exactly as it was approved
  const approved = findApproval(events, effect.callId)
  const startedAt = deps.clock.now()
  const doing = deps.tools.describe(call.name)?.doing ?? 'using a tool'
  announce(bench, doing)
  bench.stream.tellProgress(call, doing, bench.now().state.activationId)
  const result = await deps.tools.call(
    toolCaller(bench, facts),
    { callId: call.callId, tool: call.name, arguments: approved?.arguments ?? call.arguments },
    signal,
  )
  if (signal.aborted) return null
  const { callId, name } = call
  const audit = { ...result.audit }
  const base = { at: deps.clock.now(), effectId: effect.id, callId, name, startedAt, audit }
  if (result.approval) return { ...base, type: 'tool_parked', approval: result.approval }
  return {
    ...base,
    type: 'tool_returned',
    text: result.text,
    isError: result.isError,
    durationMs: result.durationMs,
    resultBytes: result.audit.resultBytes ?? result.text.length,
  }
}

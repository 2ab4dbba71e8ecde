import type { AuditEntry } from '../../hub/contract'
import type { ToolCall, ToolCaller, ToolResult } from '../contract'
import { decide } from './decide'
import { readGuarded, runDecided } from './decided-call'
import { hashArguments } from './hash-arguments'
import { nearNames } from './near-names'
import { noteIntent, type Pipeline, toResult } from './pipeline'
import { describeProblems, readArguments } from './read-arguments'

/**
 * One call through all stages: find, validate, resolve the grant, decide, note the intent, run,
 * bound, audit. Never throws: what fails becomes a result the model can read.
 */
export async function callTool(
  pipeline: Pipeline,
  caller: ToolCaller,
  call: ToolCall,
  signal: AbortSignal,
): Promise<ToolResult> {
  const entry: AuditEntry = {
    callId: call.callId,
    tool: call.tool.slice(0, 64),
    grant: '',
    argumentsHash: '',
    ...(caller.activationId === null && { arguments: call.arguments }),
    decision: 'denied',
    outcome: null,
    durationMs: null,
    resultBytes: null,
    at: pipeline.clock.now(),
  }
  try {
    return await walk(pipeline, caller, call, signal, entry)
  } catch (cause) {
    pipeline.reportFailure?.(entry.tool, cause)
    return toResult(pipeline, entry, {
      outcome: 'error',
      text: `Error: ${entry.tool} was not run: the hub could not check or note the call. It may work later.`,
    })
  }
}

async function walk(
  pipeline: Pipeline,
  caller: ToolCaller,
  call: ToolCall,
  signal: AbortSignal,
  entry: AuditEntry,
): Promise<ToolResult> {
  const refuse = async (decision: AuditEntry['decision'], text: string) => {
    entry.decision = decision
    await noteIntent(pipeline, caller, entry)
    return toResult(pipeline, entry, { outcome: null, text })
  }
  const args = readArguments(call.arguments)
  entry.argumentsHash = await hashArguments(call.arguments, args.ok ? args.value : undefined)

  const tool = pipeline.tools.get(call.tool)
  if (!tool) return refuse('unknown_tool', await describeUnknown(pipeline, caller, entry.tool))

  const prepared = args.ok ? tool.prepare(args.value) : args
  if (!prepared.ok) return refuse('invalid', describeProblems(tool.name, prepared.problems))
  entry.grant = prepared.grant

  const value = args.ok ? args.value : undefined
  const asked = {
    ...{ pipeline, caller, tool, prepared, entry, signal },
    ...{ raw: call.arguments, args: value },
  }
  // An outside caller's intent must be on record before anything is read.
  const isGuarded = tool.isGuardable && caller.activationId !== null
  return isGuarded ? readGuarded(asked) : runDecided(asked)
}

/** Suggests only what the caller could call. */
async function describeUnknown(
  pipeline: Pipeline,
  caller: ToolCaller,
  name: string,
): Promise<string> {
  const policy = await pipeline.hub.readPolicy(caller.accountId)
  const usable = [...pipeline.tools.values()].filter(
    (tool) => decide(policy, caller, tool).isAllowed,
  )
  const near = nearNames(
    name,
    usable.map((tool) => tool.name),
  )
  return `Error: Unknown tool ${name}.${near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ''}`
}

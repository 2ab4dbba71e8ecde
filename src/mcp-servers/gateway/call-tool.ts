import type { Actor, AuditEntry } from '../../hub/contract'
import type { ToolCall, ToolCaller, ToolResult } from '../contract'
import type { PreparedCall } from '../define-tool'
import { boundText } from './bound-text'
import { decide } from './decide'
import type { GatewayDeps, NamedTool } from './gateway'
import { hashArguments } from './hash-arguments'
import { nearNames } from './near-names'
import { describeProblems, readArguments } from './read-arguments'
import { runTool, type ToolRun } from './run-tool'

interface Pipeline extends GatewayDeps {
  tools: Map<string, NamedTool>
  resultBytesMax: number
}

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

  const policy = await pipeline.hub.readPolicy(caller.accountId)
  const decision = decide(policy, caller, tool, {
    grant: prepared.grant,
    args: args.ok ? args.value : undefined,
  })
  if (!decision.isAllowed) {
    return refuse('denied', `Error: Missing grant ${decision.grant}. Why: ${decision.reason}.`)
  }
  entry.decision = 'allowed'
  return execute(pipeline, caller, tool, prepared, entry, signal)
}

async function execute(
  pipeline: Pipeline,
  caller: ToolCaller,
  tool: NamedTool,
  prepared: PreparedCall,
  entry: AuditEntry,
  signal: AbortSignal,
): Promise<ToolResult> {
  const intent = await noteIntent(pipeline, caller, entry)
  const actor = toActor(caller, entry.callId)
  const run = await runTool(tool.name, tool.timeoutMs, signal, (stop) =>
    prepared.run({ actor, hub: pipeline.hub, signal: stop }),
  )
  if (run.cause !== undefined) pipeline.reportFailure?.(tool.name, run.cause)
  const result = toResult(pipeline, entry, run)
  if (intent) await noteOutcome(pipeline, intent, result.audit)
  return result
}

/**
 * An outside caller has no journal, so the hub keeps its intent before anything runs; throws when
 * it cannot (M9). A hosted agent has journaled the call before it came here.
 */
async function noteIntent(
  { hub }: Pipeline,
  caller: ToolCaller,
  entry: AuditEntry,
): Promise<string | null> {
  if (caller.activationId !== null) return null
  return (await hub.recordIntent(caller.accountId, entry)).id
}

/** The tool has run: a result that cannot be noted leaves an intent without outcome, which is true. */
async function noteOutcome(pipeline: Pipeline, intent: string, entry: AuditEntry): Promise<void> {
  const { outcome, durationMs, resultBytes } = entry
  try {
    await pipeline.hub.recordResult(intent, { outcome, durationMs, resultBytes })
  } catch (cause) {
    pipeline.reportFailure?.(entry.tool, cause)
  }
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

function toActor(caller: ToolCaller, callId: string): Actor {
  const { accountId, name, kind, activationId, postId } = caller
  const idempotencyKey = activationId === null ? null : `${activationId}:${callId}`
  return { accountId, name, kind, activationId, postId, idempotencyKey }
}

function toResult(
  { clock, resultBytesMax }: Pipeline,
  entry: AuditEntry,
  run: Omit<ToolRun, 'outcome'> & { outcome: AuditEntry['outcome'] },
): ToolResult {
  const { text, bytes } = boundText(run.text, resultBytesMax)
  const durationMs = clock.now() - entry.at
  return {
    callId: entry.callId,
    text,
    isError: run.outcome !== 'ok',
    approval: null,
    durationMs,
    audit: { ...entry, outcome: run.outcome, durationMs, resultBytes: bytes },
  }
}

import type { AuditEntry, GrantPolicy } from '../../hub/contract/hub'
import type { ToolCall, ToolCaller, ToolResult } from '../contract/tools'
import { decide } from './decide'
import { runDecided } from './decided-call'
import { findSimilarNames } from './find-similar-names'
import { hashArguments } from './hash-arguments'
import { isExternalCaller } from './is-external-caller'
import { type Pipeline, recordIntent, selectAccountStores, toResult } from './pipeline'
import { describeProblems, readArguments } from './read-arguments'
import type { NamedTool } from './tool-registry'
import { watchReads } from './watch-reads'

/** The link between a running call and its caller. */
interface CallerLink {
  /** Aborts when the caller cancels. */
  signal: AbortSignal
  progress(text: string): void
}

/**
 * Runs one call through all stages: find, validate, resolve the grant, decide, record the intent, run,
 * truncate, audit. Never throws: a failure becomes a result that the model can read.
 */
export async function callTool(
  pipeline: Pipeline,
  caller: ToolCaller,
  call: ToolCall,
  link: CallerLink,
): Promise<ToolResult> {
  const entry: AuditEntry = {
    callId: call.callId,
    tool: call.tool.slice(0, 64),
    grant: '',
    argumentsHash: '',
    ...(isExternalCaller(caller) && { arguments: call.arguments }),
    decision: 'denied',
    outcome: null,
    durationMs: null,
    resultBytes: null,
    at: pipeline.clock.now(),
  }
  try {
    return await runStages(pipeline, caller, call, link, entry)
  } catch (cause) {
    pipeline.reportFailure?.(entry.tool, cause)
    return toResult(pipeline, entry, {
      outcome: 'error',
      text: `Error: ${entry.tool} did not run, because the hub could not check or record the call. Try again later.`,
    })
  }
}

async function runStages(
  pipeline: Pipeline,
  caller: ToolCaller,
  call: ToolCall,
  link: CallerLink,
  entry: AuditEntry,
): Promise<ToolResult> {
  const refuse = async (decision: AuditEntry['decision'], text: string) => {
    entry.decision = decision
    await recordIntent(pipeline, caller, entry)
    return toResult(pipeline, entry, { outcome: null, text })
  }
  const args = readArguments(call.arguments)
  entry.argumentsHash = await hashArguments(call.arguments, args.ok ? args.exact : undefined)

  const found = await findTool(pipeline, caller, call.tool)
  if (!found.tool) return refuse('unknown_tool', describeUnknown(found, caller, entry.tool))
  const { tool } = found

  const prepared = args.ok ? tool.prepare(args.value, args.exact) : args
  if (!prepared.ok) return refuse('invalid', describeProblems(tool.name, prepared.problems))
  entry.grant = prepared.grant

  const value = args.ok ? args.value : undefined
  return runDecided({
    pipeline,
    caller,
    tool,
    prepared,
    entry,
    reads: watchReads(pipeline.hub, selectAccountStores(pipeline, caller)),
    ...link,
    raw: call.arguments,
    args: value,
  })
}

type ToolLookup = { tool: NamedTool } | { tool: null; policy: GrantPolicy; tools: NamedTool[] }

/** Finds a tool by name. Reloads remote tools first when they changed, so that a hidden one is not found. */
async function findTool(
  { tools, hub }: Pipeline,
  caller: ToolCaller,
  name: string,
): Promise<ToolLookup> {
  const own = tools.getOwn(name)
  if (own) return { tool: own }
  const policy = await hub.readPolicy(caller.accountId, caller.activationId)
  await tools.refresh(policy)
  const tool = tools.get(name)
  return tool ? { tool } : { tool: null, policy, tools: tools.all() }
}

/** Formats the error for an unknown tool, with similar names among the tools that the caller can use. */
function describeUnknown(
  { policy, tools }: Extract<ToolLookup, { tool: null }>,
  caller: ToolCaller,
  name: string,
): string {
  const usable = tools.filter((tool) => decide(policy, caller, tool).isAllowed)
  const near = findSimilarNames(
    name,
    usable.map((tool) => tool.name),
  )
  return `Error: Unknown tool ${name}.${near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ''}`
}

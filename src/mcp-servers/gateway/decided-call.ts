import { audit } from '../../config'
import type { Actor, CallFacts, CallQuestion, ConversationDoor } from '../../hub/contract'
import type { ToolCaller, ToolResult } from '../contract'
import type { AskedCall } from './asked-call'
import { gatewayErrors } from './errors'
import { isOutside } from './is-outside'
import { ask, judgeCall, type Refusal, toApprovalRequest } from './judge-call'
import { keepWhole } from './keep-whole'
import { noteIntent, noteOutcome, ownThings, toResult } from './pipeline'
import { runOutside } from './run-outside'
import { runTool, type ToolRun } from './run-tool'

/** Decides about a call, then runs it. */
export async function runDecided(asked: AskedCall): Promise<ToolResult> {
  const { pipeline } = asked
  const refusal = await judgeCall(asked, await pipeline.hub.readFacts(toQuestion(asked)))
  if (refusal) return refuse(asked, refusal)
  const noted = await noteAllowed(asked)
  if (!noted) return refuse(asked, await ask(asked))
  const result = await finish(asked, await run(asked, pipeline.hub))
  if (noted.intent) await noteOutcome(pipeline, noted.intent, result.audit)
  return result
}

/**
 * Records the intent of an allowed call and consumes its approval, so that a call that does not run
 * keeps it. Null: another call consumed the approval first.
 */
async function noteAllowed(asked: AskedCall): Promise<{ intent: string | null } | null> {
  const { pipeline, caller, entry, approvalId } = asked
  entry.decision = 'allowed'
  if (approvalId === undefined) return { intent: await noteIntent(pipeline, caller, entry) }
  const { accountId, activationId } = caller
  const used = await pipeline.hub.useApproval(approvalId, accountId, entry, activationId)
  return used && { intent: used.id }
}

/**
 * Runs a read tool and decides in the same batch: the policy comes with the tool's first read, and a
 * refused call discards what was read. That saves a round trip. A tool that reads nothing is decided
 * afterwards.
 */
export async function readGuarded(asked: AskedCall): Promise<ToolResult> {
  const { pipeline, entry } = asked
  const question = toQuestion(asked)
  const decisions: (Refusal | null)[] = []
  const admit = async (facts: CallFacts) => {
    const refusal = await judgeCall(asked, facts)
    decisions.push(refusal)
    if (refusal) throw gatewayErrors.refused(refusal.text)
  }
  const ran = await run(asked, pipeline.hub.guardReads(question, admit))
  if (decisions.length === 0) {
    decisions.push(await judgeCall(asked, await pipeline.hub.readFacts(question)))
  }
  const refusal = decisions.find((decision) => decision !== null)
  if (refusal) return refuse(asked, refusal)
  entry.decision = 'allowed'
  return finish(asked, ran)
}

const toQuestion = ({ caller, tool, entry }: AskedCall): CallQuestion => ({
  accountId: caller.accountId,
  activationId: isOutside(caller) ? null : caller.activationId,
  callId: entry.callId,
  tool: tool.name,
  argumentsHash: entry.argumentsHash,
})

async function refuse(asked: AskedCall, refusal: Refusal): Promise<ToolResult> {
  const { pipeline, caller, entry } = asked
  entry.decision = refusal.decision
  entry.reason = refusal.text.replace(/^Error: /, '').slice(0, audit.reasonCharsMax)
  await noteIntent(pipeline, caller, entry)
  const result = toResult(pipeline, entry, { outcome: null, text: refusal.text })
  const isParking = refusal.decision === 'needs_approval' && !isOutside(caller)
  return isParking ? { ...result, approval: toApprovalRequest(asked) } : result
}

function run(asked: AskedCall, hub: ConversationDoor): Promise<ToolRun> {
  const { pipeline, caller, tool, prepared, entry, signal, progress } = asked
  const actor = toActor(caller, entry.callId)
  if (prepared.service === null) {
    const own = ownThings(pipeline, actor)
    return runTool(tool.name, tool.timeoutMs, signal, (stop) =>
      prepared.run({ actor, hub, ...own, outside: null, signal: stop, progress }),
    )
  }
  return runOutside(asked, { server: tool.server, service: prepared.service, actor, hub })
}

async function finish(asked: AskedCall, ran: ToolRun): Promise<ToolResult> {
  const { pipeline, tool, entry } = asked
  if (ran.cause !== undefined) pipeline.reportFailure?.(tool.name, ran.cause)
  return toResult(pipeline, entry, ran, await keepWhole(asked, ran.text))
}

function toActor(caller: ToolCaller, callId: string): Actor {
  const { accountId, name, kind, activationId, postId } = caller
  const idempotencyKey = activationId === null ? null : `${activationId}:${callId}`
  return { accountId, name, kind, activationId, postId, idempotencyKey }
}

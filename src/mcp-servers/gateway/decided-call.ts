import type { Actor, AuthorizationQuery } from '../../hub/contract/hub'
import { audit } from '../../shared/config'
import type { ToolCaller, ToolResult } from '../contract/tools'
import { checkCall, type Refusal, requireApproval, toApprovalRequest } from './check-call'
import { isExternalCaller } from './is-external-caller'
import { isPrivateResult, type PendingCall } from './pending-call'
import { findTimeout, recordIntent, recordOutcome, toResult } from './pipeline'
import { runTool, type ToolRun } from './run-tool'
import { runWithService } from './run-with-service'
import { selectOwn } from './select-own'
import { storeResult } from './store-result'

/** Decides about a call, then runs it. The tool reads nothing before the decision. */
export async function runDecided(asked: PendingCall): Promise<ToolResult> {
  const { pipeline } = asked
  const refusal = await checkCall(asked, await pipeline.hub.readAuthorization(toQuestion(asked)))
  if (refusal) return refuse(asked, refusal)
  const noted = await noteAllowed(asked)
  if (!noted) return refuse(asked, await requireApproval(asked))
  const result = await finish(asked, await run(asked))
  if (noted.intent) await recordOutcome(pipeline, noted.intent, result.audit)
  return result
}

/**
 * Records the intent of an allowed call and consumes its approval, so that a call that does not run
 * keeps it. Null: another call consumed the approval first.
 */
async function noteAllowed(asked: PendingCall): Promise<{ intent: string | null } | null> {
  const { pipeline, caller, entry, approvalId } = asked
  entry.decision = 'allowed'
  if (approvalId === undefined) return { intent: await recordIntent(pipeline, caller, entry) }
  const { accountId, activationId } = caller
  const used = await pipeline.hub.consumeApproval(approvalId, accountId, entry, activationId)
  return used && { intent: used.id }
}

const toQuestion = ({ caller, tool, entry }: PendingCall): AuthorizationQuery => ({
  accountId: caller.accountId,
  activationId: isExternalCaller(caller) ? null : caller.activationId,
  runId: caller.activationId,
  callId: entry.callId,
  tool: tool.name,
  argumentsHash: entry.argumentsHash,
})

async function refuse(asked: PendingCall, refusal: Refusal): Promise<ToolResult> {
  const { pipeline, caller, entry } = asked
  entry.decision = refusal.decision
  entry.reason = refusal.text.replace(/^Error: /, '').slice(0, audit.reasonCharsMax)
  await recordIntent(pipeline, caller, entry)
  const result = toResult(pipeline, entry, { outcome: null, text: refusal.text })
  // A program waits for the decision; another outside caller repeats the call.
  const canWait = !isExternalCaller(caller) || caller.runAttempt !== undefined
  const isParking = refusal.decision === 'needs_approval' && canWait
  return isParking ? { ...result, approval: toApprovalRequest(asked) } : result
}

function run(asked: PendingCall): Promise<ToolRun> {
  const { caller, tool, prepared, entry, signal, progress } = asked
  const { hub } = asked.reads
  const actor = toActor(caller, entry.callId)
  if (prepared.service === null) {
    const own = selectOwn(asked)
    return runTool(tool.name, findTimeout(asked.pipeline, tool), signal, (stop) =>
      prepared.run({ actor, hub, ...own, outside: null, signal: stop, progress }),
    )
  }
  return runWithService(asked, { server: tool.server, service: prepared.service, actor, hub })
}

async function finish(asked: PendingCall, ran: ToolRun): Promise<ToolResult> {
  const { pipeline, tool, entry } = asked
  if (ran.cause !== undefined) pipeline.reportFailure?.(tool.name, ran.cause)
  const result = toResult(pipeline, entry, ran, await storeResult(asked, ran.text))
  const isUntrusted = tool.reachesOut || tool.readsUntrusted || asked.reads.hasUntrusted()
  return {
    ...result,
    // An error can quote what a service answered.
    ...(isUntrusted && { isUntrusted: true }),
    ...(isPrivateResult(asked) && { isPrivate: true }),
    ...(asked.usesOwnAccount && { isOwnAccount: true }),
  }
}

function toActor(caller: ToolCaller, callId: string): Actor {
  const { accountId, name, kind, activationId, postId, hasReadUntrusted } = caller
  const idempotencyKey = activationId === null ? null : `${activationId}:${callId}`
  const mark = hasReadUntrusted ? { hasReadUntrusted } : {}
  return { accountId, name, kind, activationId, postId, idempotencyKey, ...mark }
}

import type { AuditEntry } from '../../hub/contract/hub'
import { noPrivacy } from '../../hub/contract/privacy'
import { activationLimits } from '../../shared/config'
import type { ToolCaller, ToolResult } from '../contract/tools'
import type { GatewayDeps } from './gateway'
import { isExternalCaller } from './is-external-caller'
import type { ToolRun } from './run-tool'
import type { ToolRegistry } from './tool-registry'
import { truncateText } from './truncate-text'
import type { AccountStores } from './watch-reads'

export interface Pipeline extends GatewayDeps {
  tools: ToolRegistry
  resultBytesMax: number
}

/** Returns the time in milliseconds that a call of the tool has. */
export const findTimeout = (
  { toolTimeoutMs }: Pick<Pipeline, 'toolTimeoutMs'>,
  { timeoutMs }: { timeoutMs: number | null },
): number => timeoutMs ?? toolTimeoutMs ?? activationLimits.toolTimeoutMs

/** Returns the memory, files and stored results of the calling account. */
export const selectAccountStores = (
  { memory, workspaceOf, results }: Pipeline,
  { accountId, privacy = noPrivacy, hasReadUntrusted = false }: ToolCaller,
): AccountStores => ({
  memory,
  workspace: workspaceOf(accountId, privacy, hasReadUntrusted),
  results,
})

/**
 * Records the intent of an external call before it runs, as the caller has no journal; throws when that
 * fails. A hosted agent has journaled the call already, so null is returned.
 */
export async function recordIntent(
  { hub }: Pipeline,
  caller: ToolCaller,
  entry: AuditEntry,
): Promise<string | null> {
  if (!isExternalCaller(caller)) return null
  return (await hub.recordIntent(caller.accountId, entry, caller.activationId)).id
}

/** Records the outcome of a call that has run. A failure to do so is reported and leaves the outcome open. */
export async function recordOutcome(
  pipeline: Pipeline,
  intent: string,
  entry: AuditEntry,
): Promise<void> {
  const { outcome, durationMs, resultBytes } = entry
  try {
    await pipeline.hub.recordResult(intent, { outcome, durationMs, resultBytes })
  } catch (cause) {
    pipeline.reportFailure?.(entry.tool, cause)
  }
}

export function toResult(
  { clock, resultBytesMax }: Pipeline,
  entry: AuditEntry,
  run: Omit<ToolRun, 'outcome'> & { outcome: AuditEntry['outcome'] },
  handle: string | null = null,
): ToolResult {
  const { text, bytes } = truncateText(run.text, resultBytesMax, handle)
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

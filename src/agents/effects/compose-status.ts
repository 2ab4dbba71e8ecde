import { memoryLimits } from '../../shared/config'
import { buildStatusTail } from '../context/status-tail'
import type { LoadedFacts } from '../loop/event'
import type { Message } from '../loop/message'
import { type EffectContext, toToolCaller } from './effect-context'

/** Returns the status message at the end of the prompt. */
export function composeStatus(context: EffectContext): Message {
  const { deps, hubSnapshot: grants } = context
  const text = buildStatusTail({
    state: context.getActivation().state,
    environment: grants?.environment ?? null,
    storageBytes: readStorageBytes(context),
    files: context.fileUse?.use ?? null,
    hubName: deps.hubName,
    now: deps.clock.now(),
  })
  return { role: 'user', text }
}

/** Measures the agent's files for the status, at most once per interval and for each activation. */
export async function refreshFileUse(context: EffectContext, facts: LoadedFacts): Promise<void> {
  const { deps, fileUse, hubSnapshot } = context
  const { activationId } = context.getActivation().state
  const at = deps.clock.now()
  const isFresh =
    fileUse?.activationId === activationId && at - fileUse.at <= memoryLimits.storageBytesEveryMs
  if (!hubSnapshot || isFresh) return
  const measuring = deps.tools.measureFiles(toToolCaller(context, facts), hubSnapshot.policy)
  // Without the line the run goes on: it only informs.
  const use = measuring && (await measuring.catch(() => null))
  context.fileUse = { at, activationId, use }
}

/**
 * Returns the size of the agent's storage, measured at most once per interval because the database
 * counts its pages for it. Null for an agent without memory.
 */
function readStorageBytes(context: EffectContext): number | null {
  if (!context.definition?.definition.memory.isEnabled) return null
  const at = context.deps.clock.now()
  if (!context.storageSize || at - context.storageSize.at > memoryLimits.storageBytesEveryMs) {
    context.storageSize = { at, bytes: context.memory.storageBytes }
  }
  return context.storageSize.bytes
}

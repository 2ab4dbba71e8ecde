import { memoryLimits } from '../../shared/config'
import { buildStatusTail } from '../context/status-tail'
import type { Message } from '../loop/message'
import type { EffectContext } from './effect-context'

/** Returns the status message at the end of the prompt. */
export function composeStatus(context: EffectContext): Message {
  const { deps, hubSnapshot: grants } = context
  const text = buildStatusTail({
    state: context.getActivation().state,
    environment: grants?.environment ?? null,
    storageBytes: readStorageBytes(context),
    hubName: deps.hubName,
    now: deps.clock.now(),
  })
  return { role: 'user', text }
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

import type { Load } from '../../hub/contract'
import type { Definition } from '../definitions/definition'
import type { Message } from '../loop/message'
import { bootstrapLayer } from './bootstrap-layer'
import { taskLayer } from './task-layer'
import { toolGuideLayer } from './tool-guide-layer'

/** Share of the model's window that the thread may fill (L11). */
const threadShare = 0.3
const charsPerToken = 4

/**
 * The layers of the first prompt, stable ones first: soul, bootstrap, tool guide, task with its
 * thread (L11). What changes between steps is added at the end, by `statusTail`.
 */
export function assemblePrompt(
  definition: Definition,
  load: Load,
  toolNames: string[],
  contextTokens: number,
): Message[] {
  const threadCharsMax = Math.floor(contextTokens * threadShare * charsPerToken)
  const guide = toolGuideLayer(toolNames)
  return [
    { role: 'system', text: definition.systemPrompt },
    { role: 'system', text: bootstrapLayer(load) },
    ...(guide ? [{ role: 'system', text: guide } as const] : []),
    { role: 'user', text: taskLayer(load, Math.min(threadCharsMax, 300_000)) },
  ]
}

import { memoryLimits } from '../../shared/config'
import type { SessionMessage } from '../contract/agents'
import type { Message, ToolRequest } from '../loop/message'
import { truncate } from '../text/truncate'

/**
 * Returns messages as they are stored after their activation: truncated, without provider parts, which
 * are required within one conversation only. Each call has a result.
 *
 * @param unkept ids of calls whose result is not stored
 */
export const truncateMessages = (
  messages: Message[],
  unkept: ReadonlySet<string> = new Set(),
): SessionMessage[] => messages.map((message) => truncateMessage(message, unkept))

const unkeptNote = 'This result is not kept, because it may have changed. Call the tool again.'

function truncateMessage(message: Message, unkept: ReadonlySet<string>): SessionMessage {
  const { keptTextCharsMax, keptResultCharsMax } = memoryLimits
  switch (message.role) {
    case 'assistant':
      return {
        role: 'assistant',
        text: truncate(message.text, keptTextCharsMax),
        calls: message.calls.map(truncateCall),
      }
    case 'tool':
      return {
        role: 'tool',
        results: message.results.map((result) => ({
          ...result,
          text: unkept.has(result.callId) ? unkeptNote : truncate(result.text, keptResultCharsMax),
        })),
      }
    default:
      return { role: 'user', text: truncate(message.text, keptTextCharsMax) }
  }
}

/** Truncates a call's arguments. They stay valid JSON, because some providers parse them again. */
function truncateCall(call: ToolRequest): ToolRequest {
  const { keptArgumentsCharsMax } = memoryLimits
  if (call.arguments.length <= keptArgumentsCharsMax) return call
  const shortened = truncate(call.arguments, keptArgumentsCharsMax / 2)
  return { ...call, arguments: JSON.stringify({ shortened }) }
}

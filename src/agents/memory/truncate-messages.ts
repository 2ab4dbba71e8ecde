import { memoryLimits } from '../../shared/config'
import type { SessionMessage } from '../contract/agents'
import type { Message, ToolRequest } from '../loop/message'
import { truncate } from '../text/truncate'

/**
 * Returns messages as they are stored after their activation: truncated, without provider parts, which
 * are required within one conversation only. Calls keep their results.
 */
export const truncateMessages = (messages: Message[]): SessionMessage[] =>
  messages.map(truncateMessage)

function truncateMessage(message: Message): SessionMessage {
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
          text: truncate(result.text, keptResultCharsMax),
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

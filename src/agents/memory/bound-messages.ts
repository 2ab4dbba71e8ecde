import { memoryLimits } from '../../config'
import { cut } from '../context/cut'
import type { SessionMessage } from '../contract'
import type { Message, ToolRequest } from '../loop/message'

/**
 * Returns messages as they are stored after their activation: truncated, without provider parts, which
 * are required within one conversation only. Calls keep their results.
 */
export const boundMessages = (messages: Message[]): SessionMessage[] =>
  messages.map(truncateMessage)

function truncateMessage(message: Message): SessionMessage {
  const { keptTextCharsMax, keptResultCharsMax } = memoryLimits
  switch (message.role) {
    case 'assistant':
      return {
        role: 'assistant',
        text: cut(message.text, keptTextCharsMax),
        calls: message.calls.map(truncateCall),
      }
    case 'tool':
      return {
        role: 'tool',
        results: message.results.map((result) => ({
          ...result,
          text: cut(result.text, keptResultCharsMax),
        })),
      }
    default:
      return { role: 'user', text: cut(message.text, keptTextCharsMax) }
  }
}

/** Truncates a call's arguments. They stay valid JSON, because some providers parse them again. */
function truncateCall(call: ToolRequest): ToolRequest {
  const { keptArgumentsCharsMax } = memoryLimits
  if (call.arguments.length <= keptArgumentsCharsMax) return call
  const shortened = cut(call.arguments, keptArgumentsCharsMax / 2)
  return { ...call, arguments: JSON.stringify({ shortened }) }
}

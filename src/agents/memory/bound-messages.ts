import { memoryLimits } from '../../config'
import { cut } from '../context/cut'
import type { SessionMessage } from '../contract'
import type { Message, ToolRequest } from '../loop/message'

/**
 * Messages as they are kept once their activation has ended: shortened, without what a provider wants
 * back only within one conversation. Calls keep their results.
 */
export const boundMessages = (messages: Message[]): SessionMessage[] => messages.map(boundMessage)

function boundMessage(message: Message): SessionMessage {
  const { keptTextCharsMax, keptResultCharsMax } = memoryLimits
  switch (message.role) {
    case 'assistant':
      return {
        role: 'assistant',
        text: cut(message.text, keptTextCharsMax),
        calls: message.calls.map(boundCall),
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

/** Arguments stay valid JSON: some providers read them again. */
function boundCall(call: ToolRequest): ToolRequest {
  const { keptArgumentsCharsMax } = memoryLimits
  if (call.arguments.length <= keptArgumentsCharsMax) return call
  const shortened = cut(call.arguments, keptArgumentsCharsMax / 2)
  return { ...call, arguments: JSON.stringify({ shortened }) }
}

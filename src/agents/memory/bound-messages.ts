import { memoryLimits } from '../../config'
import type { Message, ToolRequest } from '../loop/message'

/**
 * Messages as they are kept once their activation has ended: shortened, without what a provider wants
 * back only within one conversation. Calls keep their results.
 */
export const boundMessages = (messages: Message[]): Message[] => messages.map(boundMessage)

function boundMessage(message: Message): Message {
  const { keptTextCharsMax, keptResultCharsMax } = memoryLimits
  switch (message.role) {
    case 'assistant':
      return {
        role: 'assistant',
        text: cutText(message.text, keptTextCharsMax),
        calls: message.calls.map(boundCall),
      }
    case 'tool':
      return {
        role: 'tool',
        results: message.results.map((result) => ({
          ...result,
          text: cutText(result.text, keptResultCharsMax),
        })),
      }
    default:
      return { ...message, text: cutText(message.text, keptTextCharsMax) }
  }
}

/** Arguments stay valid JSON: some providers read them again. */
function boundCall(call: ToolRequest): ToolRequest {
  const { keptArgumentsCharsMax } = memoryLimits
  if (call.arguments.length <= keptArgumentsCharsMax) return call
  const shortened = cutText(call.arguments, keptArgumentsCharsMax / 2)
  return { ...call, arguments: JSON.stringify({ shortened }) }
}

export const cutText = (text: string, charsMax: number): string =>
  text.length <= charsMax
    ? text
    : `${text.slice(0, Math.max(0, charsMax)).toWellFormed()} [... ${text.length - charsMax} more characters]`

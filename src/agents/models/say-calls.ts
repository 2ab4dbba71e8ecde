import { fence } from '../loop/fence'
import type { Message } from '../loop/message'

/**
 * For a call without tools, whose agent had some before: providers refuse calls of tools they are not
 * told of, so what came of them is told in words. Each is shorter than what `boundTokens` counts for the
 * call and its result.
 */
export const sayCallsInWords = (messages: Message[]): Message[] =>
  messages.flatMap((message): Message[] => {
    if (message.role === 'assistant' && message.calls.length > 0) {
      return message.text.trim() === ''
        ? []
        : [{ role: 'assistant', text: message.text, calls: [] }]
    }
    if (message.role !== 'tool') return [message]
    const results = message.results.map(({ name, text }) => fence('tool', { name }, text))
    return [{ role: 'user', text: results.join('\n') }]
  })

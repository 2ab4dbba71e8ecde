import { fence } from '../loop/fence'
import type { Message } from '../loop/message'

/**
 * For a call without tools, whose agent had some before: providers refuse calls of tools they are not
 * told of, so what came of them is told in words. What that adds is less than what `boundTokens` counts
 * around a call and its result, but for a blank in each fence tag that a text holds, of ten bytes counted.
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

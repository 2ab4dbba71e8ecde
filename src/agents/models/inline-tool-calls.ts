import type { Message } from '../loop/message'
import { fence } from '../text/fence'

/**
 * Replaces tool calls and results by text, for a model call without tools after earlier calls with
 * them: providers refuse calls of tools that the request does not list. The text adds less than
 * `boundTokens` counts around a call and its result, except for one blank per fence tag within a
 * text, of ten bytes counted.
 */
export const inlineToolCalls = (messages: Message[]): Message[] =>
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

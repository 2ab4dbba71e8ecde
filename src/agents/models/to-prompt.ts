import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Message } from '../loop/message'
import { buildAssistantParts } from './provider-parts'
import { joinTurns, toSendable } from './to-sendable'

/** Marks the end of a prefix for Anthropic's prompt cache. */
const cacheHere = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** Starts the message that changes with every step, and so comes after everything cacheable. */
export const statusMarker = '[status]'

const isVolatile = (message: Message) =>
  message.role === 'user' && message.text.startsWith(statusMarker)

/**
 * Moves system messages to the front, where providers require them. The memory layer is data and
 * comes between them in our order of layers.
 */
const systemFirst = (messages: Message[]): Message[] => [
  ...messages.filter(({ role }) => role === 'system'),
  ...messages.filter(({ role }) => role !== 'system'),
]

/** Joins system messages into one, the most that chat templates of many open models accept. */
function joinSystem(messages: Message[]): Message[] {
  const system = messages.flatMap((message) => (message.role === 'system' ? [message.text] : []))
  if (system.length < 2) return messages
  return [{ role: 'system', text: system.join('\n\n') }, ...messages.slice(system.length)]
}

/** Providers that accept several system messages, and messages of one role in a row. */
const isLenient = (provider: string): boolean => ['anthropic', 'openai'].includes(provider)

const isAnswer = (message: Message) => message.role === 'assistant'

/**
 * Converts messages to a provider's prompt. For Anthropic three messages carry cache markers, of
 * four that are possible: the last layer that is the same for every task, the last message before
 * the volatile tail, and the message that was the last one in the previous step. The third marker is
 * needed because Anthropic looks only some twenty blocks back from a marker, and a step with many
 * calls is longer.
 *
 * @param author id of the model, which gets its own reasoning back
 */
export function toPrompt(
  provider: string,
  layers: Message[],
  author: string = provider,
): LanguageModelV4Prompt {
  const ordered = systemFirst(toSendable(layers))
  const messages = isLenient(provider) ? ordered : joinTurns(joinSystem(ordered))
  const prompt = messages.map((message) => toProviderMessage(author, message))
  if (provider !== 'anthropic') return prompt
  const lastSystem = messages.findLastIndex((message) => message.role === 'system')
  const lastStable = messages.findLastIndex((message) => !isVolatile(message))
  const lastAnswer = messages.slice(0, lastStable + 1).findLastIndex(isAnswer)
  for (const index of new Set([lastSystem, lastAnswer - 1, lastStable])) {
    const message = prompt[index]
    if (message) message.providerOptions = cacheHere
  }
  return prompt
}

function toProviderMessage(author: string, message: Message): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.text }
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: message.text }] }
    case 'assistant':
      return { role: 'assistant', content: buildAssistantParts(author, message) }
    case 'tool':
      return {
        role: 'tool',
        content: message.results.map((result) => ({
          type: 'tool-result',
          toolCallId: result.callId,
          toolName: result.name,
          output: { type: result.isError ? 'error-text' : 'text', value: result.text },
        })),
      }
  }
}

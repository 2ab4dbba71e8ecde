import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Message } from '../loop/message'
import { buildAssistantParts } from './provider-parts'

/** Marks the end of a prefix that Anthropic shall keep in its cache (L14). */
const cacheHere = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** What changes with every step and so stands behind everything that may be cached (L14). */
export const volatileMark = '[status]'

const isVolatile = (message: Message) =>
  message.role === 'user' && message.text.startsWith(volatileMark)

/**
 * Providers take system messages at the beginning only. What the agent remembers is data, and stands
 * between them in our order of layers (L11): it moves behind them.
 */
const systemFirst = (messages: Message[]): Message[] => [
  ...messages.filter(({ role }) => role === 'system'),
  ...messages.filter(({ role }) => role !== 'system'),
]

/** The chat templates of many open models take one system message at most. */
function joinSystem(messages: Message[]): Message[] {
  const system = messages.flatMap((message) => (message.role === 'system' ? [message.text] : []))
  if (system.length < 2) return messages
  return [{ role: 'system', text: system.join('\n\n') }, ...messages.slice(system.length)]
}

/** Providers of their own models, which know what to do with several. */
const takesSeveral = new Set(['anthropic', 'openai'])

const isAnswer = (message: Message) => message.role === 'assistant'

/**
 * Our messages as a provider's prompt. For Anthropic three messages carry cache markers, of four
 * that it takes: the last of the layers that stay the same from task to task, the last one before
 * the volatile tail, which the next step will find, and the one that was that in the last step.
 * Anthropic looks for what it has only some twenty blocks back from a marker, and a step with many
 * calls is longer.
 *
 * @param author whose reasoning goes back to it: the model's id
 */
export function toPrompt(
  provider: string,
  layers: Message[],
  author: string = provider,
): LanguageModelV4Prompt {
  const ordered = systemFirst(layers)
  const messages = takesSeveral.has(provider) ? ordered : joinSystem(ordered)
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

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
 * Our messages as a provider's prompt. For Anthropic the last system message and the last message
 * before the volatile tail carry cache markers: the prompt of the next step begins with both.
 */
export function toPrompt(provider: string, messages: Message[]): LanguageModelV4Prompt {
  const prompt = messages.map((message) => toProviderMessage(provider, message))
  if (provider !== 'anthropic') return prompt
  const lastSystem = messages.findLastIndex((message) => message.role === 'system')
  const lastStable = messages.findLastIndex((message) => !isVolatile(message))
  for (const index of new Set([lastSystem, lastStable])) {
    const message = prompt[index]
    if (message) message.providerOptions = cacheHere
  }
  return prompt
}

function toProviderMessage(provider: string, message: Message): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.text }
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: message.text }] }
    case 'assistant':
      return { role: 'assistant', content: buildAssistantParts(provider, message) }
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

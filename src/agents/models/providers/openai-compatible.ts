import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { ProviderConnection } from './provider-connection'

/** Chat Completions, as most servers of open models speak it. Many of them need no key. */
export function createOpenAICompatibleModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return new OpenAICompatibleChatLanguageModel(modelName, {
    provider: 'openai-compatible.chat',
    url: ({ path }) => `${baseUrl}${path}`,
    headers: () => (key ? { Authorization: `Bearer ${key}` } : {}),
    fetch,
    includeUsage: true,
  })
}

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { ProviderConnection } from './provider-connection'

/** Chat Completions, as most servers of open models speak it. Many of them need no key. */
export function createModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: baseUrl,
    includeUsage: true,
    fetch,
    ...(key ? { apiKey: key } : {}),
  })(modelName)
}

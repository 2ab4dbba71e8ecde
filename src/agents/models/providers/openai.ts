import { OpenAIResponsesLanguageModel } from '@ai-sdk/openai/internal'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { ProviderConnection } from './provider'

/** Creates a model of the Responses API. */
export function createOpenAIModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return new OpenAIResponsesLanguageModel(modelName, {
    provider: 'openai.responses',
    url: ({ path }) => `${baseUrl}${path}`,
    headers: () => ({ Authorization: `Bearer ${key}` }),
    fetch,
  })
}

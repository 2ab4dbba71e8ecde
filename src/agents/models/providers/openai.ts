import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { ProviderConnection } from './provider-connection'

/** The Responses API. */
export function createModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return createOpenAI({ baseURL: baseUrl, apiKey: key, fetch }).responses(modelName)
}

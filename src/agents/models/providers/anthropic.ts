import { createAnthropic } from '@ai-sdk/anthropic'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { ProviderConnection } from './provider-connection'

/** The Messages API. Anthropic's own clients take a base URL without `/v1`: both work here. */
export function createModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return createAnthropic({
    baseURL: baseUrl.endsWith('/v1') ? baseUrl : `${baseUrl}/v1`,
    apiKey: key,
    fetch,
  })(modelName)
}

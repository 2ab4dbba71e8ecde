import { AnthropicMessagesLanguageModel } from '@ai-sdk/anthropic/internal'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { ProviderConnection } from './provider-connection'
import { type RetryPolicy, retryableStatuses } from './retry-policy'

/**
 * Creates a model of the Messages API. A base URL works with and without `/v1`, since Anthropic's own
 * clients expect it without.
 */
export function createAnthropicModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return new AnthropicMessagesLanguageModel(modelName, {
    provider: 'anthropic.messages',
    baseURL: baseUrl.endsWith('/v1') ? baseUrl : `${baseUrl}/v1`,
    headers: () => ({ 'anthropic-version': '2023-06-01', 'x-api-key': key }),
    fetch,
  })
}

export const anthropicRetryPolicy: RetryPolicy = {
  statuses: new Set(retryableStatuses),
  streamedErrors: {
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    overloaded_error: 529,
  },
  finalErrors: [],
}

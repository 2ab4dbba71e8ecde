import { AnthropicMessagesLanguageModel, getModelCapabilities } from '@ai-sdk/anthropic/internal'
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { createRepairingFetch } from '../repair-stream'
import type { ProviderConnection } from './provider-connection'
import { createMessagesRepair } from './repair-messages'
import type { RetryPolicy } from './retry-policy'

/**
 * Creates a model of the Messages API. A base URL works with and without `/v1`, since Anthropic's own
 * clients expect it without.
 */
export function createAnthropicModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return new AnthropicModel(modelName, {
    provider: 'anthropic.messages',
    baseURL: baseUrl.endsWith('/v1') ? baseUrl : `${baseUrl}/v1`,
    headers: () => ({ 'anthropic-version': '2023-06-01', 'x-api-key': key }),
    fetch: createRepairingFetch(fetch, createMessagesRepair),
  })
}

type Config = ConstructorParameters<typeof AnthropicMessagesLanguageModel>[1]

/** Sends the configured temperature also to models that the library does not know, for which it drops it. */
class AnthropicModel extends AnthropicMessagesLanguageModel {
  readonly #config: Config

  constructor(modelName: string, config: Config) {
    super(modelName, config)
    this.#config = config
  }

  override async doStream(options: LanguageModelV4CallOptions) {
    const { temperature, topP } = options
    const isKnown = getModelCapabilities(this.modelId).isKnownModel
    if (isKnown || (temperature ?? topP) === undefined) return super.doStream(options)
    const sampling = temperature === undefined ? { top_p: topP } : { temperature }
    const sending = new AnthropicMessagesLanguageModel(this.modelId, {
      ...this.#config,
      transformRequestBody: (body) => ({ ...body, ...sampling }),
    })
    return sending.doStream(options)
  }
}

export const anthropicRetryPolicy: RetryPolicy = {
  streamedErrors: {
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    overloaded_error: 529,
  },
  finalErrors: [],
}

import { OpenAIResponsesLanguageModel } from '@ai-sdk/openai/internal'
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ModelAddress } from '../../../mcp-servers/contract/model-admin'
import type { ModelProtocol } from '../../../shared/runner-protocol'
import type { Settings } from '../../../shared/settings'
import { anthropicRetryPolicy, createAnthropicModel } from './anthropic'
import { createOpenAICompatibleModel } from './openai-compatible'
import { openAIRetryPolicy, type ProviderConnection, type RetryPolicy } from './provider'

type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>

export interface ModelProvider {
  /** Display name. */
  title: string
  keySetting: keyof Settings & string
  baseUrlSetting: keyof Settings & string
  /** Default base URL; null when it must be configured. */
  baseUrl(settings: Settings): string | null
  /** Used when a definition names only the provider, or nothing at all, and a key is set. */
  defaultModel: string | null
  needsKey: boolean
  /** The protocols in which the model gateway reaches it: nothing is translated between protocols. */
  protocols: readonly ModelProtocol[]
  /** Names of models that are its own, for definitions that name no provider. */
  ownNames?: RegExp
  /** How a key is sent, and where the models are listed below the base URL. */
  keyTransport: Omit<ModelAddress, 'baseUrl'>
  /**
   * Creates a model from the package's model class. The provider factories would add file uploads,
   * batches and speech, a third of the bundle. No dynamic import: esbuild then drops the
   * initialisation of zod.
   */
  createModel(connection: ProviderConnection): LanguageModelV4
  /** Returns provider options. `cacheKey` is equal for requests with the same prefix. */
  toOptions(cacheKey: string | undefined): ProviderOptions
  retryPolicy: RetryPolicy
  /** The most tools that a request may list; absent: as many as fit into the context. */
  toolsMax?: number
}

/** `tools` has at most so many entries: https://platform.openai.com/docs/api-reference/chat/create. Servers imitate it. */
const chatToolsMax = 128

const bearer = { keyHeader: 'authorization', modelsPath: '/models' } as const

const noOptions = (): ProviderOptions => ({})

/**
 * Returns the URL of Workers AI over HTTPS, with Chat Completions as its protocol. Unlike a binding,
 * this works the same locally and deployed (docs/decisions/models.md).
 */
const toWorkersAIUrl = ({ WORKERS_AI_ACCOUNT_ID: account }: Settings): string | null =>
  account ? `https://api.cloudflare.com/client/v4/accounts/${account}/ai/v1` : null

/** A used-up daily allocation answers 429, like a lack of capacity. */
const workersAIRetryPolicy: RetryPolicy = {
  ...openAIRetryPolicy,
  finalErrors: ['daily free allocation'],
}

/** Providers by the first half of `provider/model`, in the order in which a default is chosen. */
export const modelProviders: Record<string, ModelProvider> = {
  anthropic: {
    title: 'Anthropic',
    keySetting: 'ANTHROPIC_API_KEY',
    baseUrlSetting: 'ANTHROPIC_BASE_URL',
    baseUrl: () => 'https://api.anthropic.com',
    defaultModel: 'claude-sonnet-5-5',
    needsKey: true,
    protocols: ['anthropic-messages'],
    ownNames: /^claude/,
    keyTransport: {
      keyHeader: 'x-api-key',
      modelsPath: '/v1/models?limit=100',
      headers: { 'anthropic-version': '2023-06-01' },
    },
    createModel: createAnthropicModel,
    toOptions: noOptions,
    retryPolicy: anthropicRetryPolicy,
  },
  openai: {
    title: 'OpenAI',
    keySetting: 'OPENAI_API_KEY',
    baseUrlSetting: 'OPENAI_BASE_URL',
    baseUrl: () => 'https://api.openai.com/v1',
    defaultModel: 'gpt-6-sol',
    needsKey: true,
    protocols: ['openai-chat', 'openai-responses'],
    ownNames: /^(gpt-(?!oss)|o\d)/,
    keyTransport: bearer,
    createModel: createOpenAIModel,
    // We send the whole history, so the provider does not need to store it; reasoning then arrives
    // encrypted and is sent back unchanged. Tool schemas are not written for the strict mode. The
    // cache key routes requests with the same prefix to the machine that has it cached.
    toOptions: (cacheKey) => ({
      openai: {
        store: false,
        strictJsonSchema: false,
        ...(cacheKey ? { promptCacheKey: cacheKey } : {}),
      },
    }),
    retryPolicy: openAIRetryPolicy,
    toolsMax: chatToolsMax,
  },
  'openai-compatible': {
    title: 'The OpenAI-compatible server',
    keySetting: 'OPENAI_COMPATIBLE_API_KEY',
    baseUrlSetting: 'OPENAI_COMPATIBLE_BASE_URL',
    baseUrl: () => null,
    defaultModel: null,
    needsKey: false,
    protocols: ['openai-chat'],
    keyTransport: bearer,
    createModel: createOpenAICompatibleModel,
    toOptions: noOptions,
    retryPolicy: openAIRetryPolicy,
    toolsMax: chatToolsMax,
  },
  'workers-ai': {
    title: 'Workers AI',
    keySetting: 'WORKERS_AI_API_KEY',
    baseUrlSetting: 'WORKERS_AI_BASE_URL',
    baseUrl: toWorkersAIUrl,
    defaultModel: '@cf/zai-org/glm-4.7-flash',
    needsKey: true,
    protocols: ['openai-chat'],
    ownNames: /^@cf\//,
    keyTransport: { keyHeader: 'authorization', modelsPath: null },
    createModel: createOpenAICompatibleModel,
    toOptions: noOptions,
    retryPolicy: workersAIRetryPolicy,
    toolsMax: chatToolsMax,
  },
}

/** Creates a model of the Responses API. */
function createOpenAIModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return new OpenAIResponsesLanguageModel(modelName, {
    provider: 'openai.responses',
    url: ({ path }) => `${baseUrl}${path}`,
    headers: () => ({ Authorization: `Bearer ${key}` }),
    fetch,
  })
}

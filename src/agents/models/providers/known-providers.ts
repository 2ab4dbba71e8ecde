import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Settings } from '../../../config'
import { createAnthropicModel } from './anthropic'
import { createOpenAIModel } from './openai'
import { createOpenAICompatibleModel } from './openai-compatible'
import type { ProviderConnection } from './provider-connection'

export interface KnownProvider {
  /** As people know it. */
  title: string
  keySetting: keyof Settings & string
  baseUrlSetting: keyof Settings & string
  /** Null: there is no usual place, it must be configured. */
  baseUrl: string | null
  /** Called when a definition names the provider or nothing at all, and a key is there. */
  defaultModel: string | null
  needsKey: boolean
  /**
   * The packages' model classes rather than their provider factories, which also bring file
   * uploads, batches and speech: a third of the bundle. No dynamic import: esbuild then drops the
   * initialisation of zod.
   */
  createModel(connection: ProviderConnection): LanguageModelV4
  options: NonNullable<LanguageModelV4CallOptions['providerOptions']>
}

/** Providers by the first half of `provider/model`, in the order in which a default is looked for. */
export const knownProviders: Record<string, KnownProvider> = {
  anthropic: {
    title: 'Anthropic',
    keySetting: 'ANTHROPIC_API_KEY',
    baseUrlSetting: 'ANTHROPIC_BASE_URL',
    baseUrl: 'https://api.anthropic.com',
    defaultModel: 'claude-sonnet-5-5',
    needsKey: true,
    createModel: createAnthropicModel,
    options: {},
  },
  openai: {
    title: 'OpenAI',
    keySetting: 'OPENAI_API_KEY',
    baseUrlSetting: 'OPENAI_BASE_URL',
    baseUrl: 'https://api.openai.com/v1',
    defaultModel: 'gpt-6-sol',
    needsKey: true,
    createModel: createOpenAIModel,
    // We send the whole history ourselves, so the provider need not keep it; reasoning then comes
    // encrypted and goes back as it came. Tools' schemas are not written for the strict mode.
    options: { openai: { store: false, strictJsonSchema: false } },
  },
  'openai-compatible': {
    title: 'The OpenAI-compatible server',
    keySetting: 'OPENAI_COMPATIBLE_API_KEY',
    baseUrlSetting: 'OPENAI_COMPATIBLE_BASE_URL',
    baseUrl: null,
    defaultModel: null,
    needsKey: false,
    createModel: createOpenAICompatibleModel,
    options: {},
  },
}

import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Settings } from '../../../config'
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
  /** Loaded with the first call: the packages take long to start (about 50 ms together). */
  load(): Promise<{ createModel(connection: ProviderConnection): LanguageModelV4 }>
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
    load: () => import('./anthropic'),
    options: {},
  },
  openai: {
    title: 'OpenAI',
    keySetting: 'OPENAI_API_KEY',
    baseUrlSetting: 'OPENAI_BASE_URL',
    baseUrl: 'https://api.openai.com/v1',
    defaultModel: 'gpt-6-sol',
    needsKey: true,
    load: () => import('./openai'),
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
    load: () => import('./openai-compatible'),
    options: {},
  },
}

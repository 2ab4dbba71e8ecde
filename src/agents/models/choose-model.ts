import type { Settings } from '../../config'
import type { ModelChoice } from './model-port'
import { knownProviders } from './providers/known-providers'

export interface ChosenModel {
  provider: string
  model: string
}

const offlineModel: ChosenModel = { provider: 'offline', model: 'extractive' }

/**
 * Which model a definition means: `provider` and `model`, or `provider/model` alone, or a model
 * name that tells its provider, or the hub's default, or the first provider with a key, or the
 * offline model.
 */
export function chooseModel(choice: ModelChoice, settings: Settings): ChosenModel {
  const { provider, model } = choice
  if (provider)
    return { provider, model: model ? dropPrefix(provider, model) : defaultOf(provider) }
  if (model) return splitModel(model)
  if (settings.ROOKERY_DEFAULT_MODEL) return splitModel(settings.ROOKERY_DEFAULT_MODEL)
  for (const [name, known] of Object.entries(knownProviders)) {
    if (known.defaultModel && settings[known.keySetting]) {
      return { provider: name, model: known.defaultModel }
    }
  }
  return offlineModel
}

const defaultOf = (provider: string): string =>
  provider === 'offline'
    ? offlineModel.model
    : (knownProviders[provider]?.defaultModel ?? 'default')

/** `provider: anthropic` with `model: anthropic/claude-...` says the same thing twice. */
const dropPrefix = (provider: string, model: string): string =>
  model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model

/** `provider/model`; a bare name is looked at, and `vendor/model` is a reseller's. */
function splitModel(name: string): ChosenModel {
  const slash = name.indexOf('/')
  const first = slash < 0 ? name : name.slice(0, slash)
  if (first === 'offline') return offlineModel
  if (slash > 0 && (knownProviders[first] || first === 'workers-ai')) {
    return { provider: first, model: name.slice(slash + 1) }
  }
  if (slash < 0 && name.startsWith('claude')) return { provider: 'anthropic', model: name }
  if (slash < 0 && /^(gpt-(?!oss)|o\d)/.test(name)) return { provider: 'openai', model: name }
  return { provider: 'openai-compatible', model: name }
}

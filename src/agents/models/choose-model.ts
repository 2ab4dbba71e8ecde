import type { Settings } from '../../shared/settings'
import { modelErrors } from './errors'
import type { ModelChoice } from './model-port'
import { modelProviders } from './providers/model-providers'

export interface ChosenModel {
  provider: string
  model: string
}

const offlineModel: ChosenModel = { provider: 'offline', model: 'extractive' }

/**
 * Returns the model for a definition: `provider` and `model`, or `provider/model` alone, or a model
 * name whose provider is evident, or the hub's default, or the default of the first provider with a
 * key, or the offline model.
 */
export function chooseModel(choice: ModelChoice, settings: Settings): ChosenModel {
  const { provider, model } = choice
  if (provider)
    return { provider, model: model ? dropPrefix(provider, model) : defaultOf(provider) }
  if (model) return splitModel(model)
  if (settings.ROOKERY_DEFAULT_MODEL) return splitModel(settings.ROOKERY_DEFAULT_MODEL)
  for (const [name, known] of Object.entries(modelProviders)) {
    if (known.defaultModel && settings[known.keySetting]) {
      return { provider: name, model: known.defaultModel }
    }
  }
  return offlineModel
}

/**
 * Lists the models that a definition allows, as `provider/model`, the preferred one first: its
 * alternatives too, and the default of each provider with a key when it names no model.
 */
export function listCandidates(choice: ModelChoice, settings: Settings): string[] {
  const first = nameOf(chooseModel(choice, settings))
  const isOpen = !choice.provider && !choice.model && !settings.ROOKERY_DEFAULT_MODEL
  const keyed = Object.entries(modelProviders).flatMap(([name, known]) =>
    known.defaultModel && settings[known.keySetting] ? [`${name}/${known.defaultModel}`] : [],
  )
  const alternatives = (choice.alternatives ?? []).map((name) => nameOf(splitModel(name)))
  return [...new Set([first, ...(isOpen ? keyed : []), ...alternatives])]
}

/**
 * Returns the model that budget is reserved for, or null when it is the preferred model. LOAD
 * chooses it for its headroom. Null too when the definition no longer allows it.
 */
export function findReservedModel(choice: ModelChoice, settings: Settings): string | null {
  if (choice.reserved === undefined) return null
  return listCandidates(choice, settings).slice(1).includes(choice.reserved)
    ? choice.reserved
    : null
}

const nameOf = ({ provider, model }: ChosenModel): string => `${provider}/${model}`

const defaultOf = (provider: string): string =>
  provider === 'offline'
    ? offlineModel.model
    : (modelProviders[provider]?.defaultModel ?? 'default')

/** Removes the provider from `model: anthropic/claude-...` beside `provider: anthropic`. */
const dropPrefix = (provider: string, model: string): string =>
  model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model

/**
 * Parses the model override of one run. Requires `provider/model`, because a guess could cost money.
 * The definition's address, key and context limit apply to its own provider only.
 *
 * @throws AppError VALIDATION for an unknown provider or a missing model name
 */
export function parseOverride(
  name: string,
  choice: ModelChoice,
  settings: Settings,
): { chosen: ChosenModel; rest: ModelChoice } {
  const slash = name.indexOf('/')
  const provider = slash < 0 ? name : name.slice(0, slash)
  if (provider === 'offline') return { chosen: offlineModel, rest: {} }
  const names = [...Object.keys(modelProviders), 'offline']
  if (!Object.hasOwn(modelProviders, provider)) {
    throw modelErrors.unknownProvider(provider, names)
  }
  const model = slash < 0 ? '' : name.slice(slash + 1)
  if (model === '' || /\s/.test(model)) {
    throw modelErrors.missingModelName(provider)
  }
  const usual = chooseModel(choice, settings)
  const chosen = { provider, model }
  if (usual.provider !== provider) return { chosen, rest: {} }
  const { contextTokens: _, ...place } = choice
  return { chosen, rest: usual.model === model ? choice : place }
}

/**
 * Splits `provider/model`. The provider of a bare name is inferred from it; an unknown prefix, as in
 * `vendor/model`, is part of a reseller's model name.
 */
function splitModel(name: string): ChosenModel {
  const slash = name.indexOf('/')
  const first = slash < 0 ? name : name.slice(0, slash)
  if (first === 'offline') return offlineModel
  if (slash > 0 && Object.hasOwn(modelProviders, first)) {
    return { provider: first, model: name.slice(slash + 1) }
  }
  if (slash < 0 && name.startsWith('claude')) return { provider: 'anthropic', model: name }
  if (slash < 0 && /^(gpt-(?!oss)|o\d)/.test(name)) return { provider: 'openai', model: name }
  return { provider: 'openai-compatible', model: name }
}

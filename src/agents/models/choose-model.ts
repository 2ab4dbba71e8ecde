import { AppError } from '../../errors'
import type { Settings } from '../../settings'
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

/**
 * Every model that a definition allows, as `provider/model`, the preferred one first (B6): its
 * alternatives too, and when it leaves the choice to the hub, that of each provider with a key.
 */
export function listCandidates(choice: ModelChoice, settings: Settings): string[] {
  const first = nameOf(chooseModel(choice, settings))
  const isOpen = !choice.provider && !choice.model && !settings.ROOKERY_DEFAULT_MODEL
  const keyed = Object.entries(knownProviders).flatMap(([name, known]) =>
    known.defaultModel && settings[known.keySetting] ? [`${name}/${known.defaultModel}`] : [],
  )
  const alternatives = (choice.alternatives ?? []).map((name) => nameOf(splitModel(name)))
  return [...new Set([first, ...(isOpen ? keyed : []), ...alternatives])]
}

/**
 * The model that money is reserved for, when it is another than the preferred one: LOAD took it for
 * its headroom. One that the definition does not allow any more is not called.
 */
export function findReserved(choice: ModelChoice, settings: Settings): string | null {
  if (choice.reserved === undefined) return null
  return listCandidates(choice, settings).slice(1).includes(choice.reserved)
    ? choice.reserved
    : null
}

const nameOf = ({ provider, model }: ChosenModel): string => `${provider}/${model}`

const defaultOf = (provider: string): string =>
  provider === 'offline'
    ? offlineModel.model
    : (knownProviders[provider]?.defaultModel ?? 'default')

/** `provider: anthropic` with `model: anthropic/claude-...` says the same thing twice. */
const dropPrefix = (provider: string, model: string): string =>
  model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model

/**
 * The model that somebody names for one run: always `provider/model`, because a guess would cost
 * money. Address, key and context limit of the definition hold for its own provider only.
 */
export function readOverride(
  name: string,
  choice: ModelChoice,
  settings: Settings,
): { chosen: ChosenModel; rest: ModelChoice } {
  const slash = name.indexOf('/')
  const provider = slash < 0 ? name : name.slice(0, slash)
  if (provider === 'offline') return { chosen: offlineModel, rest: {} }
  const names = [...Object.keys(knownProviders), 'offline'].join(', ')
  if (!Object.hasOwn(knownProviders, provider)) {
    throw new AppError('VALIDATION', `There is no model provider ${provider}.`, {
      hint: `A model is named provider/model, where the provider is one of ${names}.`,
    })
  }
  const model = slash < 0 ? '' : name.slice(slash + 1)
  if (model === '' || /\s/.test(model)) {
    throw new AppError('VALIDATION', `${provider}/ needs the name of a model behind it.`)
  }
  const usual = chooseModel(choice, settings)
  const chosen = { provider, model }
  if (usual.provider !== provider) return { chosen, rest: {} }
  const { contextTokens: _, ...place } = choice
  return { chosen, rest: usual.model === model ? choice : place }
}

/** `provider/model`; a bare name is looked at, and `vendor/model` is a reseller's. */
function splitModel(name: string): ChosenModel {
  const slash = name.indexOf('/')
  const first = slash < 0 ? name : name.slice(0, slash)
  if (first === 'offline') return offlineModel
  if (slash > 0 && Object.hasOwn(knownProviders, first)) {
    return { provider: first, model: name.slice(slash + 1) }
  }
  if (slash < 0 && name.startsWith('claude')) return { provider: 'anthropic', model: name }
  if (slash < 0 && /^(gpt-(?!oss)|o\d)/.test(name)) return { provider: 'openai', model: name }
  return { provider: 'openai-compatible', model: name }
}

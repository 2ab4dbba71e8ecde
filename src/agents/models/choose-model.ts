import type { ModelConnection } from '../../hub/contract/hub'
import { autoProvider, type Settings } from '../../shared/settings'
import { modelErrors } from './errors'
import type { ModelChoice } from './model-port'
import { type ModelProvider, modelProviders } from './providers/model-providers'

export interface ChosenModel {
  provider: string
  model: string
}

/** The names that a definition can give as provider, without `auto`. */
export const providerNames = [...Object.keys(modelProviders), 'offline']

const offlineModel: ChosenModel = { provider: 'offline', model: 'extractive' }

/** What is configured: in the environment, and by admins on a page. */
export interface Configured {
  settings: Settings
  connections: readonly ModelConnection[]
}

/**
 * Returns the model for a definition: `provider` and `model`, or `provider/model` alone, or a model
 * name whose provider is evident. A definition with `provider: auto`, or with neither, gets the hub's
 * default, or the default of the first provider that is set up, or the offline model.
 */
export function chooseModel(choice: ModelChoice, configured: Configured): ChosenModel {
  if (isOpen(choice)) return listDefaults(configured)[0] ?? offlineModel
  const { provider, model } = choice
  if (provider) {
    const name = model ? dropPrefix(provider, model) : defaultOf(provider, configured)
    return { provider, model: name }
  }
  return splitModel(model ?? '')
}

/** Whether a definition leaves the model to the hub. */
const isOpen = ({ provider, model }: ModelChoice): boolean =>
  provider === autoProvider || (!provider && !model)

/** The models for definitions that leave the choice to the hub, in the order in which they are preferred. */
function listDefaults(configured: Configured): ChosenModel[] {
  const { settings } = configured
  if (settings.ROOKERY_DEFAULT_MODEL) return [splitModel(settings.ROOKERY_DEFAULT_MODEL)]
  return Object.keys(modelProviders).flatMap((provider) => {
    const model = isSetUp(provider, configured) ? findDefault(provider, configured) : null
    return model === null ? [] : [{ provider, model }]
  })
}

/** Whether the environment or an admin has set what a provider requires. */
export function isSetUp(provider: string, { settings, connections }: Configured): boolean {
  const known = findProvider(provider)
  if (!known) return provider === 'offline'
  if (isSetByEnvironment(known, settings)) return true
  const stored = connections.find((each) => each.provider === provider)
  return stored !== undefined && (stored.hasKey || !known.needsKey)
}

/**
 * Whether the environment has the key of a provider, or the address of one that needs no key. Then it
 * counts alone: key and address are never mixed with those that admins set.
 */
export const isSetByEnvironment = (known: ModelProvider, settings: Settings): boolean =>
  Boolean(settings[known.needsKey ? known.keySetting : known.baseUrlSetting])

export const findProvider = (name: string): ModelProvider | undefined =>
  Object.hasOwn(modelProviders, name) ? modelProviders[name] : undefined

/** Returns the model of a provider for definitions that name none: the one that an admin chose, else ours. */
const findDefault = (provider: string, { connections }: Configured): string | null =>
  connections.find((each) => each.provider === provider)?.defaultModel ??
  findProvider(provider)?.defaultModel ??
  null

/**
 * Lists the models that a definition allows, as `provider/model`, the preferred one first: its
 * alternatives too, and the default of each provider with a key when it names no model.
 */
export function listCandidates(choice: ModelChoice, configured: Configured): string[] {
  const first = nameOf(chooseModel(choice, configured))
  const defaults = isOpen(choice) ? listDefaults(configured).map(nameOf) : []
  const alternatives = (choice.alternatives ?? []).map((name) => nameOf(splitModel(name)))
  return [...new Set([first, ...defaults, ...alternatives])]
}

/**
 * Returns the model that budget is reserved for, or null when it is the preferred model. LOAD
 * chooses it for its headroom. Null too when the definition no longer allows it.
 */
export function findReservedModel(choice: ModelChoice, configured: Configured): string | null {
  if (choice.reserved === undefined) return null
  return listCandidates(choice, configured).slice(1).includes(choice.reserved)
    ? choice.reserved
    : null
}

const nameOf = ({ provider, model }: ChosenModel): string => `${provider}/${model}`

const defaultOf = (provider: string, configured: Configured): string =>
  provider === 'offline' ? offlineModel.model : (findDefault(provider, configured) ?? 'default')

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
  configured: Configured,
): { chosen: ChosenModel; rest: ModelChoice } {
  const slash = name.indexOf('/')
  const provider = slash < 0 ? name : name.slice(0, slash)
  if (provider === 'offline') return { chosen: offlineModel, rest: {} }
  if (!findProvider(provider)) throw modelErrors.unknownProvider(provider, providerNames)
  const model = slash < 0 ? '' : name.slice(slash + 1)
  if (model === '' || /\s/.test(model)) {
    throw modelErrors.missingModelName(provider)
  }
  const usual = chooseModel(choice, configured)
  const chosen = { provider, model }
  if (usual.provider !== provider) return { chosen, rest: {} }
  const { contextTokens: _, ...place } = choice
  return { chosen, rest: usual.model === model ? choice : place }
}

/**
 * Splits `provider/model`. The provider of a bare name is inferred from it; an unknown prefix, as in
 * `vendor/model`, is part of a reseller's model name.
 */
export function splitModel(name: string): ChosenModel {
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

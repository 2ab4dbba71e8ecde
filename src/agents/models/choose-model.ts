import type { ModelConnection } from '../../hub/contract/hub'
import { AppError } from '../../shared/errors'
import { findNearest, formatUnknown } from '../../shared/find-nearest'
import type { ModelProtocol } from '../../shared/runner-protocol'
import { autoProvider, providerNames, type Settings } from '../../shared/settings'
import { catalogue } from './catalogue'
import type { ModelChoice } from './model-port'
import { type ModelProvider, modelProviders } from './providers/model-providers'

export interface ChosenModel {
  provider: string
  model: string
}

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

/** Whether the environment or an admin has set what a provider requires, with a key that agents use. */
export function isSetUp(provider: string, { settings, connections }: Configured): boolean {
  const known = findProvider(provider)
  if (!known) return provider === 'offline'
  if (isSetByEnvironment(known, settings)) return true
  const stored = connections.find((each) => each.provider === provider)
  return stored !== undefined && stored.keyProblem === null && (stored.hasKey || !known.needsKey)
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
  const [owner = 'openai-compatible'] =
    slash < 0 ? Object.keys(modelProviders).filter((each) => isOwnName(each, name)) : []
  return { provider: owner, model: name }
}

const toSentence = (text: string): string => (text.endsWith('?') ? text : `${text}.`)

/** Errors of model overrides, as users read them. */
export const modelErrors = {
  unknownProvider: (provider: string, providers: readonly string[]) =>
    new AppError('VALIDATION', toSentence(formatUnknown('provider', provider, providers)), {
      hint: `Use provider/model, where the provider is one of ${providers.join(', ')}.`,
    }),
  unknownModel: (problem: string) =>
    new AppError('VALIDATION', toSentence(problem), { hint: 'Use the exact name of the model.' }),
  missingModelName: (provider: string) =>
    new AppError('VALIDATION', `The model name after ${provider}/ is missing.`, {
      hint: 'Use provider/model.',
    }),
  keyNotUsed: (provider: string) =>
    new AppError('VALIDATION', `The key of ${provider} has not worked yet, so it is not used.`, {
      hint: 'An admin can test it, or use it anyway, at /models.',
    }),
  notConfigured: (provider: string, setting: string | undefined) =>
    new AppError('VALIDATION', `Models of ${provider} are not configured: ${setting} is not set.`, {
      hint: 'An admin can set up the provider at /models.',
    }),
}

/** A name in a definition that is most likely misspelt. */
interface NameProblem {
  field: 'provider' | 'model' | ['alternatives', number]
  message: string
}

/** Finds misspelt names of providers and models in a definition. */
export function findNameProblems(
  { provider, model, alternatives = [] }: ModelChoice,
  connections: readonly ModelConnection[] = [],
): NameProblem[] {
  if (provider !== undefined && !allNames.includes(provider))
    return [{ field: 'provider', message: formatUnknownProvider(provider) }]
  const named = provider === autoProvider ? undefined : model
  const first = named === undefined ? null : findProblem(named, provider, connections)
  return [
    ...(first === null ? [] : [{ field: 'model' as const, message: first }]),
    ...alternatives.flatMap((name, index): NameProblem[] => {
      const message = findProblem(name, undefined, connections)
      return message === null ? [] : [{ field: ['alternatives', index], message }]
    }),
  ]
}

function findProblem(
  name: string,
  provider: string | undefined,
  connections: readonly ModelConnection[],
): string | null {
  const chosen = provider === undefined ? splitModel(name) : { provider, model: name }
  if (provider === undefined && chosen.provider === 'openai-compatible') {
    const prefix = name.split('/')[0] ?? ''
    const isMisspelt =
      prefix !== name && !findProvider(prefix) && findNearest(prefix, allNames) !== null
    if (isMisspelt) return formatUnknownProvider(prefix)
  }
  return findModelProblem(chosen, connections)
}

/** What a definition can give as provider. */
const allNames = [...providerNames, autoProvider]

const formatUnknownProvider = (provider: string): string =>
  formatUnknown('provider', provider, allNames)

/** Letters of a model's name: versions, dates and sizes are not compared, because new ones appear. */
const toLetters = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z]+/g, ' ')
    .trim()

/**
 * Returns why the name of a model is most likely misspelt; null for a known one and for one
 * that cannot be judged. A new version of a known family is no misspelt name, and neither is a name like no other.
 */
export function findModelProblem(
  { provider, model }: ChosenModel,
  connections: readonly ModelConnection[] = [],
): string | null {
  const listed = connections.find((each) => each.provider === provider)?.listed ?? []
  if (listed.includes(model)) return null
  const known = listed.length > 0 ? listed : listKnownModels(provider)
  const isFamiliar = known.some((each) => toLetters(model).includes(toLetters(each)))
  if (isFamiliar && listed.length === 0) return null
  const nearest = findNearest(model, known)
  if (nearest === null || toLetters(nearest) === toLetters(model)) return null
  return `Unknown model "${model}": did you mean ${nearest}?`
}

/** The models of the catalogue whose provider is certain. */
const listKnownModels = (provider: string): string[] =>
  Object.keys(catalogue).filter((name) => isOwnName(provider, name))

const isOwnName = (provider: string, model: string): boolean =>
  findProvider(provider)?.ownNames?.test(model) ?? false

/** The offline model is part of the hub, which answers in any of them. */
const offlineProtocols: readonly ModelProtocol[] = [
  'anthropic-messages',
  'openai-chat',
  'openai-responses',
]

/** Returns the protocols in which programs can reach a provider; none for an unknown one. */
export const protocolsOf = (provider: string): readonly ModelProtocol[] =>
  provider === 'offline' ? offlineProtocols : (findProvider(provider)?.protocols ?? [])

/** Returns the providers, without the offline model, that programs can reach in any of these protocols. */
export const providersFor = (protocols: readonly ModelProtocol[]): string[] =>
  Object.keys(modelProviders).filter((provider) =>
    protocolsOf(provider).some((each) => protocols.includes(each)),
  )

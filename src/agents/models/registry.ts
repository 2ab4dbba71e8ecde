import type { ModelConnection } from '../../hub/contract/hub'
import type { ModelAccess, ModelAddress } from '../../mcp-servers/contract/model-admin'
import { activationLimits } from '../../shared/config'
import { autoProvider, type Settings } from '../../shared/settings'
import type { ModelPrice, ProviderState } from '../contract/models'
import { buildCatalogue, findModel, withSetPrices } from './catalogue'
import {
  type ChosenModel,
  type Configured,
  chooseModel,
  findModelProblem,
  findProvider,
  findReservedModel,
  isSetByEnvironment,
  isSetUp,
  listCandidates,
  modelErrors,
  parseOverride,
  protocolsOf,
  splitModel,
} from './choose-model'
import {
  type CallTimeouts,
  type Clock,
  type Fetch,
  type Model,
  type ModelChoice,
  type ModelRegistry,
  type Prices,
  systemClock,
  type UpstreamFinder,
} from './model-port'
import { createOfflineModel } from './offline/offline-model'
import { createProviderModel } from './provider-model'
import { type ModelProvider, modelProviders } from './providers/model-providers'

export interface RegistryOptions {
  fetch?: Fetch
  clock?: Clock
  /** Timeouts of every call; default: those of the definition, the hub or the address. */
  timeouts?: CallTimeouts
  /**
   * Reads a key by the variable that a definition names, when it is not among the settings, and the URL
   * that was set with it.
   */
  readKey?: (variable: string) => string | undefined
  /** Sends requests with the keys that admins set. */
  access?: ModelAccess
}

type Known = { known: ModelProvider; chosen: ChosenModel; prices: ModelConnection['prices'] }

/** Creates models on first use and caches them. `find` returns null for a model without a connection. */
function createModelCache(settings: Settings, options: RegistryOptions) {
  const models = buildCatalogue(settings.ROOKERY_PRICES)
  const offline = createOfflineModel()
  const cache = new Map<string, { revision: string; model: Model }>()

  function findOrCreate(
    { known, chosen, prices }: Known,
    to: Connection,
    choice: ModelChoice,
  ): Model {
    const { contextTokens } = choice
    const { stored, ...connection } = to
    const timeouts = options.timeouts ?? chooseTimeouts(choice, settings, connection.baseUrl)
    const parts = [chosen, connection.baseUrl, connection.keyVariable, contextTokens, timeouts]
    const identity = JSON.stringify([...parts, stored !== null])
    const revision = JSON.stringify([stored?.revision, prices])
    const cached = cache.get(identity)
    if (cached?.revision === revision) return cached.model
    const opened = stored && options.access?.open(stored)
    const priced = withSetPrices(models, [{ provider: chosen.provider, prices }])
    const found = findModel(chosen.model, priced, chosen.provider)
    const model = createProviderModel({
      provider: chosen.provider,
      modelName: chosen.model,
      definition: known,
      ...connection,
      fetch: opened?.fetch ?? options.fetch ?? ((input, init) => fetch(input, init)),
      redact: opened?.redact ?? ((text) => text),
      clock: options.clock ?? systemClock,
      timeouts,
      limits: { ...found, contextTokens: contextTokens ?? found.contextTokens },
    })
    cache.set(identity, { revision, model })
    return model
  }

  function find(chosen: ChosenModel, choice: ModelChoice, connections: Connections): Model | null {
    if (chosen.provider === 'offline') return offline
    const known = findProvider(chosen.provider)
    if (!known) return null
    const stored = connections.find(({ provider }) => provider === chosen.provider)
    const connection = findConnection(known, choice, settings, { ...options, stored })
    const prices = stored?.prices ?? {}
    return connection && findOrCreate({ known, chosen, prices }, connection, choice)
  }

  return { find, offline }
}

type Connections = readonly ModelConnection[]

/**
 * Returns the model registry of this hub. Keys come from the settings, or from what admins set up; a choice
 * whose provider has neither gets the offline model.
 */
export function createModelRegistry(
  settings: Settings,
  options: RegistryOptions = {},
): ModelRegistry & UpstreamFinder {
  const { find, offline } = createModelCache(settings, options)

  /** Returns a model by its `provider/model`, or null when its provider has no connection. */
  function findNamed(name: string, choice: ModelChoice, connections: Connections): Model | null {
    const { chosen, rest } = parseOverride(name, choice, { settings, connections })
    return find(chosen, rest, connections)
  }

  function findOverride(name: string, choice: ModelChoice, connections: Connections): Model {
    const { chosen } = parseOverride(name, choice, { settings, connections })
    const problem = findModelProblem(chosen, connections)
    if (problem !== null) throw modelErrors.unknownModel(problem)
    const model = findNamed(name, choice, connections)
    if (model) return model
    throw toNotConfigured(chosen.provider, connections)
  }

  const resolve: ModelRegistry['resolve'] = (choice, connections = []) => {
    if (choice.override !== undefined) {
      return { model: findOverride(choice.override, choice, connections), substitutedFor: null }
    }
    const configured = { settings, connections }
    const reserved = findReservedModel(choice, configured)
    const chosen = chooseModel(choice, configured)
    const model =
      (reserved !== null && findNamed(reserved, choice, connections)) ||
      find(chosen, choice, connections)
    if (model) return { model, substitutedFor: null }
    return { model: offline, substitutedFor: `${chosen.provider}/${chosen.model}` }
  }

  return {
    resolve,
    list(choice, connections = []) {
      const { model, substitutedFor } = resolve(choice, connections)
      const names = listCandidates(choice, { settings, connections }).slice(1)
      const others = names.flatMap((name) => findNamed(name, choice, connections) ?? [])
      return substitutedFor === null || others.length === 0 ? [model, ...others] : others
    },
    findUpstream: createUpstreamFinder(settings, options),
  }
}

const createUpstreamFinder =
  (settings: Settings, options: RegistryOptions): UpstreamFinder['findUpstream'] =>
  (name, place, connections) => {
    const { chosen, rest } = parseOverride(name, place, { settings, connections })
    const known = findProvider(chosen.provider)
    const stored = connections.find(({ provider }) => provider === chosen.provider)
    const connection = known && findConnection(known, rest, settings, { ...options, stored })
    if (!known || !connection) return null
    const { stored: used, ...to } = connection
    const opened = used && options.access?.open(used)
    return {
      provider: chosen.provider,
      title: known.title,
      protocols: protocolsOf(chosen.provider),
      modelName: chosen.model,
      ...to,
      fetch: opened?.fetch ?? options.fetch ?? ((input, init) => fetch(input, init)),
      redact: opened?.redact ?? ((text) => text),
      timeouts: options.timeouts ?? chooseTimeouts(rest, settings, to.baseUrl),
    }
  }

/** Returns the error for an override without a connection. Definitions get the offline model instead. */
function toNotConfigured(provider: string, connections: Connections) {
  const stored = connections.find((each) => each.provider === provider)
  if (stored?.keyProblem) return modelErrors.keyNotUsed(provider)
  const known = findProvider(provider)
  const isUrlMissing = known?.needsKey === false
  const setting = isUrlMissing ? known.baseUrlSetting : known?.keySetting
  return modelErrors.notConfigured(provider, setting)
}

/** Where a provider is reached, and with which key. */
interface Connection {
  keyVariable: string
  key: string
  baseUrl: string
  addressSetting: string
  /** What admins set up and its key goes with; null for a key of the environment, or for none. */
  stored: ModelConnection | null
}

interface ConnectionOptions {
  /** Reads a variable of the environment that is not among the settings. */
  readKey?: ((variable: string) => string | undefined) | undefined
  /** What admins set up of the provider. */
  stored: ModelConnection | undefined
}

/** Variables that a definition may name. It must not reach any other secret. */
const keyVariablePattern = /^[A-Z][A-Z0-9_]*_API_KEY$/

/**
 * Returns a provider's URL and key, or null when its URL or its required key is missing. A definition
 * can name another URL, but no key goes there that was not set for it. What admins set up counts only when
 * the environment has no key, and the definition names no variable of its own.
 */
function findConnection(
  known: ModelProvider,
  choice: ModelChoice,
  settings: Settings,
  options: ConnectionOptions,
): Connection | null {
  const keyVariable = choice.apiKeyEnv ?? known.keySetting
  const isOwnKey = keyVariable === known.keySetting
  const stored = isOwnKey && !isSetByEnvironment(known, settings) ? (options.stored ?? null) : null
  const ofHub = stored?.baseUrl ?? findBaseUrl(known, settings)
  const baseUrl = choice.apiBase ?? ofHub
  if (!baseUrl) return null
  const place = {
    baseUrl: baseUrl.replace(/(?<!\/)\/+$/, ''),
    addressSetting: describeAddress(known, choice, stored),
  }
  if (stored && isWithinUrl(baseUrl, stored.baseUrl)) return connectStored(known, stored, place)
  const key = findKey(known, settings, options, { keyVariable, baseUrl })
  if (known.needsKey && !key) return null
  return { ...place, keyVariable, key: key ?? '', stored: null }
}

/** Returns the key of the environment that was set for a URL. */
function findKey(
  known: ModelProvider,
  settings: Settings,
  options: ConnectionOptions,
  { keyVariable, baseUrl }: Pick<Connection, 'keyVariable' | 'baseUrl'>,
): string | undefined {
  const keyUrl = findKeyUrl(keyVariable, known, settings, options)
  const isForUrl = keyUrl !== null && isWithinUrl(baseUrl, keyUrl)
  return isForUrl ? readKey(settings, options, keyVariable) : undefined
}

type Place = Pick<Connection, 'baseUrl' | 'addressSetting'>

/**
 * Returns the connection with the key that an admin set; null when that key is required and missing, or is not to be
 * used yet.
 */
const connectStored = (
  known: ModelProvider,
  stored: ModelConnection,
  place: Place,
): Connection | null =>
  stored.keyProblem !== null || (known.needsKey && !stored.hasKey)
    ? null
    : {
        ...place,
        stored,
        keyVariable: 'the key at /models',
        key: stored.hasKey ? keyPlaceholder : '',
      }

function describeAddress(
  known: ModelProvider,
  { apiBase }: ModelChoice,
  stored: ModelConnection | null,
): string {
  if (apiBase !== undefined) return '`brain.api_base`'
  return stored ? 'its base URL at /models' : known.baseUrlSetting
}

/** Stands for a key that is added to the request later, where agents do not see it. */
const keyPlaceholder = 'set-at-models'

const findBaseUrl = (known: ModelProvider, settings: Settings): string | null =>
  readText(settings, known.baseUrlSetting) ?? known.baseUrl(settings)

/**
 * Returns the URL that a key was set for: that of the provider whose key it is; for another variable
 * `NAME_API_KEY` that in `NAME_BASE_URL`, or else the hub's URL of the definition's provider.
 */
function findKeyUrl(
  variable: string,
  known: ModelProvider,
  settings: Settings,
  options: ConnectionOptions,
): string | null {
  if (!keyVariablePattern.test(variable)) return null
  const owner = Object.values(modelProviders).find(({ keySetting }) => keySetting === variable)
  if (owner) return findBaseUrl(owner, settings)
  const own = options.readKey?.(variable.replace(/_API_KEY$/, '_BASE_URL'))
  return own || findBaseUrl(known, settings)
}

/** Whether a URL is another one or below it: on one host, paths can belong to different customers. */
function isWithinUrl(url: string, base: string): boolean {
  if (!URL.canParse(url) || !URL.canParse(base)) return false
  const [given, allowed] = [new URL(url), new URL(base)]
  const toPath = ({ pathname }: URL) => pathname.replace(/(?<!\/)\/*$/, '/')
  return given.origin === allowed.origin && toPath(given).startsWith(toPath(allowed))
}

function readText(settings: Settings, name: string): string | undefined {
  const value = (settings as Record<string, unknown>)[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function readKey(settings: Settings, options: ConnectionOptions, variable: string) {
  return readText(settings, variable) ?? options.readKey?.(variable)
}

/** Returns the providers with what is set for each, in the order in which a default is chosen. */
export const listProviders = (
  settings: Settings,
  connections: readonly ModelConnection[],
): Omit<ProviderState, 'testCost'>[] =>
  Object.entries(modelProviders).map(([provider, known]) => {
    const stored = connections.find((each) => each.provider === provider)
    const isOfEnvironment = isSetByEnvironment(known, settings)
    const address = readAddress(known, settings)
    return {
      provider,
      title: known.title,
      source: isOfEnvironment ? 'environment' : sourceOf(stored),
      isReady:
        isSetUp(provider, { settings, connections }) && (address !== null || stored !== undefined),
      keyProblem: isOfEnvironment ? null : (stored?.keyProblem ?? null),
      needsKey: known.needsKey,
      keySetting: known.keySetting,
      baseUrlSetting: known.baseUrlSetting,
      baseUrl: isOfEnvironment ? address : stored?.isBinding ? null : (stored?.baseUrl ?? address),
      defaultModel: stored?.defaultModel ?? known.defaultModel,
    }
  })

const sourceOf = (stored: ModelConnection | undefined): ProviderState['source'] => {
  if (stored?.isBinding) return 'binding'
  return stored ? 'page' : 'none'
}

/** Returns the models of definitions with `provider: auto`, the preferred one first. */
export const listAuto = (configured: Configured): string[] =>
  listCandidates({ provider: autoProvider }, configured)

const readAddress = (known: ModelProvider, settings: Settings): string | null => {
  const given = settings[known.baseUrlSetting]
  return typeof given === 'string' && given !== '' ? given : known.baseUrl(settings)
}

/** Returns the models with a known price: those that admins set, the operator's, and the built-in ones. */
export function listPrices(
  settings: Settings,
  connections: readonly ModelConnection[],
): ModelPrice[] {
  const models = withSetPrices(buildCatalogue(settings.ROOKERY_PRICES), connections)
  const set = new Set(
    connections.flatMap(({ provider, prices }) =>
      Object.keys(prices).map((model) => `${provider}/${model.toLowerCase()}`),
    ),
  )
  return Object.entries(models).flatMap(([model, { contextTokens, prices }]) =>
    prices === null
      ? []
      : [
          {
            model,
            contextTokens,
            isSetHere: set.has(model),
            provider: model.startsWith('@cf/') ? 'workers-ai' : splitModel(model).provider,
            input: prices.input,
            cached: prices.cached,
            output: prices.output,
          },
        ],
  )
}

/** Returns a function to the prices of a provider's models; null: unknown. */
export function createPriceFinder(
  settings: Settings,
  connections: readonly ModelConnection[],
): (provider: string, model: string) => Prices | null {
  const models = withSetPrices(buildCatalogue(settings.ROOKERY_PRICES), connections)
  return (provider, model) => findModel(model, models, provider).prices
}

/** Returns where each provider is reached and how it is given its key, for the module that keeps the keys. */
export const listModelAddresses = (settings: Settings): ReadonlyMap<string, ModelAddress> =>
  new Map(
    Object.entries(modelProviders).map(([provider, known]) => [
      provider,
      { baseUrl: readAddress(known, settings), ...known.keyTransport },
    ]),
  )

/** Returns the timeouts of a call: of the definition, else of the hub, else for the server's address. */
export function chooseTimeouts(
  { timeouts }: ModelChoice,
  settings: Settings,
  baseUrl: string,
): CallTimeouts {
  const { modelFirstByteSeconds, modelFirstBytePrivateSeconds, modelBetweenBytesSeconds } =
    activationLimits
  const firstByteSeconds =
    settings.ROOKERY_MODEL_FIRST_BYTE_SECONDS ??
    (isPrivateAddress(baseUrl) ? modelFirstBytePrivateSeconds : modelFirstByteSeconds)
  const betweenBytesSeconds =
    settings.ROOKERY_MODEL_BETWEEN_BYTES_SECONDS ?? modelBetweenBytesSeconds
  return {
    firstByteMs: timeouts?.firstByteMs ?? firstByteSeconds * 1000,
    betweenBytesMs: timeouts?.betweenBytesMs ?? betweenBytesSeconds * 1000,
  }
}

/** Names of a local network, and addresses of private, link-local and loopback ranges. */
const privateHosts = [
  /^([a-z0-9_-]+|[^:]+\.(localhost|local|internal|lan|home|home\.arpa))$/,
  /^(127|10|0)(\.\d+){3}$/,
  /^192\.168(\.\d+){2}$/,
  /^172\.(1[6-9]|2\d|3[01])(\.\d+){2}$/,
  /^169\.254(\.\d+){2}$/,
  /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])(\.\d+){2}$/,
  /^\[(::1?|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)\]$/,
]

/**
 * Returns whether a URL names a server of one's own: on this machine, in its network, or a container
 * by name. It decides only how long a call waits, not what may be reached.
 */
export function isPrivateAddress(url: string): boolean {
  const { hostname } = new URL(url)
  return privateHosts.some((pattern) => pattern.test(hostname.toLowerCase()))
}

import type { ModelConnection } from '../../hub/contract/hub'
import type { ModelAccess } from '../../mcp-servers/contract/model-admin'
import type { Settings } from '../../shared/settings'
import { buildCatalogue } from './build-catalogue'
import { chooseTimeouts } from './call-timeouts'
import { findModel } from './catalogue'
import { findModelProblem } from './check-names'
import {
  type ChosenModel,
  chooseModel,
  findProvider,
  findReservedModel,
  isSetByEnvironment,
  listCandidates,
  parseOverride,
} from './choose-model'
import { modelErrors } from './errors'
import type { CallTimeouts, Model, ModelChoice, ModelRegistry } from './model-port'
import { createOfflineModel } from './offline/offline-model'
import { createProviderModel } from './provider-model'
import { type ModelProvider, modelProviders } from './providers/model-providers'
import { type Clock, systemClock } from './response-timer'
import type { Fetch } from './watched-fetch'

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

/** Variables that a definition may name. It must not reach any other secret. */
const keyVariablePattern = /^[A-Z][A-Z0-9_]*_API_KEY$/

type Known = { known: ModelProvider; chosen: ChosenModel }

/** Creates models on first use and caches them. `find` returns null for a model without a connection. */
function createModelCache(settings: Settings, options: RegistryOptions) {
  const models = buildCatalogue(settings.ROOKERY_PRICES)
  const offline = createOfflineModel()
  const cache = new Map<string, { revision: string; model: Model }>()

  function findOrCreate({ known, chosen }: Known, to: Connection, choice: ModelChoice): Model {
    const { contextTokens } = choice
    const { stored, ...connection } = to
    const timeouts = options.timeouts ?? chooseTimeouts(choice, settings, connection.baseUrl)
    const parts = [chosen, connection.baseUrl, connection.keyVariable, contextTokens, timeouts]
    const identity = JSON.stringify([...parts, stored !== null])
    const revision = stored?.revision ?? ''
    const cached = cache.get(identity)
    if (cached?.revision === revision) return cached.model
    const opened = stored && options.access?.open(stored)
    const found = findModel(chosen.model, models, chosen.provider)
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
    return connection && findOrCreate({ known, chosen }, connection, choice)
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
): ModelRegistry {
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
    throw toNotConfigured(chosen.provider)
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
  }
}

interface Connection {
  keyVariable: string
  key: string
  baseUrl: string
  addressSetting: string
  /** What admins set up and its key goes with; null for a key of the environment, or for none. */
  stored: ModelConnection | null
}

/** Returns the error for an override without a connection. Definitions get the offline model instead. */
function toNotConfigured(provider: string) {
  const known = findProvider(provider)
  const isUrlMissing = known?.needsKey === false
  const setting = isUrlMissing ? known.baseUrlSetting : known?.keySetting
  return modelErrors.notConfigured(provider, setting)
}

/**
 * Returns a provider's URL and key, or null when its URL or its required key is missing. A definition
 * can name another URL, but no key goes there that was not set for it. What admins set up counts only when
 * the environment has no key, and the definition names no variable of its own.
 */
function findConnection(
  known: ModelProvider,
  choice: ModelChoice,
  settings: Settings,
  options: RegistryOptions & { stored: ModelConnection | undefined },
): Connection | null {
  const keyVariable = choice.apiKeyEnv ?? known.keySetting
  const isStored = keyVariable === known.keySetting && !isSetByEnvironment(known, settings)
  const stored = isStored ? (options.stored ?? null) : null
  const baseUrl = choice.apiBase ?? stored?.baseUrl ?? findBaseUrl(known, settings)
  if (!baseUrl) return null
  const addressSetting =
    choice.apiBase !== undefined
      ? '`brain.api_base`'
      : stored
        ? 'its base URL at /models'
        : known.baseUrlSetting
  const place = { baseUrl: baseUrl.replace(/\/+$/, ''), addressSetting }
  if (stored && isWithinUrl(baseUrl, stored.baseUrl)) {
    if (known.needsKey && !stored.hasKey) return null
    return {
      ...place,
      stored,
      key: stored.hasKey ? keyPlaceholder : '',
      keyVariable: 'the key at /models',
    }
  }
  const keyUrl = findKeyUrl(keyVariable, known, settings, options)
  const isForUrl = keyUrl !== null && isWithinUrl(baseUrl, keyUrl)
  const key = isForUrl ? readKey(settings, options, keyVariable) : undefined
  if (known.needsKey && !key) return null
  return { ...place, keyVariable, key: key ?? '', stored: null }
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
  options: RegistryOptions,
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
  const toPath = ({ pathname }: URL) => pathname.replace(/\/*$/, '/')
  return given.origin === allowed.origin && toPath(given).startsWith(toPath(allowed))
}

function readText(settings: Settings, name: string): string | undefined {
  const value = (settings as Record<string, unknown>)[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function readKey(settings: Settings, options: RegistryOptions, variable: string) {
  return readText(settings, variable) ?? options.readKey?.(variable)
}

import type { Settings } from '../../shared/settings'
import { buildCatalogue } from './build-catalogue'
import { chooseTimeouts } from './call-timeouts'
import { findModel } from './catalogue'
import {
  type ChosenModel,
  chooseModel,
  findReservedModel,
  listCandidates,
  parseOverride,
} from './choose-model'
import { modelErrors } from './errors'
import type { CallTimeouts, Model, ModelChoice, ModelRegistry, UpstreamFinder } from './model-port'
import { protocolsOf } from './model-protocols'
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
}

/** Variables that a definition may name. It must not reach any other secret. */
const keyVariablePattern = /^[A-Z][A-Z0-9_]*_API_KEY$/

/** Creates models on first use and caches them. `find` returns null for a model without a connection. */
function createModelCache(settings: Settings, options: RegistryOptions) {
  const models = buildCatalogue(settings.ROOKERY_PRICES)
  const offline = createOfflineModel()
  const cache = new Map<string, Model>()

  function findOrCreate(
    known: ModelProvider,
    chosen: ChosenModel,
    connection: Connection,
    choice: ModelChoice,
  ): Model {
    const { contextTokens } = choice
    const timeouts = options.timeouts ?? chooseTimeouts(choice, settings, connection.baseUrl)
    const identity = JSON.stringify([
      chosen,
      connection.baseUrl,
      connection.keyVariable,
      contextTokens,
      timeouts,
    ])
    const cached = cache.get(identity)
    if (cached) return cached
    const found = findModel(chosen.model, models, chosen.provider)
    const model = createProviderModel({
      provider: chosen.provider,
      modelName: chosen.model,
      definition: known,
      ...connection,
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      clock: options.clock ?? systemClock,
      timeouts,
      limits: { ...found, contextTokens: contextTokens ?? found.contextTokens },
    })
    cache.set(identity, model)
    return model
  }

  function find(chosen: ChosenModel, choice: ModelChoice): Model | null {
    if (chosen.provider === 'offline') return offline
    const known = findProvider(chosen.provider)
    const connection = known && findConnection(known, choice, settings, options)
    if (!known || !connection) return null
    return findOrCreate(known, chosen, connection, choice)
  }

  return { find, offline }
}

/**
 * Returns the model registry of this hub. Keys come from the settings only; a choice whose provider
 * has no key gets the offline model.
 */
export function createModelRegistry(
  settings: Settings,
  options: RegistryOptions = {},
): ModelRegistry & UpstreamFinder {
  const { find, offline } = createModelCache(settings, options)

  /** Returns a model by its `provider/model`, or null when its provider has no connection. */
  function findNamed(name: string, choice: ModelChoice): Model | null {
    const { chosen, rest } = parseOverride(name, choice, settings)
    return find(chosen, rest)
  }

  function findOverride(name: string, choice: ModelChoice): Model {
    const model = findNamed(name, choice)
    if (model) return model
    throw toNotConfigured(parseOverride(name, choice, settings).chosen.provider)
  }

  const resolve: ModelRegistry['resolve'] = (choice) => {
    if (choice.override !== undefined) {
      return { model: findOverride(choice.override, choice), substitutedFor: null }
    }
    const reserved = findReservedModel(choice, settings)
    const chosen = chooseModel(choice, settings)
    const model = (reserved !== null && findNamed(reserved, choice)) || find(chosen, choice)
    if (model) return { model, substitutedFor: null }
    return { model: offline, substitutedFor: `${chosen.provider}/${chosen.model}` }
  }

  return {
    resolve,
    list(choice) {
      const { model, substitutedFor } = resolve(choice)
      const names = listCandidates(choice, settings).slice(1)
      const others = names.flatMap((name) => findNamed(name, choice) ?? [])
      return substitutedFor === null || others.length === 0 ? [model, ...others] : others
    },
    findUpstream: createUpstreamFinder(settings, options),
  }
}

const createUpstreamFinder =
  (settings: Settings, options: RegistryOptions): UpstreamFinder['findUpstream'] =>
  (name, place) => {
    const { chosen, rest } = parseOverride(name, place, settings)
    const known = findProvider(chosen.provider)
    const connection = known && findConnection(known, rest, settings, options)
    if (!known || !connection) return null
    return {
      provider: chosen.provider,
      title: known.title,
      protocols: protocolsOf(chosen.provider),
      modelName: chosen.model,
      ...connection,
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      timeouts: options.timeouts ?? chooseTimeouts(rest, settings, connection.baseUrl),
    }
  }

interface Connection {
  keyVariable: string
  key: string
  baseUrl: string
  addressSetting: string
}

const findProvider = (name: string): ModelProvider | undefined =>
  Object.hasOwn(modelProviders, name) ? modelProviders[name] : undefined

/** Returns the error for an override without a connection. Definitions get the offline model instead. */
function toNotConfigured(provider: string) {
  const known = findProvider(provider)
  const isUrlMissing = known?.needsKey === false
  const setting = isUrlMissing ? known.baseUrlSetting : known?.keySetting
  return modelErrors.notConfigured(provider, setting)
}

/**
 * Returns a provider's URL and key, or null when its URL or its required key is missing. A definition
 * can name another URL, but no key goes there that was not set for it.
 */
function findConnection(
  known: ModelProvider,
  choice: ModelChoice,
  settings: Settings,
  options: RegistryOptions,
): Connection | null {
  const keyVariable = choice.apiKeyEnv ?? known.keySetting
  const baseUrl = choice.apiBase ?? findBaseUrl(known, settings)
  if (!baseUrl) return null
  const keyUrl = findKeyUrl(keyVariable, known, settings, options)
  const isForUrl = keyUrl !== null && isWithinUrl(baseUrl, keyUrl)
  const key = isForUrl ? readKey(settings, options, keyVariable) : undefined
  if (known.needsKey && !key) return null
  const addressSetting = choice.apiBase === undefined ? known.baseUrlSetting : '`brain.api_base`'
  return { keyVariable, key: key ?? '', baseUrl: baseUrl.replace(/\/+$/, ''), addressSetting }
}

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

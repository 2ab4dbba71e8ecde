import { activationLimits } from '../../shared/config'
import type { Settings } from '../../shared/settings'
import { buildCatalogue } from './build-catalogue'
import { findModel } from './catalogue'
import {
  type ChosenModel,
  chooseModel,
  findReservedModel,
  listCandidates,
  parseOverride,
} from './choose-model'
import { modelErrors } from './errors'
import { type Clock, systemClock } from './idle-timer'
import type { Model, ModelChoice, ModelRegistry } from './model-port'
import { createOfflineModel } from './offline/offline-model'
import { createProviderModel } from './provider-model'
import { type ModelProvider, modelProviders } from './providers/model-providers'
import type { Fetch } from './watched-fetch'

export interface RegistryOptions {
  fetch?: Fetch
  clock?: Clock
  /** Idle timeout of a provider's stream; default: `activationLimits.modelSilenceMs`. */
  idleTimeoutMs?: number
  /** Reads a key by the variable that a definition names, when it is not among the settings. */
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
    contextTokens?: number,
  ): Model {
    const identity = JSON.stringify([
      chosen,
      connection.baseUrl,
      connection.keyVariable,
      contextTokens,
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
      idleTimeoutMs: options.idleTimeoutMs ?? activationLimits.modelSilenceMs,
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
    return findOrCreate(known, chosen, connection, choice.contextTokens)
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
): ModelRegistry {
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
  }
}

interface Connection {
  keyVariable: string
  key: string
  baseUrl: string
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

/** Returns a provider's URL and key, or null when its URL or its required key is missing. */
function findConnection(
  known: ModelProvider,
  choice: ModelChoice,
  settings: Settings,
  options: RegistryOptions,
): Connection | null {
  const keyVariable = choice.apiKeyEnv ?? known.keySetting
  const key = readKey(settings, options, keyVariable)
  const baseUrl =
    choice.apiBase ?? readText(settings, known.baseUrlSetting) ?? known.baseUrl(settings)
  if (!baseUrl || (known.needsKey && !key)) return null
  return { keyVariable, key: key ?? '', baseUrl: baseUrl.replace(/\/+$/, '') }
}

function readText(settings: Settings, name: string): string | undefined {
  const value = (settings as Record<string, unknown>)[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function readKey(settings: Settings, options: RegistryOptions, variable: string) {
  if (!keyVariablePattern.test(variable)) return undefined
  return readText(settings, variable) ?? options.readKey?.(variable)
}

import type { Settings } from '../../config'
import { type CatalogueEntry, catalogue, findModel } from './catalogue'
import { type ChosenModel, chooseModel } from './choose-model'
import type { Model, ModelChoice, ModelRegistry } from './model-port'
import { createOfflineModel } from './offline/offline-model'
import { createProviderModel } from './provider-model'
import { type KnownProvider, knownProviders } from './providers/known-providers'
import { type Clock, systemClock } from './watch-silence'
import type { Fetch } from './watched-fetch'

export interface RegistryOptions {
  fetch?: Fetch
  clock?: Clock
  /** Models to add to the catalogue, or to put in place of its entries (B7). */
  models?: Record<string, CatalogueEntry>
  /** Reads a key whose variable a definition names and that is not among the settings. */
  readKey?: (variable: string) => string | undefined
}

/** A definition names a variable; it must not be able to name any other secret. */
const keyVariablePattern = /^[A-Z][A-Z0-9_]*_API_KEY$/

/**
 * The models of this hub. Keys come from the settings only. Models are made when they are first
 * asked for and kept; a choice whose provider has no key gets the offline model.
 */
export function createModelRegistry(
  settings: Settings,
  options: RegistryOptions = {},
): ModelRegistry {
  const models = { ...catalogue, ...options.models }
  const offline = createOfflineModel()
  const made = new Map<string, Model>()

  function findOrMake(
    known: KnownProvider,
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
    const kept = made.get(identity)
    if (kept) return kept
    const found = findModel(chosen.model, models)
    const model = createProviderModel({
      provider: chosen.provider,
      modelName: chosen.model,
      known,
      ...connection,
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      clock: options.clock ?? systemClock,
      limits: { ...found, contextTokens: contextTokens ?? found.contextTokens },
    })
    made.set(identity, model)
    return model
  }

  return {
    resolve(choice) {
      const chosen = chooseModel(choice, settings)
      if (chosen.provider === 'offline') return { model: offline, substitutedFor: null }
      const known = findProvider(chosen.provider)
      const connection = known && findConnection(known, choice, settings, options)
      if (!known || !connection) {
        return { model: offline, substitutedFor: `${chosen.provider}/${chosen.model}` }
      }
      const model = findOrMake(known, chosen, connection, choice.contextTokens)
      return { model, substitutedFor: null }
    },
  }
}

interface Connection {
  keyVariable: string
  key: string
  baseUrl: string
}

const findProvider = (name: string): KnownProvider | undefined =>
  Object.hasOwn(knownProviders, name) ? knownProviders[name] : undefined

/** Null when the provider cannot be called: no key, or nobody said where it is. */
function findConnection(
  known: KnownProvider,
  choice: ModelChoice,
  settings: Settings,
  options: RegistryOptions,
): Connection | null {
  const keyVariable = choice.apiKeyEnv ?? known.keySetting
  const key = readKey(settings, options, keyVariable)
  const baseUrl = choice.apiBase ?? readText(settings, known.baseUrlSetting) ?? known.baseUrl
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

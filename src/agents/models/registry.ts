import type { ModelConnection } from '../../hub/contract/hub'
import type { ModelAccess } from '../../mcp-servers/contract/model-admin'
import type { Settings } from '../../shared/settings'
import { buildCatalogue, withSetPrices } from './build-catalogue'
import { chooseTimeouts } from './call-timeouts'
import { findModel } from './catalogue'
import { findModelProblem } from './check-names'
import {
  type ChosenModel,
  chooseModel,
  findProvider,
  findReservedModel,
  listCandidates,
  parseOverride,
} from './choose-model'
import { modelErrors } from './errors'
import { type Connection, findConnection } from './find-connection'
import type { CallTimeouts, Model, ModelChoice, ModelRegistry, UpstreamFinder } from './model-port'
import { protocolsOf } from './model-protocols'
import { createOfflineModel } from './offline/offline-model'
import { createProviderModel } from './provider-model'
import type { ModelProvider } from './providers/model-providers'
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
function toNotConfigured(provider: string) {
  const known = findProvider(provider)
  const isUrlMissing = known?.needsKey === false
  const setting = isUrlMissing ? known.baseUrlSetting : known?.keySetting
  return modelErrors.notConfigured(provider, setting)
}

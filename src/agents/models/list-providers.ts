import type { ModelConnection } from '../../hub/contract/hub'
import type { ModelAddress } from '../../mcp-servers/contract/model-admin'
import { autoProvider, type Settings } from '../../shared/settings'
import type { ModelPrice, ProviderState } from '../contract/models'
import { buildCatalogue, withSetPrices } from './build-catalogue'
import {
  type Configured,
  isSetByEnvironment,
  isSetUp,
  listCandidates,
  splitModel,
} from './choose-model'
import { type ModelProvider, modelProviders } from './providers/model-providers'

/** Returns the providers with what is set for each, in the order in which a default is chosen. */
export const listProviders = (
  settings: Settings,
  connections: readonly ModelConnection[],
): ProviderState[] =>
  Object.entries(modelProviders).map(([provider, known]) => {
    const stored = connections.find((each) => each.provider === provider)
    const isOfEnvironment = isSetByEnvironment(known, settings)
    const address = readAddress(known, settings)
    return {
      provider,
      title: known.title,
      source: isOfEnvironment ? 'environment' : stored ? 'page' : 'none',
      isReady:
        isSetUp(provider, { settings, connections }) && (address !== null || stored !== undefined),
      needsKey: known.needsKey,
      keySetting: known.keySetting,
      baseUrlSetting: known.baseUrlSetting,
      baseUrl: isOfEnvironment ? address : (stored?.baseUrl ?? address),
      defaultModel: stored?.defaultModel ?? known.defaultModel,
    }
  })

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
            ...{ model, contextTokens, isSetHere: set.has(model) },
            provider: model.startsWith('@cf/') ? 'workers-ai' : splitModel(model).provider,
            ...{ input: prices.input, cached: prices.cached, output: prices.output },
          },
        ],
  )
}

/** Returns where each provider is reached and how it is given its key, for the module that keeps the keys. */
export const listModelAddresses = (settings: Settings): ReadonlyMap<string, ModelAddress> =>
  new Map(
    Object.entries(modelProviders).map(([provider, known]) => [
      provider,
      { baseUrl: readAddress(known, settings), ...known.keyTransport },
    ]),
  )

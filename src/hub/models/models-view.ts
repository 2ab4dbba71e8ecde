import type { ModelApi, ModelPrice, ProviderState } from '../../agents/contract/agents'
import type { ModelConnection } from '../contract/hub'

/** A provider with what is set up and which agents use it. */
export interface ProviderView extends ProviderState {
  hasStoredKey: boolean
  listed: string[]
  /** Agents that prefer a model of the provider, and the model without the provider. */
  users: { name: string; model: string }[]
}

export interface ModelsView {
  providers: ProviderView[]
  /** The models that definitions with `provider: auto` use, the preferred one first. */
  auto: string[]
  prices: ModelPrice[]
  /** Agents that use the built-in offline model. */
  offline: string[]
}

/** Returns the providers of the hub, the models that agents use, and known prices. */
export function toModelsView(
  api: ModelApi,
  connections: ModelConnection[],
  rows: { name: string; models: string }[],
): ModelsView {
  const users = rows.map(({ name, models }) => {
    const [first = ''] = JSON.parse(models) as string[]
    const slash = first.indexOf('/')
    return { name, provider: first.slice(0, slash), model: first.slice(slash + 1) }
  })
  return {
    providers: api.listProviders(connections).map((state) => {
      const stored = connections.find(({ provider }) => provider === state.provider)
      return {
        ...state,
        hasStoredKey: stored?.hasKey ?? false,
        listed: stored?.listed ?? [],
        users: users.filter(({ provider }) => provider === state.provider),
      }
    }),
    auto: api.listAuto(connections),
    prices: api.listPrices(connections),
    offline: users.filter(({ provider }) => provider === 'offline').map(({ name }) => name),
  }
}

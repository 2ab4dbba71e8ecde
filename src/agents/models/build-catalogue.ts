import type { ModelConnection } from '../../hub/contract/hub'
import type { OwnModel } from '../../shared/settings'
import { type CatalogueEntry, catalogue, findModel } from './catalogue'
import type { Prices } from './model-port'

/**
 * Returns the built-in catalogue with the operator's entries merged in. An entry names a model, or
 * `provider/model`; fields that it omits keep their built-in values.
 *
 * @param own from ROOKERY_PRICES: prices in dollars per million tokens
 */
export function buildCatalogue(own: Record<string, OwnModel> = {}): Record<string, CatalogueEntry> {
  const models = { ...catalogue }
  for (const [name, entry] of Object.entries(own)) {
    const key = name.toLowerCase()
    const slash = key.indexOf('/')
    const known = Object.hasOwn(models, key) ? models[key] : findModel(key.slice(slash + 1), models)
    models[key] = merge(known ?? findModel(key, models), entry)
  }
  return models
}

/**
 * Returns a catalogue with the prices that admins set. What writing to the cache costs stays in its ratio to
 * input; a model without a price gets no surcharge for it.
 */
export function withSetPrices(
  models: Record<string, CatalogueEntry>,
  connections: readonly Pick<ModelConnection, 'provider' | 'prices'>[],
): Record<string, CatalogueEntry> {
  const priced = connections.flatMap(({ provider, prices }) =>
    Object.entries(prices).map(([model, price]): [string, CatalogueEntry] => {
      const { similarTo: _, ...known } = findModel(model, models, provider)
      const { input = 0, cacheWrite = input } = known.prices ?? {}
      const surcharge = input > 0 ? cacheWrite / input : 1
      const prices = { ...price, cacheWrite: Math.round(price.input * surcharge) }
      return [`${provider}/${model.toLowerCase()}`, { ...known, prices }]
    }),
  )
  return { ...models, ...Object.fromEntries(priced) }
}

function merge(known: CatalogueEntry, own: OwnModel): CatalogueEntry {
  return {
    contextTokens: own.contextTokens ?? known.contextTokens,
    outputTokensMax: own.outputTokensMax ?? known.outputTokensMax,
    prices: own.prices === undefined ? known.prices : own.prices && toPrices(own.prices),
  }
}

/** Converts prices to micro-dollars; `cached` and `cacheWrite` default to `input`. */
function toPrices({ input, cached, cacheWrite, output }: NonNullable<OwnModel['prices']>): Prices {
  const micro = (amount: number) => Math.round(amount * 1_000_000)
  return {
    input: micro(input),
    cached: micro(cached ?? input),
    cacheWrite: micro(cacheWrite ?? input),
    output: micro(output),
  }
}

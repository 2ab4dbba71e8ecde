import type { ModelConnection } from '../../hub/contract/hub'
import { activationLimits } from '../../shared/config'
import type { OwnModel } from '../../shared/settings'
import type { ModelUsage } from '../loop/message'
import type { Prices } from './model-port'

/** Limits and prices of a model. */
interface CatalogueEntry {
  /** Tokens of prompt and answer together. */
  contextTokens: number
  outputTokensMax: number
  /** Null when the price is unknown, which is not the same as free. */
  prices: Prices | null
  /** Whether it takes images; absent: no. */
  seesImages?: boolean
}

/** Returns prices in micro-dollars from dollars per million tokens, as providers publish them. */
function dollars(input: number, cached: number, output: number, cacheWrite = input): Prices {
  const micro = (amount: number) => Math.round(amount * 1_000_000)
  return {
    input: micro(input),
    cached: micro(cached),
    cacheWrite: micro(cacheWrite),
    output: micro(output),
  }
}

const entry = (
  contextTokens: number,
  outputTokensMax: number,
  prices: Prices | null,
): CatalogueEntry => ({ contextTokens, outputTokensMax, prices })

/** A model that takes images. */
const seeing = (...of: Parameters<typeof entry>): CatalogueEntry => ({
  ...entry(...of),
  seesImages: true,
})

/**
 * Models by name without their provider. Prices are the standard tariffs of the providers
 * (platform.claude.com and developers.openai.com, pricing pages, November 2026). Some models cost
 * more beyond a prompt length: their context here ends where the higher tariff begins.
 * The price of an open model depends on its host, so these have limits and no price.
 */
export const catalogue: Record<string, CatalogueEntry> = {
  'claude-fable-5-1': seeing(1_000_000, 128_000, dollars(10, 0.25, 50, 12.5)),
  'claude-fable-5': seeing(1_000_000, 128_000, dollars(10, 1, 50, 12.5)),
  'claude-opus-5-5': seeing(1_000_000, 128_000, dollars(4, 0.2, 20, 5)),
  'claude-opus-5': seeing(1_000_000, 128_000, dollars(5, 0.5, 25, 6.25)),
  'claude-opus-4-8': seeing(200_000, 128_000, dollars(5, 0.5, 25, 6.25)),
  'claude-opus-4-7': seeing(200_000, 128_000, dollars(5, 0.5, 25, 6.25)),
  'claude-opus-4-6': seeing(200_000, 128_000, dollars(5, 0.5, 25, 6.25)),
  'claude-opus-4-5': seeing(200_000, 64_000, dollars(5, 0.5, 25, 6.25)),
  'claude-opus-4-1': seeing(200_000, 32_000, dollars(15, 1.5, 75, 18.75)),
  'claude-opus-4': seeing(200_000, 32_000, dollars(15, 1.5, 75, 18.75)),
  'claude-sonnet-5-5': seeing(1_000_000, 128_000, dollars(2, 0.1, 10, 2.5)),
  'claude-sonnet-5': seeing(1_000_000, 128_000, dollars(2, 0.2, 10, 2.5)),
  'claude-sonnet-4-6': seeing(200_000, 64_000, dollars(3, 0.3, 15, 3.75)),
  'claude-sonnet-4-5': seeing(200_000, 64_000, dollars(3, 0.3, 15, 3.75)),
  'claude-sonnet-4': seeing(200_000, 64_000, dollars(3, 0.3, 15, 3.75)),
  'claude-haiku-5-5': seeing(100_000, 64_000, dollars(0.1, 0.01, 0.5, 0.125)),
  'claude-haiku-4-5': seeing(200_000, 64_000, dollars(1, 0.1, 5, 1.25)),

  'gpt-6-astra': seeing(272_000, 128_000, dollars(10, 1, 50, 12.5)),
  'gpt-6-sol': seeing(272_000, 128_000, dollars(2, 0.2, 10, 2.5)),
  'gpt-6-luna': seeing(272_000, 128_000, dollars(0.1, 0.01, 0.5, 0.125)),
  'gpt-5.6-sol': seeing(272_000, 128_000, dollars(4, 0.4, 20, 5)),
  'gpt-5.6-terra': seeing(272_000, 128_000, dollars(2, 0.2, 12, 2.5)),
  'gpt-5.6-luna': seeing(272_000, 128_000, dollars(0.2, 0.02, 1.2, 0.25)),
  'gpt-5.4': seeing(272_000, 128_000, dollars(2.5, 0.25, 15)),
  'gpt-5.4-mini': seeing(272_000, 128_000, dollars(0.75, 0.075, 4.5)),
  'gpt-5.2-codex': seeing(272_000, 128_000, dollars(1.75, 0.175, 14)),
  'gpt-5.2': seeing(272_000, 128_000, dollars(1.75, 0.175, 14)),
  'gpt-5.1-codex': seeing(272_000, 128_000, dollars(1.25, 0.125, 10)),
  'gpt-5.1': seeing(272_000, 128_000, dollars(1.25, 0.125, 10)),
  'gpt-5-codex': seeing(272_000, 128_000, dollars(1.25, 0.125, 10)),
  'gpt-5': seeing(272_000, 128_000, dollars(1.25, 0.125, 10)),
  'gpt-5-mini': seeing(272_000, 128_000, dollars(0.25, 0.025, 2)),
  'gpt-5-nano': seeing(272_000, 128_000, dollars(0.05, 0.005, 0.4)),
  'gpt-4.1': seeing(1_047_576, 32_768, dollars(2, 0.5, 8)),
  'gpt-4.1-mini': seeing(1_047_576, 32_768, dollars(0.4, 0.1, 1.6)),
  'gpt-4.1-nano': seeing(1_047_576, 32_768, dollars(0.1, 0.025, 0.4)),
  'gpt-4o': seeing(128_000, 16_384, dollars(2.5, 1.25, 10)),
  // It sees, and counts an image as up to 48,000 tokens, far above the bound that every other model keeps.
  'gpt-4o-mini': entry(128_000, 16_384, dollars(0.15, 0.075, 0.6)),
  o3: seeing(200_000, 100_000, dollars(2, 0.5, 8)),
  'o4-mini': seeing(200_000, 100_000, dollars(1.1, 0.275, 4.4)),

  'gpt-oss-120b': entry(131_072, 32_768, null),
  'gpt-oss-20b': entry(131_072, 32_768, null),
  'llama-4': seeing(131_072, 8_192, null),
  'llama-3.3': entry(131_072, 8_192, null),
  'llama-3.1': entry(131_072, 8_192, null),
  qwen3: entry(131_072, 32_768, null),
  'qwen3-vl': seeing(131_072, 32_768, null),
  'qwen2.5': entry(32_768, 8_192, null),
  'qwen2.5-vl': seeing(32_768, 8_192, null),
  'deepseek-v3': entry(128_000, 8_192, null),
  'deepseek-r1': entry(128_000, 32_768, null),
  'mistral-small': entry(131_072, 8_192, null),
  'gemma-3': seeing(131_072, 8_192, null),

  // As served by Workers AI, with its own context windows (developers.cloudflare.com/workers-ai/models).
  '@cf/zai-org/glm-4.7-flash': entry(131_072, 8_192, dollars(0.0605, 0.0605, 0.4)),
  '@cf/openai/gpt-oss-120b': entry(128_000, 8_192, dollars(0.35, 0.35, 0.75)),
  '@cf/openai/gpt-oss-20b': entry(128_000, 8_192, dollars(0.2, 0.2, 0.3)),
  '@cf/meta/llama-3.3-70b-instruct-fp8-fast': entry(24_000, 4_096, dollars(0.293, 0.293, 2.253)),
  '@cf/qwen/qwen3-30b-a3b-fp8': entry(32_768, 8_192, null),
}

const unknownModel: CatalogueEntry = {
  contextTokens: activationLimits.contextTokensFallback,
  outputTokensMax: activationLimits.outputTokens,
  prices: null,
}

const isWordCharacter = (character: string | undefined) =>
  character !== undefined && /[a-z0-9]/.test(character)

/** Whether `text` has `part` at `at` as a whole word: `o3` is not in `foo32`. */
function isWholeWordAt(text: string, part: string, at: number): boolean {
  return !isWordCharacter(text[at - 1]) && !isWordCharacter(text[at + part.length])
}

/** What stands for a version of the same model at the same price: a date, or the newest. */
const version = /(-\d{4}-\d\d-\d\d|-\d{8}|-latest|@(\d{4}-?\d\d-?\d\d|latest|default))$/

interface FoundModel extends CatalogueEntry {
  /** The entry with a price that the name is nearest to; only for a model without a price. */
  similarTo?: string
}

/**
 * Returns limits and prices of a model by its exact name, with its provider or without, and with a version's date or
 * without. Limits are also those of the longest entry that the name starts with, then of the longest that it
 * contains (`vendor/model` names of resellers); a price is not, since a variant of a model can cost a multiple
 * of it. Otherwise: no price, 8,192 tokens of context.
 */
export function findModel(name: string, models = catalogue, provider = ''): FoundModel {
  const wanted = name.toLowerCase()
  const key = [wanted, wanted.replace(version, '')]
    .flatMap((each) => [`${provider}/${each}`, each])
    .find((each) => Object.hasOwn(models, each))
  const exact = key === undefined ? undefined : models[key]
  if (exact) return exact
  const found = findSimilar(wanted, Object.keys(models))
  const similar = found === undefined ? undefined : models[found]
  if (found === undefined || !similar) return unknownModel
  return { ...similar, prices: null, ...(similar.prices && { similarTo: found }) }
}

function findSimilar(wanted: string, names: string[]): string | undefined {
  const byLength = names.sort((a, b) => b.length - a.length)
  const prefix = byLength.find((each) => wanted.startsWith(each) && isWholeWordAt(wanted, each, 0))
  return (
    prefix ??
    byLength.find((each) => {
      const at = wanted.indexOf(each)
      return at > 0 && isWholeWordAt(wanted, each, at)
    })
  )
}

/**
 * Returns the cost of a call in whole micro-dollars, rounded up so that a budget is never charged
 * less than the provider charges. Zero for a model without prices, which pages show as unpriced.
 */
export function calculateCost(prices: Prices | null, usage: ModelUsage): number {
  if (prices === null) return 0
  const cached = Math.min(usage.cachedTokens, usage.inputTokens)
  const written = Math.min(usage.cacheWriteTokens ?? 0, usage.inputTokens - cached)
  const plain = usage.inputTokens - cached - written
  const millionths =
    plain * prices.input +
    cached * prices.cached +
    written * (prices.cacheWrite ?? prices.input) +
    usage.outputTokens * prices.output
  return Math.ceil(millionths / 1_000_000)
}

/**
 * Returns the maximum cost of a call in whole micro-dollars: the whole prompt at its highest price
 * and an answer of full length. Reservations use it, and charges for answers that were lost.
 */
export function calculateCostMax(
  prices: Prices | null,
  promptTokens: number,
  outputTokensMax: number,
): number {
  if (prices === null) return 0
  const { output } = prices
  return Math.ceil((promptTokens * highestInput(prices) + outputTokensMax * output) / 1_000_000)
}

const highestInput = ({ input, cacheWrite = 0, cached }: Prices): number =>
  Math.max(input, cacheWrite, cached)

/** Returns the longest answer for which a call costs at most this many micro-dollars; negative when the prompt does not fit. */
export function calculateOutputMax(
  prices: Prices | null,
  promptTokens: number,
  microusd: number,
): number {
  if (prices === null) return Number.POSITIVE_INFINITY
  const left = microusd * 1_000_000 - promptTokens * highestInput(prices)
  if (prices.output > 0) return Math.floor(left / prices.output)
  return left < 0 ? -1 : Number.POSITIVE_INFINITY
}

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
  const seesImages = own.seesImages ?? known.seesImages ?? false
  return {
    ...(seesImages && { seesImages }),
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

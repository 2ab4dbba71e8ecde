import type { KeyProblem, ModelConnection } from '../../hub/contract/models'

/** Where the key of a provider, or the address of one without a key, comes from; `binding`: the platform needs neither. */
type ProviderSource = 'environment' | 'page' | 'binding' | 'none'

export interface ProviderState {
  /** The first half of `provider/model`. */
  provider: string
  title: string
  source: ProviderSource
  /** Whether agents can use it. */
  isReady: boolean
  /** Why agents do not use the key that an admin set; null: they do, or there is none. */
  keyProblem: KeyProblem | null
  needsKey: boolean
  /** The environment variable of its key, and that of its base URL. */
  keySetting: string
  baseUrlSetting: string
  /** Where requests go; null: no address is set. */
  baseUrl: string | null
  /** The model of definitions that name none, without the provider; null: there is none. */
  defaultModel: string | null
  /** The most that a test call to that model takes; null without one. */
  testCost: TestCost | null
}

/** In tokens, and in micro-dollars; null: the price is unknown. */
export interface TestCost {
  tokens: number
  microusd: number | null
}

/** A model with a known price, in micro-dollars per million tokens. */
export interface ModelPrice {
  /** The provider by the model's name. */
  provider: string
  model: string
  contextTokens: number
  /** Whether an admin set it on the page. */
  isSetHere: boolean
  input: number
  cached: number
  output: number
}

/** The most that a test call can take, before it is made. */
interface TrialPlan {
  /** `provider/model`. */
  model: string
  microusd: number
  tokens: number
}

/** The usage and cost of one model call. */
export interface CallUsage {
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  reasoningTokens: number
  microusd: number
  isPriced: boolean
  isEstimated: boolean
  durationMs: number
}

export interface TrialResult {
  /** Null when the provider served nothing. */
  usage: CallUsage | null
  durationMs: number
  /** The beginning of the answer; empty when the call failed. */
  text: string
  /** Why the call failed, for people; null when it succeeded. */
  failure: string | null
  /** What the failure says of the key; null when the call succeeded. */
  problem: KeyProblem | null
}

/** Model providers as the hub shows them, and a call that tests one. */
export interface ModelApi {
  /** In the order in which a definition that names no model takes them. */
  listProviders(connections: readonly ModelConnection[]): ProviderState[]
  /** The models that definitions with `provider: auto` can use, the preferred one first. */
  listAuto(connections: readonly ModelConnection[]): string[]
  listPrices(connections: readonly ModelConnection[]): ModelPrice[]
  /** Returns the prices of models of a provider; null: unknown. */
  findPrices(
    provider: string,
    models: readonly string[],
    connections: readonly ModelConnection[],
  ): (Pick<ModelPrice, 'input' | 'output'> | null)[]
  /** @throws VALIDATION for a model that this hub cannot call */
  planTrial(model: string, connections: readonly ModelConnection[]): TrialPlan
  /** Makes one short call, also with a key that agents do not use. Never throws for a failure of the provider. */
  tryModel(model: string, connections: readonly ModelConnection[]): Promise<TrialResult>
}

import type { Expression, Statement } from '../../shared/db/statement'

/** A price that an admin set, in micro-dollars per million tokens. */
export interface SetPrice {
  input: number
  cached: number
  output: number
}

/** How the hub reaches a provider that admins set up on a page. Its key is encrypted. */
export interface ModelConnection {
  /** The first half of `provider/model`. */
  provider: string
  baseUrl: string
  hasKey: boolean
  /** The model of definitions that name none; null: the default of the provider. */
  defaultModel: string | null
  /** Models that the provider listed when it was last asked. */
  listed: string[]
  /** Prices that an admin set, by the name of the model. They count whatever the environment sets. */
  prices: Record<string, SetPrice>
  /** Another value after each change of key or address. */
  revision: string
  /** Only the module of tools can read it. */
  sealed: unknown
}

/** Connections as SQL, so that LOAD and RENEW read them in their own round trip. */
export interface ModelStore {
  selectConnections(): Statement<ModelConnection[]>
  /** Selects whether there is any. */
  selectHasConnections(): Statement<boolean>
  /** All connections as one value of a row. */
  connectionsSql: Expression
  /** Returns the connections in that value; none for null. */
  readConnections(value: string | null): ModelConnection[]
}

/** What the module of tools reports to the hub about what definitions depend on. */
export interface DefinitionChangeApi {
  /** Reads again which models each agent can use, because a provider was changed. */
  refreshModels(): Promise<void>
  /** Checks the definitions that name a tool server again, because its tools were changed. */
  refreshWarnings(server: string): Promise<void>
}

import type { Expression, Statement } from '../../shared/db/statement'
import type { Sender } from './access'

/** A price that an admin set, in micro-dollars per million tokens. */
export interface SetPrice {
  input: number
  cached: number
  output: number
}

/**
 * Why agents do not use the key of a provider: no test of it was made, the provider refused it, was busy or limited
 * requests, did not answer, or the test call failed otherwise.
 */
export type KeyProblem = 'untested' | 'refused' | 'busy' | 'unreachable' | 'failed'

/** How the hub reaches a provider that admins set up on a page. Its key is encrypted. */
export interface ModelConnection {
  /** The first half of `provider/model`. */
  provider: string
  baseUrl: string
  hasKey: boolean
  /** Agents do not use a connection with a problem; null: they do. */
  keyProblem: KeyProblem | null
  /** The platform's binding answers, which needs no key. */
  isBinding?: true
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
  /** Selects whether agents can use any. */
  selectHasConnections(): Statement<boolean>
  /** All connections as one value of a row. */
  connectionsSql: Expression
  /**
   * Records what a test said of the key of a connection: nothing when the key was replaced meanwhile, and a failure
   * only of a key that has not worked yet.
   */
  recordKeyTest(connection: ModelConnection, problem: KeyProblem | null): Statement<void>
  /** Returns the connections in that value; none for null. */
  readConnections(value: string | null): ModelConnection[]
}

/** Tests a model of a provider whose key was set. */
export interface ModelTestApi {
  /**
   * Makes one short call, paid by the budgets, and keeps its result for the page of models; once for each key.
   *
   * @param key that the page finds the result by
   * @returns false: the provider has no model to call
   */
  testProvider(admin: Pick<Sender, 'id'>, provider: string, key: string): Promise<boolean>
}

/** What the module of tools reports to the hub about what definitions depend on. */
export interface DefinitionChangeApi {
  /** Reads again which models each agent can use, because a provider was changed. */
  refreshModels(): Promise<void>
  /** Checks the definitions that name a tool server again, because its tools were changed. */
  refreshWarnings(server: string): Promise<void>
}

/** Outages of model providers. Part of the hub's contract; other modules import it from `contract.ts`. */

/** A model provider that is down. */
export interface ProviderOutage {
  /** Display name. */
  provider: string
  /** Base URL, without credentials and query; identifies the outage. */
  address: string
  /** The setting, or the field of the definition, that holds the address. */
  setting: string
  /** How often the activation has parked for it; more than once: it was resumed to try again. */
  parks: number
}

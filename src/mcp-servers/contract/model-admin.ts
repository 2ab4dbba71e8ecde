import * as z from 'zod'
import type { ModelConnection, Sender, SetPrice } from '../../hub/contract/hub'
import type { Statement } from '../../shared/db/statement'
import { knownFields } from '../../shared/known-fields'

/**
 * The API of model providers to the pages about them, and of their keys to the model calls of agents. No
 * function takes or returns a key: forms with a key go to form routes of this module. Types only.
 */

/** Where and how a provider is reached. */
export interface ModelAddress {
  /** Null: an admin has to set it. */
  baseUrl: string | null
  /** The header with the key: as it is, or as a bearer token in `authorization`. */
  keyHeader: 'x-api-key' | 'authorization'
  /** Path below the base URL that lists the models; null: there is none. */
  modelsPath: string | null
  /** Further headers of requests to that path. */
  headers?: Record<string, string>
}

/** A provider as admins set it up. */
export interface ModelProviderSummary {
  provider: string
  /** Null: the built-in one. */
  baseUrl: string | null
  allowPrivate: boolean
  hasKey: boolean
  /** When and by whom the key was set. */
  keySetAt: number | null
  keySetBy: string | null
  defaultModel: string | null
  /** Models that the provider listed when it was last asked. */
  listed: string[]
  listedAt: number | null
  /** Prices that an admin set, by the name of the model. */
  prices: Record<string, SetPrice>
}

/** Address and default model of a provider, as a form or the API submits them. Absent fields stay. */
export interface ModelProviderInput {
  /** Empty: the built-in one. */
  base_url?: string | undefined
  allow_private?: boolean | undefined
  /** Empty: the default of the provider. */
  default_model?: string | undefined
}

/** A price as a form or the API submits it. */
export interface ModelPriceInput {
  /** The model, with or without its provider. */
  model: string
  price: SetPrice | null
}

/** A server of models that answers on this machine. */
export interface LocalModelServer {
  name: string
  /** Of its Chat Completions API. */
  baseUrl: string
  /** At least one; those that chat come first. */
  models: string[]
}

/** The admin who changes something. */
type Admin = Pick<Sender, 'id' | 'name' | 'keyId'>

/** Every function throws VALIDATION or NOT_FOUND; callers check access. */
export interface ModelAdminApi {
  selectProviders(): Statement<ModelProviderSummary[]>
  /**
   * Sets address and default model.
   *
   * @param listed the models that the provider has, where they are known already
   */
  putProvider(
    admin: Admin,
    provider: string,
    input: ModelProviderInput,
    listed?: string[],
  ): Promise<void>
  /** Lets agents use the key of a provider whose test has not succeeded. */
  useKey(admin: Admin, provider: string): Promise<void>
  /** Sets the price of a model of the provider, or with null returns to the one it has without. */
  putPrice(admin: Admin, provider: string, input: ModelPriceInput): Promise<void>
  /** Deletes key, address, default model and prices. */
  deleteProvider(admin: Admin, provider: string): Promise<void>
  /** Whether the hub runs on the machine of the people who use it, so that a loopback address is theirs. */
  isOwnMachine: boolean
  /** Looks for servers of models on this machine; none, and no request, where others reach the hub. */
  findLocalServers(): Promise<LocalModelServer[]>
  /** Sets up a server that `findLocalServers` finds, with one of its models as the default. */
  useLocalServer(admin: Admin, server: string, model: string): Promise<void>
  /** Asks the provider for its models, and stores their names. */
  listModels(admin: Admin, provider: string): Promise<string[]>
}

/** Sends the requests of model calls with a key that the caller never sees. */
export interface ModelAccess {
  open(connection: ModelConnection): OpenedConnection
}

export interface OpenedConnection {
  /**
   * Sends a request with the key, to the address that the key was set for and no other.
   *
   * @throws AppError when the address is refused or the key cannot be read
   */
  fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response>
  /** Redacts the key. */
  redact(text: string): string
}

/** At most 10,000 dollars per million tokens. */
const amountMax = 10_000_000_000

const amount = z.int().min(0).max(amountMax).describe('Micro-dollars per million tokens.')

const modelName = z
  .string()
  .trim()
  .min(1)
  .max(160)
  .regex(/^[\x21-\x7e]+$/, 'Must be the name of a model')
  .describe('The model, with or without its provider.')

/** The model whose price an admin resets. */
export const modelNameInput = knownFields({ model: modelName })

/** The price of a model as an admin submits it. */
export const modelPriceInput = modelNameInput.extend({
  input: amount,
  cached: amount,
  output: amount,
})

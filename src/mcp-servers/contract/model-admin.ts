/**
 * The API of model providers to the pages about them, and of their keys to the model calls of agents. No
 * function takes or returns a key: forms with a key go to form routes of this module. Types only.
 */
import type { ModelConnection, Sender, SetPrice } from '../../hub/contract/hub'
import type { Statement } from '../../shared/db/statement'

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

/** The admin who changes something. */
type Admin = Pick<Sender, 'id' | 'name' | 'keyId'>

/** Every function throws VALIDATION or NOT_FOUND; callers check access. */
export interface ModelAdminApi {
  selectProviders(): Statement<ModelProviderSummary[]>
  /** Sets address and default model. */
  putProvider(admin: Admin, provider: string, input: ModelProviderInput): Promise<void>
  /** Sets the price of a model of the provider, or with null returns to the one it has without. */
  putPrice(admin: Admin, provider: string, input: ModelPriceInput): Promise<void>
  /** Deletes key, address, default model and prices. */
  deleteProvider(admin: Admin, provider: string): Promise<void>
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

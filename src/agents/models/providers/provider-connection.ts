import type { Fetch } from '../watched-fetch'

/** Connection settings of a provider's model. */
export interface ProviderConnection {
  /** Without a trailing slash. */
  baseUrl: string
  /** Empty when the server requires none. */
  key: string
  modelName: string
  fetch: Fetch
}

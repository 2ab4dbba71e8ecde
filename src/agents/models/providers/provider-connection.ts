import type { Fetch } from '../watched-fetch'

/** What a provider's package needs to speak to it. */
export interface ProviderConnection {
  /** Without a slash at its end. */
  baseUrl: string
  /** Empty where the server needs none. */
  key: string
  modelName: string
  fetch: Fetch
}

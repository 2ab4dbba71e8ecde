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

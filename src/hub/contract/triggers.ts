/** A trigger, as far as its secret depends on it. */
export interface TriggerKey {
  id: string
  verify: 'standard' | 'github' | 'bearer'
  secretVersion: number
  /** The secrets before are accepted until these times, the newest first. */
  oldSecretsUntil: readonly number[]
}

/** A request to a trigger, as it arrived. */
export interface SentDelivery {
  body: Uint8Array<ArrayBuffer>
  header(name: string): string | undefined
}

/** `late`: signed with the right secret, for a time that is too far from now. */
export type DeliveryVerdict = 'valid' | 'signature' | 'late'

/** The secrets of triggers. They are derived from the vault key and stored nowhere. */
export interface TriggerSecrets {
  /** Returns the current secret of a trigger; null when the hub has no vault key. */
  read(trigger: TriggerKey): Promise<string | null>
  /** Returns whether who sent a delivery has the secret of the trigger. */
  check(trigger: TriggerKey, delivery: SentDelivery, now: number): Promise<DeliveryVerdict>
}

import type { CallUsage } from '../contract/agents'

/** The cost of one model call, or its worst case when the answer was lost. */
export interface Charge extends CallUsage {
  /** The model that was called; absent in older records. */
  model?: string
  /** What the call took beyond its reservation, because the provider counted more input tokens. */
  overrun?: { tokens: number; microusd: number }
  /** Why the charge differs from the usage that the provider reported, as a sentence. */
  doubt?: string
}

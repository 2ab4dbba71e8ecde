import { turns } from '../../config'

/**
 * Whose turn it is to look around (S1, S7). Pure: the scheduler's object and the simulator keep the
 * agents that are eligible in tiers of weight, each ordered by (last activated, id), and ask this.
 */

/** The stalest eligible agent of a tier. */
export interface Head<Id> {
  id: Id
  tier: number
  /** 0 when it never ran: then it goes before every agent of its tier that did. */
  lastActivatedAt: number
}

const spread = Math.log(turns.weightMax / turns.weightMin)
const lastTier = turns.weightTiers - 1

/** The tier whose weight is nearest by logarithm; 0 holds the lightest. */
export function tierOf(weight: number): number {
  const share = Math.log(Math.max(weight, turns.weightMin) / turns.weightMin) / spread
  return Math.min(lastTier, Math.round(share * lastTier))
}

/** The weight that stands for a tier. */
export const tierWeight = (tier: number): number =>
  turns.weightMin * Math.exp((spread * tier) / lastTier)

const weights = Array.from({ length: turns.weightTiers }, (_, tier) => tierWeight(tier))

/** What a turn is worth: `w * h * (h + 1) / 2`, where h is staleness in slots. */
export const computeIndex = (weight: number, slots: number): number =>
  (weight * slots * (slots + 1)) / 2

/**
 * The head whose turn is worth most. Within a tier the head is the stalest, and the index grows with
 * staleness, so comparing heads compares everybody. Between equals the heavier tier goes first.
 */
export function pick<Id>(
  heads: readonly Head<Id>[],
  now: number,
  index: (weight: number, slots: number) => number = computeIndex,
): Head<Id> | null {
  let best: Head<Id> | null = null
  let bestIndex = -1
  for (const head of heads) {
    const slots = Math.max(0, now - head.lastActivatedAt) / turns.slotMs
    const value = index(weights[head.tier] ?? 1, slots)
    const isBetter = value > bestIndex || (value === bestIndex && head.tier > (best?.tier ?? -1))
    if (isBetter) {
      best = head
      bestIndex = value
    }
  }
  return best
}

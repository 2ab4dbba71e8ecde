import { explorationScheduling } from '../../shared/config'

/**
 * Selects the agent that explores next. Pure: the scheduler's object and the simulator keep eligible
 * agents in tiers of weight, each ordered by (last explored, id), and pass the head of each tier.
 */

/** The stalest eligible agent of a tier. */
export interface TierHead<Id> {
  id: Id
  tier: number
  /** 0 when the agent never explored: it then precedes all agents of its tier that did. */
  lastExploredAt: number
}

const spread = Math.log(explorationScheduling.weightMax / explorationScheduling.weightMin)
const lastTier = explorationScheduling.weightTiers - 1

/** Returns the tier whose weight is nearest by logarithm; 0 is the lightest. */
export function tierOf(weight: number): number {
  const share =
    Math.log(Math.max(weight, explorationScheduling.weightMin) / explorationScheduling.weightMin) /
    spread
  return Math.min(lastTier, Math.round(share * lastTier))
}

/** Returns the weight of a tier. */
export const tierWeight = (tier: number): number =>
  explorationScheduling.weightMin * Math.exp((spread * tier) / lastTier)

const weights = Array.from({ length: explorationScheduling.weightTiers }, (_, tier) =>
  tierWeight(tier),
)

/** Returns the priority index of an agent: `w * h * (h + 1) / 2`, where h is staleness in slots. */
export const computeIndex = (weight: number, slots: number): number =>
  (weight * slots * (slots + 1)) / 2

/**
 * Returns the head with the highest index; null when there are none. Within a tier the head is the
 * stalest, and the index grows with staleness, so the heads are the only candidates. The heavier tier
 * wins a tie.
 */
export function pick<Id>(
  heads: readonly TierHead<Id>[],
  now: number,
  index: (weight: number, slots: number) => number = computeIndex,
): TierHead<Id> | null {
  let best: TierHead<Id> | null = null
  let bestIndex = -1
  for (const head of heads) {
    const slots = Math.max(0, now - head.lastExploredAt) / explorationScheduling.slotMs
    const value = index(weights[head.tier] ?? 1, slots)
    const isBetter = value > bestIndex || (value === bestIndex && head.tier > (best?.tier ?? -1))
    if (isBetter) {
      best = head
      bestIndex = value
    }
  }
  return best
}

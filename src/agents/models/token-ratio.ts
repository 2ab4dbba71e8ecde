/**
 * How many tokens a provider counts for each token of our estimate, learned per agent and model: the
 * tokenizer, the language of the threads and what the provider adds decide it.
 */
export interface TokenRatio {
  /** Of the recent calls, the newest counting most. */
  mean: number
  /** Upper bound for the next call: rises at once, and falls slowly. */
  high: number
}

/** Before a provider has counted anything. */
export const unknownRatio: TokenRatio = { mean: 1, high: 1.6 }

/** Share by which a call moves the mean, and by which a lower one moves the upper bound. */
const share = { mean: 0.2, high: 0.1 }

/** Added to a count that raises the upper bound, since the next prompt differs. */
const margin = 1.05

/** Bounds of what one call can teach: a broken server must not make every later call unaffordable. */
const range = { min: 0.05, max: 8 }

/** Returns the ratio after a provider has counted a prompt. */
export function learnRatio(
  before: TokenRatio | null,
  countedTokens: number,
  estimatedTokens: number,
): TokenRatio {
  const counted = countedTokens / Math.max(1, estimatedTokens)
  const ratio = Math.min(range.max, Math.max(range.min, counted))
  const bound = ratio * margin
  const { mean, high } = before ?? { mean: ratio, high: unknownRatio.high }
  return {
    mean: round(mean + (ratio - mean) * share.mean),
    high: round(bound > high ? bound : high - (high - bound) * share.high),
  }
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000

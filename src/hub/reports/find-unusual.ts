import { reports } from '../../config'

/** What an agent used on one day. */
export interface DayOfUse {
  costMicrousd: number
  tokens: number
}

export interface Unusual {
  measure: keyof DayOfUse
  /** The agent's usual day. */
  usual: number
  /** How many times that it has used today. */
  times: number
}

/**
 * Whether an agent uses far more today than it usually does (B9). Usual is the median of the days on
 * which it worked: a few wild days, such as the last ones of this kind, do not become the habit, and
 * days of rest do not count. Money first; tokens for models without a price.
 *
 * @param history the days before on which it worked, in any order
 */
export function findUnusual(today: DayOfUse, history: readonly DayOfUse[]): Unusual | null {
  if (history.length < reports.usualDaysMin || today.tokens < reports.unusualTokensMin) return null
  for (const measure of ['costMicrousd', 'tokens'] as const) {
    const usual = median(history.map((day) => day[measure]))
    if (usual > 0 && today[measure] >= reports.unusualFactor * usual) {
      return { measure, usual, times: today[measure] / usual }
    }
  }
  return null
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}

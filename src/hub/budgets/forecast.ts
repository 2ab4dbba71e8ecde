import { toUsableLimit } from './levels'

const DAY_MS = 86_400_000

/** A budget in its current window. */
export interface ForecastBudget {
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  /** Share of a limit beyond which only tasks of critical priority can spend. */
  criticalShare: number
  /** Something is left, but less than the last refused call of this window could take. */
  isRefusing: boolean
  /** Null: no window is open. */
  startsAt: number | null
  endsAt: number | null
}

export interface Forecast {
  /**
   * `unknown`: no usage in this window. `unlimited`: no limit is set. `exhausted`: nothing is left, or
   * too little for a call that was refused.
   */
  state: 'unknown' | 'unlimited' | 'lasts' | 'runs_out' | 'exhausted'
  microusdPerDay: number
  tokensPerDay: number
  /** By the end of the window, ignoring limits. */
  expectedMicrousd: number
  expectedTokens: number
  /** When non-critical tasks have used their part of a limit; null when not within this window. */
  exhaustedAt: number | null
  /** Usage now and at the end of the window; only the former when no window is open. */
  path: { at: number; microusd: number; tokens: number }[]
}

/** Returns the part of a limit that non-critical tasks can use; infinite without a limit. */
const findUsable = (limit: number | null, budget: ForecastBudget): number =>
  limit === null ? Number.POSITIVE_INFINITY : toUsableLimit(limit, budget)

/**
 * Returns the forecast of a budget from its run rate: what is spent so far over the elapsed time of the
 * window, projected to its end. The projection continues beyond the limit, although an exhausted budget
 * stops spending.
 */
export function computeForecast(budget: ForecastBudget, now: number): Forecast {
  const { spentMicrousd, spentTokens, startsAt, endsAt } = budget
  const elapsedMs = startsAt === null ? 0 : now - startsAt
  const rate = (spent: number) => (elapsedMs > 0 ? spent / elapsedMs : 0)
  const microusdPerMs = rate(spentMicrousd)
  const tokensPerMs = rate(spentTokens)
  const project = (at: number) => ({
    at,
    microusd: spentMicrousd + microusdPerMs * (at - now),
    tokens: spentTokens + tokensPerMs * (at - now),
  })
  const end = project(Math.max(now, endsAt ?? now))
  const usableMicrousd = findUsable(budget.limitMicrousd, budget)
  const usableTokens = findUsable(budget.limitTokens, budget)
  const exhaustedAt =
    now +
    Math.min(
      findCrossing(usableMicrousd - spentMicrousd, microusdPerMs),
      findCrossing(usableTokens - spentTokens, tokensPerMs),
    )
  const state = findState()
  return {
    state,
    microusdPerDay: Math.round(microusdPerMs * DAY_MS),
    tokensPerDay: Math.round(tokensPerMs * DAY_MS),
    expectedMicrousd: Math.round(end.microusd),
    expectedTokens: Math.round(end.tokens),
    exhaustedAt:
      state === 'exhausted'
        ? Math.min(exhaustedAt, now)
        : state === 'runs_out'
          ? exhaustedAt
          : null,
    path: end.at > now ? [project(now), end] : [end],
  }

  function findState(): Forecast['state'] {
    if (exhaustedAt <= now || budget.isRefusing) return 'exhausted'
    if (spentMicrousd === 0 && spentTokens === 0) return 'unknown'
    if (budget.limitMicrousd === null && budget.limitTokens === null) return 'unlimited'
    return exhaustedAt <= end.at ? 'runs_out' : 'lasts'
  }
}

/** Returns in how many milliseconds the rest of a limit is used up; 0 when nothing is left. */
function findCrossing(rest: number, perMs: number): number {
  if (rest <= 0) return 0
  return perMs > 0 ? Math.round(rest / perMs) : Number.POSITIVE_INFINITY
}

import { presentTime } from '../accounts/present'
import { computeForecast, type Forecast } from './forecast'
import { computeUsedShares, toBudgetLevel } from './levels'
import type { PageBudget } from './page-queries'
import type { UsageGroup, UsageSums } from './usage-api-queries'
import type { BudgetDay } from './usage-queries'

const levels = ['healthy', 'warning', 'throttle', 'critical'] as const
type Level = (typeof levels)[number]

/** Returns the level of a budget; without a limit it is always healthy. */
const toLevel = (budget: PageBudget): Level => toBudgetLevel(budget) ?? 'healthy'

/** Presents a budget. `share_used` is the larger used share of its limits, 1 being all; null without a limit. */
export const presentBudget = (budget: PageBudget): object => ({
  id: budget.id,
  scope: budget.scope,
  scope_id: budget.scopeId,
  community: budget.community,
  made_by: budget.madeBy,
  agent:
    budget.scope === 'agent' ? { id: budget.scopeId, name: budget.name, kind: budget.kind } : null,
  period: budget.period,
  reset_day: budget.resetDay,
  timezone: budget.timezone,
  starts_at: presentTime(budget.startsAt),
  ends_at: presentTime(budget.endsAt),
  limit_microusd: budget.limitMicrousd,
  limit_tokens: budget.limitTokens,
  spent_microusd: budget.spentMicrousd,
  spent_tokens: budget.spentTokens,
  reserved_microusd: budget.reservedMicrousd,
  reserved_tokens: budget.reservedTokens,
  warning_share: budget.warningShare,
  throttle_share: budget.throttleShare,
  critical_share: budget.criticalShare,
  allows_critical: budget.allowsCritical === 1,
  share_used: computeUsedShares(budget)?.used ?? null,
  status: toLevel(budget),
})

/** Returns the forecast of each budget, by its id. */
export function forecastBudgets(
  budgets: PageBudget[],
  days: BudgetDay[],
  now: number,
): Map<string, Forecast> {
  const byBudget = Map.groupBy(days, ({ budgetId }) => budgetId)
  return new Map(
    budgets.map((budget) => [
      budget.id,
      computeForecast(budget, byBudget.get(budget.id) ?? [], now),
    ]),
  )
}

/** Presents a forecast. `exhausted_at` is set for `runs_out`; expected amounts ignore the limit. */
const presentForecast = (seen: Forecast): object => ({
  state: seen.state,
  microusd_per_day: seen.microusdPerDay,
  tokens_per_day: seen.tokensPerDay,
  basis_days: seen.basisDays,
  is_shaped_by_weekday: seen.isShaped,
  expected_microusd: seen.expectedMicrousd,
  expected_tokens: seen.expectedTokens,
  exhausted_at: presentTime(seen.exhaustedAt),
})

/** Presents all budgets with their forecasts, and the worst status. */
export function presentHealth(budgets: PageBudget[], days: BudgetDay[], now: number): object {
  const forecasts = forecastBudgets(budgets, days, now)
  const present = (budget: PageBudget) => {
    const seen = forecasts.get(budget.id)
    return { ...presentBudget(budget), forecast: seen ? presentForecast(seen) : null }
  }
  return { status: findWorstLevel(budgets), budgets: budgets.map(present) }
}

/** Returns the worst level of all budgets. */
const findWorstLevel = (budgets: PageBudget[]): Level =>
  levels[Math.max(0, ...budgets.map((budget) => levels.indexOf(toLevel(budget))))] ?? 'healthy'

export const presentUsage = (group: UsageGroup, row: UsageSums): object => ({
  [group]: presentKey(group, row),
  ...presentSums(row),
})

function presentKey(group: UsageGroup, { key, name, kind }: UsageSums): object | string | null {
  if (group === 'agent') return { id: key, name, kind }
  return group === 'community' && key !== null ? { id: key, name } : key
}

export const presentSums = (row: UsageSums): object => ({
  calls: row.calls,
  estimated_calls: row.estimatedCalls,
  input_tokens: row.inputTokens,
  cached_tokens: row.cachedTokens,
  output_tokens: row.outputTokens,
  reasoning_tokens: row.reasoningTokens,
  cost_microusd: row.costMicrousd,
  unpriced_tokens: row.unpricedTokens,
})

import { presentTime } from '../accounts/present'
import { levelOf, shareOf } from './budget-list'
import { type Forecast, forecast } from './forecast'
import type { PageBudget } from './page-queries'
import type { UsageGroup, UsageSums } from './usage-api-queries'
import type { BudgetDay } from './usage-queries'

const levels = ['healthy', 'warning', 'throttle', 'critical'] as const
type Level = (typeof levels)[number]

/** A budget without a limit is always healthy. */
const readLevel = (budget: PageBudget): Level => levelOf(budget) ?? 'healthy'

/** `share_used` is of the limit that is closer to its end: 1 is all of it; null without a limit. */
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
  share_used: shareOf(budget)?.used ?? null,
  status: readLevel(budget),
})

/** Where each budget is heading, by its id. */
export function forecastBudgets(
  budgets: PageBudget[],
  days: BudgetDay[],
  now: number,
): Map<string, Forecast> {
  const byBudget = Map.groupBy(days, ({ budgetId }) => budgetId)
  return new Map(budgets.map((each) => [each.id, forecast(each, byBudget.get(each.id) ?? [], now)]))
}

/** `runs_out` has a time in `exhausted_at`; what is expected ignores the limit. */
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

/** Each budget and its forecast. */
export function presentHealth(budgets: PageBudget[], days: BudgetDay[], now: number): object {
  const forecasts = forecastBudgets(budgets, days, now)
  const present = (budget: PageBudget) => {
    const seen = forecasts.get(budget.id)
    return { ...presentBudget(budget), forecast: seen ? presentForecast(seen) : null }
  }
  return { status: findWorstLevel(budgets), budgets: budgets.map(present) }
}

/** The state of the budget that is worst off. */
const findWorstLevel = (budgets: PageBudget[]): Level =>
  levels[Math.max(0, ...budgets.map((budget) => levels.indexOf(readLevel(budget))))] ?? 'healthy'

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

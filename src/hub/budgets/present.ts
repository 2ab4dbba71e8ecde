import { presentTime } from '../accounts/present'
import { computeForecast, type Forecast } from './forecast'
import { computeUsedShares, findWorstLevel, type Thresholds, thresholds } from './levels'
import type { PageBudget } from './page-queries'
import type { UsageGroup, UsageGroupSums, UsageSums } from './usage-api-queries'

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
  ...presentThresholds(budget),
  allows_critical: budget.allowsCritical,
  share_used: computeUsedShares(budget)?.used ?? null,
  status: findWorstLevel([budget]),
})

const presentThresholds = (shares: Thresholds): object =>
  Object.fromEntries(thresholds.map((each) => [`${each}_share`, shares[`${each}Share`]]))

/** Presents a forecast. `exhausted_at` is set for `runs_out`; expected amounts ignore the limit. */
const presentForecast = (forecast: Forecast): object => ({
  state: forecast.state,
  microusd_per_day: forecast.microusdPerDay,
  tokens_per_day: forecast.tokensPerDay,
  expected_microusd: forecast.expectedMicrousd,
  expected_tokens: forecast.expectedTokens,
  exhausted_at: presentTime(forecast.exhaustedAt),
})

/** Presents all budgets with their forecasts, and the worst status. */
export const presentHealth = (budgets: PageBudget[], now: number): object => ({
  status: findWorstLevel(budgets),
  budgets: budgets.map((budget) => ({
    ...presentBudget(budget),
    forecast: presentForecast(computeForecast(budget, now)),
  })),
})

export const presentUsage = (group: UsageGroup, row: UsageGroupSums): object => ({
  [group]: presentKey(group, row),
  ...presentSums(row),
})

function presentKey(
  group: UsageGroup,
  { key, name, kind }: UsageGroupSums,
): object | string | null {
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

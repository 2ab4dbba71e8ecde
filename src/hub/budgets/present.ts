import { presentTime } from '../accounts/present'
import type { UsageGroup, UsageSums } from './api-queries'
import { levelOf, shareOf } from './budget-list'
import type { PageBudget } from './page-queries'

const levels = ['healthy', 'warning', 'throttle', 'critical'] as const
type Level = (typeof levels)[number]

/** A budget without a limit is always healthy. */
const readLevel = (budget: PageBudget): Level => levelOf(budget) ?? 'healthy'

/** `share_used` is of the limit that is closer to its end: 1 is all of it; null without a limit. */
export const presentBudget = (budget: PageBudget): object => ({
  id: budget.id,
  scope: budget.scope,
  agent:
    budget.scope === 'agent' ? { id: budget.scopeId, name: budget.name, kind: budget.kind } : null,
  period: budget.period,
  timezone: budget.timezone,
  starts_at: presentTime(budget.startsAt),
  ends_at: presentTime(budget.endsAt),
  limit_microusd: budget.limitMicrousd,
  limit_tokens: budget.limitTokens,
  spent_microusd: budget.spentMicrousd,
  spent_tokens: budget.spentTokens,
  reserved_microusd: budget.reservedMicrousd,
  reserved_tokens: budget.reservedTokens,
  share_used: shareOf(budget)?.used ?? null,
  status: readLevel(budget),
})

/** The state of the budget that is worst off. */
export const findWorstLevel = (budgets: PageBudget[]): Level =>
  levels[Math.max(0, ...budgets.map((budget) => levels.indexOf(readLevel(budget))))] ?? 'healthy'

export const presentUsage = (group: UsageGroup, row: UsageSums): object => ({
  [group]: group === 'agent' ? { id: row.key, name: row.name, kind: row.kind } : row.key,
  ...presentSums(row),
})

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

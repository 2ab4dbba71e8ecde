import { budgetLimits } from '../../shared/config'
import type { PageBudget } from './page-queries'

export type BudgetLevel = 'healthy' | 'warning' | 'throttle' | 'critical'

/** Shares of a limit at which the level of a budget changes. */
export interface MeterMarks {
  warningShare: number
  throttleShare: number
  criticalShare: number
}

/** Returns the level of a budget at a share of its limit. */
export function computeBudgetLevel(share: number, marks: MeterMarks = budgetLimits): BudgetLevel {
  if (share >= marks.criticalShare) return 'critical'
  if (share >= marks.throttleShare) return 'throttle'
  return share >= marks.warningShare ? 'warning' : 'healthy'
}

/** Returns the used and reserved share of the limit that is used more; null without a limit. */
export function computeUsedShares(budget: PageBudget): { used: number; reserved: number } | null {
  const { limitMicrousd, limitTokens } = budget
  const share = (part: number, limit: number) => (limit > 0 ? part / limit : part > 0 ? 2 : 1)
  const kinds = [
    limitMicrousd === null
      ? null
      : {
          used: share(budget.spentMicrousd, limitMicrousd),
          reserved: share(budget.reservedMicrousd, limitMicrousd),
        },
    limitTokens === null
      ? null
      : {
          used: share(budget.spentTokens, limitTokens),
          reserved: share(budget.reservedTokens, limitTokens),
        },
  ].filter((kind) => kind !== null)
  return kinds.sort((a, b) => b.used - a.used)[0] ?? null
}

/** Returns the level of a budget, or null without a limit. Fails closed: critical without a current window. */
export function toBudgetLevel(budget: PageBudget): BudgetLevel | null {
  const share = computeUsedShares(budget)
  if (!share) return null
  return budget.endsAt === null ? 'critical' : computeBudgetLevel(share.used, budget)
}

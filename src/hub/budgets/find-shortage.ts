import type { BudgetShortage, BudgetStatus } from '../contract/hub'
import { toUsableLimit } from './levels'

/** Amounts of money and tokens. */
interface Amounts {
  microusd: number
  tokens: number
}

const kinds = [
  { kind: 'microusd', limit: 'limitMicrousd', spent: 'spentMicrousd' },
  { kind: 'tokens', limit: 'limitTokens', spent: 'spentTokens' },
] as const

/**
 * Returns the budget that refuses a call, with what is left of it; undefined when none does.
 *
 * @param needs the least that the call can take; null before its prompt is known
 * @param left what all budgets together leave, when unsettled calls of other runs count as spent
 */
export function findShortage(
  budgets: BudgetStatus[],
  needs: Amounts | null,
  left?: Amounts,
): BudgetShortage | undefined {
  const all = budgets.flatMap((budget) =>
    kinds.flatMap(({ kind, limit, spent }) => {
      const limitValue = budget[limit]
      if (limitValue === null) return []
      const rest = toUsableLimit(limitValue, budget) - budget[spent]
      const least = Math.max(0, Math.min(rest, left?.[kind] ?? rest))
      const needed = needs?.[kind] ?? null
      // how far what is left is from enough, for comparison across kinds
      const coverage = needed === null || needed === 0 ? least : least / needed
      return [{ budget, kind, left: least, needs: needed, rest, coverage }]
    }),
  )
  const [tightest] = all.toSorted((a, b) => a.coverage - b.coverage || a.rest - b.rest)
  if (!tightest) return undefined
  const { budget, kind, left: rest, needs: needed } = tightest
  return {
    scope: budget.scope,
    period: budget.period,
    kind,
    left: rest,
    needs: needed,
    resetsAt: budget.endsAt > 0 ? budget.endsAt : null,
  }
}

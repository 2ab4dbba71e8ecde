import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { defaultThresholds } from '../schema/budgets'

export { defaultThresholds }

/** Thresholds of a budget, in ascending order. Each is a share of the limit. */
export const thresholds = ['warning', 'throttle', 'critical'] as const
export type Threshold = (typeof thresholds)[number]

/** The thresholds before the limit: at these nothing is refused yet. */
export const warningThresholds = thresholds.slice(0, -1)

/** Levels of a budget, in ascending order: the last threshold that its spending has reached. */
export const levels = ['healthy', ...thresholds] as const
export type BudgetLevel = (typeof levels)[number]

/** Shares of a limit at which the level of a budget changes. */
export type Thresholds = Record<`${Threshold}Share`, number>

/** Whether no threshold is below the one before. */
export const isOrdered = (shares: Thresholds): boolean =>
  thresholds.every((each, at) => {
    const previous = thresholds[at - 1]
    return !previous || shares[`${previous}Share`] <= shares[`${each}Share`]
  })

/** Returns the level of a budget at a share of its limit. */
export const computeBudgetLevel = (
  share: number,
  shares: Thresholds = defaultThresholds,
): BudgetLevel => thresholds.findLast((each) => share >= shares[`${each}Share`]) ?? 'healthy'

/** Limits of a budget and what is used of them. */
interface UsedBudget extends Thresholds {
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  reservedMicrousd: number
  reservedTokens: number
  /** The least that the last refused call of this window could take; null when none was refused. */
  neededMicrousd?: number | null
  neededTokens?: number | null
  /** Null: no window is open. */
  endsAt: number | null
}

type Refusing = Pick<
  UsedBudget,
  | 'limitMicrousd'
  | 'limitTokens'
  | 'spentMicrousd'
  | 'spentTokens'
  | 'criticalShare'
  | 'neededMicrousd'
  | 'neededTokens'
>

/** Whether the budget has refused a call in its current window and still has too little left for it. */
export const isRefusing = (budget: Refusing): boolean =>
  isShort(budget.limitMicrousd, budget.spentMicrousd, budget.neededMicrousd, budget) ||
  isShort(budget.limitTokens, budget.spentTokens, budget.neededTokens, budget)

const isShort = (
  limit: number | null,
  spent: number,
  needed: number | null | undefined,
  { criticalShare }: Refusing,
): boolean => limit !== null && needed != null && Math.floor(limit * criticalShare) - spent < needed

/** Returns the used and reserved share of the limit that is used more; null without a limit. */
export function computeUsedShares(budget: UsedBudget): { used: number; reserved: number } | null {
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

/**
 * Returns the level of a budget, or null without a limit. Critical also while it refuses calls for which
 * too little is left, and, to fail closed, without a current window.
 */
export function toBudgetLevel(budget: UsedBudget): BudgetLevel | null {
  const share = computeUsedShares(budget)
  if (!share) return null
  const isCritical = budget.endsAt === null || isRefusing(budget)
  return isCritical ? 'critical' : computeBudgetLevel(share.used, budget)
}

/** Returns the worst level of all budgets; a budget without a limit is healthy. */
export const findWorstLevel = (budgets: UsedBudget[]): BudgetLevel =>
  levels[Math.max(0, ...budgets.map((each) => levels.indexOf(toBudgetLevel(each) ?? 'healthy')))] ??
  'healthy'

/** Limits and thresholds of a budget in SQL: columns of `budgets`. */
export type LimitColumns = Record<'limitMicrousd' | 'limitTokens' | `${Threshold}Share`, SQLWrapper>
/** Spending in SQL: columns of `budget_windows`. */
export type SpentColumns = Record<'spentMicrousd' | 'spentTokens', SQLWrapper>

/** Condition: spending in the window `w` has reached a threshold of the budget `b`. Never NULL. */
export function hasReachedSql(b: LimitColumns, w: SpentColumns, threshold: Threshold): SQL {
  const share = b[`${threshold}Share`]
  return sql`(coalesce(${w.spentMicrousd} >= ${b.limitMicrousd} * ${share}, 0)
    OR coalesce(${w.spentTokens} >= ${b.limitTokens} * ${share}, 0))`
}

/** The level of the budget `b` in the window `w`, as an index of `levels`. */
export const levelSql = (b: LimitColumns, w: SpentColumns): SQL<number> =>
  sql`(${sql.join(
    thresholds.map((each) => hasReachedSql(b, w, each)),
    sql` + `,
  )})`

/** Picks the thresholds of a budget, or their columns. */
export const pickThresholds = <From extends Record<keyof Thresholds, unknown>>({
  warningShare,
  throttleShare,
  criticalShare,
}: From): Pick<From, keyof Thresholds> => ({ warningShare, throttleShare, criticalShare })

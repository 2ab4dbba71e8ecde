import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { budgetRefusals, defaultThresholds } from '../schema/budgets'

export { defaultThresholds }

/** Thresholds of a budget, in ascending order. Each is a share of the limit. */
export const thresholds = ['warning', 'throttle', 'critical'] as const
export type Threshold = (typeof thresholds)[number]

/** The thresholds before the limit: at these nothing is refused yet. */
export const warningThresholds = thresholds.slice(0, -1)

/** Levels of a budget, in ascending order; `levelSql` computes them. */
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

/** Limits of a budget and what is used of them. */
interface UsedBudget {
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  reservedMicrousd?: number
  reservedTokens?: number
}

/** Returns the used and reserved share of the limit that is used more; null without a limit. */
export function computeUsedShares(budget: UsedBudget): { used: number; reserved: number } | null {
  const { limitMicrousd, limitTokens } = budget
  const share = (part: number, limit: number) => (limit > 0 ? part / limit : part > 0 ? 2 : 1)
  const kinds = [
    limitMicrousd === null
      ? null
      : {
          used: share(budget.spentMicrousd, limitMicrousd),
          reserved: share(budget.reservedMicrousd ?? 0, limitMicrousd),
        },
    limitTokens === null
      ? null
      : {
          used: share(budget.spentTokens, limitTokens),
          reserved: share(budget.reservedTokens ?? 0, limitTokens),
        },
  ].filter((kind) => kind !== null)
  return kinds.sort((a, b) => b.used - a.used)[0] ?? null
}

/** Returns the part of a limit that tasks of normal priority can use, as `usableLimitSql` does. */
export const toUsableLimit = (
  limit: number,
  { criticalShare }: { criticalShare: number },
): number => Math.floor(limit * criticalShare)

/** Returns the level of an index of `levels`. */
export const toLevel = (index: number): BudgetLevel => levels[index] ?? 'healthy'

/** Returns the worst level of all budgets. */
export const findWorstLevel = (budgets: { level: BudgetLevel }[]): BudgetLevel =>
  toLevel(Math.max(0, ...budgets.map(({ level }) => levels.indexOf(level))))

type Kind = 'Microusd' | 'Tokens'

/** Limits and thresholds of a budget in SQL: columns of `budgets`. */
export type LimitColumns = Record<'limitMicrousd' | 'limitTokens' | `${Threshold}Share`, SQLWrapper>
/** Spending in SQL: columns of `budget_windows`. */
export type SpentColumns = Record<'spentMicrousd' | 'spentTokens', SQLWrapper>
/** The least that the last refused call of a window could take; NULL when none was refused. */
export type NeededColumns = Record<'neededMicrousd' | 'neededTokens', SQLWrapper>

/** Condition: spending in the window `w` has reached a threshold of the budget `b`. Never NULL. */
export function hasReachedSql(b: LimitColumns, w: SpentColumns, threshold: Threshold): SQL {
  const share = b[`${threshold}Share`]
  return sql`(coalesce(${w.spentMicrousd} >= ${b.limitMicrousd} * ${share}, 0)
    OR coalesce(${w.spentTokens} >= ${b.limitTokens} * ${share}, 0))`
}

/** The part of a limit of the budget `b` that tasks of normal priority can use. */
export const usableLimitSql = (b: LimitColumns, kind: Kind): SQL =>
  sql`cast(${b[`limit${kind}`]} * ${b.criticalShare} AS INTEGER)`

/** Condition: tasks of normal priority have used up the budget `b`, or less is left than a call needs. Never NULL. */
export function isTooLittleSql(b: LimitColumns, w: SpentColumns, needed: NeededColumns): SQL {
  const isShort = (kind: Kind) =>
    sql`coalesce(${usableLimitSql(b, kind)} - ${w[`spent${kind}`]} < max(1, coalesce(${needed[`needed${kind}`]}, 1)), 0)`
  return sql`(${isShort('Microusd')} OR ${isShort('Tokens')})`
}

const f = alias(budgetRefusals, 'needed')

/** What the last call needed that the budget `b` refused in its window `w`. */
export function neededSql(
  b: Record<'id', SQLWrapper>,
  w: Record<'startsAt', SQLWrapper>,
): NeededColumns {
  const select = (column: SQLWrapper) => sql`(SELECT ${column} FROM ${budgetRefusals} ${f}
    WHERE ${f.budgetId} = ${b.id} AND ${f.startsAt} = ${w.startsAt})`
  return { neededMicrousd: select(f.neededMicrousd), neededTokens: select(f.neededTokens) }
}

const nothingNeeded: NeededColumns = {
  neededMicrousd: sql.raw('NULL'),
  neededTokens: sql.raw('NULL'),
}

/**
 * The level of the budget `b` in the window `w`, as an index of `levels`: the only definition of it. Critical
 * also while the budget refuses calls for which too little is left, and, to fail closed, without a window. A
 * budget without a limit is healthy.
 */
export const levelSql = (
  b: LimitColumns,
  w: SpentColumns & Record<'budgetId', SQLWrapper>,
  needed: NeededColumns,
): SQL<number> => sql`CASE
  WHEN ${b.limitMicrousd} IS NULL AND ${b.limitTokens} IS NULL THEN 0
  WHEN ${w.budgetId} IS NULL OR ${isTooLittleSql(b, w, needed)} THEN 3
  WHEN ${hasReachedSql(b, w, 'throttle')} THEN 2
  WHEN ${hasReachedSql(b, w, 'warning')} THEN 1 ELSE 0 END`

/** Condition: something is left of the budget `b`, but less than its last refused call needs. Never NULL. */
export const isRefusingSql = (b: LimitColumns, w: SpentColumns, needed: NeededColumns): SQL =>
  sql`(${isTooLittleSql(b, w, needed)} AND NOT ${isTooLittleSql(b, w, nothingNeeded)})`

/** Picks the thresholds of a budget, or their columns. */
export const pickThresholds = <From extends Record<keyof Thresholds, unknown>>({
  warningShare,
  throttleShare,
  criticalShare,
}: From): Pick<From, keyof Thresholds> => ({ warningShare, throttleShare, criticalShare })

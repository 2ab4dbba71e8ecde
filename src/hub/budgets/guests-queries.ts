import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { nullable } from '../../shared/db/fields'
import { oneSql, type Statement, write, writeChanges } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { adminLog } from '../schema/admin-log'
import { budgets } from '../schema/budgets'
import { changedBudget, markChanged } from './crossing-queries'
import type { NewBudget } from './queries'

const g = alias(budgets, 'g')
const h = alias(budgets, 'h')

type Kind = 'Microusd' | 'Tokens'

/** The most that guests get of a limit of the hub, rounded down; null without a limit. */
const tenthSql = (kind: Kind): SQL<number> => sql`(${h[`limit${kind}`]} / 10)`

const exceedsSql = (kind: Kind): SQL => sql`(${h[`limit${kind}`]} IS NOT NULL
  AND (${g[`limit${kind}`]} IS NULL OR ${g[`limit${kind}`]} > ${tenthSql(kind)}))`

const cappedSql = (kind: Kind): SQL<number> =>
  sql`iif(${exceedsSql(kind)}, ${tenthSql(kind)}, ${g[`limit${kind}`]})`

/** The budgets `g` of guests that exceed a tenth of the hub's budget `h` of the same period. */
const excessSql = sql`FROM ${budgets} ${g} JOIN ${budgets} ${h}
    ON ${h.scope} = 'hub' AND ${h.scopeId} = '' AND ${h.period} = ${g.period}
  WHERE ${g.scope} = 'guests' AND ${g.scopeId} = '' AND (${exceedsSql('Microusd')} OR ${exceedsSql('Tokens')})`

/** The constraint that `guardGuestsShare` fails. */
export const guestsShareConstraint = 'budgets.period'

/**
 * Fails its batch when the budget is that of guests and exceeds a tenth of the hub's; runs after the
 * write. The row that it would insert has no period, which is a failed NOT NULL.
 */
export const guardGuestsShare = (id: string): Statement<void> =>
  write(
    insertSelect(
      budgets,
      { id: g.id, scope: g.scope, period: null, createdAt: 0, updatedAt: 0 },
      sql`${excessSql} AND ${g.id} = ${id}`,
    ),
  )

/** An entry of the admin log; its target is the lowered budget. */
interface Lowering {
  hubId: string
  entryId: string
  by: AccountId
  now: number
}

const limitsSql = (microusd: SQL, tokens: SQL): SQL =>
  sql`json_object('limit_microusd', ${microusd}, 'limit_tokens', ${tokens})`

/**
 * Records what `lowerGuestsLimits` is about to change. It is written from the stored rows, because another
 * request can change them until then.
 */
export const recordLowering = ({ hubId, entryId, by, now }: Lowering): Statement<void> =>
  write(
    insertSelect(
      adminLog,
      {
        id: entryId,
        accountId: by,
        action: 'budget.change',
        targetType: 'budget',
        targetId: g.id,
        before: limitsSql(sql`${g.limitMicrousd}`, sql`${g.limitTokens}`),
        after: limitsSql(cappedSql('Microusd'), cappedSql('Tokens')),
        createdAt: now,
      },
      sql`${excessSql} AND ${h.id} = ${hubId}`,
    ),
  )

/** Lowers the limits of guests to a tenth of the hub's budget `hubId`; answers whether they exceeded it. */
export const lowerGuestsLimits = (hubId: string, now: number): Statement<boolean> =>
  writeChanges(
    updateSet(
      budgets,
      { limitMicrousd: sql`new.microusd`, limitTokens: sql`new.tokens`, updatedAt: now },
      sql`FROM (SELECT ${g.id} AS id, ${cappedSql('Microusd')} AS microusd, ${cappedSql('Tokens')} AS tokens
          ${excessSql} AND ${h.id} = ${hubId}) AS new
        WHERE ${budgets.id} = new.id`,
    ),
  )

/** Marks the budget of guests for the next report, as `lowerGuestsLimits` may have changed it. */
export const markLowered = (hubId: string): Statement<void> =>
  markChanged(sql`${changedBudget.scope} = 'guests' AND ${changedBudget.period} = (
    SELECT ${h.period} FROM ${budgets} ${h} WHERE ${h.id} = ${hubId} AND ${h.scope} = 'hub')`)

const shareFields = {
  limitMicrousd: nullable(tenthSql('Microusd')),
  limitTokens: nullable(tenthSql('Tokens')),
}

/** The most that guests get in a period; null for a limit that the hub doesn't have. */
export type GuestsShare = Pick<NewBudget, 'period'> & {
  limitMicrousd: number | null
  limitTokens: number | null
}

export const selectGuestsShare = (
  period: NewBudget['period'],
): Statement<Omit<GuestsShare, 'period'> | undefined> =>
  oneSql(
    shareFields,
    sql`FROM ${budgets} ${h} WHERE ${h.scope} = 'hub' AND ${h.period} = ${period}`,
  )

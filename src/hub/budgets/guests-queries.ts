import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { nullable } from '../../shared/db/fields'
import { manySql, type Statement, write } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { adminLog } from '../schema/admin-log'
import { budgets } from '../schema/budgets'
import { changedBudget, markChanged } from './crossing-queries'
import type { NewBudget } from './queries'

const g = alias(budgets, 'g')
const h = alias(budgets, 'h')

type Kind = 'Microusd' | 'Tokens'

type Period = NewBudget['period']

/** Periods, shortest first. */
const periods: readonly Period[] = ['day', 'week', 'month']

/** Condition: the period of the hub's budget `h` is as long as `period`, or longer. */
const isAsLongSql = (period: SQLWrapper | Period): SQL => {
  const ranks = sql.raw(`'${periods.join(' ')}'`)
  return sql`instr(${ranks}, ${h.period}) >= instr(${ranks}, ${period})`
}

/** The most that guests get of a limit of the hub, rounded down; null without a limit. */
const tenthSql = (kind: Kind): SQL<number | null> => sql`(${h[`limit${kind}`]} / 10)`

/** The most that the budget `g` of guests gets: of all budgets of the hub, the least tenth; or NULL. */
const shareSql = (
  kind: Kind,
): SQL<number | null> => sql`(SELECT min(${tenthSql(kind)}) FROM ${budgets} ${h}
  WHERE ${h.scope} = 'hub' AND ${h.scopeId} = '' AND ${isAsLongSql(g.period)})`

const exceedsSql = (kind: Kind): SQL =>
  sql`coalesce(coalesce(${g[`limit${kind}`]}, 9e15) > ${shareSql(kind)}, 0)`

const cappedSql = (kind: Kind): SQL<number> =>
  sql`iif(${exceedsSql(kind)}, ${shareSql(kind)}, ${g[`limit${kind}`]})`

/** The budgets `g` of guests that exceed a tenth of a budget of the hub of the same or a longer period. */
const excessSql = sql`FROM ${budgets} ${g}
  WHERE ${g.scope} = 'guests' AND ${g.scopeId} = '' AND (${exceedsSql('Microusd')} OR ${exceedsSql('Tokens')})`

/** Condition: the budget `id` is the hub's. */
const isOfHubSql = (id: string): SQL =>
  sql`EXISTS (SELECT 1 FROM ${budgets} ${h} WHERE ${h.id} = ${id} AND ${h.scope} = 'hub')`

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

/** Entries of the admin log; the target of each is a lowered budget. */
interface Lowering {
  hubId: string
  /** Of the entry for each period. */
  entryIds: Record<Period, string>
  by: AccountId
  now: number
}

const limitsSql = (microusd: SQL, tokens: SQL): SQL =>
  sql`json_object('limit_microusd', ${microusd}, 'limit_tokens', ${tokens})`

/**
 * Records what `lowerGuestsLimits` is about to change. It is written from the stored rows, because another
 * request can change them until then.
 */
export const recordLowering = ({ hubId, entryIds, by, now }: Lowering): Statement<void> =>
  write(
    insertSelect(
      adminLog,
      {
        id: sql`${JSON.stringify(entryIds)} ->> ${g.period}`,
        accountId: by,
        action: 'budget.change',
        targetType: 'budget',
        targetId: g.id,
        before: limitsSql(sql`${g.limitMicrousd}`, sql`${g.limitTokens}`),
        after: limitsSql(cappedSql('Microusd'), cappedSql('Tokens')),
        createdAt: now,
      },
      sql`${excessSql} AND ${isOfHubSql(hubId)}`,
    ),
  )

/** Selects the periods of the budgets of guests that `lowerGuestsLimits` is about to lower. */
export const selectLowered = (hubId: string): Statement<{ period: Period }[]> =>
  manySql({ period: g.period }, sql`${excessSql} AND ${isOfHubSql(hubId)} ORDER BY ${g.period}`)

/** Lowers the limits of guests to a tenth of the hub's budgets, after its budget `hubId` was written. */
export const lowerGuestsLimits = (hubId: string, now: number): Statement<void> =>
  write(
    updateSet(
      budgets,
      { limitMicrousd: sql`new.microusd`, limitTokens: sql`new.tokens`, updatedAt: now },
      sql`FROM (SELECT ${g.id} AS id, ${cappedSql('Microusd')} AS microusd, ${cappedSql('Tokens')} AS tokens
          ${excessSql} AND ${isOfHubSql(hubId)}) AS new
        WHERE ${budgets.id} = new.id`,
    ),
  )

/** Marks the budgets of guests for the next report, as `lowerGuestsLimits` may have changed them. */
export const markLowered = (hubId: string): Statement<void> =>
  markChanged(sql`${changedBudget.scope} = 'guests' AND ${isOfHubSql(hubId)}`)

const shareFields = {
  period: h.period,
  limitMicrousd: nullable(tenthSql('Microusd')),
  limitTokens: nullable(tenthSql('Tokens')),
}

/** The most that guests get of a budget of the hub; null for a limit that it doesn't have. */
export type GuestsShare = Pick<NewBudget, 'period'> & {
  limitMicrousd: number | null
  limitTokens: number | null
}

/** Selects the tenths of the hub's budgets that limit a budget of guests of a period. */
export const selectGuestsShares = (period: Period): Statement<GuestsShare[]> =>
  manySql(
    shareFields,
    sql`FROM ${budgets} ${h} WHERE ${h.scope} = 'hub' AND ${isAsLongSql(period)} ORDER BY ${h.period}`,
  )

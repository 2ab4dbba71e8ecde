import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { requesterLists } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { addExcludedSql, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, BudgetId } from '../../shared/ids'
import type { AccountKind } from '../contract/hub'
import { isCurrentWindowSql, mainBudgetOrderSql } from '../rules/payers-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { adminLog } from '../schema/audit'
import {
  budgets,
  budgetWindows,
  requesterSpending,
  requesterSpendingPast,
  requesterSpendingProgress,
  usageEvents,
} from '../schema/budgets'
import { accountOfReaderSql } from '../viewers/queries'
import type { Reader } from '../viewers/reader'
import { changedBudget, markChanged, type NewBudget } from './queries'

/*
 * What was spent on behalf of whom. A commit writes nothing for it: sweeps add the calls of the hours before to
 * the sums, and a page adds the calls since then.
 */

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const e = alias(usageEvents, 'e')
const x = alias(activations, 'x')
const s = alias(requesterSpending, 's')
const p = alias(requesterSpendingProgress, 'p')
const k = alias(requesterSpendingPast, 'k')
const n = alias(accounts, 'n')

const lagMs = sql.raw(String(requesterLists.lagMs))
const placesMax = sql.raw(String(requesterLists.shown))

type Now = Params<{ now: number }>['now']

/**
 * The current window of the hub's main budget as a table `main`. `since` is the time from which on its calls are not counted yet.
 *
 * @param condition without it no row is read
 */
const mainSql = (now: Now, condition = sql`1`): SQL => sql`(
  SELECT ${b.id} AS budget_id, ${w.startsAt} AS starts_at, ${p.budgetId} AS counted_id, ${p.startsAt} AS counted_start,
    ${p.countedUntil} AS counted_until, ${p.budgetId} = ${b.id} AND ${p.startsAt} = ${w.startsAt} AS is_counted,
    iif(${p.budgetId} = ${b.id} AND ${p.startsAt} = ${w.startsAt}, ${p.countedUntil}, ${w.startsAt}) AS since
  FROM (SELECT ${budgets.id} FROM ${budgets} WHERE ${budgets.scope} = 'hub' AND ${condition}
    ORDER BY ${mainBudgetOrderSql(budgets)} LIMIT 1) ${b}
  CROSS JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, now)}
  CROSS JOIN ${requesterSpendingProgress} ${p})`

/** The requesters `r` of the call `e`: a JSON list of accounts or, when nobody asked, of `task:` and the task. */
const requestersSql = sql`iif(coalesce(${x.requesters}, '[]') = '[]', json_array('task:' || ${e.task}), ${x.requesters})`

/** What a requester pays of an amount of the call `e`: they share it equally, and the first one has the remainder. */
const partSql = (amount: SQLWrapper): SQL => sql`sum(
  ${amount} / json_array_length(${requestersSql}) + iif(r.key = 0, ${amount} % json_array_length(${requestersSql}), 0))`

/** Sums of the calls of a time by requester: `requester`, `microusd`, `tokens`. */
const sumsSql = (calls: SQL): SQL => sql`
  SELECT r.value AS requester, ${partSql(e.costMicrousd)} AS microusd,
    ${partSql(sql`(${e.inputTokens} + ${e.outputTokens})`)} AS tokens
  FROM ${calls} LEFT JOIN ${activations} ${x} ON ${x.id} = ${e.activationId} CROSS JOIN json_each(${requestersSql}) r
  GROUP BY r.value`

const lineFields = {
  budgetId: sql<BudgetId>`l.budget_id`,
  /** An account id, or the task of runs that nobody asked for as `task:exploration`. */
  requester: sql<string>`l.requester`,
  /** Null for tasks, and when the account is deleted. */
  name: sql<string | null>`n.name`,
  kind: sql<AccountKind | null>`n.kind`,
  displayName: sql<string | null>`n.display_name`,
  isTask: flag(sql`l.is_task`),
  /** Whether it is the reader. */
  isOwn: flag(sql`l.is_own`),
  /** Among accounts, from 1 on. */
  place: sql<number>`l.place`,
  spentMicrousd: number(sql`l.microusd`),
  spentTokens: number(sql`l.tokens`),
}

/** What was spent on behalf of one requester in a window of the hub's main budget. */
export type RequesterLine = RowOf<typeof lineFields>

/** Whether a requester is a task, such as `task:exploration`. */
const isTaskSql = (requester: SQL): SQL => sql`(substr(${requester}, 1, 5) = 'task:')`

/**
 * Selects the accounts on whose behalf the most was spent, the reader, and the tasks that nobody asked for, the
 * greatest first. Reads as many sums as it shows and the calls of the last hours: whoever has none of these and is
 * not among the greatest sums is not among the greatest.
 */
export const selectRequesterLines = prepare((v: Params<{ now: number; reader: Reader }>) =>
  manySql(
    lineFields,
    sql`FROM (
        SELECT main.budget_id, c.requester, ${isTaskSql(sql`c.requester`)} AS is_task, coalesce(c.requester = me.id, 0) AS is_own,
          coalesce(${s.spentMicrousd}, 0) + coalesce(recent.microusd, 0) AS microusd,
          coalesce(${s.spentTokens}, 0) + coalesce(recent.tokens, 0) AS tokens,
          row_number() OVER (PARTITION BY ${isTaskSql(sql`c.requester`)}
            ORDER BY coalesce(${s.spentMicrousd}, 0) + coalesce(recent.microusd, 0) DESC,
              coalesce(${s.spentTokens}, 0) + coalesce(recent.tokens, 0) DESC, c.requester) AS place
        FROM main CROSS JOIN me CROSS JOIN (
          SELECT requester FROM recent UNION SELECT requester FROM greatest
          UNION SELECT id FROM me WHERE id IS NOT NULL) c
        LEFT JOIN ${requesterSpending} ${s} ON ${s.requester} = c.requester AND main.is_counted
        LEFT JOIN recent ON recent.requester = c.requester) l
      LEFT JOIN ${accounts} ${n} ON ${n.id} = l.requester
      WHERE l.is_own OR ((l.is_task OR l.place <= ${placesMax}) AND l.microusd + l.tokens > 0)
      ORDER BY l.is_task, l.place`,
    sql`WITH main AS MATERIALIZED (SELECT * FROM ${mainSql(v.now)}),
      me AS MATERIALIZED (SELECT ${accountOfReaderSql(v.reader)} AS id),
      recent AS MATERIALIZED (${sumsSql(sql`main CROSS JOIN ${usageEvents} ${e} ON ${e.createdAt} >= main.since`)}),
      greatest AS MATERIALIZED (SELECT ${s.requester} AS requester FROM main CROSS JOIN ${requesterSpending} ${s}
        WHERE main.is_counted ORDER BY ${s.spentMicrousd} DESC, ${s.spentTokens} DESC
        LIMIT ${placesMax} + ${sql.raw(String(requesterLists.tasksMax))})`,
  ),
)

/** The hub's main budget as a table `main`, whose only column is `id`. */
const mainBudgetSql = sql`(SELECT ${budgets.id} FROM ${budgets} WHERE ${budgets.scope} = 'hub'
  ORDER BY ${mainBudgetOrderSql(budgets)} LIMIT 1)`

/** Selects the same of a window that has ended, from what was kept of it. */
export const selectPastLines = prepare((v: Params<{ startsAt: number; reader: Reader }>) =>
  manySql(
    lineFields,
    sql`FROM (
        SELECT ${k.budgetId}, ${k.requester}, ${isTaskSql(sql`${k.requester}`)} AS is_task,
          coalesce(${k.requester} = (SELECT ${accountOfReaderSql(v.reader)}), 0) AS is_own,
          ${k.spentMicrousd} AS microusd, ${k.spentTokens} AS tokens,
          row_number() OVER (PARTITION BY ${isTaskSql(sql`${k.requester}`)}
            ORDER BY ${k.spentMicrousd} DESC, ${k.spentTokens} DESC, ${k.requester}) AS place
        FROM ${mainBudgetSql} main CROSS JOIN ${requesterSpendingPast} ${k}
          ON ${k.startsAt} = ${v.startsAt} AND ${k.budgetId} = main.id) l
      LEFT JOIN ${accounts} ${n} ON ${n.id} = l.requester
      WHERE l.is_own OR l.is_task OR l.place <= ${placesMax}
      ORDER BY l.is_task, l.place`,
  ),
)

const windowFields = {
  startsAt: w.startsAt,
  endsAt: w.endsAt,
  spentMicrousd: w.spentMicrousd,
  spentTokens: w.spentTokens,
}

/** A window of the hub's main budget that has ended. */
export type PastWindow = RowOf<typeof windowFields>

/** Selects the last windows of the hub's main budget of which something was kept, the newest first. */
export const selectPastWindows = prepare(({ now }: Params<{ now: number }>) =>
  manySql(
    windowFields,
    sql`FROM ${mainBudgetSql} main CROSS JOIN ${budgetWindows} ${w} ON ${w.budgetId} = main.id
        AND ${w.startsAt} IN (SELECT ${budgetWindows.startsAt} FROM ${budgetWindows}
          WHERE ${budgetWindows.budgetId} = main.id AND ${budgetWindows.startsAt} < ${now}
          ORDER BY ${budgetWindows.startsAt} DESC LIMIT ${sql.raw(String(requesterLists.windowsShown + 1))})
      WHERE EXISTS (SELECT 1 FROM ${requesterSpendingPast} ${k}
        WHERE ${k.startsAt} = ${w.startsAt} AND ${k.budgetId} = ${w.budgetId})
      ORDER BY ${w.startsAt} DESC LIMIT ${sql.raw(String(requesterLists.windowsShown))}`,
  ),
)

const dueFields = {
  budgetId: sql<BudgetId>`main.budget_id`,
  startsAt: sql<number>`main.starts_at`,
  since: sql<number>`main.since`,
  /** Whether the sums are of this window. */
  isCounted: flag(sql`main.is_counted`),
  countedId: sql<BudgetId>`main.counted_id`,
  countedStart: sql<number>`main.counted_start`,
  countedUntil: sql<number>`main.counted_until`,
}

/** Calls that are old enough to be counted. */
type UncountedCalls = RowOf<typeof dueFields>

/** Selects the window when there are calls to count, or another one to begin; reads no calls but one or two. */
export const selectUncountedCalls = prepare(({ now }: Params<{ now: number }>) => {
  const hasCallsSince = (time: SQLWrapper) => sql`EXISTS (SELECT 1 FROM ${usageEvents} ${e}
    WHERE ${e.createdAt} >= ${time} AND ${e.createdAt} < ${now} - 2 * ${lagMs})`
  const hasNew = hasCallsSince(
    sql`(SELECT ${p.countedUntil} FROM ${requesterSpendingProgress} ${p})`,
  )
  const hasEnded = sql`EXISTS (SELECT 1 FROM ${requesterSpendingProgress} ${p} CROSS JOIN ${budgetWindows}
    ON ${budgetWindows.budgetId} = ${p.budgetId} AND ${budgetWindows.startsAt} = ${p.startsAt}
    WHERE ${budgetWindows.endsAt} < ${now} - 2 * ${lagMs})`
  return oneSql(
    dueFields,
    sql`FROM ${mainSql(now, sql`(${hasNew} OR ${hasEnded})`)} main
      WHERE ${hasCallsSince(sql`main.since`)} OR ${hasEnded}`,
  )
})

/**
 * Returns the statements that count calls before `until`, in one batch. They change nothing when another sweep has
 * counted meanwhile. Of a window that has ended, they keep what was spent on behalf of the greatest.
 */
function countCalls(due: UncountedCalls, until: number): Statement<void>[] {
  const isUnchanged = sql`EXISTS (SELECT 1 FROM ${requesterSpendingProgress} ${p} WHERE ${p.budgetId} = ${due.countedId}
    AND ${p.startsAt} = ${due.countedStart} AND ${p.countedUntil} = ${due.countedUntil})`
  const addCalls = (since: number, before: SQLWrapper | number) =>
    write(
      insertSelect(
        requesterSpending,
        { requester: sql`c.requester`, spentMicrousd: sql`c.microusd`, spentTokens: sql`c.tokens` },
        sql`FROM (${sumsSql(sql`(SELECT * FROM ${usageEvents} WHERE ${usageEvents.createdAt} >= ${since}
            AND ${usageEvents.createdAt} < ${before} AND ${isUnchanged}) ${e}`)}) c WHERE true
          ON CONFLICT (requester) DO UPDATE SET ${addExcludedSql([requesterSpending.spentMicrousd, requesterSpending.spentTokens])}`,
      ),
    )
  const { budgetId, startsAt } = due
  return [
    ...(due.isCounted ? [] : endWindow(due, isUnchanged, addCalls)),
    addCalls(due.since, until),
    write(
      updateSet(
        requesterSpendingProgress,
        { budgetId, startsAt, countedUntil: until },
        sql`WHERE ${isUnchanged}`,
      ),
    ),
  ]
}

/** Counts the rest of the window that was counted, keeps its greatest sums, and deletes the sums, and those kept for long. */
function endWindow(
  { budgetId, startsAt, countedId, countedStart, countedUntil }: UncountedCalls,
  isUnchanged: SQL,
  addCalls: (since: number, before: SQLWrapper) => Statement<void>,
): Statement<void>[] {
  const endsAt = sql`(SELECT ${w.endsAt} FROM ${budgetWindows} ${w}
    WHERE ${w.budgetId} = ${countedId} AND ${w.startsAt} = ${countedStart})`
  const kept = write(
    insertSelect(
      requesterSpendingPast,
      {
        startsAt: sql`${countedStart}`,
        budgetId: sql`${countedId}`,
        requester: s.requester,
        spentMicrousd: s.spentMicrousd,
        spentTokens: s.spentTokens,
      },
      sql`FROM ${requesterSpending} ${s} WHERE ${isUnchanged}
        ORDER BY ${s.spentMicrousd} DESC, ${s.spentTokens} DESC LIMIT ${sql.raw(String(requesterLists.keptMax))}
        ON CONFLICT DO NOTHING`,
    ),
  )
  const oldest = sql`${startsAt} - ${sql.raw(String(requesterLists.keptMs))}`
  return [
    // Sums of another budget, or of none, are no window of this one.
    ...(countedId === budgetId ? [addCalls(countedUntil, endsAt), kept] : []),
    write(sql`DELETE FROM ${requesterSpending} WHERE ${isUnchanged}`),
    write(
      sql`DELETE FROM ${requesterSpendingPast} WHERE ${requesterSpendingPast.startsAt} < ${oldest}`,
    ),
  ]
}

/** Forgets the sums: the next sweep counts the window again. */
export const resetCounted = (): Statement<void>[] => [
  write(
    updateSet(
      requesterSpendingProgress,
      { budgetId: sql`''`, startsAt: sql`0`, countedUntil: sql`0` },
      sql``,
    ),
  ),
]

/**
 * Whether a sweep looks for calls to count: those of the last twelve minutes of an hour do, since sweeps are at most
 * ten minutes apart, so that the others of an idle hub read nothing for it.
 */
export const isCountingTime = (now: number): boolean =>
  now % requesterLists.lagMs >= requesterLists.lagMs * 0.8

/** Counts the calls that a sweep found, but for those of the last hour, of which some may not be written yet. */
export async function countRequesters(
  db: Db,
  due: UncountedCalls | null | undefined,
  now: number,
): Promise<void> {
  if (due) await batch(db, { counted: countCalls(due, now - requesterLists.lagMs) })
}

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

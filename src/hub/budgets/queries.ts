import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { budgetLimits } from '../../shared/config'
import { nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, BudgetId } from '../../shared/ids'
import {
  isTooLittleSql,
  type LimitColumns,
  levelSql,
  neededSql,
  thresholds,
} from '../rules/budget-levels'
import {
  agentModelsSql,
  hasOwnBudgetSql,
  holder,
  holdsForSql,
  isLimitingSql,
  isRoleScopeSql,
  isSharedScopeSql,
  joinAccountWindowSql,
  joinHoldersSql,
  mayPayForSql,
  neededBySql,
  noRequestersSql,
  partOfAccountSql,
  paysForSql,
  reservedSql,
  type Spender,
  shareSql,
  spenderOf,
  spentBy,
  toLaneSpender,
  usageSpender,
  usageSpendersSql,
} from '../rules/payers-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import {
  budgetAccountWindows,
  budgetLevels,
  budgetRefusals,
  budgets,
  budgetWindows,
} from '../schema/budgets'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { replayLanes } from '../schema/replays'
import type { Window } from './forecast'
import { type BudgetChange, toColumns } from './inputs'
import { currentWindowSql, levelFields, statusFields } from './page-queries'

/*
 * The windows that each account has in a budget of its role. They count whatever the account spends while
 * it has the role; whether the limit holds for it is decided when money is reserved.
 */

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const v = alias(budgetAccountWindows, 'v')
const x = alias(activations, 'x')

/** Usage to sum, as a table `c` of `FROM`: its calls with their payers, time, cost and tokens. */
type Calls = Record<'requesters' | 'payers' | 'at' | 'microusd' | 'tokens', SQL>

/** The columns of `usageSpendersSql u`. */
export const usageCalls: Calls = {
  requesters: sql.raw('u.requesters'),
  payers: sql.raw('u.payers'),
  at: sql.raw('u.created_at'),
  microusd: sql.raw('u.cost_microusd'),
  tokens: sql.raw('(u.input_tokens + u.output_tokens)'),
}

/**
 * Selects what each payer of `calls` pays from the budgets of its role: `budget_id`, `starts_at`,
 * `account_id`, `microusd` and `tokens`. Reads one row on a hub without such budgets: the plus before the
 * id keeps SQLite from reading all budgets in the order of the groups.
 *
 * @param from the table of the calls
 */
export const accountSumsSql = (from: SQL, calls: Calls, condition = sql`1`): SQL => sql`
  SELECT +${b.id} AS budget_id, ${lastStartSql(b.id, calls.at)} AS starts_at, ${holder.id} AS account_id,
    sum(${partOfAccountSql(calls, holder.id, calls.microusd)}) AS microusd,
    sum(${partOfAccountSql(calls, holder.id, calls.tokens)}) AS tokens
  FROM ${budgets} ${b} CROSS JOIN ${from} CROSS JOIN json_each(${calls.payers}) h ON ${holdsForSql(b)}
  WHERE ${isRoleScopeSql(b)} AND ${condition}
  GROUP BY 1, 2, 3 HAVING starts_at IS NOT NULL`

/** Adds or sets the sums of `accountSumsSql`. */
export const writeAccountSums = (sums: SQL, mode: 'add' | 'set'): Statement<void> => {
  const { spentMicrousd, spentTokens } = budgetAccountWindows
  const stored = (column: typeof spentMicrousd | typeof spentTokens) =>
    mode === 'add' ? sql`${column} + ` : sql``
  return write(
    insertSelect(
      budgetAccountWindows,
      {
        budgetId: sql`n.budget_id`,
        startsAt: sql`n.starts_at`,
        accountId: sql`n.account_id`,
        spentMicrousd: sql`n.microusd`,
        spentTokens: sql`n.tokens`,
      },
      sql`FROM (${sums}) n WHERE true ON CONFLICT (budget_id, starts_at, account_id) DO UPDATE SET
        ${bare(spentMicrousd)} = ${stored(spentMicrousd)}excluded.${bare(spentMicrousd)},
        ${bare(spentTokens)} = ${stored(spentTokens)}excluded.${bare(spentTokens)}`,
    ),
  )
}

/** A budget of a role in the conditions of `updateAlerts`. */
const roleBudget = b

/** What spends money while it runs, as `x`: runs, or the lanes of replays. */
export interface SpendingTable {
  from: SQL
  row: Omit<Spender, 'isReplay' | 'models'> & Record<'id' | 'state' | 'reservedAt', SQLWrapper>
  task: SQLWrapper
  postId: SQLWrapper
  /** Whether the budgets of replays pay for it, too. */
  isReplay?: SQL
}

const l = alias(replayLanes, 'x')

export const spendingRuns: SpendingTable = {
  from: sql`${activations} ${x}`,
  row: x,
  task: x.task,
  postId: x.postId,
}

export const spendingLanes: SpendingTable = {
  from: sql`${replayLanes} ${l}`,
  row: l,
  task: sql.raw("'replay'"),
  postId: sql.raw('NULL'),
  isReplay: sql.raw('1'),
}

/** The windows of the payers of what runs, for `updateAlerts`; its row is `x`. */
export const payersOf = ({ from, row }: SpendingTable, id: SQLWrapper) => ({
  from,
  condition: (accountId: SQLWrapper) => sql`${row.id} = ${id} AND ${row.state} = 'running'
    AND ${accountId} IN (SELECT key FROM json_each(${row.payers}))`,
})

/**
 * Marks accounts for which a budget of their role has nothing left, or too little for a call, for the next
 * report, and unmarks those for which it has enough; runs after their windows or the limit were changed.
 *
 * @param of the windows to look at, as conditions on `roleBudget` and on the window's account
 */
export const updateAlerts = (of: {
  from?: SQL
  at: SQLWrapper
  condition: (accountId: SQLWrapper) => SQL
}): Statement<void> =>
  write(
    updateSet(
      budgetAccountWindows,
      { alert: sql`iif(n.is_used_up, 'due', 'none')` },
      sql`FROM (
          SELECT ${v.budgetId}, ${v.startsAt}, ${v.accountId}, ${v.alert},
            ${isTooLittleSql(b, v, v)} AND NOT ${hasOwnBudgetSql(v.accountId)} AS is_used_up
          FROM ${budgets} ${b} ${of.from ? sql`CROSS JOIN ${of.from}` : undefined}
          CROSS JOIN ${budgetAccountWindows} ${v} ON ${v.budgetId} = ${b.id} AND ${v.startsAt} = ${lastStartSql(b.id, of.at)}
            AND ${of.condition(v.accountId)}
          WHERE ${isRoleScopeSql(b)}) n
        WHERE ${budgetAccountWindows.budgetId} = n.budget_id AND ${budgetAccountWindows.startsAt} = n.starts_at
          AND ${budgetAccountWindows.accountId} = n.account_id AND n.is_used_up = (n.alert = 'none')`,
    ),
  )

/**
 * Counts the accounts again in the windows of budgets of a role that are recounted.
 *
 * @param usage a table `u` of usage events as spenders
 * @param isRecounted condition on the window `w`
 */
const recountAccounts = (usage: SQL, isRecounted: SQL): Statement<void>[] => [
  write(sql`DELETE FROM ${budgetAccountWindows} WHERE EXISTS (
    SELECT 1 FROM ${budgetWindows} ${w} WHERE ${w.budgetId} = ${budgetAccountWindows.budgetId}
      AND ${w.startsAt} = ${budgetAccountWindows.startsAt} AND ${isRecounted})`),
  writeAccountSums(
    accountSumsSql(
      sql`${usage} u`,
      usageCalls,
      sql`${usageCalls.at} >= (
        SELECT min(${w.startsAt}) FROM ${budgetWindows} ${w} WHERE ${w.budgetId} = ${b.id} AND ${isRecounted})`,
    ),
    'set',
  ),
]

const level = alias(budgetLevels, 'l')

/** Marks the budgets `b` of `rest` for the next report. */
const markSql = (rest: SQL): Statement<void> =>
  write(
    insertSelect(
      budgetLevels,
      { budgetId: b.id, isCrossed: sql`1` },
      sql`${rest} ON CONFLICT (budget_id) DO UPDATE SET is_crossed = 1`,
    ),
  )

/** The budget in the conditions of `markChanged` and `markCrossed`. */
export const changedBudget = b

/** Marks budgets whose limit or thresholds were changed for the next report; runs after the change. */
export const markChanged = (condition: SQL): Statement<void> =>
  markSql(sql`FROM ${budgets} ${b} WHERE ${condition} AND ${isSharedScopeSql(b)}`)

/**
 * Marks budgets that have reached a level above the one last reported; runs after the counters of their
 * windows were raised, or a call was refused.
 *
 * @param from a table that is joined before the budgets
 * @param at a time in the window that was raised
 */
export const markCrossed = (of: { from?: SQL; condition: SQL; at: SQL }): Statement<void> =>
  markSql(sql`FROM ${of.from ? sql`${of.from} CROSS JOIN ` : undefined}${budgets} ${b}
    CROSS JOIN ${budgetWindows} ${w} ON ${w.budgetId} = ${b.id} AND ${w.startsAt} = ${lastStartSql(b.id, of.at)}
    LEFT JOIN ${budgetLevels} ${level} ON ${level.budgetId} = ${b.id} AND ${level.startsAt} = ${w.startsAt}
    WHERE ${of.condition} AND ${isSharedScopeSql(b)} AND coalesce(${level.level}, 0) < ${levelSql(b, w, neededSql(b, w))}`)

/**
 * The start of the window that counts what is spent at a time. Without a current window the last
 * earlier one counts it, so that no spending is lost.
 */
export const lastStartSql = (budgetId: SQLWrapper, at: SQLWrapper): SQL<number> =>
  sql`(SELECT max(s.starts_at) FROM ${budgetWindows} s WHERE s.budget_id = ${budgetId} AND s.starts_at <= ${at})`

/** A new budget with its limits and thresholds. */
export type NewBudget = Omit<typeof budgets.$inferInsert, 'createdAt' | 'updatedAt'> &
  Pick<typeof budgets.$inferSelect, 'scopeId' | 'madeBy' | 'resetDay' | 'timezone'>

/**
 * Inserts a budget. Scope, period and creator are unique: a duplicate by an admin fails with a UNIQUE
 * error, a duplicate by a definition leaves the existing budget unchanged.
 */
export function insertBudget(budget: NewBudget, now: number): Statement<void> {
  const insert = orm.insert(budgets).values({ ...budget, createdAt: now, updatedAt: now })
  return write(budget.madeBy === 'definition' ? insert.onConflictDoNothing() : insert)
}

/** Sets the limit of an agent's definition, in micro-dollars; null removes it. */
export const updateDefinitionLimit = (
  agentId: AccountId,
  limitMicrousd: number | null,
  now: number,
): Statement<void>[] => {
  const isLimitOf = (b: Record<'scope' | 'scopeId' | 'madeBy', SQLWrapper>): SQL =>
    sql`${b.scope} = 'agent' AND ${b.scopeId} = ${agentId} AND ${b.madeBy} = 'definition'`
  return [
    write(orm.update(budgets).set({ limitMicrousd, updatedAt: now }).where(isLimitOf(budgets))),
    markChanged(isLimitOf(changedBudget)),
  ]
}

const expiringFields = {
  id: b.id,
  period: b.period,
  resetDay: b.resetDay,
  timezone: b.timezone,
  /** End of the last window; null without one. */
  endsAt: nullable(sql<number>`b.ends_at`),
}

/** A budget that needs new windows. */
export type ExpiringBudget = RowOf<typeof expiringFields>

/**
 * Selects budgets whose last window ends before `until`, at most as many as one sweep extends. Budgets
 * shared by several agents come first, then those that end soonest. Reads one window per budget.
 */
export const selectExpiringBudgets = prepare(({ until }: Params<{ until: number }>) =>
  manySql(
    expiringFields,
    sql`FROM (
        SELECT e.*, (SELECT ${w.endsAt} FROM ${budgetWindows} ${w} WHERE ${w.budgetId} = e.id
          ORDER BY ${w.startsAt} DESC LIMIT 1) AS ends_at
        FROM ${budgets} e) ${b}
      WHERE coalesce(b.ends_at, 0) < ${until}
      ORDER BY ${b.scope} = 'agent', b.ends_at LIMIT ${sql.raw(String(budgetLimits.extendedPerSweep))}`,
  ),
)

export type BudgetWindow = Window & { budgetId: BudgetId }

/** Marks a new window until the next statement sums its usage. */
const uncounted = sql.raw('-1')

const insertMissing = prepare(({ windows, now }: Params<{ windows: string; now: number }>) =>
  write(
    insertSelect(
      budgetWindows,
      {
        budgetId: b.id,
        startsAt: sql`n.value ->> 'startsAt'`,
        endsAt: sql`n.value ->> 'endsAt'`,
        spentTokens: sql`iif(n.value ->> 'startsAt' <= ${now}, ${uncounted}, 0)`,
      },
      sql`FROM json_each(${windows}) n CROSS JOIN ${budgets} ${b} ON ${b.id} = n.value ->> 'budgetId'`,
      { verb: 'INSERT OR IGNORE' },
    ),
  ),
)

/** Condition: the window `w` waits for its count, or the next one does. */
const isRecountedSql = sql`(${w.spentTokens} = ${uncounted} OR EXISTS (
  SELECT 1 FROM ${budgetWindows} n WHERE n.budget_id = ${w.budgetId} AND n.spent_tokens = ${uncounted}
    AND n.starts_at = ${nextStartSql()}))`

/** The start of the window after `w`. */
function nextStartSql(): SQL {
  return sql`(SELECT min(a.starts_at) FROM ${budgetWindows} a
    WHERE a.budget_id = ${w.budgetId} AND a.starts_at > ${w.startsAt})`
}

/** Condition: the window `w` is recounted, and its budget is among those of `windows`. */
const isListedSql = (windows: SQLWrapper | string): SQL =>
  sql`${w.budgetId} IN (SELECT value ->> 'budgetId' FROM json_each(${windows})) AND ${isRecountedSql}`

/** Sums usage events in the windows of `windows` that are recounted. A window lasts until the next starts. */
const recountWindows = prepare(({ windows }: Params<{ windows: string }>) =>
  write(
    updateSet(
      budgetWindows,
      { spentMicrousd: sql`new.microusd`, spentTokens: sql`new.tokens` },
      sql`FROM (
          SELECT ${w.budgetId} AS budget_id, ${w.startsAt} AS starts_at,
            coalesce(sum(${shareSql(b, usageSpender, sql`u.cost_microusd`)}), 0) AS microusd,
            coalesce(sum(${shareSql(b, usageSpender, sql`(u.input_tokens + u.output_tokens)`)}), 0) AS tokens
          FROM ${budgetWindows} ${w} CROSS JOIN ${budgets} ${b} ON ${b.id} = ${w.budgetId}
          LEFT JOIN ${usageSpendersSql} u ON u.created_at >= ${w.startsAt}
            AND u.created_at < coalesce(${nextStartSql()}, ${sql.raw(String(Number.MAX_SAFE_INTEGER))})
            AND ${paysForSql(b, usageSpender)}
          WHERE ${isListedSql(windows)}
          GROUP BY ${w.budgetId}, ${w.startsAt}) AS new
        WHERE ${budgetWindows.budgetId} = new.budget_id AND ${budgetWindows.startsAt} = new.starts_at`,
    ),
  ),
)

const markRecounted = prepare(({ windows, now }: Params<{ windows: string; now: number }>) =>
  markCrossed({
    condition: sql`${changedBudget.id} IN (SELECT value ->> 'budgetId' FROM json_each(${windows}))`,
    at: sql`${now}`,
  }),
)

/**
 * Returns the statements that insert missing windows of existing budgets; run them in one batch. The
 * usage since the start of each new window is counted, so a new budget counts from the start of its
 * period. The window before a new one is recounted, because it ends where the new one starts.
 */
export function insertWindows(list: BudgetWindow[], now: number): Statement<void>[] {
  const windows = JSON.stringify(list)
  return [
    insertMissing({ windows, now }),
    ...recountAccounts(usageSpendersSql, isListedSql(windows)),
    recountWindows({ windows }),
    markRecounted({ windows, now }),
    updateAlerts({
      at: sql`${now}`,
      condition: () =>
        sql`${roleBudget.id} IN (SELECT value ->> 'budgetId' FROM json_each(${windows}))`,
    }),
  ]
}

const spentOfHolder = spentBy(w)

const scopedFields = {
  ...statusFields,
  /** An account id for a budget of a role. */
  scopeId: sql<string>`coalesce(${holder.id}, ${b.scopeId})`,
  spentMicrousd: number(sql`coalesce(${spentOfHolder.spentMicrousd}, 0)`),
  spentTokens: number(sql`coalesce(${spentOfHolder.spentTokens}, 0)`),
  ...levelFields({ ...spentOfHolder, budgetId: w.budgetId }, neededBySql(neededSql(b, w))),
  reservedMicrousd: number(reservedSql(b, 'reservedMicrousd', { byHolder: true })),
  reservedTokens: number(reservedSql(b, 'reservedTokens', { byHolder: true })),
  endsAt: number(sql`coalesce(${w.endsAt}, 0)`),
}

/** `FROM` the budgets that a table `ask` spends from, with the spending of their current windows. */
const fromScopedSql = (
  ask: SQL,
  spender: Spender,
  now: Params<{ now: number }>['now'],
): SQL => sql`FROM (${ask}) ask
    CROSS JOIN ${budgets} ${b} ON ${mayPayForSql(b, spender)}
    ${joinHoldersSql(b, spender.payers)}
    ${currentWindowSql(now)}
    ${joinAccountWindowSql(w)}
    WHERE ${isLimitingSql(b)}
    ORDER BY ${b.scope} <> 'hub', ${b.scope}, ${b.scopeId}, ${b.id}, ${holder.id}`

/**
 * Selects the budgets that an agent spends from, with spending in the current window and reservations
 * of running activations. These are the budgets of its running activation, or of any that it could
 * start when none runs.
 */
export const selectBudgetsInScope = prepare(
  ({ agentId, now }: Params<{ agentId: AccountId | ''; now: number }>) => {
    const g = alias(agents, 'g')
    const x = alias(activations, 'x')
    return manySql(
      scopedFields,
      fromScopedSql(
        sql`SELECT me.id AS agent_id, ${x.communityId} AS community_id,
        coalesce(${x.models}, ${agentModelsSql(g)}, '[]') AS models,
        coalesce(${x.requesters}, '[]') AS requesters, coalesce(${x.payers}, '{}') AS payers,
        coalesce(${x.isForGuest}, 0) AS is_for_guest
      FROM (SELECT ${agentId} AS id) me LEFT JOIN ${agents} ${g} ON ${g.accountId} = me.id
      LEFT JOIN ${activations} ${x} ON ${x.agentId} = me.id AND ${x.state} = 'running'`,
        spenderOf('ask'),
        now,
      ),
    )
  },
)

/** Selects the same of a lane of a replay. */
export const selectBudgetsOfLane = prepare(
  ({ laneId, now }: Params<{ laneId: ActivationId; now: number }>) =>
    manySql(
      scopedFields,
      fromScopedSql(
        sql`SELECT * FROM ${replayLanes} ${l} WHERE ${l.id} = ${laneId}`,
        toLaneSpender(spenderOf('ask')),
        now,
      ),
    ),
)

/** Selects the existing budget with the same scope, period and creator as a new one. */
export const selectDuplicateBudget = ({
  scope,
  scopeId,
  period,
  madeBy,
}: Pick<NewBudget, 'scope' | 'scopeId' | 'period' | 'madeBy'>): Statement<
  { id: BudgetId } | undefined
> =>
  one(
    orm
      .select({ id: budgets.id })
      .from(budgets)
      .where(
        and(
          eq(budgets.scope, scope),
          eq(budgets.scopeId, scopeId),
          eq(budgets.period, period),
          eq(budgets.madeBy, madeBy),
        ),
      ),
  )

/** Returns a row when the budget pays for a model that some agent uses. */
export const selectPaidModel = prepare(({ id }: Params<{ id: string }>) => {
  const b = alias(budgets, 'b')
  const g = alias(agents, 'g')
  return oneSql(
    { id: b.id },
    sql`FROM ${budgets} ${b} CROSS JOIN (
        SELECT ${g.accountId} AS agent_id, NULL AS community_id, ${agentModelsSql(g)} AS models, ${noRequestersSql}
        FROM ${agents} ${g}) ask
      WHERE ${b.id} = ${id} AND ${paysForSql(b, spenderOf('ask'))} LIMIT 1`,
  )
})

export const selectScopeId = (
  scope: 'agent' | 'community' | 'requester',
  name: string,
): Statement<{ id: string } | undefined> =>
  scope !== 'community'
    ? one(
        orm
          .select({ id: accounts.id })
          .from(accounts)
          .where(
            and(
              eq(accounts.name, name),
              scope === 'agent' ? eq(accounts.kind, 'agent') : undefined,
            ),
          ),
      )
    : one(orm.select({ id: communities.id }).from(communities).where(eq(communities.name, name)))

/** Condition: the thresholds of `b` are in order once `change` is applied. */
function isOrderedSql(b: LimitColumns, change: BudgetChange): SQL {
  const shares = toColumns(change)
  const values = thresholds.map((each) => sql`${shares[`${each}Share`] ?? b[`${each}Share`]}`)
  const pairs = values.slice(1).map((value, at) => sql`${values[at]} <= ${value}`)
  return sql.join(pairs, sql` AND `)
}

/**
 * Updates the given fields; absent ones stay. Answers false when the budget is missing or the thresholds
 * would be out of order.
 */
export const updateBudget = (id: string, change: BudgetChange, now: number): Statement<boolean> =>
  writeChanges(
    orm
      .update(budgets)
      .set({ ...toColumns(change), updatedAt: now })
      .where(sql`${budgets.id} = ${id} AND ${isOrderedSql(budgets, change)}`),
  )

/** Marks a budget and its accounts for the next report, unless `updateBudget` refused the change. */
export const markUpdatedBudget = (
  id: string,
  change: BudgetChange,
  now: number,
): Statement<void>[] => [
  markChanged(sql`${changedBudget.id} = ${id} AND ${isOrderedSql(changedBudget, change)}`),
  updateAlerts({ at: sql`${now}`, condition: () => sql`${roleBudget.id} = ${id}` }),
]

/**
 * Deletes a budget, unless it is the hub's last one, a definition's limit or the share of guests in a
 * limit of the hub; answers whether.
 */
export const deleteBudget = (id: string): Statement<boolean> =>
  writeChanges(
    orm.delete(budgets).where(
      sql`${budgets.id} = ${id}
          AND (${budgets.scope} <> 'hub' OR (SELECT count(*) FROM budgets h WHERE h.scope = 'hub') > 1)
          AND (${budgets.scope} <> 'guests' OR NOT EXISTS (SELECT 1 FROM budgets h WHERE h.scope = 'hub'
            AND h.period = ${budgets.period} AND coalesce(h.limit_microusd, h.limit_tokens) IS NOT NULL))
          AND (${budgets.madeBy} <> 'definition' OR ${budgets.limitMicrousd} IS NULL)`,
    ),
  )

/** Deletes the counters, reported levels and refusals of a deleted budget. */
export const deleteOrphanedRows = (id: string): Statement<void>[] =>
  [budgetWindows, budgetLevels, budgetAccountWindows, budgetRefusals].map((table) =>
    write(
      orm
        .delete(table)
        .where(
          sql`${table.budgetId} = ${id} AND NOT EXISTS (SELECT 1 FROM ${budgets} WHERE ${budgets.id} = ${id})`,
        ),
    ),
  )

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { addExcludedSql, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import type { BudgetShortage, BudgetStatus, CommitRequest } from '../contract/hub'
import { isTooLittleSql, type NeededColumns, toUsableLimit } from '../rules/budget-levels'
import {
  holder,
  isCurrentWindowSql,
  isLimitingSql,
  isRoleScopeSql,
  joinAccountWindowSql,
  joinHoldersSql,
  paysForSql,
  providerSql,
  type Spender,
  shareSql,
  spenderOf,
  spentBy,
} from '../rules/payers-sql'
import { activations } from '../schema/activations'
import {
  budgetAccountWindows,
  budgetRefusals,
  budgets,
  budgetWindows,
  usageDays,
  usageEvents,
} from '../schema/budgets'
import { agents } from '../schema/definitions'
import { posts } from '../schema/posts'
import {
  accountSumsSql,
  changedBudget,
  lastStartSql,
  markCrossed,
  payersOf,
  type SpendingTable,
  spendingLanes,
  spendingRuns,
  updateAlerts,
  writeAccountSums,
} from './queries'

const b = alias(budgets, 'b')
const x = alias(activations, 'x')
const e = alias(usageEvents, 'e')
const g = alias(agents, 'g')

/** A report of an activation's model calls: `usage` is a JSON list of them. */
type ReportedUsage = { activationId: SQLWrapper; usage: SQLWrapper }

/** Condition: the call `u` of a JSON list of usage has no usage event of the activation yet. */
const isUnsettledSql = (activationId: SQLWrapper): SQL => sql`NOT EXISTS (
  SELECT 1 FROM ${usageEvents} ${e} WHERE ${e.activationId} = ${activationId} AND ${e.call} = u.value ->> 'call')`

/**
 * Selects the cost of the calls that are not settled yet, as one row in micro-dollars. So a call that
 * was settled when its activation was parked is not charged twice.
 */
const unsettledSql = ({ activationId, usage }: ReportedUsage): SQL => sql`
  SELECT coalesce(sum(u.value ->> 'costMicrousd'), 0) AS microusd
  FROM json_each(${usage}) u WHERE ${isUnsettledSql(activationId)}`

type Settlement = Params<{ activationId: ActivationId; usage: string; now: number }>

/** `FROM` the calls `u` of what runs, `x`, that are not settled yet, and a further table. */
const fromUnsettledSql = (
  { from, row }: SpendingTable,
  { activationId, usage }: ReportedUsage,
  further?: SQL,
): SQL => sql`
  FROM ${from}, json_each(${usage}) u${further}
  WHERE ${row.id} = ${activationId} AND ${row.state} = 'running' AND ${isUnsettledSql(activationId)}`

/** The time at which a call counts: not before what runs was last admitted. */
const countedAtSql = ({ row }: SpendingTable, now: Settlement['now']): SQL =>
  sql`max(${now}, ${row.reservedAt})`

/** What a call has of the run that made it, as columns of a spender. */
const columnsOfRunSql = (of: SpendingTable, now: Settlement['now']): SQL => sql`
  ${countedAtSql(of, now)} AS at, ${of.row.agentId} AS agent_id, ${of.row.communityId} AS community_id,
    ${of.row.requesters}, ${of.row.payers}, ${of.row.isForGuest}`

/** Selects the calls that are not settled yet, as spenders. */
const callsSql = (of: SpendingTable, v: Settlement): SQL => sql`
  SELECT ${columnsOfRunSql(of, v.now)}, json_array(u.value ->> 'model') AS models,
    u.value ->> 'costMicrousd' AS microusd, (u.value ->> 'inputTokens') + (u.value ->> 'outputTokens') AS tokens
  ${fromUnsettledSql(of, v)}`

/** The columns of `callsSql c`. */
const toCallSpender = ({ isReplay }: SpendingTable): Spender => ({
  ...spenderOf('c'),
  ...(isReplay && { isReplay }),
})

const prepareChargeWindows = (of: SpendingTable) =>
  prepare((v: Settlement) => {
    const call = toCallSpender(of)
    return write(
      updateSet(
        budgetWindows,
        {
          spentMicrousd: sql`${budgetWindows.spentMicrousd} + new.microusd`,
          spentTokens: sql`${budgetWindows.spentTokens} + new.tokens`,
        },
        sql`FROM (
          SELECT ${b.id} AS id, ${lastStartSql(b.id, sql`c.at`)} AS starts_at,
            sum(${shareSql(b, call, sql`c.microusd`)}) AS microusd,
            sum(${shareSql(b, call, sql`c.tokens`)}) AS tokens
          FROM (${callsSql(of, v)}) c
          CROSS JOIN ${budgets} ${b} ON ${paysForSql(b, call)}
          GROUP BY ${b.id}) AS new
        WHERE ${budgetWindows.budgetId} = new.id AND ${budgetWindows.startsAt} = new.starts_at`,
      ),
    )
  })

/** Marks the budgets of the calls that have crossed a threshold. */
const prepareMarkCharged = (of: SpendingTable) =>
  prepare((v: Settlement) =>
    markCrossed({
      from: sql`(SELECT ${columnsOfRunSql(of, v.now)}, (SELECT json_group_array(DISTINCT u.value ->> 'model') FROM json_each(${v.usage}) u) AS models
      FROM ${of.from} WHERE ${of.row.id} = ${v.activationId} AND ${of.row.state} = 'running') c`,
      condition: paysForSql(changedBudget, toCallSpender(of)),
      at: sql`c.at`,
    }),
  )

/** Charges the windows that the payers have in the budgets of their roles. */
const prepareChargeAccounts = (of: SpendingTable) =>
  prepare((v: Settlement) =>
    writeAccountSums(
      accountSumsSql(sql`(${callsSql(of, v)}) c`, {
        requesters: sql`c.requesters`,
        payers: sql`c.payers`,
        at: sql`c.at`,
        microusd: sql`c.microusd`,
        tokens: sql`c.tokens`,
      }),
      'add',
    ),
  )

/** Marks the payers that have used up the budget of their role. */
const prepareMarkAccounts = (of: SpendingTable) =>
  prepare((v: Settlement) =>
    updateAlerts({ ...payersOf(of, v.activationId), at: countedAtSql(of, v.now) }),
  )

/** What `usage_days` adds up, as SQL over the calls `u`. */
const sums = {
  calls: sql`count(*)`,
  estimatedCalls: sql`sum(u.value ->> 'isEstimated')`,
  inputTokens: sql`sum(u.value ->> 'inputTokens')`,
  cachedTokens: sql`sum(u.value ->> 'cachedTokens')`,
  outputTokens: sql`sum(u.value ->> 'outputTokens')`,
  reasoningTokens: sql`sum(u.value ->> 'reasoningTokens')`,
  costMicrousd: sql`sum(u.value ->> 'costMicrousd')`,
  unpricedCalls: sql`sum(1 - (u.value ->> 'isPriced'))`,
  unpricedTokens: sql`sum(iif(u.value ->> 'isPriced', 0, (u.value ->> 'inputTokens') + (u.value ->> 'outputTokens')))`,
}

/** Adds the calls to the days of every scope that they belong to; '' stands for none. */
const prepareCountDays = (of: SpendingTable) =>
  prepare((v: Settlement) => {
    const model = sql`u.value ->> 'model'`
    const { agentId, communityId } = of.row
    const scopes = sql`json_array(json_array('hub', ''), json_array('agent', ${agentId}),
    json_array('provider', ${providerSql(sql`(${model})`)}),
    json_array('model', ${model}), json_array('task', ${of.task}), json_array('community', ${communityId}))`
    const columns = Object.keys(sums).map((name) => usageDays[name as keyof typeof sums])
    return write(
      insertSelect(
        usageDays,
        {
          scope: sql`s.value ->> 0`,
          scopeId: sql`coalesce(s.value ->> 1, '')`,
          // D1 binds a number as REAL, whose quotient would be a fraction
          day: sql`cast(${countedAtSql(of, v.now)} AS INTEGER) / 86400000`,
          ...sums,
        },
        sql`${fromUnsettledSql(of, v, sql`, json_each(${scopes}) s`)}
        GROUP BY 1, 2, 3
        ON CONFLICT (scope, day, scope_id) DO UPDATE SET ${addExcludedSql(columns)}`,
      ),
    )
  })

const countCost = prepare((v: Settlement) =>
  write(
    updateSet(
      posts,
      { agentsCostMicrousd: sql`${posts.agentsCostMicrousd} + new.microusd` },
      sql`FROM (${unsettledSql(v)}) AS new
      WHERE ${posts.id} = (SELECT ${x.postId} FROM ${activations} ${x}
        WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running')`,
    ),
  ),
)

const prepareInsertUsage = ({ from, row, task, postId }: SpendingTable) =>
  prepare((v: Settlement) =>
    write(
      insertSelect(
        usageEvents,
        {
          activationId: row.id,
          call: sql`u.value ->> 'call'`,
          accountId: row.agentId,
          model: sql`u.value ->> 'model'`,
          task,
          postId,
          communityId: row.communityId,
          inputTokens: sql`u.value ->> 'inputTokens'`,
          cachedTokens: sql`u.value ->> 'cachedTokens'`,
          outputTokens: sql`u.value ->> 'outputTokens'`,
          reasoningTokens: sql`u.value ->> 'reasoningTokens'`,
          costMicrousd: sql`u.value ->> 'costMicrousd'`,
          isPriced: sql`u.value ->> 'isPriced'`,
          isEstimated: sql`u.value ->> 'isEstimated'`,
          durationMs: sql`u.value ->> 'durationMs'`,
          createdAt: sql`max(${v.now}, ${row.reservedAt})`,
        },
        sql`FROM ${from}, json_each(${v.usage}) u
      WHERE ${row.id} = ${v.activationId} AND ${row.state} = 'running'`,
        { verb: 'INSERT OR IGNORE' },
      ),
    ),
  )

/** Only calls without a usage event are charged and counted, so it is inserted last. */
const prepareCharge = (of: SpendingTable) => [
  prepareChargeWindows(of),
  prepareChargeAccounts(of),
  prepareMarkCharged(of),
  prepareMarkAccounts(of),
  prepareCountDays(of),
  prepareInsertUsage(of),
]
const chargeOf = {
  runs: [countCost, ...prepareCharge(spendingRuns)],
  lanes: prepareCharge(spendingLanes),
}

/** Calls of what runs, some of which may have been reported before. */
type CallReport = Pick<CommitRequest, 'activationId' | 'usage' | 'now'>

function toStatements(
  by: keyof typeof chargeOf,
  { activationId, usage, now }: CallReport,
): Statement<void>[] {
  if (usage.length === 0) return []
  // Of a call that is reported twice, the first report counts.
  const calls = new Map(usage.toReversed().map((each) => [each.call, each]))
  const values = { activationId, usage: JSON.stringify([...calls.values()]), now }
  return chargeOf[by].map((toStatement) => toStatement(values))
}

/**
 * Returns the statements that charge the calls of a running activation, once each, to every budget that pays for them,
 * to its thread and to the days of usage, and record them as usage events.
 */
export const chargeStatements = (report: CallReport) => toStatements('runs', report)

/** Returns the statements that do so with the calls of a running lane of a replay, which belongs to no thread. */
export const chargeLaneStatements = (report: CallReport) => toStatements('lanes', report)

const w = alias(budgetWindows, 'w')

interface Refusal {
  activationId: ActivationId
  now: number
  neededMicrousd: number
  neededTokens: number
}

/** What the refused call needs; of a run that was refused before its first call, the least that a call of its agent takes. */
function neededOf(v: Params<Refusal>): NeededColumns {
  const orFloor = (needed: SQLWrapper, floor: SQLWrapper) =>
    sql`iif(${x.admission} = 'budget_exhausted', max(${needed},
      coalesce((SELECT ${floor} FROM ${agents} ${g} WHERE ${g.accountId} = ${x.agentId}), 0)), ${needed})`
  return {
    neededMicrousd: orFloor(v.neededMicrousd, g.callFloorMicrousd),
    neededTokens: orFloor(v.neededTokens, g.callFloorTokens),
  }
}

/** Records the refusal at the windows of the payers whose role has a budget. */
const recordAtAccounts = prepare((v: Params<Refusal>) =>
  write(
    insertSelect(
      budgetAccountWindows,
      {
        budgetId: b.id,
        startsAt: w.startsAt,
        accountId: holder.id,
        ...neededOf(v),
      },
      sql`FROM ${budgets} ${b} CROSS JOIN ${activations} ${x} ${joinHoldersSql(b, x.payers)}
        JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, v.now)}
        ${joinAccountWindowSql(w)}
        WHERE ${isRoleScopeSql(b)} AND ${isLimitingSql(b)} AND ${x.id} = ${v.activationId}
          AND ${x.state} = 'running' AND ${isTooLittleSql(b, spentBy(w), neededOf(v))}
        ON CONFLICT (budget_id, starts_at, account_id) DO UPDATE SET
          needed_microusd = excluded.needed_microusd, needed_tokens = excluded.needed_tokens`,
    ),
  ),
)

/** Records the refusal at the other budgets that pay for the run. */
const recordAtBudgets = prepare((v: Params<Refusal>) =>
  write(
    insertSelect(
      budgetRefusals,
      {
        budgetId: b.id,
        startsAt: w.startsAt,
        ...neededOf(v),
        refusedAt: v.now,
      },
      sql`FROM ${activations} ${x} CROSS JOIN ${budgets} ${b} ON ${paysForSql(b, x)}
        CROSS JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, v.now)}
        WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running'
          AND ${isTooLittleSql(b, w, neededOf(v))}
        ON CONFLICT (budget_id) DO UPDATE SET starts_at = excluded.starts_at,
          needed_microusd = excluded.needed_microusd, needed_tokens = excluded.needed_tokens,
          refused_at = excluded.refused_at`,
    ),
  ),
)

/** Marks the budgets that are critical since they refused the call. */
const markRefusing = prepare((v: Params<Refusal>) =>
  markCrossed({
    from: sql`${activations} ${x}`,
    condition: sql`${x.id} = ${v.activationId} AND ${x.state} = 'running' AND ${paysForSql(changedBudget, x)}`,
    at: sql`${v.now}`,
  }),
)

/** Marks the payers for whom a budget of their role is critical since it refused the call. */
const markRefusedAccounts = prepare((v: Params<Refusal>) =>
  updateAlerts({ ...payersOf(spendingRuns, v.activationId), at: sql`${v.now}` }),
)

/**
 * Returns the statements that record the refusal of a running activation's call at every budget that has
 * too little left for it, so that its level and forecast agree with the refusal, and mark these budgets for
 * the next report. They run after the activation is settled.
 */
export const insertRefusal = (refusal: Refusal): Statement<void>[] => [
  recordAtBudgets(refusal),
  recordAtAccounts(refusal),
  markRefusing(refusal),
  markRefusedAccounts(refusal),
]

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

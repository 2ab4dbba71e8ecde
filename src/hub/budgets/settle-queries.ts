import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { addExcludedSql, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import type { Usage } from '../contract/hub'
import { activations } from '../schema/activations'
import { budgets, budgetWindows, usageDays, usageEvents } from '../schema/budgets'
import {
  accountSumsSql,
  payersOfRun,
  updateAlerts,
  writeAccountSums,
} from './account-window-queries'
import { changedBudget, lastStartSql, markCrossed } from './crossing-queries'
import { paysForSql, providerSql, shareSql, spenderOf } from './scope-sql'

const b = alias(budgets, 'b')
const x = alias(activations, 'x')
const e = alias(usageEvents, 'e')

/** A report of an activation's model calls: `usage` is a JSON list of them. */
type ReportedUsage = { activationId: SQLWrapper; usage: SQLWrapper }

/** Condition: the call `u` of a JSON list of usage has no usage event of the activation yet. */
const isUnsettledSql = (activationId: SQLWrapper): SQL => sql`NOT EXISTS (
  SELECT 1 FROM ${usageEvents} ${e} WHERE ${e.activationId} = ${activationId} AND ${e.call} = u.value ->> 'call')`

/**
 * Selects the cost of the calls that are not settled yet, as one row in micro-dollars. So a call that
 * was settled when its activation was parked is not charged twice.
 */
export const unsettledSql = ({ activationId, usage }: ReportedUsage): SQL => sql`
  SELECT coalesce(sum(u.value ->> 'costMicrousd'), 0) AS microusd
  FROM json_each(${usage}) u WHERE ${isUnsettledSql(activationId)}`

/** `FROM` the calls `u` of the running activation `x` that are not settled yet, and a further table. */
const fromUnsettledSql = ({ activationId, usage }: ReportedUsage, further?: SQL): SQL => sql`
  FROM ${activations} ${x}, json_each(${usage}) u${further}
  WHERE ${x.id} = ${activationId} AND ${x.state} = 'running' AND ${isUnsettledSql(activationId)}`

type Settlement = Params<{ activationId: ActivationId; usage: string; now: number }>

/** The time at which a call counts: not before its activation was last admitted. */
const countedAtSql = (now: Settlement['now']): SQL => sql`max(${now}, ${x.reservedAt})`

/** Selects the calls that are not settled yet, as spenders. */
const callsSql = (v: Settlement): SQL => sql`
  SELECT ${countedAtSql(v.now)} AS at, ${x.agentId} AS agent_id, ${x.communityId} AS community_id,
    ${x.requesters}, ${x.payers}, ${x.isForGuest}, json_array(u.value ->> 'model') AS models,
    u.value ->> 'costMicrousd' AS microusd, (u.value ->> 'inputTokens') + (u.value ->> 'outputTokens') AS tokens
  ${fromUnsettledSql(v)}`

const chargeWindows = prepare((v: Settlement) =>
  write(
    updateSet(
      budgetWindows,
      {
        spentMicrousd: sql`${budgetWindows.spentMicrousd} + new.microusd`,
        spentTokens: sql`${budgetWindows.spentTokens} + new.tokens`,
      },
      sql`FROM (
          SELECT ${b.id} AS id, ${lastStartSql(b.id, sql`c.at`)} AS starts_at,
            sum(${shareSql(b, spenderOf('c'), sql`c.microusd`)}) AS microusd,
            sum(${shareSql(b, spenderOf('c'), sql`c.tokens`)}) AS tokens
          FROM (${callsSql(v)}) c
          CROSS JOIN ${budgets} ${b} ON ${paysForSql(b, spenderOf('c'))}
          GROUP BY ${b.id}) AS new
        WHERE ${budgetWindows.budgetId} = new.id AND ${budgetWindows.startsAt} = new.starts_at`,
    ),
  ),
)

/** Marks the budgets of a running activation's calls that have crossed a threshold. */
const markCharged = prepare((v: Settlement) =>
  markCrossed({
    from: sql`(SELECT ${countedAtSql(v.now)} AS at, ${x.agentId} AS agent_id, ${x.communityId} AS community_id,
        ${x.requesters}, ${x.payers}, ${x.isForGuest}, (SELECT json_group_array(DISTINCT u.value ->> 'model') FROM json_each(${v.usage}) u) AS models
      FROM ${activations} ${x} WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running') c`,
    condition: paysForSql(changedBudget, spenderOf('c')),
    at: sql`c.at`,
  }),
)

/** Charges the windows that the payers have in the budgets of their roles. */
const chargeAccounts = prepare((v: Settlement) =>
  writeAccountSums(
    accountSumsSql(sql`(${callsSql(v)}) c`, {
      requesters: sql`c.requesters`,
      payers: sql`c.payers`,
      at: sql`c.at`,
      microusd: sql`c.microusd`,
      tokens: sql`c.tokens`,
    }),
    'add',
  ),
)

/** Marks the payers of a running activation that have used up the budget of their role. */
const markAccounts = prepare((v: Settlement) =>
  updateAlerts({ ...payersOfRun(v.activationId), at: countedAtSql(v.now) }),
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
const countDays = prepare((v: Settlement) => {
  const model = sql`u.value ->> 'model'`
  const scopes = sql`json_array(json_array('hub', ''), json_array('agent', ${x.agentId}),
    json_array('executor', u.value ->> 'executor'), json_array('provider', ${providerSql(sql`(${model})`)}),
    json_array('model', ${model}), json_array('task', ${x.task}), json_array('community', ${x.communityId}))`
  const columns = Object.keys(sums).map((name) => usageDays[name as keyof typeof sums])
  return write(
    insertSelect(
      usageDays,
      {
        scope: sql`s.value ->> 0`,
        scopeId: sql`coalesce(s.value ->> 1, '')`,
        // D1 binds a number as REAL, whose quotient would be a fraction
        day: sql`cast(${countedAtSql(v.now)} AS INTEGER) / 86400000`,
        ...sums,
      },
      sql`${fromUnsettledSql(v, sql`, json_each(${scopes}) s`)}
        GROUP BY 1, 2, 3
        ON CONFLICT (scope, day, scope_id) DO UPDATE SET ${addExcludedSql(columns)}`,
    ),
  )
})

/**
 * Returns the statements that charge the calls of a running activation to every budget that pays for
 * them and count them in the days of usage. Only calls without a usage event are charged and counted:
 * run these before the statement that inserts the usage events, in the same batch.
 */
export function settleUsage(spent: {
  activationId: ActivationId
  usage: Usage[]
  now: number
}): Statement<void>[] {
  // Of a call that is reported twice, the usage event is the first report.
  const calls = new Map(spent.usage.toReversed().map((each) => [each.call, each]))
  const values = { ...spent, usage: JSON.stringify([...calls.values()]) }
  return [
    chargeWindows(values),
    chargeAccounts(values),
    markCharged(values),
    markAccounts(values),
    countDays(values),
  ]
}

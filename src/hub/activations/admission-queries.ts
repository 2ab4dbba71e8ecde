import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import { manySql, type Statement } from '../../shared/db/statement'
import type { AccountId, ActivationId } from '../../shared/ids'
import {
  headroomOf,
  isCurrentWindowSql,
  selectBudgetRoomSql,
  selectSettledRoomSql,
} from '../budgets/scope-sql'
import { accounts } from '../schema/accounts'
import { budgets, budgetWindows } from '../schema/budgets'
import { communities } from '../schema/communities'
import { inboxItems } from '../schema/inbox'
import {
  type Asking,
  admit,
  askSpender,
  askWithRoomSql,
  bestModelSql,
  explorationTaskSql,
  isShortSql,
  newAskSql,
} from './claim-queries'

/*
 * What a claim for a task would get now, without a claim: the statements that LOAD inserts an activation
 * from, as reads.
 */

/** A run that has not begun. */
const noActivationSql = sql.raw("''")
/** The alias of the task in a claim. */
const first = alias(inboxItems, 'first')

/** A task to ask about. */
export interface AskedTask {
  agentId: SQLWrapper
  now: SQLWrapper
  /** A select of `taskColumnsSql`. */
  task: SQL
  /** See `newAskSql`. */
  place?: Parameters<typeof newAskSql>[2]
  /** Common table expressions that the others use, from `WITH` on. */
  before?: SQL
}

const toAsking = ({ agentId, now }: AskedTask): Asking => ({
  activationId: noActivationSql,
  agentId,
  now,
})

const withAsk = (asked: AskedTask): SQL =>
  sql`${asked.before ? sql`${asked.before},` : sql`WITH`} ask AS MATERIALIZED (
    ${newAskSql(toAsking(asked), asked.task, asked.place)})`

/** What decides about the money of a row of `askWithRoomSql`. */
export const admissionFields = (asking: Asking) => {
  const { reservedMicrousd, reservedTokens } = admit(asking)
  return {
    /** A budget is used up: the run is admitted to say so, and calls no model. */
    isExhausted: flag(sql`a.is_exhausted`),
    /** The first model call can be paid now; otherwise other runs have reserved the money. */
    isFree: flag(sql`a.is_free`),
    reservedMicrousd: number(reservedMicrousd),
    reservedTokens: number(reservedTokens),
    /** What all its budgets leave together: no run spends more. */
    freeMicrousd: number(sql`a.free_microusd`),
    freeTokens: number(sql`a.free_tokens`),
  }
}

const taskFields = (asked: AskedTask) => ({
  agentId: sql<AccountId>`a.agent_id`,
  model: sql<string>`a.model`,
  ...admissionFields(toAsking(asked)),
})

/** What a claim for a task would be admitted with. */
export type Admission = RowOf<ReturnType<typeof taskFields>>

/** Selects what a claim for a task would be admitted with, by model; of an agent the one it would take is first. */
export const selectAdmissionsOf = (asked: AskedTask): Statement<Admission[]> =>
  manySql(taskFields(asked), sql`FROM ${askWithRoomSql} ${bestModelSql}`, withAsk(asked))

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const u = alias(accounts, 'u')
const m = alias(communities, 'm')
const room = headroomOf('room')

/** Budgets of requesters first, that of the hub last. */
const payerOrderSql = sql`${b.scope} NOT IN ('requester', 'role:member', 'role:guest', 'guests'), ${b.scope} = 'hub', ${b.scope}, ${b.id}`

const payingFields = {
  /** The run that resumes; empty for a new one. */
  activationId: sql<ActivationId | ''>`ask.id`,
  agentId: sql<AccountId>`ask.agent_id`,
  id: b.id,
  scope: b.scope,
  scopeId: b.scopeId,
  period: b.period,
  limitMicrousd: b.limitMicrousd,
  limitTokens: b.limitTokens,
  spentMicrousd: number(
    sql`coalesce(max(${b.limitMicrousd} - room.microusd), ${w.spentMicrousd}, 0)`,
  ),
  spentTokens: number(sql`coalesce(max(${b.limitTokens} - room.tokens), ${w.spentTokens}, 0)`),
  /** Null: no window is open. */
  endsAt: nullable(w.endsAt),
  /** Name of the agent, requester or community; null for other scopes. */
  name: sql<string | null>`coalesce(${u.name}, ${m.name})`,
  /** It leaves too little for any run, with every model that it pays for. */
  isShort: flag(
    sql`min(${isShortSql({
      microusd: sql`room.microusd - room.used_microusd`,
      tokens: sql`room.tokens - room.used_tokens`,
    })})`,
  ),
}

/** A budget that would pay for a task. */
export type PayingBudget = RowOf<typeof payingFields>

/** Selects the budgets that would pay for a task, those of requesters first. */
export const selectPayingBudgetsOf = (asked: AskedTask): Statement<PayingBudget[]> =>
  selectPayingFrom(withAsk(asked))

/** Selects the same for the rows of `ask`, which `before` contains. */
export const selectPayingFrom = (before: SQL): Statement<PayingBudget[]> =>
  manySql(
    payingFields,
    sql`FROM (${selectBudgetRoomSql(askSpender)}) room JOIN ask ON ask.candidate = ${room.candidate}
      JOIN ${budgets} ${b} ON ${b.id} = room.budget_id
      LEFT JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, sql`ask.at`)}
      LEFT JOIN ${accounts} ${u} ON ${b.scope} IN ('agent', 'requester') AND ${u.id} = ${b.scopeId}
      LEFT JOIN ${communities} ${m} ON ${b.scope} = 'community' AND ${m.id} = ${b.scopeId}
      GROUP BY ask.id, ask.agent_id, ${b.id}
      ORDER BY ${payerOrderSql}`,
    before,
  )

const explorationFields = {
  agentId: sql<AccountId>`n.agent_id`,
  scope: b.scope,
  scopeId: b.scopeId,
  period: b.period,
  endsAt: nullable(w.endsAt),
  /** Name of the agent or requester; null for other scopes. */
  name: u.name,
  /** It leaves too little for any run. */
  isShort: flag(sql`n.is_short`),
  /** It has reached the share from which on explorations pause. */
  isThrottled: flag(sql`n.is_throttled`),
  /** All budgets pay for an exploration with this model. */
  canPay: flag(sql`n.can_pay`),
}

/** A budget that pays for the explorations of an agent with one of its models. */
export type ExplorationBudget = RowOf<typeof explorationFields>

/**
 * Selects the budgets that pay for the explorations of agents, once for each model, those of requesters first.
 * What runs have spent and not yet settled is left out, because a list of agents would read all of them for
 * each: it counts when LOAD decides.
 *
 * @param agents a select of their ids as `account_id`
 */
export const selectExplorationBudgets = (
  agents: SQL,
  now: SQLWrapper,
): Statement<ExplorationBudget[]> => {
  const isShort = isShortSql({ microusd: sql`room.microusd`, tokens: sql`room.tokens` })
  return manySql(
    explorationFields,
    sql`FROM (
      SELECT ask.agent_id, ask.at, room.budget_id, ${isShort} AS is_short, room.is_throttled,
        min(NOT ${isShort} AND NOT room.is_throttled) OVER (PARTITION BY ask.candidate) AS can_pay
      FROM (${selectSettledRoomSql(askSpender)}) room JOIN ask ON ask.candidate = ${room.candidate}) n
      JOIN ${budgets} ${b} ON ${b.id} = n.budget_id
      LEFT JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, sql`n.at`)}
      LEFT JOIN ${accounts} ${u} ON ${b.scope} IN ('agent', 'requester') AND ${u.id} = ${b.scopeId}
      ORDER BY ${payerOrderSql}`,
    withAsk({
      agentId: first.accountId,
      now,
      task: sql`SELECT account_id, row_number() OVER () AS nth, ${explorationTaskSql} FROM (${agents})`,
      place: { candidate: sql`first.nth * 1000 + m.key` },
    }),
  )
}

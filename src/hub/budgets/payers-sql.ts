import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { accounts } from '../schema/accounts'
import { budgetAccountWindows, budgets } from '../schema/budgets'
import type { NeededColumns, SpentColumns } from './levels'

const q = alias(accounts, 'q')
const o = alias(accounts, 'o')
const own = alias(budgets, 'own')
const v = alias(budgetAccountWindows, 'v')

/**
 * Returns who pays for `requesters`, a JSON list of account ids: each of them, the member who claimed it, and
 * the member who owns the agent, who pays the whole, also when nobody asked. A JSON object of `Payer` by
 * account id. The owner is a list in the list of requesters, because each row read costs.
 *
 * @param owner id of the member who owns the agent, or NULL
 */
export const payersSql = (requesters: SQLWrapper, owner: SQLWrapper): SQL => sql`(
  SELECT coalesce(json_group_object(p.payer, json_object('role', p.role, 'parts', p.parts, 'isFirst', p.is_first,
    'isOwner', p.is_owner)), '{}')
  FROM (
    SELECT n.value AS payer, count(*) AS parts, max(r.key = 0) AS is_first, max(r.type = 'array') AS is_owner,
      CASE n.key WHEN 1 THEN ${o.role} ELSE coalesce(iif(${q.kind} = 'system', 'system', ${q.role}), 'guest') END AS role
    FROM json_each(iif(${owner} IS NULL, ${requesters}, json_insert(${requesters}, '$[#]', json_array(${owner})))) r
    LEFT JOIN ${accounts} ${q} ON ${q.id} = iif(r.type = 'array', r.value ->> 0, r.value)
    LEFT JOIN ${accounts} ${o} ON ${o.id} = ${q.ownerId}
    CROSS JOIN json_each(json_array(iif(r.type = 'array', r.value ->> 0, r.value), ${q.ownerId})) n
    WHERE n.value IS NOT NULL GROUP BY n.value) p)`

/**
 * Condition: a payer was a guest when the payers were read. Searches the text of `payersSql`, which holds
 * ids and roles alone, because each row of `json_each` counts as a row read.
 */
export const hasGuestSql = (payers: SQLWrapper): SQL<number> =>
  sql`(instr(${payers}, '"role":"guest"') > 0)`

/** Returns the part of an amount that `payer` pays: all of it for their own agent, else of each requester it pays for an equal share. */
const partSql = (
  payer: SQL,
  requesters: SQLWrapper,
  amount: SQL,
): SQL => sql`iif(${payer} ->> 'isOwner',
  cast(${amount} AS INTEGER),
  cast(${amount} AS INTEGER) / json_array_length(${requesters}) * (${payer} ->> 'parts')
  + cast(${amount} AS INTEGER) % json_array_length(${requesters}) * (${payer} ->> 'isFirst'))`

/** Returns what the account `accountId` pays of an amount; NULL when it is no payer. */
export const partOfAccountSql = (
  spender: Record<'requesters' | 'payers', SQLWrapper>,
  accountId: SQLWrapper,
  amount: SQL,
): SQL => partSql(sql`(${spender.payers} -> ${accountId})`, spender.requesters, amount)

type Scope = Record<'scope', SQLWrapper>

/**
 * Condition: the budget `b` holds for each account with a role, which has a window of its own. A range, so
 * that one search of the index answers it.
 */
export const isRoleScopeSql = (b: Scope): SQL => sql`${b.scope} BETWEEN 'role:' AND 'role:~'`

/** Condition: the budget `b` has one window for all its spenders; reads no index. */
export const isSharedScopeSql = (b: Scope): SQL => sql`+${b.scope} NOT BETWEEN 'role:' AND 'role:~'`

/** The columns of `json_each(payers) h`: a payer for whom a budget of a role holds. */
export const holder = {
  id: sql.raw('h.key') as SQL<string>,
  payer: sql.raw('h.value') as SQL<string>,
}

/** Condition: the budget `b` of a role holds for the payer `h`. */
export const holdsForSql = (b: Scope): SQL =>
  sql`${b.scope} = 'role:' || (${holder.payer} ->> 'role')`

/** Condition: `payers` contains the account `id` with the role of the budget `b`. */
export const isHeldBySql = (b: Scope, id: SQLWrapper, payers: SQLWrapper): SQL =>
  sql`${b.scope} = 'role:' || (${payers} -> ${id} ->> 'role')`

/** Condition: the account has a budget of its own, which replaces those of its role. */
export const hasOwnBudgetSql = (accountId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${budgets} ${own} WHERE ${own.scope} = 'requester' AND ${own.scopeId} = ${accountId})`

/**
 * Joins after a budget `b` the payers `h` for whom it holds; a budget of another scope has one row without
 * a payer. `isLimitingSql` must be among the conditions.
 */
export const joinHoldersSql = (b: Scope, payers: SQLWrapper): SQL =>
  sql`LEFT JOIN json_each(iif(${isRoleScopeSql(b)}, ${payers}, '{}')) h ON ${holdsForSql(b)}`

/** Condition: `b` is no budget of a role, or its limit holds for the payer `h`. */
export const isLimitingSql = (b: Scope): SQL => sql`(${isSharedScopeSql(b)}
  OR (${holder.id} IS NOT NULL AND NOT ${hasOwnBudgetSql(holder.id)}))`

/** Joins what the payer `h` has spent in the window `w` as `v`; no row for other scopes. */
export const joinAccountWindowSql = (w: Record<'budgetId' | 'startsAt', SQLWrapper>): SQL =>
  sql`LEFT JOIN ${budgetAccountWindows} ${v} ON ${v.budgetId} = ${w.budgetId} AND ${v.startsAt} = ${w.startsAt}
    AND ${v.accountId} = ${holder.id}`

/** What is spent in the window `w`, or by the payer `h` in it. A budget of a role counts nothing itself. */
export const spentSql = (w: SpentColumns, kind: 'Microusd' | 'Tokens'): SQL<number> =>
  sql`(${w[`spent${kind}`]} + coalesce(${v[`spent${kind}`]}, 0))`

/** `spentSql` of both kinds, as columns of a window. */
export const spentBy = (w: SpentColumns) => ({
  spentMicrousd: spentSql(w, 'Microusd'),
  spentTokens: spentSql(w, 'Tokens'),
})

/** What the last call that was refused to the payer `h` needed; for a budget of another scope `needed`. */
export const neededBySql = (needed: NeededColumns): NeededColumns => ({
  neededMicrousd: sql`coalesce(${v.neededMicrousd}, ${needed.neededMicrousd})`,
  neededTokens: sql`coalesce(${v.neededTokens}, ${needed.neededTokens})`,
})

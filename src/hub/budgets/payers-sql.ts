import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { accounts } from '../schema/accounts'
import { budgetAccountWindows, budgets, roleScopes } from '../schema/budgets'

const q = alias(accounts, 'q')
const own = alias(budgets, 'own')
const v = alias(budgetAccountWindows, 'v')

/**
 * Returns who pays for `requesters`, a JSON list of account ids: each of them, and the member who claimed
 * it. A JSON object of `Payer` by account id.
 */
export const payersSql = (requesters: SQLWrapper): SQL => sql`(
  SELECT coalesce(json_group_object(p.payer, json_object(
    'role', iif(${q.kind} = 'system', NULL, ${q.role}), 'parts', p.parts, 'isFirst', p.is_first)), '{}')
  FROM (
    SELECT n.payer, count(*) AS parts, max(n.place = 0) AS is_first FROM (
      SELECT key AS place, value AS payer FROM json_each(${requesters})
      UNION ALL
      SELECT r.key, ${q.ownerId} FROM json_each(${requesters}) r JOIN ${accounts} ${q} ON ${q.id} = r.value
        WHERE ${q.ownerId} IS NOT NULL) n
    GROUP BY n.payer) p
  LEFT JOIN ${accounts} ${q} ON ${q.id} = p.payer)`

/** Returns the part of an amount that `payer` pays: of each requester it pays for, an equal share. */
const partSql = (payer: SQL, requesters: SQLWrapper, amount: SQL): SQL => sql`(
  cast(${amount} AS INTEGER) / json_array_length(${requesters}) * (${payer} ->> 'parts')
  + cast(${amount} AS INTEGER) % json_array_length(${requesters}) * (${payer} ->> 'isFirst'))`

/** Returns what the account `accountId` pays of an amount; NULL when it is no payer. */
export const partOfAccountSql = (
  spender: Record<'requesters' | 'payers', SQLWrapper>,
  accountId: SQLWrapper,
  amount: SQL,
): SQL => partSql(sql`(${spender.payers} -> ${accountId})`, spender.requesters, amount)

type Scope = Record<'scope', SQLWrapper>

const roleScopesSql = sql.raw(`(${roleScopes.map((each) => `'${each}'`).join(', ')})`)

/** Condition: the budget `b` holds for each account with a role, which has a window of its own. */
export const isRoleScopeSql = (b: Scope): SQL => sql`${b.scope} IN ${roleScopesSql}`

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
 * a payer. `isPaidSql` must be among the conditions.
 */
export const joinHoldersSql = (b: Scope, payers: SQLWrapper): SQL =>
  sql`LEFT JOIN json_each(${payers}) h ON ${holdsForSql(b)}`

/** Condition: `b` is no budget of a role, or its limit holds for the payer `h`. */
export const isLimitingSql = (b: Scope): SQL => sql`(NOT ${isRoleScopeSql(b)}
  OR (${holder.id} IS NOT NULL AND NOT ${hasOwnBudgetSql(holder.id)}))`

/** Joins what the payer `h` has spent in the window `w` as `v`; no row for other scopes. */
export const joinAccountWindowSql = (w: Record<'budgetId' | 'startsAt', SQLWrapper>): SQL =>
  sql`LEFT JOIN ${budgetAccountWindows} ${v} ON ${v.budgetId} = ${w.budgetId} AND ${v.startsAt} = ${w.startsAt}
    AND ${v.accountId} = ${holder.id}`

/** What is spent in the window `w`, or by the payer `h` in it. A budget of a role counts nothing itself. */
export const spentSql = (
  w: Record<'spentMicrousd' | 'spentTokens', SQLWrapper>,
  kind: 'Microusd' | 'Tokens',
): SQL<number> => sql`(${w[`spent${kind}`]} + coalesce(${v[`spent${kind}`]}, 0))`

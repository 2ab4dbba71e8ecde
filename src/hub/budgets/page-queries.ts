import { getTableColumns, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { budgetLimits } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import { manySql, mapStatement, oneSql, type Params, prepare } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { omit } from '../../shared/omit'
import type { AccountKind } from '../contract/hub'
import {
  type BudgetLevel,
  isRefusingSql,
  isTooLittleSql,
  levelSql,
  type NeededColumns,
  neededSql,
  pickThresholds,
  type SpentColumns,
  toLevel,
} from '../rules/budget-levels'
import {
  hasOwnBudgetSql,
  isCurrentWindowSql,
  isRoleScopeSql,
  mainBudgetOrderSql,
  reservedSql,
} from '../rules/payers-sql'
import { optionalPlaceSql } from '../rules/places'
import { isShownSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import {
  budgetAccountWindows,
  budgetRefusals,
  budgets,
  budgetWindows,
  usageDays,
} from '../schema/budgets'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import type { Reader } from '../viewers/reader'

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const owned = alias(accounts, 'owned')
const ownedAgent = alias(agents, 'owned_agent')
const a = alias(accounts, 'a')
const m = alias(communities, 'm')
const f = alias(budgetRefusals, 'f')
const v = alias(budgetAccountWindows, 'v')

/** The level of a budget `b`, and whether it refuses calls for which too little is left, in SQL. */
export const levelFields = (
  spent: SpentColumns & Record<'budgetId', SQLWrapper>,
  needed: NeededColumns,
) => ({
  level: levelSql(b, spent, needed).mapWith(toLevel) as SQL<BudgetLevel>,
  isRefusing: flag(isRefusingSql(b, spent, needed)),
})

/** A budget `b` with its current window `w`, and what running activations have reserved. */
export const statusFields = {
  id: b.id,
  scope: b.scope,
  scopeId: b.scopeId,
  period: b.period,
  limitMicrousd: b.limitMicrousd,
  limitTokens: b.limitTokens,
  ...pickThresholds(b),
  spentMicrousd: number(sql`coalesce(${w.spentMicrousd}, 0)`),
  spentTokens: number(sql`coalesce(${w.spentTokens}, 0)`),
  ...levelFields(w, neededSql(b, w)),
  reservedMicrousd: number(reservedSql(b, 'reservedMicrousd')),
  reservedTokens: number(reservedSql(b, 'reservedTokens')),
}

/** An account in the current window of a budget of its role. */
export interface RoleAccount {
  id: AccountId
  /** Null when deleted. */
  name: string | null
  kind: AccountKind | null
  displayName: string | null
  spentMicrousd: number
  spentTokens: number
  neededMicrousd: number | null
  neededTokens: number | null
  level: BudgetLevel
  isRefusing: boolean
}

/** The accounts that have spent from a budget of their role in the current window. */
export interface RoleAccounts {
  count: number
  /** Those for which the limit is used up, or that were refused since too little is left. */
  usedUp: number
  /** Those that have used the most of the limit, greatest first. */
  top: RoleAccount[]
}

/** Accounts shown of a budget of a role. */
const accountsShown = sql.raw('5')

const usedShareSql = sql`max(coalesce(${v.spentMicrousd} * 1.0 / ${b.limitMicrousd}, 0),
  coalesce(${v.spentTokens} * 1.0 / ${b.limitTokens}, 0))`
/** Whether nothing is left for an account, or less than its last call needed. */
const isUsedUpSql = isTooLittleSql(b, v, v)

/** What SQLite's JSON contains of an account. */
type StoredAccount = Omit<RoleAccount, 'level' | 'isRefusing'> &
  Record<'level' | 'isRefusing', number>

function readRoleAccounts(json: string): RoleAccounts {
  const { top, ...counts } = JSON.parse(json) as {
    top: StoredAccount[]
    count: number
    usedUp: number
  }
  const accounts = top.map((each) => ({
    ...each,
    level: toLevel(each.level),
    isRefusing: each.isRefusing === 1,
  }))
  return { ...counts, top: accounts }
}

/** The accounts of a budget of a role; NULL for other scopes. Reads a row for each account that has spent. */
const roleAccountsSql = sql<RoleAccounts | null>`iif(${isRoleScopeSql(b)}, (
  SELECT json_object('count', count(*), 'usedUp', total(p.is_used_up), 'top', json_group_array(json_object(
    'id', p.account_id, 'name', n.name, 'kind', n.kind, 'displayName', n.display_name, 'spentMicrousd', p.spent_microusd, 'spentTokens', p.spent_tokens,
    'neededMicrousd', p.needed_microusd, 'neededTokens', p.needed_tokens, 'level', p.level,
    'isRefusing', p.is_refusing)) FILTER (WHERE p.place <= ${accountsShown}))
  FROM (
    SELECT ${v.accountId}, ${v.spentMicrousd}, ${v.spentTokens}, ${v.neededMicrousd}, ${v.neededTokens},
      ${isUsedUpSql} AS is_used_up, ${levelSql(b, v, v)} AS level, ${isRefusingSql(b, v, v)} AS is_refusing,
      row_number() OVER (ORDER BY ${isUsedUpSql} DESC, ${usedShareSql} DESC, ${v.spentMicrousd} DESC, ${v.accountId}) AS place
    FROM ${budgetAccountWindows} ${v}
    WHERE ${v.budgetId} = ${b.id} AND ${v.startsAt} = ${w.startsAt} AND NOT ${hasOwnBudgetSql(v.accountId)}
    ORDER BY place) p
  LEFT JOIN ${accounts} n ON n.id = p.account_id), NULL)`.mapWith(readRoleAccounts)

const pageFields = {
  /** Null for scopes other than roles. */
  accounts: roleAccountsSql as SQL<RoleAccounts | null>,
  ...omit(getTableColumns(b), ['createdAt', 'updatedAt']),
  ...statusFields,
  /** The least that the last refused call of this window could take; null when none was refused. */
  neededMicrousd: nullable(f.neededMicrousd),
  neededTokens: nullable(f.neededTokens),
  /** Null: no window is open. */
  startsAt: nullable(w.startsAt),
  endsAt: nullable(w.endsAt),
  firstDay: sql<
    number | null
  >`(SELECT min(${usageDays.day}) FROM ${usageDays} WHERE ${usageDays.scope} = 'hub')`,
  /** Name of the agent or requester; null for other scopes. */
  name: nullable(a.name),
  kind: nullable(a.kind),
  displayName: nullable(a.displayName),
  /** Names of the agents that a requester owns, whose runs it pays for, too; empty for other scopes. */
  ownedAgents: sql<
    string[]
  >`iif(${b.scope} = 'requester', (SELECT json_group_array(${owned.name}) FROM ${accounts} ${owned}
    JOIN ${agents} ${ownedAgent} ON ${ownedAgent.accountId} = ${owned.id} WHERE ${owned.ownerId} = ${b.scopeId}), '[]')`.mapWith(
    (json: string): string[] => JSON.parse(json),
  ),
  /** Null for other scopes, and for readers who do not read it. */
  community: optionalPlaceSql(m),
}

/**
 * A budget as the API and pages show it. What is spent of a budget of a role is what the account has spent
 * that has used the most of it.
 */
export type PageBudget = RowOf<typeof pageFields>

type Now = Params<{ now: number }>['now']

export const currentWindowSql = (now: Now): SQL =>
  sql`LEFT JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, now)}`

type At = Params<{ now: number; reader: Reader }>

/** `FROM` and `rest` of a select of `pageFields`; `rest` starts with WHERE or ORDER BY on `b`. */
const fromBudgets = ({ now, reader }: At, rest: SQL): SQL => sql`FROM ${budgets} ${b}
  LEFT JOIN ${accounts} ${a} ON ${b.scope} IN ('agent', 'requester') AND ${a.id} = ${b.scopeId}
  LEFT JOIN ${communities} ${m} ON ${b.scope} = 'community' AND ${m.id} = ${b.scopeId}
    AND ${isShownSql(m.id, reader)}
  ${currentWindowSql(now)}
  LEFT JOIN ${budgetRefusals} ${f} ON ${f.budgetId} = ${b.id} AND ${f.startsAt} = ${w.startsAt} ${rest}`

/** Selects all budgets, those of the hub first, beginning with its main one. */
export const selectBudgets = prepare((v: At) =>
  mapStatement(
    manySql(
      pageFields,
      fromBudgets(
        v,
        sql`ORDER BY ${b.scope} <> 'hub', ${a.name}, ${mainBudgetOrderSql(b)} LIMIT 1000`,
      ),
    ),
    (rows) => rows.map(fillFromAccounts),
  ),
)

export const selectBudget = prepare((v: At & Params<{ id: string }>) =>
  mapStatement(
    oneSql(pageFields, fromBudgets(v, sql`WHERE ${b.id} = ${v.id}`)),
    (row) => row && fillFromAccounts(row),
  ),
)

/** Returns a budget of a role with what its first account has spent; others unchanged. */
function fillFromAccounts(budget: PageBudget): PageBudget {
  const [first] = budget.accounts?.top ?? []
  if (!first) return budget
  const { id: _id, name: _name, kind: _kind, displayName: _displayName, ...used } = first
  return { ...budget, ...used }
}

/** Selects the budget of an agent with the worst level; of several, the one of which the most is used. */
export const selectAgentBudget = prepare((v: At & Params<{ name: string }>) =>
  oneSql(
    pageFields,
    fromBudgets(
      v,
      sql`WHERE ${b.scope} = 'agent' AND ${b.scopeId} = (SELECT id FROM ${accounts} WHERE name = ${v.name})
        ORDER BY ${levelSql(b, w, f)} DESC, max(coalesce(${w.spentMicrousd} * 1.0 / ${b.limitMicrousd}, 0),
          coalesce(${w.spentTokens} * 1.0 / ${b.limitTokens}, 0)) DESC LIMIT 1`,
    ),
  ),
)

const DAY_MS = 86_400_000

type Offer = Params<{ sinceDay: number; limit: number; reader: Reader }>

const selectNames = prepare(({ sinceDay, limit, reader }: Offer) => {
  const n = { scope: sql<string>`n.scope`, name: sql<string>`n.name` }
  return manySql(
    n,
    sql`FROM (
      SELECT * FROM (SELECT 'agent' AS scope, name FROM ${accounts} WHERE kind = 'agent' ORDER BY name LIMIT ${limit})
      UNION ALL SELECT * FROM (SELECT 'community', ${m.name} FROM ${communities} ${m} WHERE ${isShownSql(m.id, reader)}
        ORDER BY ${m.name} LIMIT ${limit})
      UNION ALL SELECT * FROM (SELECT DISTINCT scope, scope_id FROM ${usageDays}
        WHERE scope IN ('model', 'provider') AND day > ${sinceDay} ORDER BY scope, scope_id LIMIT ${limit})) n`,
  )
})

/** Selects names to offer for a new budget: agents, communities, recently used models and providers. */
export const selectScopeNames = (now: number, reader: Reader): ReturnType<typeof selectNames> =>
  selectNames({
    reader,
    sinceDay: Math.floor(now / DAY_MS) - budgetLimits.namesDays,
    limit: budgetLimits.namesOffered,
  })

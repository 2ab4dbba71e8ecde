import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { budgetAccountWindows, budgets, budgetWindows, usageEvents } from '../schema/budgets'
import { replayLanes } from '../schema/replays'
import {
  hasReachedSql,
  type LimitColumns,
  type NeededColumns,
  type SpentColumns,
  usableLimitSql,
} from './budget-levels'

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

type HasScope = Record<'scope', SQLWrapper>

/**
 * Condition: the budget `b` holds for each account with a role, which has a window of its own. A range, so
 * that one search of the index answers it.
 */
export const isRoleScopeSql = (b: HasScope): SQL => sql`${b.scope} BETWEEN 'role:' AND 'role:~'`

/** Condition: the budget `b` has one window for all its spenders; reads no index. */
export const isSharedScopeSql = (b: HasScope): SQL =>
  sql`+${b.scope} NOT BETWEEN 'role:' AND 'role:~'`

/** The columns of `json_each(payers) h`: a payer for whom a budget of a role holds. */
export const holder = {
  id: sql.raw('h.key') as SQL<string>,
  payer: sql.raw('h.value') as SQL<string>,
}

/** Condition: the budget `b` of a role holds for the payer `h`. */
export const holdsForSql = (b: HasScope): SQL =>
  sql`${b.scope} = 'role:' || (${holder.payer} ->> 'role')`

/** Condition: `payers` contains the account `id` with the role of the budget `b`. */
const isHeldBySql = (b: HasScope, id: SQLWrapper, payers: SQLWrapper): SQL =>
  sql`${b.scope} = 'role:' || (${payers} -> ${id} ->> 'role')`

/** Condition: the account has a budget of its own, which replaces those of its role. */
export const hasOwnBudgetSql = (accountId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${budgets} ${own} WHERE ${own.scope} = 'requester' AND ${own.scopeId} = ${accountId})`

/**
 * Joins after a budget `b` the payers `h` for whom it holds; a budget of another scope has one row without
 * a payer. `isLimitingSql` must be among the conditions.
 */
export const joinHoldersSql = (b: HasScope, payers: SQLWrapper): SQL =>
  sql`LEFT JOIN json_each(iif(${isRoleScopeSql(b)}, ${payers}, '{}')) h ON ${holdsForSql(b)}`

/** Condition: `b` is no budget of a role, or its limit holds for the payer `h`. */
export const isLimitingSql = (b: HasScope): SQL => sql`(${isSharedScopeSql(b)}
  OR (${holder.id} IS NOT NULL AND NOT ${hasOwnBudgetSql(holder.id)}))`

/** Joins what the payer `h` has spent in the window `w` as `v`; no row for other scopes. */
export const joinAccountWindowSql = (w: Record<'budgetId' | 'startsAt', SQLWrapper>): SQL =>
  sql`LEFT JOIN ${budgetAccountWindows} ${v} ON ${v.budgetId} = ${w.budgetId} AND ${v.startsAt} = ${w.startsAt}
    AND ${v.accountId} = ${holder.id}`

/** What is spent in the window `w`, or by the payer `h` in it. A budget of a role counts nothing itself. */
const spentSql = (w: SpentColumns, kind: 'Microusd' | 'Tokens'): SQL<number> =>
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

/**
 * What is compared with the scopes of budgets: an agent, a community, models (a JSON list), requesters
 * (a JSON list of account ids) and who pays for them (a JSON object by account id). An alias of `activations` has these columns; `spenderOf` names those of
 * other tables.
 */
export type Spender = Record<
  'agentId' | 'communityId' | 'models' | 'requesters' | 'payers' | 'isForGuest',
  SQLWrapper
> & {
  /** Whether it is a lane of a replay; absent: it is none. */
  isReplay?: SQLWrapper
}

/** The spender in the columns of the table `name`, which are named as in `activations`. */
export const spenderOf = (name: string): Spender => ({
  agentId: sql.raw(`${name}.agent_id`),
  communityId: sql.raw(`${name}.community_id`),
  models: sql.raw(`${name}.models`),
  requesters: sql.raw(`${name}.requesters`),
  payers: sql.raw(`${name}.payers`),
  isForGuest: sql.raw(`${name}.is_for_guest`),
})

/** Columns of a spender that has no requester. */
export const noRequestersSql = sql.raw("'[]' AS requesters, '{}' AS payers, 0 AS is_for_guest")

const e = alias(usageEvents, 'e')
const x = alias(activations, 'x')
const lane = alias(replayLanes, 'lane')

/** The columns of a lane of a replay, an alias of `replay_lanes`, as a spender. */
export const toLaneSpender = (row: Omit<Spender, 'isReplay'>): Spender => ({
  agentId: row.agentId,
  communityId: row.communityId,
  models: row.models,
  requesters: row.requesters,
  payers: row.payers,
  isForGuest: row.isForGuest,
  isReplay: sql.raw('1'),
})

type Scope = Record<'scope' | 'scopeId', SQLWrapper>
type Span = Record<'budgetId' | 'startsAt' | 'endsAt', SQLWrapper>
type Time = SQLWrapper | number

/** Returns the provider of `provider/model`. */
export const providerSql = (model: SQLWrapper): SQL<string> =>
  sql`substr(${model}, 1, instr(${model} || '/', '/') - 1)`

/**
 * Condition: the budget `b` pays for `spender` from a window that all its spenders share. Each line uses an
 * index of `budgets`.
 */
export const paysForSql = (b: Scope, spender: Spender): SQL => sql`(
  (${b.scope} = 'hub' AND ${b.scopeId} = '')
  OR (${b.scope} = 'agent' AND ${b.scopeId} = ${spender.agentId})
  OR (${b.scope} = 'community' AND ${b.scopeId} = ${spender.communityId})
  OR (${b.scope} = 'model' AND ${b.scopeId} IN (SELECT value FROM json_each(${spender.models})))
  OR (${b.scope} = 'provider' AND ${b.scopeId} IN (
    SELECT ${providerSql(sql`value`)} FROM json_each(${spender.models})))
  OR (${b.scope} = 'requester' AND ${b.scopeId} IN (SELECT key FROM json_each(${spender.payers})))
  OR (${b.scope} = 'guests' AND ${b.scopeId} = '' AND ${spender.isForGuest} = 1)${
    spender.isReplay &&
    sql`
  OR (${b.scope} = 'replay' AND ${b.scopeId} = '' AND ${spender.isReplay} = 1)`
  })`

/**
 * Condition: the budget `b` pays for `spender`, or, when it holds for each account with a role, may do so:
 * `joinHoldersSql` and `isLimitingSql` decide that.
 */
export const mayPayForSql = (b: Scope, spender: Spender): SQL =>
  sql`(${paysForSql(b, spender)} OR ${isRoleScopeSql(b)})`

/** Condition: the running activation or lane `by` spends from the window of `b`, or of the payer `h` in it. */
const holdsMoneySql = (
  b: Scope,
  by: Spender,
): SQL => sql`iif(${holder.id} IS NULL, ${paysForSql(b, by)},
  ${isHeldBySql(b, holder.id, by.payers)})`

/**
 * Returns what the budget `b` pays of an amount: requesters share it equally, the remainder is the first
 * one's. The budget of a member pays its own share and those of the accounts that it claimed. Every
 * budget that is no requester's pays the whole.
 */
export const shareSql = (b: Scope, spender: Spender, amount: SQL): SQL => sql`
  CASE WHEN ${b.scope} <> 'requester' THEN ${amount}
    ELSE coalesce(${partOfAccountSql(spender, b.scopeId, amount)}, 0) END`

/** Condition: `w` is the window of the budget `b` at the time `now`. */
export const isCurrentWindowSql = (b: { id: SQLWrapper }, w: Span, now: Time): SQL =>
  sql`${w.budgetId} = ${b.id} AND ${w.startsAt} <= ${now} AND ${w.endsAt} > ${now}`

/**
 * Usage events as spenders, each with what it cost: each model call is paid by the budgets of its own
 * model. A table in `FROM`.
 */
export const usageSpendersSql = sql`(
  SELECT ${e.accountId} AS agent_id, ${e.communityId}, json_array(${e.model}) AS models,
    coalesce(${x.requesters}, ${lane.requesters}, '[]') AS requesters,
    coalesce(${x.payers}, ${lane.payers}, '{}') AS payers,
    coalesce(${x.isForGuest}, ${lane.isForGuest}, 0) AS is_for_guest, ${e.task} = 'replay' AS is_replay,
    ${e.costMicrousd}, ${e.inputTokens}, ${e.outputTokens}, ${e.createdAt}
  FROM ${usageEvents} ${e} LEFT JOIN ${activations} ${x} ON ${x.id} = ${e.activationId}
    LEFT JOIN ${replayLanes} ${lane} ON ${lane.id} = ${e.activationId})`

/** The columns of `usageSpendersSql u`. */
export const usageSpender: Spender = { ...spenderOf('u'), isReplay: sql.raw('u.is_replay') }

type Reserved = 'reservedMicrousd' | 'reservedTokens'

/**
 * Returns the sum that running lanes of replays have reserved of the budget `b`, or of the payer `h` in it. Without such a
 * lane it reads no row.
 */
const heldByLanesSql = (b: Scope, column: Reserved, holds: typeof paysForSql, except?: SQL): SQL =>
  sql`(SELECT coalesce(sum(${lane[column]}), 0) FROM ${replayLanes} ${lane} INDEXED BY replay_lanes_running
    WHERE ${lane.state} = 'running'${except} AND ${holds(b, toLaneSpender(lane))})`

/** Returns the sum that running activations and lanes have reserved of the budget `b`, or of the payer `h` in it. */
export function reservedSql(b: Scope, column: Reserved, { byHolder = false } = {}): SQL<number> {
  const held = alias(activations, 'held')
  const holds = byHolder ? holdsMoneySql : paysForSql
  return sql`((SELECT coalesce(sum(${held[column]}), 0) FROM ${activations} ${held}
    WHERE ${held.state} = 'running' AND ${holds(b, held)}) + ${heldByLanesSql(b, column, holds)})`
}

/**
 * Order of the budgets of the hub, the main one first: of those with a limit, else of all, the one with the
 * longest period.
 */
export const mainBudgetOrderSql = (
  b: Record<'limitMicrousd' | 'limitTokens' | 'period' | 'id', SQLWrapper>,
): SQL => sql`coalesce(${b.limitMicrousd}, ${b.limitTokens}) IS NULL,
  instr('day week month', ${b.period}) DESC, ${b.id}`

/** Condition: spending in the window `w` has reached the share of the budget `b` that pauses exploration. */
export const isBeyondThrottleSql = (b: LimitColumns, w: SpentColumns): SQL =>
  hasReachedSql(b, w, 'throttle')

/** Returns the models that can run the tasks of the agent `a`, as a JSON list. */
export const agentModelsSql = (a: Record<'model' | 'models', SQLWrapper>): SQL<string> =>
  sql`iif(${a.models} = '[]', json_array(${a.model}), ${a.models})`

/** Represents "no limit"; far above any sum of micro-dollars, and exact in a double. */
const unlimited = sql.raw('9000000000000000')

type Kind = 'Microusd' | 'Tokens'

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')

/**
 * Returns the part of a limit that `ask` can use. The part beyond the critical share is reserved for
 * tasks of critical priority, if the budget allows them. No task can exceed the limit.
 */
const usableSql = (kind: Kind): SQL => sql`
  CASE WHEN ask.priority = 'critical' AND ${b.allowsCritical} THEN ${b[`limit${kind}`]}
       ELSE ${usableLimitSql(b, kind)} END`

/** Whether the sweep still has to create the current window of a budget, as on a hub that has just started. */
const lacksWindowSql = sql`(${w.budgetId} IS NULL)`

/** Returns what is left of a limit; without a current window it is 0, so that it fails closed. */
const unspentSql = (kind: Kind): SQL => sql`
  CASE WHEN ${b[`limit${kind}`]} IS NULL THEN ${unlimited}
       WHEN ${lacksWindowSql} THEN 0 ELSE ${usableSql(kind)} - ${spentSql(w, kind)} END`

/** Returns the share of a model's or provider's limit that is neither spent nor reserved. */
const freeShareSql = (kind: Kind): SQL => sql`
  CASE WHEN ${b.scope} NOT IN ('model', 'provider') OR ${b[`limit${kind}`]} IS NULL THEN 1
       WHEN ${lacksWindowSql} OR ${b[`limit${kind}`]} = 0 THEN 0
       ELSE (${b[`limit${kind}`]} - ${w[`spent${kind}`]} - total(${x[`reserved${kind}`]})) / ${b[`limit${kind}`]} END`

/** What lanes other than `ask` have reserved. They settle each call when it is reported, so none has used more. */
const heldByOthersSql = (column: Reserved): SQL =>
  heldByLanesSql(b, column, holdsMoneySql, sql` AND ${lane.id} <> ask.id`)

/**
 * Selects what each budget leaves for each row of the table `ask`, whose columns are `spender`, that it pays for: `candidate`, `budget_id`,
 * `microusd` and `tokens` (limit - spent), `used_...` (spent and not yet settled by OTHER running activations)
 * and `held_...` (reserved by these, and by lanes of replays). A row of `ask` is a spender with `id`, `candidate` (its key), `at` (the
 * time) and `priority`. The index is named, because SQLite would otherwise build a temporary index over all
 * activations ever run.
 */
export const selectBudgetRoomSql = (spender: Spender): SQL =>
  selectRoomSql(spender, {
    columns: sql`,
      total(${x.costMicrousd}) AS used_microusd, total(${x.inputTokens}) AS used_tokens,
      total(${x.reservedMicrousd}) + ${heldByOthersSql('reservedMicrousd')} AS held_microusd,
      total(${x.reservedTokens}) + ${heldByOthersSql('reservedTokens')} AS held_tokens,
      min(${freeShareSql('Microusd')}, ${freeShareSql('Tokens')}) AS free_share`,
    join: sql`LEFT JOIN ${activations} ${x} INDEXED BY activations_running
      ON ${x.state} = 'running' AND ${x.id} <> ask.id AND ${holdsMoneySql(b, x)}`,
  })

/** The same without what running activations have used and reserved, which reads these for each row and budget. */
export const selectSettledRoomSql = (spender: Spender): SQL =>
  selectRoomSql(spender, { columns: sql``, join: sql`` })

const selectRoomSql = (spender: Spender, running: Record<'columns' | 'join', SQL>): SQL => sql`
    SELECT ask.candidate, ${b.id} AS budget_id, ${unspentSql('Microusd')} AS microusd, ${unspentSql('Tokens')} AS tokens,
      ${isBeyondThrottleSql(b, spentBy(w))} AS is_throttled, ${lacksWindowSql} AS lacks_window${running.columns}
    FROM ask CROSS JOIN ${budgets} ${b} ON ${mayPayForSql(b, spender)}
    ${joinHoldersSql(b, spender.payers)}
    LEFT JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, sql`ask.at`)}
    ${joinAccountWindowSql(w)}
    ${running.join}
    WHERE ${isLimitingSql(b)}
    GROUP BY ask.candidate, ${b.id}, ${holder.id}`

/**
 * Selects what is left for each row of the table `ask`, whose columns are `spender`, over all budgets that pay for the row. The columns
 * are `candidate` and those of `headroomOf`.
 * `left` is limit - spent, ignoring reservations of OTHER running activations; what those have spent
 * and not yet settled counts as spent.
 * `free` is limit - spent - the reservations of OTHER running activations. Neither is negative.
 * `freeShare` considers only budgets of the model and its provider. `lacksWindow`: what is left is not known yet, and so 0.
 */
export const selectHeadroomSql = (spender: Spender): SQL => sql`
  SELECT candidate,
    max(0, min(microusd - used_microusd)) AS left_microusd, max(0, min(tokens - used_tokens)) AS left_tokens,
    max(0, min(microusd - held_microusd)) AS free_microusd, max(0, min(tokens - held_tokens)) AS free_tokens,
    min(free_share) AS free_share, max(is_throttled) AS is_throttled, max(lacks_window) AS lacks_window
  FROM (${selectBudgetRoomSql(spender)})
  GROUP BY candidate`

/** The headroom of a table `ask` that has all columns of a spender. */
export const headroomSql = selectHeadroomSql(spenderOf('ask'))

/** The columns of `headroomSql` in a join as `name`: `LEFT JOIN (${headroomSql}) r ON r.candidate = ...`. */
export const headroomOf = (name: string) => ({
  candidate: sql.raw(`${name}.candidate`),
  leftMicrousd: sql.raw(`${name}.left_microusd`) as SQL<number>,
  leftTokens: sql.raw(`${name}.left_tokens`) as SQL<number>,
  freeMicrousd: sql.raw(`${name}.free_microusd`) as SQL<number>,
  freeTokens: sql.raw(`${name}.free_tokens`) as SQL<number>,
  freeShare: sql.raw(`${name}.free_share`) as SQL<number>,
  isThrottled: sql.raw(`${name}.is_throttled`) as SQL<number>,
  lacksWindow: sql.raw(`${name}.lacks_window`) as SQL<number>,
})

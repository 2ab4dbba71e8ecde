import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import { agentModelsSql, hasGuestSql, payersSql } from '../rules/payers-sql'
import { personSql } from '../rules/people-sql'
import { isHubPausedSql } from '../rules/waiting-sql'
import { askWithRoomSql, ownerOfSql } from '../runs/claim-queries'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { usageEvents } from '../schema/budgets'
import { agents } from '../schema/definitions'

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const x = alias(activations, 'x')

/** Selects which models each agent can use, the preferred one first. */
export const selectModelUsers = prepare(() =>
  manySql(
    { agent: personSql(a), models: sql<string>`${agentModelsSql(g)}` },
    sql`FROM ${agents} ${g} JOIN ${accounts} ${a} ON ${a.id} = ${g.accountId} ORDER BY ${a.name}`,
  ),
)

/** A call outside of runs that is about to be made. */
export interface SingleCall {
  id: ActivationId
  /** The account that calls: the agent, or the admin who tests a model. */
  agentId: AccountId
  /** Who asked for the call, and pays. */
  accountId: AccountId
  model: string
  now: number
  deadlineAt: number
  microusd: number
  tokens: number
}

/** Distinguishes the reservation of such a call from runs, which have a version of a definition. */
const singleCallVersion = 0

/** The call as a row of `ask`, for the budgets that would pay for a run of the same requester. */
const askSql = (v: Params<SingleCall>): SQL => sql`
  SELECT ${v.id} AS id, ${v.now} AS at, 0 AS candidate, ${v.model} AS model, json_array(${v.model}) AS models,
    ${v.agentId} AS agent_id, NULL AS community_id, 'normal' AS priority,
    json_array(${v.accountId}) AS requesters, ${payersSql(sql`json_array(${v.accountId})`, ownerOfSql(v.agentId))} AS payers,
    ${v.microusd} AS call_floor_microusd, ${v.tokens} AS call_floor_tokens`

/** Whether a call was made and charged before. */
const wasChargedSql = (id: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${usageEvents} WHERE ${usageEvents.activationId} = ${id})`

/**
 * Reserves the money of a call, as a row that exists while the call runs; answers whether it did. Nothing is inserted when a
 * budget leaves too little, when the hub is paused, while another call or run of the account runs, or when the call was charged.
 */
export const reserveSingleCall = prepare((v: Params<SingleCall>) =>
  writeChanges(
    insertSelect(
      activations,
      {
        id: v.id,
        agentId: v.agentId,
        class: 'inbox',
        task: 'manual',
        state: 'running',
        admission: 'granted',
        model: v.model,
        models: sql`a.models`,
        definitionVersion: singleCallVersion,
        requesters: sql`a.requesters`,
        payers: sql`a.payers`,
        isForGuest: hasGuestSql(sql`a.payers`),
        startedAt: v.now,
        reservedAt: v.now,
        deadlineAt: v.deadlineAt,
        reservedMicrousd: v.microusd,
        reservedTokens: v.tokens,
      },
      sql`FROM ${askWithRoomSql} WHERE a.is_free AND NOT ${isHubPausedSql}
        AND NOT EXISTS (SELECT 1 FROM ${activations} ${x}
          WHERE ${x.agentId} = ${v.agentId} AND ${x.state} = 'running')
        AND NOT ${wasChargedSql(v.id)}`,
      { before: sql`WITH ask AS MATERIALIZED (${askSql(v)})` },
    ),
  ),
)

/** Selects what stands in the way of a call that was not admitted, besides a budget. */
export const selectSingleCall = prepare((v: Params<Pick<SingleCall, 'id' | 'agentId'>>) =>
  oneSql(
    {
      isRepeated: flag(
        sql`EXISTS (SELECT 1 FROM ${activations} WHERE ${activations.id} = ${v.id}) OR ${wasChargedSql(v.id)}`,
      ),
      isHubPaused: flag(sql`${isHubPausedSql}`),
      isOtherRunning: flag(sql`EXISTS (SELECT 1 FROM ${activations} ${x}
        WHERE ${x.agentId} = ${v.agentId} AND ${x.state} = 'running' AND ${x.id} <> ${v.id})`),
    },
    sql``,
  ),
)

const lostFields = {
  id: x.id,
  model: x.model,
  microusd: x.reservedMicrousd,
  tokens: x.reservedTokens,
}

/** A call whose end was not recorded, because the machine stopped, with what it had reserved. */
export type LostCall = Pick<SingleCall, 'id' | 'model' | 'microusd' | 'tokens'>

/** Whether a running activation `x` is a call whose end was not recorded. */
const isLostSql = (now: SQLWrapper): SQL => sql`${x.deadlineAt} < ${now}
  AND ${x.definitionVersion} = ${sql.raw(String(singleCallVersion))}`

export const selectLostCalls = prepare((v: Params<{ now: number }>) =>
  manySql(
    lostFields,
    sql`FROM ${activations} ${x} WHERE ${x.state} = 'running' AND ${isLostSql(v.now)}`,
  ),
)

/** The same calls, as a column of what counts the running activations `x`. */
export const lostCallsSql = (now: SQLWrapper) =>
  sql`json_group_array(json_object('id', ${x.id}, 'model', ${x.model}, 'microusd', ${x.reservedMicrousd},
    'tokens', ${x.reservedTokens})) FILTER (WHERE ${isLostSql(now)})`.mapWith(
    (json: string): LostCall[] => JSON.parse(json),
  )

/** Deletes the reservation of a call. One that was closed as lost stays: it was charged. */
export const deleteSingleCall = (id: ActivationId): Statement<void> =>
  write(
    orm.delete(activations).where(sql`${activations.id} = ${id} AND ${activations.state} = 'running'
    AND ${activations.definitionVersion} = ${sql.raw(String(singleCallVersion))}`),
  )

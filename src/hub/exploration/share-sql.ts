import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { exploration } from '../../shared/config'
import { type Params, prepare, type Statement, writeChanges } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import { isHubPausedSql, isWaitingSql } from '../inbox/waiting-sql'
import { activations } from '../schema/activations'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { settings } from '../schema/system'
import { canExploreSql } from './discover-sql'

/*
 * How tasks and explorations share the capacity, as SQL of LOAD; the scheduler has the same rule as a
 * pure function.
 */

/** Capacity of the hub in slots, and the slots of it that are reserved for exploration (`floor`). */
export interface SlotOperands {
  now: SQLWrapper
  capacity: SQLWrapper
  floor: SQLWrapper
}

const a = alias(agents, 'a')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')
const k = alias(activations, 'k')
const w = alias(inboxItems, 'w')
const x = alias(activations, 'x')

const countRunningSql = (condition?: SQL): SQL =>
  sql`(SELECT count(*) FROM ${activations} ${k} WHERE ${k.state} = 'running'${condition && sql` AND ${condition}`})`

const countRunningTasksSql = countRunningSql(sql`${k.class} = 'inbox'`)
const countRunningExplorationsSql = countRunningSql(sql`${k.class} = 'exploration'`)

/** Oldest tasks that are read to find out whether an agent waits. */
const tasksReadMax = sql.raw('100')

const doesInboxWaitSql = sql`EXISTS (
  SELECT 1 FROM (SELECT ${w.accountId} FROM ${inboxItems} ${w} WHERE ${isWaitingSql(w)}
    ORDER BY ${w.createdAt} LIMIT ${tasksReadMax}) ${w}
  JOIN ${agents} ${g} ON ${g.accountId} = ${w.accountId} AND ${g.isPaused} = 0
  WHERE NOT EXISTS (SELECT 1 FROM ${activations} ${k} WHERE ${k.agentId} = ${w.accountId} AND ${k.state} = 'running'))`

/** Whether an exploration was refused recently for lack of a slot. */
export const doesExplorationWaitSql = (now: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${settings} WHERE ${settings.key} = 'exploration_waits'
    AND ${settings.updatedAt} > ${now} - ${exploration.waitsMs})`.inlineParams()

/**
 * Whether a task can have a slot. Slots reserved for exploration are lent to tasks while no exploration
 * waits.
 */
export const hasInboxSlotSql = ({ now, capacity, floor }: SlotOperands): SQL => sql`(
  ${countRunningTasksSql} < ${capacity} - ${floor} OR NOT ${doesExplorationWaitSql(now)})`

const hasExplorationSlotSql = ({ capacity, floor }: SlotOperands): SQL => sql`(
  ${countRunningSql()} < ${capacity}
  AND (${countRunningExplorationsSql} < ${floor} OR NOT ${doesInboxWaitSql}))`

/** Whether an agent can explore now: it is allowed to, and a slot is free. */
export const canStartExplorationSql = (request: SlotOperands & { agentId: SQLWrapper }): SQL =>
  sql`(${hasExplorationSlotSql(request)} AND ${canExploreSql(request)})`

/** What LOAD requests; capacity and floor are slots. */
export interface ExplorationRequest {
  activationId: ActivationId
  agentId: AccountId
  now: number
  capacity: number
  floor: number
}

/**
 * Records that an exploration was refused for lack of a slot, so that tasks leave one free. Answers
 * whether it was refused for that.
 */
export const recordExplorationRefusal: (request: ExplorationRequest) => Statement<boolean> =
  prepare((v: Params<ExplorationRequest>) =>
    writeChanges(
      insertSelect(
        settings,
        { key: 'exploration_waits', value: 'true', updatedAt: v.now },
        sql`
        WHERE NOT EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.id} = ${v.activationId} OR ${x.resumedBy} = ${v.activationId})
          AND NOT EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.agentId} = ${v.agentId} AND ${x.state} = 'running')
          AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.accountId} = ${v.agentId} AND ${isWaitingSql(i)})
          AND NOT EXISTS (SELECT 1 FROM ${agents} ${a} WHERE ${a.accountId} = ${v.agentId} AND ${a.isPaused} = 1)
          AND NOT ${isHubPausedSql} AND NOT ${hasExplorationSlotSql(v)} AND ${canExploreSql(v)}
        ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at`,
      ),
    ),
  )

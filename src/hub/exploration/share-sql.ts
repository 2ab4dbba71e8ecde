import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { exploration } from '../../shared/config'
import { isAgentHeldSql } from '../inbox/held-sql'
import { isAgentRunningSql, isWaitingSql } from '../inbox/waiting-sql'
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

const g = alias(agents, 'g')
const k = alias(activations, 'k')
const w = alias(inboxItems, 'w')

const countRunningSql = (condition?: SQL): SQL =>
  sql`(SELECT count(*) FROM ${activations} ${k} WHERE ${k.state} = 'running'${condition && sql` AND ${condition}`})`

const countRunningTasksSql = countRunningSql(sql`${k.class} = 'inbox'`)
const countRunningExplorationsSql = countRunningSql(sql`${k.class} = 'exploration'`)

/** Oldest tasks that are read to find out whether an agent waits. */
const tasksReadMax = sql.raw('100')

/** Whether a task waits whose agent can run: slots are left for it. */
export const doesInboxWaitSql = (now: SQLWrapper): SQL => sql`EXISTS (
  SELECT 1 FROM (SELECT ${w.accountId} FROM ${inboxItems} ${w} WHERE ${isWaitingSql(w)}
    ORDER BY ${w.createdAt} LIMIT ${tasksReadMax}) ${w}
  JOIN ${agents} ${g} ON ${g.accountId} = ${w.accountId}
  WHERE NOT ${isAgentRunningSql(w.accountId)} AND NOT ${isAgentHeldSql(g, now)})`

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

/** Whether an exploration can have a slot, which tasks that wait leave to it. */
export const hasExplorationSlotSql = ({ now, capacity, floor }: SlotOperands): SQL => sql`(
  ${countRunningSql()} < ${capacity}
  AND (${countRunningExplorationsSql} < ${floor} OR NOT ${doesInboxWaitSql(now)}))`

/** Whether an agent can explore now: it is allowed to, and a slot is free. */
export const canStartExplorationSql = (request: SlotOperands & { agentId: SQLWrapper }): SQL =>
  sql`(${hasExplorationSlotSql(request)} AND ${canExploreSql(request)})`

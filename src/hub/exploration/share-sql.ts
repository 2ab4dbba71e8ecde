import { exploration } from '../../shared/config'
import { isHubPausedSql, isWaitingSql } from '../activations/waiting'
import { canExploreSql } from './discover-sql'

/**
 * How tasks and explorations share the capacity, as SQL of LOAD; the scheduler has the same rule as a
 * pure function. `?1` is the requested activation, `?2` the agent, `?3` now, `?4` the capacity, `?6` the
 * slots reserved for exploration.
 */

const runningSql = (condition = '1') =>
  `(SELECT count(*) FROM activations k WHERE k.state = 'running' AND ${condition})`

/** Oldest tasks that are read to find out whether an agent waits. */
const tasksReadMax = 100

const doesInboxWaitSql = `EXISTS (
  SELECT 1 FROM (SELECT w.account_id FROM inbox_items w WHERE ${isWaitingSql('w')}
    ORDER BY w.created_at LIMIT ${tasksReadMax}) w
  JOIN agents g ON g.account_id = w.account_id AND g.is_paused = 0
  WHERE NOT EXISTS (SELECT 1 FROM activations k WHERE k.agent_id = w.account_id AND k.state = 'running'))`

/** Whether an exploration was refused recently for lack of a slot. */
const doesExplorationWaitSql = `EXISTS (
  SELECT 1 FROM settings WHERE key = 'exploration_waits' AND updated_at > ?3 - ${exploration.waitsMs})`

/**
 * Whether a task can have a slot. Slots reserved for exploration are lent to tasks while no exploration
 * waits.
 */
export const hasInboxSlotSql = `(
  ${runningSql("k.class = 'inbox'")} < ?4 - ?6 OR NOT ${doesExplorationWaitSql})`

const hasExplorationSlotSql = `(${runningSql()} < ?4
  AND (${runningSql("k.class = 'exploration'")} < ?6 OR NOT ${doesInboxWaitSql}))`

/** Whether the agent can explore now: it is allowed to, and a slot is free. */
export const canStartExplorationSql = `(${hasExplorationSlotSql} AND ${canExploreSql})`

/**
 * Records that an exploration was refused for lack of a slot, so that tasks leave one free. Returns a row
 * when it does. `?5` is unused.
 */
export const recordExplorationRefusalSql = `
  INSERT INTO settings (key, value, updated_at)
  SELECT 'exploration_waits', 'true', ?3
  WHERE NOT EXISTS (SELECT 1 FROM activations x WHERE x.id = ?1 OR x.resumed_by = ?1)
    AND NOT EXISTS (SELECT 1 FROM activations x WHERE x.agent_id = ?2 AND x.state = 'running')
    AND NOT EXISTS (SELECT 1 FROM inbox_items i WHERE i.account_id = ?2 AND ${isWaitingSql('i')})
    AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.account_id = ?2 AND a.is_paused = 1)
    AND NOT ${isHubPausedSql} AND NOT ${hasExplorationSlotSql} AND ${canExploreSql}
  ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at
  RETURNING key`

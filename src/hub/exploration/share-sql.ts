import { exploration } from '../../config'
import { isHubPausedSql, isWaitingSql } from '../activations/waiting'
import { mayExploreSql } from './discover-sql'

/**
 * How the classes share the capacity, inside LOAD (S3); the pure rule is that of the scheduler. `?1`
 * is the activation that is asked for, `?2` the agent, `?3` now, `?4` the capacity, `?6` the slots
 * that looking around keeps.
 */

const runningSql = (condition = '1') =>
  `(SELECT count(*) FROM activations k WHERE k.state = 'running' AND ${condition})`

/** Of the oldest tasks; enough to know that somebody waits. */
const tasksLook = 100

const doesInboxWaitSql = `EXISTS (
  SELECT 1 FROM (SELECT w.account_id FROM inbox_items w WHERE ${isWaitingSql('w')}
    ORDER BY w.created_at LIMIT ${tasksLook}) w
  JOIN agents g ON g.account_id = w.account_id AND g.is_paused = 0
  WHERE NOT EXISTS (SELECT 1 FROM activations k WHERE k.agent_id = w.account_id AND k.state = 'running'))`

/** An agent that could not have its turn said so lately. */
const doesExplorationWaitSql = `EXISTS (
  SELECT 1 FROM settings WHERE key = 'exploration_waits' AND updated_at > ?3 - ${exploration.waitsMs})`

/** What looking around keeps is lent to tasks while nobody waits for it. */
export const hasInboxRoomSql = `(
  ${runningSql("k.class = 'inbox'")} < ?4 - ?6 OR NOT ${doesExplorationWaitSql})`

const hasExplorationRoomSql = `(${runningSql()} < ?4
  AND (${runningSql("k.class = 'exploration'")} < ?6 OR NOT ${doesInboxWaitSql}))`

/** With no task to do, the agent looks around if it may and there is room. */
export const mayStartExplorationSql = `(${hasExplorationRoomSql} AND ${mayExploreSql})`

/**
 * Leaves word that an agent could not have its turn for want of room, so that tasks leave it some.
 * It answers with a row when it does. `?5` is unused.
 */
export const noteRefusalSql = `
  INSERT INTO settings (key, value, updated_at)
  SELECT 'exploration_waits', 'true', ?3
  WHERE NOT EXISTS (SELECT 1 FROM activations x WHERE x.id = ?1 OR x.resumed_by = ?1)
    AND NOT EXISTS (SELECT 1 FROM activations x WHERE x.agent_id = ?2 AND x.state = 'running')
    AND NOT EXISTS (SELECT 1 FROM inbox_items i WHERE i.account_id = ?2 AND ${isWaitingSql('i')})
    AND NOT EXISTS (SELECT 1 FROM agents a WHERE a.account_id = ?2 AND a.is_paused = 1)
    AND NOT ${isHubPausedSql} AND NOT ${hasExplorationRoomSql} AND ${mayExploreSql}
  ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at
  RETURNING key`

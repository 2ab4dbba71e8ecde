import { scheduling } from '../../config'
import { roomSql } from '../budgets/queries'
import { hasInboxRoomSql, mayStartExplorationSql } from '../exploration/share-sql'
import { isEndingSql, isHubPausedSql, isWaitingSql } from './waiting'

/** More mentions than this in one thread wait for the next activation. */
const itemsPerActivationMax = 20

/** The task that is next for the agent `?2`. */
const firstTaskSql = `
  SELECT i.id, i.type, i.task, i.post_id, i.model, i.activation_id FROM inbox_items i
  WHERE i.account_id = ?2 AND ${isWaitingSql('i')}
  ORDER BY i.created_at, i.id LIMIT 1`

/**
 * The agent `?2` with what the budgets leave it. In all of this file `?1` is the activation that LOAD
 * asks for, `?2` the agent, `?3` now, `?4` the capacity, `?5` whether it may explore.
 */
const agentWithRoomSql = `
  SELECT a.*, room.freeMicrousd, room.freeTokens,
    (room.leftMicrousd < a.call_floor_microusd OR room.leftTokens < a.call_floor_tokens) AS isExhausted
  FROM agents a, (${roomSql}) room WHERE a.account_id = ?2`

const admissionSql = `CASE WHEN a.isExhausted THEN 'budget_exhausted' ELSE 'granted' END`
const deadlineSql = `?3 + a.duration_seconds_max * 1000 + ${scheduling.deadlineGraceMs}`
const reservedMicrousdSql = `CASE WHEN a.isExhausted THEN 0 ELSE min(a.call_want_microusd, a.freeMicrousd) END`
const reservedTokensSql = `CASE WHEN a.isExhausted THEN 0 ELSE min(a.call_want_tokens, a.freeTokens) END`

const isNotPausedSql = `(a.is_paused = 0 AND NOT ${isHubPausedSql})`

/**
 * Admission (L37): the agent does not run, the hub has capacity, and money is free. When money is gone rather than merely reserved by others, it is admitted without a
 * reservation, so that the agent can say so politely. A request is answered once.
 */
const mayRunSql = `
  NOT EXISTS (SELECT 1 FROM activations r WHERE r.id = ?1)
  AND NOT EXISTS (SELECT 1 FROM activations r WHERE r.resumed_by = ?1)
  AND NOT EXISTS (SELECT 1 FROM activations r WHERE r.agent_id = ?2 AND r.state = 'running')
  AND (SELECT count(*) FROM activations r WHERE r.state = 'running') < ?4
  AND (a.isExhausted OR (a.freeMicrousd >= a.call_floor_microusd AND a.freeTokens >= a.call_floor_tokens))`

/** With no task to do, the agent looks around, unless that is not paid for (S1). */
const explorationSql = `
  SELECT NULL, 'exploration', NULL, NULL, NULL, NULL
  WHERE ?5 AND NOT EXISTS (SELECT 1 FROM (${firstTaskSql})) AND ${mayStartExplorationSql}`

/**
 * A new activation for the next task, in one statement: the row is the claim. `?6` is how many slots
 * looking around keeps.
 */
export const createClaimSql = (mayExplore: boolean): string => `
  INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model,
    definition_version, started_at, deadline_at, reserved_microusd, reserved_tokens)
  SELECT ?1, a.account_id, iif(first.type = 'exploration', 'exploration', 'inbox'),
    coalesce(first.task, first.type), 'running', ${admissionSql}, first.post_id,
    coalesce(first.model, a.model), a.definition_version, ?3, ${deadlineSql},
    ${reservedMicrousdSql}, ${reservedTokensSql}
  FROM (${agentWithRoomSql}) AS a,
    (SELECT * FROM (${firstTaskSql}) ${mayExplore ? `UNION ALL ${explorationSql}` : ''}) AS first
  WHERE first.type <> 'approval_decision' AND (first.type <> 'exploration' OR NOT a.isExhausted)
    AND (first.type = 'exploration' OR ${hasInboxRoomSql})
    AND ${isNotPausedSql} AND ${mayRunSql}`

/** The parked activation that was asked to stop and only has to be ended, whatever waits before it. */
const endingSql = `
  SELECT i.activation_id FROM inbox_items i
  WHERE i.account_id = ?2 AND ${isWaitingSql('i')} AND ${isEndingSql('i')}
  ORDER BY i.created_at, i.id LIMIT 1`

/**
 * In place of a new one: when the next task is a decision, the parked activation runs again (L30). One
 * that only has to end does so first, and in a pause too (L34).
 */
export const resumeSql = `
  UPDATE activations SET state = 'running', resumed_by = ?1, admission = ${admissionSql},
    deadline_at = ${deadlineSql}, reserved_microusd = ${reservedMicrousdSql},
    reserved_tokens = ${reservedTokensSql}, cost_microusd = 0, input_tokens = 0
  FROM (${agentWithRoomSql}) AS a
  WHERE activations.id = coalesce((${endingSql}),
      (SELECT activation_id FROM (${firstTaskSql}) WHERE type = 'approval_decision'))
    AND activations.state = 'parked' AND activations.agent_id = ?2
    AND (activations.cancel_requested_at IS NOT NULL OR ${isNotPausedSql}) AND ${mayRunSql}`

/**
 * The task itself, and what else was said in its thread. Only the LOAD that inserted the row claims:
 * a repeat that comes late must not claim what its run was never told of.
 */
export const claimItemsSql = `
  UPDATE inbox_items SET claimed_by = ?1 WHERE id IN (
    SELECT i.id FROM inbox_items i JOIN activations x ON x.id = ?1 AND x.state = 'running'
      AND x.class = 'inbox'
    WHERE i.account_id = ?2 AND ${isWaitingSql('i')} AND i.type <> 'approval_decision'
      AND (i.post_id = x.post_id OR i.id = (SELECT id FROM (${firstTaskSql})))
      AND NOT EXISTS (SELECT 1 FROM inbox_items WHERE claimed_by = ?1)
    ORDER BY i.created_at, i.id LIMIT ${itemsPerActivationMax})`

export const claimDecisionSql = `
  UPDATE inbox_items SET claimed_by = activation_id
  WHERE activation_id = (SELECT id FROM activations WHERE resumed_by = ?1 AND state = 'running')
    AND account_id = ?2 AND type = 'approval_decision' AND claimed_by IS NULL`

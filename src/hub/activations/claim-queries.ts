import { scheduling } from '../../shared/config'
import { agentModelsSql, headroomSql } from '../budgets/scope-sql'
import { canStartExplorationSql, hasInboxSlotSql } from '../exploration/share-sql'
import { isHubPausedSql, isPendingCancellationSql, isWaitingSql } from './waiting'

/** Inbox items that one activation claims at most; the rest wait for the next activation. */
const itemsPerActivationMax = 20

/** Selects the next task of the agent `?2`. */
const firstTaskSql = `
  SELECT i.id, i.type, i.task, i.post_id, i.model, i.activation_id, i.priority FROM inbox_items i
  WHERE i.account_id = ?2 AND ${isWaitingSql('i')}
  ORDER BY i.created_at, i.id LIMIT 1`

/** Whether the slots reserved for exploration keep that task waiting; an approval decision needs no slot. */
export const isBlockedByReservedSlotsSql = `(NOT ${hasInboxSlotSql}
  AND EXISTS (SELECT 1 FROM (${firstTaskSql}) WHERE type <> 'approval_decision'))`

/** Columns of the agent `g`: cost of a model call, time limit in seconds, and pause. */
const agentColumns = `g.call_floor_microusd, g.call_floor_tokens, g.call_want_microusd, g.call_want_tokens,
  g.duration_seconds_max, g.is_paused`

/** Whether a budget is used up. Then no model runs, not even one that costs nothing. */
const isUsedUpSql = 'r.leftMicrousd <= 0 OR r.leftTokens <= 0'

/**
 * The rows of `ask` with the remaining budget of each, as `a`: one row per model that can do the task.
 * In all of this file `?1` is the activation that LOAD requests, `?2` the agent, `?3` now, `?4` the
 * capacity, `?5` whether the agent may explore. An agent without any budget has nothing to spend.
 */
const askWithRoomSql = `(
  SELECT ask.*, coalesce(r.freeMicrousd, 0) AS freeMicrousd, coalesce(r.freeTokens, 0) AS freeTokens,
    r.freeShare, coalesce(r.isThrottled, 1) AS isThrottled,
    coalesce(NOT (${isUsedUpSql}) AND r.freeMicrousd >= ask.call_floor_microusd
      AND r.freeTokens >= ask.call_floor_tokens, 0) AS isFree,
    min(coalesce(${isUsedUpSql} OR r.leftMicrousd < ask.call_floor_microusd
      OR r.leftTokens < ask.call_floor_tokens, 1)) OVER () AS isExhausted
  FROM ask LEFT JOIN (${headroomSql}) r ON r.candidate = ask.candidate) AS a`

const admissionSql = `CASE WHEN a.isExhausted THEN 'budget_exhausted' ELSE 'granted' END`
const deadlineSql = `?3 + a.duration_seconds_max * 1000 + ${scheduling.deadlineGraceMs}`
const reservedMicrousdSql = `CASE WHEN a.isExhausted THEN 0 ELSE min(a.call_want_microusd, a.freeMicrousd) END`
const reservedTokensSql = `CASE WHEN a.isExhausted THEN 0 ELSE min(a.call_want_tokens, a.freeTokens) END`

const isNotPausedSql = `(a.is_paused = 0 AND NOT ${isHubPausedSql})`

/**
 * Admission: the agent does not run, the hub has capacity, and money is free. When the budget is used
 * up, not merely reserved by others, the activation is admitted without a reservation, so that the
 * agent can reply that its budget is exhausted. A repeated request is admitted once.
 */
const canRunSql = `
  NOT EXISTS (SELECT 1 FROM activations r WHERE r.id = ?1)
  AND NOT EXISTS (SELECT 1 FROM activations r WHERE r.resumed_by = ?1)
  AND NOT EXISTS (SELECT 1 FROM activations r WHERE r.agent_id = ?2 AND r.state = 'running')
  AND (SELECT count(*) FROM activations r WHERE r.state = 'running') < ?4
  AND (a.isExhausted OR a.isFree)`

/** Selects an exploration when the agent has no task and the conditions of exploration hold. */
const explorationSql = `
  SELECT NULL, 'exploration', NULL, NULL, NULL, NULL, NULL
  WHERE ?5 AND NOT EXISTS (SELECT 1 FROM (${firstTaskSql})) AND ${canStartExplorationSql}`

/** Selects the next task once per model that can do it; a model named for this run is the only one. */
const newAskSql = (canExplore: boolean) => `
  SELECT ?1 AS id, ?3 AS at, m.key AS candidate, m.value AS model, json_array(m.value) AS models,
    g.account_id AS agent_id, p.community_id, coalesce(first.priority, g.priority) AS priority,
    first.type, first.task, first.post_id, g.definition_version, ${agentColumns}
  FROM (SELECT * FROM (${firstTaskSql}) ${canExplore ? `UNION ALL ${explorationSql}` : ''}) AS first
  CROSS JOIN agents g ON g.account_id = ?2
  CROSS JOIN json_each(iif(first.model IS NULL, ${agentModelsSql('g')}, json_array(first.model))) m
  LEFT JOIN posts p ON p.id = first.post_id`

/**
 * Inserts an activation for the next task in one statement: the row is the claim. Of several models
 * the one whose own budgets have the most left is chosen, then the first of the definition. `?6` is
 * the number of slots reserved for exploration.
 */
export const createClaimSql = (canExplore: boolean): string => `
  WITH ask AS MATERIALIZED (${newAskSql(canExplore)})
  INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model, models, community_id,
    priority, definition_version, started_at, reserved_at, deadline_at, reserved_microusd, reserved_tokens)
  SELECT ?1, a.agent_id, iif(a.type = 'exploration', 'exploration', 'inbox'),
    coalesce(a.task, a.type), 'running', ${admissionSql}, a.post_id, a.model, a.models, a.community_id,
    a.priority, a.definition_version, ?3, ?3, ${deadlineSql}, ${reservedMicrousdSql}, ${reservedTokensSql}
  FROM ${askWithRoomSql}
  WHERE a.type <> 'approval_decision'
    AND (a.type <> 'exploration' OR (NOT a.isExhausted AND NOT a.isThrottled))
    AND (a.type = 'exploration' OR ${hasInboxSlotSql})
    AND ${isNotPausedSql} AND ${canRunSql}
  ORDER BY a.isFree DESC, a.freeShare DESC, a.candidate LIMIT 1`

/** Selects the parked activation that was cancelled and only has to end, ahead of every other task. */
const endingSql = `
  SELECT i.activation_id FROM inbox_items i
  WHERE i.account_id = ?2 AND ${isWaitingSql('i')} AND ${isPendingCancellationSql('i')}
  ORDER BY i.created_at, i.id LIMIT 1`

/**
 * Resumes a parked activation when the next task is an approval decision. A cancelled one is resumed
 * first, and also while the agent or the hub is paused.
 */
export const resumeSql = `
  WITH ask AS MATERIALIZED (
    SELECT x.id, ?3 AS at, 0 AS candidate, x.models, x.agent_id, x.community_id, x.priority, x.cancel_requested_at, ${agentColumns}
    FROM activations x JOIN agents g ON g.account_id = x.agent_id
    WHERE x.id = coalesce((${endingSql}),
        (SELECT activation_id FROM (${firstTaskSql}) WHERE type = 'approval_decision'))
      AND x.state = 'parked' AND x.agent_id = ?2)
  UPDATE activations SET state = 'running', resumed_by = ?1, admission = ${admissionSql},
    deadline_at = ${deadlineSql}, reserved_microusd = ${reservedMicrousdSql},
    reserved_tokens = ${reservedTokensSql}, reserved_at = ?3, cost_microusd = 0, input_tokens = 0
  FROM ${askWithRoomSql}
  WHERE activations.id = a.id AND activations.state = 'parked'
    AND (a.cancel_requested_at IS NOT NULL OR ${isNotPausedSql}) AND ${canRunSql}`

/**
 * Claims the task and the other waiting items of its thread or conversation. Only the LOAD that
 * inserted the row claims: a late repeat must not claim items that its run never received.
 */
export const claimItemsSql = `
  UPDATE inbox_items SET claimed_by = ?1 WHERE id IN (
    SELECT i.id FROM inbox_items i JOIN activations x ON x.id = ?1 AND x.state = 'running'
      AND x.class = 'inbox'
    WHERE i.account_id = ?2 AND ${isWaitingSql('i')} AND i.type <> 'approval_decision'
      AND (i.post_id = x.post_id OR i.id = (SELECT id FROM (${firstTaskSql}))
        OR i.conversation_id = (SELECT f.conversation_id FROM inbox_items f
          WHERE f.id = (SELECT id FROM (${firstTaskSql}))))
      AND NOT EXISTS (SELECT 1 FROM inbox_items WHERE claimed_by = ?1)
    ORDER BY i.created_at, i.id LIMIT ${itemsPerActivationMax})`

/** Claims the decision items of the parked activation that this request resumed. */
export const claimDecisionSql = `
  UPDATE inbox_items SET claimed_by = activation_id
  WHERE activation_id = (SELECT id FROM activations WHERE resumed_by = ?1 AND state = 'running')
    AND account_id = ?2 AND type = 'approval_decision' AND claimed_by IS NULL`

/**
 * SQL that decides which budgets pay for a requester; all such queries use it. A requester is a row
 * with `agent_id`, `community_id` and `models` (a JSON list): an activation, or a candidate for one.
 */

/** Returns the provider of `provider/model`, which is also its executor while agents run on this hub. */
const providerSql = (model: string) => `substr(${model}, 1, instr(${model} || '/', '/') - 1)`

/** Condition: the budget `b` pays for `requester`. Each line uses an index of `budgets`. */
export const paysForSql = (b: string, requester: string): string => `(
  (${b}.scope = 'hub' AND ${b}.scope_id = '')
  OR (${b}.scope = 'agent' AND ${b}.scope_id = ${requester}.agent_id)
  OR (${b}.scope = 'community' AND ${b}.scope_id = ${requester}.community_id)
  OR (${b}.scope = 'model' AND ${b}.scope_id IN (SELECT value FROM json_each(${requester}.models)))
  OR (${b}.scope = 'executor' AND ${b}.scope_id IN (
    SELECT ${providerSql('value')} FROM json_each(${requester}.models))))`

/** Condition: `w` is the window of the budget `b` at the time `now`. */
export const isCurrentWindowSql = (b: string, w: string, now: string): string =>
  `${w}.budget_id = ${b}.id AND ${w}.starts_at <= ${now} AND ${w}.ends_at > ${now}`

/** Usage events as requesters: each model call is paid by the budgets of its own model. */
export const usageRequestersSql = `(
  SELECT account_id AS agent_id, community_id, json_array(model) AS models, cost_microusd, input_tokens,
    output_tokens, created_at FROM usage_events)`

/** Returns the sum that running activations have reserved of the budget `b`. */
export const reservedSql = (b: string, column: 'reserved_microusd' | 'reserved_tokens'): string => `
  (SELECT coalesce(sum(held.${column}), 0) FROM activations held
    WHERE held.state = 'running' AND ${paysForSql(b, 'held')})`

/** Condition: spending in the window `w` has reached the throttle share of the budget `b`, which pauses exploration. */
export const isBeyondThrottleSql = (b: string, w: string): string => `
  (${w}.spent_microusd >= ${b}.limit_microusd * ${b}.throttle_share
    OR ${w}.spent_tokens >= ${b}.limit_tokens * ${b}.throttle_share)`

/** Returns the models that can run the tasks of the agent `a`, as a JSON list. */
export const agentModelsSql = (a: string): string =>
  `iif(${a}.models = '[]', json_array(${a}.model), ${a}.models)`

/** Represents "no limit"; far above any sum of micro-dollars, and exact in a double. */
const unlimited = 9_000_000_000_000_000

type Kind = 'microusd' | 'tokens'

/**
 * Returns the part of a limit that `ask` can use. The part beyond the critical share is reserved for
 * tasks of critical priority, if the budget allows them. No task can exceed the limit.
 */
const usableSql = (kind: Kind) => `
  CASE WHEN ask.priority = 'critical' AND b.allows_critical THEN b.limit_${kind}
       ELSE cast(b.limit_${kind} * b.critical_share AS INTEGER) END`

/** Returns what is left of a limit; without a current window it is 0, so that it fails closed. */
const unspentSql = (kind: Kind) => `
  CASE WHEN b.limit_${kind} IS NULL THEN ${unlimited}
       WHEN w.budget_id IS NULL THEN 0 ELSE ${usableSql(kind)} - w.spent_${kind} END AS ${kind}`

/** Returns the share of a model's or provider's limit that is neither spent nor reserved. */
const freeShareSql = (kind: Kind) => `
  CASE WHEN b.scope NOT IN ('model', 'executor') OR b.limit_${kind} IS NULL THEN 1
       WHEN w.budget_id IS NULL OR b.limit_${kind} = 0 THEN 0
       ELSE (b.limit_${kind} - w.spent_${kind} - total(x.reserved_${kind})) / b.limit_${kind} END`

/**
 * Selects what is left for each row of the table `ask`, over all budgets that pay for the row. A row is
 * a requester with `id`, `candidate` (its key), `at` (the time) and `priority`.
 * `leftX` is limit - spent, ignoring reservations of OTHER running activations; what those have spent
 * and not yet settled counts as spent.
 * `freeX` is limit - spent - the reservations of OTHER running activations. Neither is negative.
 * `freeShare` considers only budgets of the model and its provider. The index is named, because SQLite
 * would otherwise build a temporary index over all activations ever run.
 */
export const headroomSql = `
  SELECT candidate,
    max(0, min(microusd - usedMicrousd)) AS leftMicrousd, max(0, min(tokens - usedTokens)) AS leftTokens,
    max(0, min(microusd - heldMicrousd)) AS freeMicrousd, max(0, min(tokens - heldTokens)) AS freeTokens,
    min(freeShare) AS freeShare, max(isThrottled) AS isThrottled
  FROM (
    SELECT ask.candidate, ${unspentSql('microusd')}, ${unspentSql('tokens')},
      total(x.cost_microusd) AS usedMicrousd, total(x.input_tokens) AS usedTokens,
      total(x.reserved_microusd) AS heldMicrousd, total(x.reserved_tokens) AS heldTokens,
      min(${freeShareSql('microusd')}, ${freeShareSql('tokens')}) AS freeShare,
      coalesce(${isBeyondThrottleSql('b', 'w')}, 0) AS isThrottled
    FROM ask CROSS JOIN budgets b ON ${paysForSql('b', 'ask')}
    LEFT JOIN budget_windows w ON ${isCurrentWindowSql('b', 'w', 'ask.at')}
    LEFT JOIN activations x INDEXED BY activations_running
      ON x.state = 'running' AND x.id <> ask.id AND ${paysForSql('b', 'x')}
    GROUP BY ask.candidate, b.id)
  GROUP BY candidate`

/**
 * Condition: exploration of `agent` is paused at `now`, because each of its models is paid by a budget
 * that has reached its throttle share.
 */
export const isThrottledSql = (agent: string, now: string): string => `NOT EXISTS (
  SELECT 1 FROM (
    SELECT t.account_id AS agent_id, NULL AS community_id, json_array(m.value) AS models
    FROM agents t, json_each(${agentModelsSql('t')}) m WHERE t.account_id = ${agent}) who
  WHERE NOT EXISTS (
    SELECT 1 FROM budgets b JOIN budget_windows w ON ${isCurrentWindowSql('b', 'w', now)}
    WHERE ${paysForSql('b', 'who')} AND ${isBeyondThrottleSql('b', 'w')}))`

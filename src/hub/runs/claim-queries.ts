import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { scheduling } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import { unfiltered } from '../database/unfiltered-sql'
import { isItemStoppedSql } from '../inbox/stop-queries'
import {
  canExploreSql,
  canStartExplorationSql,
  hasExplorationSlotSql,
  hasInboxSlotSql,
} from '../rules/exploration-sql'
import {
  agentModelsSql,
  hasGuestSql,
  headroomOf,
  headroomSql,
  isCurrentWindowSql,
  payersSql,
  type Spender,
  selectBudgetRoomSql,
  selectHeadroomSql,
  selectSettledRoomSql,
  spenderOf,
} from '../rules/payers-sql'
import {
  canShareRunSql,
  isAgentRunningSql,
  isHeldSql,
  isHubPausedSql,
  isPendingCancellationSql,
  isWaitingSql,
  requestersOfItemSql,
  unreadItemsSql,
} from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { budgets, budgetWindows } from '../schema/budgets'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { settings } from '../schema/system'

/** What a LOAD request claims for. */
export interface Claim {
  /** The activation that LOAD requests. */
  activationId: ActivationId
  agentId: AccountId
  now: number
  capacity: number
  /** Slots reserved for exploration. */
  floor: number
}

/** Inbox items that one activation claims at most; the rest wait for the next activation. */
const itemsPerActivationMax = 20

const g = alias(agents, 'g')
const h = alias(accounts, 'h')
const i = alias(inboxItems, 'i')
const p = alias(posts, 'p')
const r = alias(activations, 'r')
const x = alias(activations, 'x')

/** Columns of a task that a claim needs, of the inbox item `i`. */
export const taskColumnsSql = sql`${i.id}, ${i.type}, ${i.task}, ${i.postId}, ${i.model}, ${i.activationId}, ${i.priority},
    ${i.conversationId}, ${i.fromAccountId}, ${i.requesters}`

/** Selects the next task of an agent. */
const firstTaskSql = (agent: SQLWrapper): SQL => sql`
  SELECT ${taskColumnsSql}
  FROM ${unreadItemsSql(i)}
  WHERE ${i.accountId} = ${agent} AND ${isWaitingSql(i)}
  ORDER BY ${i.createdAt}, ${i.id} LIMIT 1`

/** Whether the slots reserved for exploration keep that task waiting; an approval decision needs no slot. */
export const isBlockedByReservedSlotsSql = (v: Params<Claim>): SQL => sql`(NOT ${hasInboxSlotSql(v)}
  AND EXISTS (SELECT 1 FROM (${firstTaskSql(v.agentId)}) WHERE type <> 'approval_decision'))`

/** For which agent a run is asked for, under which id and when. */
type Asking = Readonly<Record<'activationId' | 'agentId' | 'now', SQLWrapper>>

/** The member who owns an agent, for a query that does not have its account at hand. */
export const ownerOfSql = (agentId: SQLWrapper): SQL =>
  sql`(SELECT ${h.ownerId} FROM ${accounts} ${h} WHERE ${h.id} = ${agentId})`

/** Columns of the agent `g` with the account `h`: cost of a model call, time limit in seconds, and pause. */
const agentColumns = ({ now }: Asking) => sql`${g.callFloorMicrousd}, ${g.callFloorTokens},
  ${g.callWantMicrousd}, ${g.callWantTokens}, ${g.durationSecondsMax},
  ${isHeldSql(g, h, now)} AS is_paused`

const room = headroomOf('r')

type Amounts = Readonly<Record<'microusd' | 'tokens', SQLWrapper>>

/** Whether a budget is used up. Then no model runs, not even one that costs nothing. */
const isUsedUpSql = ({ microusd, tokens }: Amounts): SQL => sql`${microusd} <= 0 OR ${tokens} <= 0`

/** Whether an amount does not pay for the first call of the row `ask`. */
const isBelowFloorSql = ({ microusd, tokens }: Amounts): SQL =>
  sql`${microusd} < ask.call_floor_microusd OR ${tokens} < ask.call_floor_tokens`

/** Whether what a budget leaves, or all budgets together, is too little for any run of the row `ask`. */
const isShortSql = (left: Amounts): SQL => sql`(${isUsedUpSql(left)} OR ${isBelowFloorSql(left)})`

const left: Amounts = { microusd: room.leftMicrousd, tokens: room.leftTokens }
const free: Amounts = { microusd: room.freeMicrousd, tokens: room.freeTokens }

/** A row of `ask` as a spender. */
export const askSpender: Spender = {
  ...spenderOf('ask'),
  isForGuest: hasGuestSql(spenderOf('ask').payers),
}

/** Whether a row of `ask` can say that its budget is used up: what is left is too little, and known. */
const isKnownShortSql = sql`coalesce(${isShortSql(left)} AND NOT ${room.lacksWindow}, 1)`

/**
 * The rows of `ask` with the remaining budget of each, as `a`: one row per model that can do the task.
 * An agent without any budget has nothing to spend.
 */
export const askWithRoomSql = sql`(
  SELECT ask.*, coalesce(${room.freeMicrousd}, 0) AS free_microusd, coalesce(${room.freeTokens}, 0) AS free_tokens,
    ${room.freeShare} AS free_share, coalesce(${room.isThrottled}, 1) AS is_throttled,
    coalesce(NOT (${isUsedUpSql(left)}) AND NOT (${isBelowFloorSql(free)}), 0) AS is_free,
    coalesce(${isShortSql(left)}, 1) AS is_short,
    min(${isKnownShortSql}) OVER (PARTITION BY ask.agent_id) AS is_exhausted
  FROM ask LEFT JOIN (${selectHeadroomSql(askSpender)}) r ON ${room.candidate} = ask.candidate) AS a`

/** Whether the budgets of a row of `askWithRoomSql` pay for an exploration. */
const canPayExplorationSql = sql`(NOT a.is_short AND NOT a.is_throttled)`

/** What an admitted activation gets: a deadline, and a reservation for one model call. */
const admit = (v: Asking) => ({
  state: 'running',
  admission: sql`CASE WHEN a.is_exhausted THEN 'budget_exhausted' ELSE 'granted' END`,
  deadlineAt: sql`${v.now} + a.duration_seconds_max * 1000 + ${scheduling.deadlineGraceMs}`,
  reservedAt: v.now,
  reservedMicrousd: sql`CASE WHEN a.is_exhausted THEN 0 ELSE min(a.call_want_microusd, a.free_microusd) END`,
  reservedTokens: sql`CASE WHEN a.is_exhausted THEN 0 ELSE min(a.call_want_tokens, a.free_tokens) END`,
})

const isNotPausedSql = sql`(a.is_paused = 0 AND NOT ${isHubPausedSql})`

/**
 * Admission: the agent does not run, the hub has capacity, and money is free. When the budget is used
 * up, not merely reserved by others, the activation is admitted without a reservation, so that the
 * agent can reply that its budget is exhausted. As long as a budget lacks its window, the task waits. A repeated
 * request is admitted once.
 */
const canRunSql = (v: Params<Claim>): SQL => sql`
  NOT EXISTS (SELECT 1 FROM ${activations} ${r} WHERE ${r.id} = ${v.activationId})
  AND NOT EXISTS (SELECT 1 FROM ${activations} ${r} WHERE ${r.resumedBy} = ${v.activationId})
  AND NOT EXISTS (SELECT 1 FROM ${activations} ${r} WHERE ${r.agentId} = ${v.agentId} AND ${r.state} = 'running')
  AND (SELECT count(*) FROM ${activations} ${r} WHERE ${r.state} = 'running') < ${v.capacity}
  AND (a.is_exhausted OR a.is_free)`

/** The next task, under the name of its columns. */
const first = alias(inboxItems, 'first')

/** An exploration as a task: the values of `taskColumnsSql`. */
const explorationTaskSql = sql`NULL AS id, 'exploration' AS type, NULL AS task, NULL AS post_id, NULL AS model,
  NULL AS activation_id, NULL AS priority, NULL AS conversation_id, NULL AS from_account_id, NULL AS requesters`

/** Selects the next task, or an exploration when there is none and the conditions of exploration hold. */
const taskOrExplorationSql = (v: Params<Claim>): SQL => sql`
  SELECT * FROM (${firstTaskSql(v.agentId)}) UNION ALL
  SELECT ${explorationTaskSql}
  WHERE NOT EXISTS (SELECT 1 FROM (${firstTaskSql(v.agentId)})) AND ${canStartExplorationSql(v)}`

/** For whom the next task is; an exploration is the hub's own. */
const requestersOfFirstSql = sql`iif(${first.type} = 'exploration', '[]', ${requestersOfItemSql(first)})`

/** Of which agent, in which community and under which key a task is asked for. */
interface AskPlace {
  /** Of the thread; of a post that does not exist yet, where it will be. */
  communityId: SQLWrapper
  /** The key of a row: the place of the model `m` in the definition, unless there are several agents. */
  candidate: SQL
}

/**
 * Selects a task once per model that can do it; a model named for this run is the only one.
 *
 * @param task a select of `taskColumnsSql`
 */
const newAskSql = (
  v: Asking,
  task: SQL,
  { communityId = p.communityId, candidate = sql`m.key` }: Partial<AskPlace> = {},
): SQL => sql`
  SELECT ${v.activationId} AS id, ${v.now} AS at, ${candidate} AS candidate, m.value AS model,
    json_array(m.value) AS models, ${g.accountId} AS agent_id, ${communityId} AS community_id,
    coalesce(${first.priority}, ${g.priority}) AS priority, ${first.type}, ${first.task}, ${first.postId},
    ${g.definitionVersion}, ${agentColumns(v)}, ${requestersOfFirstSql} AS requesters,
    ${payersSql(requestersOfFirstSql, h.ownerId)} AS payers
  FROM (${task}) AS ${first}
  CROSS JOIN ${agents} ${g} ON ${g.accountId} = ${v.agentId}
  CROSS JOIN ${accounts} ${h} ON ${h.id} = ${g.accountId}
  CROSS JOIN json_each(iif(${first.model} IS NULL, ${agentModelsSql(g)}, json_array(${first.model}))) m
  LEFT JOIN ${posts} ${p} ON ${p.id} = ${first.postId} ${unfiltered('operator')}`

/** Order of the rows of `askWithRoomSql`: a claim takes the model of the first. */
const bestModelSql = sql`ORDER BY a.is_free DESC, a.free_share DESC, a.candidate`

/**
 * Inserts an activation for the next task in one statement: the row is the claim. Of several models
 * the one whose own budgets have the most left is chosen, then the first of the definition.
 */
const createClaim = (v: Params<Claim>, task: SQL) =>
  write(
    insertSelect(
      activations,
      {
        ...admit(v),
        id: v.activationId,
        agentId: sql`a.agent_id`,
        class: sql`iif(a.type = 'exploration', 'exploration', 'inbox')`,
        task: sql`coalesce(a.task, a.type)`,
        postId: sql`a.post_id`,
        model: sql`a.model`,
        models: sql`a.models`,
        communityId: sql`a.community_id`,
        priority: sql`a.priority`,
        definitionVersion: sql`a.definition_version`,
        isForGuest: hasGuestSql(sql`a.payers`),
        requesters: sql`a.requesters`,
        payers: sql`a.payers`,
        startedAt: v.now,
      },
      sql`FROM ${askWithRoomSql}
      WHERE a.type <> 'approval_decision'
        AND (a.type <> 'exploration' OR ${canPayExplorationSql})
        AND (a.type = 'exploration' OR ${hasInboxSlotSql(v)})
        AND ${isNotPausedSql} AND ${canRunSql(v)}
      ${bestModelSql} LIMIT 1`,
      { before: sql`WITH ask AS MATERIALIZED (${newAskSql(v, task)})` },
    ),
  )

export const claimTask = prepare((v: Params<Claim>) => createClaim(v, firstTaskSql(v.agentId)))

export const claimTaskOrExploration = prepare((v: Params<Claim>) =>
  createClaim(v, taskOrExplorationSql(v)),
)

/**
 * Records that an exploration was refused for lack of a slot, so that tasks leave one free. Answers
 * whether it was refused for that.
 */
export const recordExplorationRefusal = prepare((v: Params<Claim>) =>
  writeChanges(
    insertSelect(
      settings,
      { key: 'exploration_waits', value: 'true', updatedAt: v.now },
      sql`
      WHERE NOT EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.id} = ${v.activationId} OR ${x.resumedBy} = ${v.activationId})
        AND NOT ${isAgentRunningSql(v.agentId)}
        AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.accountId} = ${v.agentId} AND ${isWaitingSql(i)})
        AND NOT ${hasExplorationSlotSql(v)} AND ${canExploreSql(v)}
        AND EXISTS (WITH ask AS MATERIALIZED (${newAskSql(v, sql`SELECT ${explorationTaskSql}`)})
          SELECT 1 FROM ${askWithRoomSql} WHERE ${canPayExplorationSql} AND ${isNotPausedSql})
      ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at`,
    ),
  ),
)

/** Selects the parked activation that was cancelled and only has to end, ahead of every other task. */
const endingSql = (agent: SQLWrapper): SQL => sql`
  SELECT ${i.activationId} FROM ${unreadItemsSql(i)}
  WHERE ${i.accountId} = ${agent} AND ${isWaitingSql(i)} AND ${isPendingCancellationSql(i)}
  ORDER BY ${i.createdAt}, ${i.id} LIMIT 1`

/**
 * Selects parked activations to resume, with the money that they need.
 *
 * @param isMeant condition on the activation `x`
 */
export const resumeAskSql = (v: Asking, isMeant: SQL): SQL => sql`
  SELECT ${x.id}, ${v.now} AS at, ${x}.rowid AS candidate, ${x.models}, ${x.agentId}, ${x.communityId},
    ${x.priority}, ${x.requesters}, ${x.payers}, ${x.cancelRequestedAt}, ${agentColumns(v)}
  FROM ${activations} ${x} JOIN ${agents} ${g} ON ${g.accountId} = ${x.agentId}
    JOIN ${accounts} ${h} ON ${h.id} = ${x.agentId}
  WHERE ${isMeant}`

/**
 * Resumes a parked activation when the next task is an approval decision. A cancelled one is resumed
 * first, and also while the agent or the hub is paused.
 */
export const resumeParked = prepare((v: Params<Claim>) =>
  write(
    updateSet(
      activations,
      { ...admit(v), resumedBy: v.activationId, costMicrousd: 0, inputTokens: 0 },
      sql`FROM ${askWithRoomSql}
      WHERE ${activations.id} = a.id AND ${activations.state} = 'parked'
        AND (a.cancel_requested_at IS NOT NULL OR ${isNotPausedSql}) AND ${canRunSql(v)}`,
      sql`WITH ask AS MATERIALIZED (
        ${resumeAskSql(
          v,
          sql`${x.id} = coalesce((${endingSql(v.agentId)}),
            (SELECT activation_id FROM (${firstTaskSql(v.agentId)}) WHERE type = 'approval_decision'))
          AND ${x.state} = 'parked' AND ${x.agentId} = ${v.agentId}`,
        )})`,
    ),
  ),
)

type Claimant = Pick<Claim, 'activationId' | 'agentId'>
type NewClaim = Pick<Claim, 'activationId' | 'agentId' | 'now'>

/** Waiting items of the task's thread, or of its conversation for the same requesters, as `found`. */
const foundItemsSql = (v: Params<NewClaim>): SQL => sql`(
  SELECT ${i.id}, ${requestersOfItemSql(i)} AS requesters,
    ${requestersOfItemSql(i)} = ${requestersOfItemSql(first)} AS is_own,
    ${x.id} AS run_id, ${x.reservedAt} AS at, ${x.models}, ${x.agentId}, ${x.communityId}, ${x.priority},
    ${x.isForGuest}, ${x.admission}, ${x.reservedMicrousd}, ${x.reservedTokens}
  FROM ${unreadItemsSql(i)} JOIN ${activations} ${x} ON ${x.id} = ${v.activationId}
    AND ${x.state} = 'running' AND ${x.class} = 'inbox'
  JOIN (${firstTaskSql(v.agentId)}) ${first}
  WHERE ${i.accountId} = ${v.agentId} AND ${isWaitingSql(i)} AND ${i.type} <> 'approval_decision'
    AND ${canShareRunSql(i, first)} AND NOT ${isItemStoppedSql(i, v.now)}
    AND (${i.postId} = ${x.postId} OR ${i.id} = ${first.id} OR (${i.conversationId} = ${first.conversationId}
        AND ${requestersOfItemSql(i)} = ${requestersOfItemSql(first)}))
    AND NOT EXISTS (SELECT 1 FROM ${inboxItems} WHERE ${inboxItems.claimedBy} = ${v.activationId})
  ORDER BY ${i.createdAt}, ${i.id} LIMIT ${itemsPerActivationMax}) found`

/** Selects the found items of other requesters, as spenders beside the run that was just admitted. */
const othersAskSql = (v: Params<NewClaim>): SQL => sql`
  SELECT run_id AS id, id AS candidate, at, models, agent_id, community_id, priority, requesters,
    ${payersSql(sql`found.requesters`, ownerOfSql(sql`found.agent_id`))} AS payers, is_for_guest FROM ${foundItemsSql(v)} WHERE NOT is_own`

/**
 * Claims the task and the other waiting items of its thread, or of its conversation for the same
 * requesters: a direct message that an agent sends for somebody is private to them. Items of another
 * requester join only when that requester's budgets can hold the reservation of the run, too; otherwise
 * they wait for a run of their own. What must not run stays, and is refused when it comes first. Only the LOAD that inserted the row claims: a late repeat must not
 * claim items that its run never received.
 */
export const claimItems = prepare((v: Params<NewClaim>) =>
  write(
    updateSet(
      inboxItems,
      { claimedBy: v.activationId },
      sql`WHERE ${inboxItems.id} IN (
        SELECT found.id FROM ${foundItemsSql(v)} WHERE is_own OR (admission = 'granted' AND EXISTS (
          SELECT 1 FROM (${headroomSql}) r WHERE ${room.candidate} = found.id AND NOT (${isUsedUpSql(left)})
            AND ${room.freeMicrousd} >= found.reserved_microusd AND ${room.freeTokens} >= found.reserved_tokens)))`,
      sql`WITH ask AS MATERIALIZED (${othersAskSql(v)})`,
    ),
  ),
)

/** The requesters of the items that an activation started with, as a JSON list. */
const claimedRequestersSql = (activationId: SQLWrapper): SQL => sql`(
  SELECT json_group_array(DISTINCT n.value)
  FROM ${inboxItems} ${i} JOIN json_each(${requestersOfItemSql(i)}) n
  WHERE ${i.claimedBy} = ${activationId} AND ${i.type} <> 'approval_decision' AND ${i.joinedAt} IS NULL)`

/** Stores whom an activation acts for, and who pays, when it claimed items of further requesters. */
export const recordRequesters = prepare(({ activationId }: Params<Claimant>) => {
  const claimed = claimedRequestersSql(activationId)
  return write(
    updateSet(
      activations,
      { requesters: claimed, payers: payersSql(claimed, ownerOfSql(activations.agentId)) },
      sql`WHERE ${activations.id} = ${activationId} AND ${activations.state} = 'running'
        AND ${activations.class} = 'inbox' AND ${claimed} NOT IN ('[]', ${activations.requesters})`,
    ),
  )
})

/** Claims the decision items of the parked activation that this request resumed. */
export const claimDecision = prepare((v: Params<Claimant>) =>
  write(
    updateSet(
      inboxItems,
      { claimedBy: sql`${inboxItems.activationId}` },
      sql`WHERE ${inboxItems.activationId} = (SELECT ${r.id} FROM ${activations} ${r}
          WHERE ${r.resumedBy} = ${v.activationId} AND ${r.state} = 'running')
        AND ${inboxItems.accountId} = ${v.agentId} AND ${inboxItems.type} = 'approval_decision'
        AND ${inboxItems.claimedBy} IS NULL`,
    ),
  ),
)

/*
 * What a claim for a task would get now, without a claim: the statements that LOAD inserts an activation
 * from, as reads.
 */

/** A run that has not begun. */
const noActivationSql = sql.raw("''")

/** A task to ask about. */
interface AskedTask {
  agentId: SQLWrapper
  now: SQLWrapper
  /** A select of `taskColumnsSql`. */
  task: SQL
  /** See `newAskSql`. */
  place?: Parameters<typeof newAskSql>[2]
  /** Common table expressions that the others use, from `WITH` on. */
  before?: SQL
}

const toAsking = ({ agentId, now }: AskedTask): Asking => ({
  activationId: noActivationSql,
  agentId,
  now,
})

const withAsk = (asked: AskedTask): SQL =>
  sql`${asked.before ? sql`${asked.before},` : sql`WITH`} ask AS MATERIALIZED (
    ${newAskSql(toAsking(asked), asked.task, asked.place)})`

/** What decides about the money of a row of `askWithRoomSql`. */
export const admissionFields = (asking: Asking) => {
  const { reservedMicrousd, reservedTokens } = admit(asking)
  return {
    /** A budget is used up: the run is admitted to say so, and calls no model. */
    isExhausted: flag(sql`a.is_exhausted`),
    /** The first model call can be paid now; otherwise other runs have reserved the money. */
    isFree: flag(sql`a.is_free`),
    reservedMicrousd: number(reservedMicrousd),
    reservedTokens: number(reservedTokens),
    /** What all its budgets leave together: no run spends more. */
    freeMicrousd: number(sql`a.free_microusd`),
    freeTokens: number(sql`a.free_tokens`),
  }
}

const taskFields = (asked: AskedTask) => ({
  agentId: sql<AccountId>`a.agent_id`,
  model: sql<string>`a.model`,
  ...admissionFields(toAsking(asked)),
})

/** What a claim for a task would be admitted with. */
export type Admission = RowOf<ReturnType<typeof taskFields>>

/** Selects what a claim for a task would be admitted with, by model; of an agent the one it would take is first. */
export const selectAdmissionsOf = (asked: AskedTask): Statement<Admission[]> =>
  manySql(taskFields(asked), sql`FROM ${askWithRoomSql} ${bestModelSql}`, withAsk(asked))

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const u = alias(accounts, 'u')
const m = alias(communities, 'm')
const roomOfWait = headroomOf('room')

/** Budgets of requesters first, that of the hub last. */
const payerOrderSql = sql`${b.scope} NOT IN ('requester', 'role:member', 'role:guest', 'guests'), ${b.scope} = 'hub', ${b.scope}, ${b.id}`

const payingFields = {
  /** The run that resumes; empty for a new one. */
  activationId: sql<ActivationId | ''>`ask.id`,
  agentId: sql<AccountId>`ask.agent_id`,
  id: b.id,
  scope: b.scope,
  scopeId: b.scopeId,
  period: b.period,
  limitMicrousd: b.limitMicrousd,
  limitTokens: b.limitTokens,
  spentMicrousd: number(
    sql`coalesce(max(${b.limitMicrousd} - room.microusd), ${w.spentMicrousd}, 0)`,
  ),
  spentTokens: number(sql`coalesce(max(${b.limitTokens} - room.tokens), ${w.spentTokens}, 0)`),
  /** Null: no window is open. */
  endsAt: nullable(w.endsAt),
  /** Name of the agent, requester or community; null for other scopes. */
  name: sql<string | null>`coalesce(${u.name}, ${m.name})`,
  /** It leaves too little for any run, with every model that it pays for. */
  isShort: flag(
    sql`min(${isShortSql({
      microusd: sql`room.microusd - room.used_microusd`,
      tokens: sql`room.tokens - room.used_tokens`,
    })})`,
  ),
}

/** A budget that would pay for a task. */
export type PayingBudget = RowOf<typeof payingFields>

/** Selects the budgets that would pay for a task, those of requesters first. */
export const selectPayingBudgetsOf = (asked: AskedTask): Statement<PayingBudget[]> =>
  selectPayingFrom(withAsk(asked))

/** Selects the same for the rows of `ask`, which `before` contains. */
export const selectPayingFrom = (
  before: SQL,
  spender: Spender = askSpender,
): Statement<PayingBudget[]> =>
  manySql(
    payingFields,
    sql`FROM (${selectBudgetRoomSql(spender)}) room JOIN ask ON ask.candidate = ${roomOfWait.candidate}
      JOIN ${budgets} ${b} ON ${b.id} = room.budget_id
      LEFT JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, sql`ask.at`)}
      LEFT JOIN ${accounts} ${u} ON ${b.scope} IN ('agent', 'requester') AND ${u.id} = ${b.scopeId}
      LEFT JOIN ${communities} ${m} ON ${b.scope} = 'community' AND ${m.id} = ${b.scopeId}
      GROUP BY ask.id, ask.agent_id, ${b.id}
      ORDER BY ${payerOrderSql}`,
    before,
  )

const explorationFields = {
  agentId: sql<AccountId>`n.agent_id`,
  scope: b.scope,
  scopeId: b.scopeId,
  period: b.period,
  endsAt: nullable(w.endsAt),
  /** Name of the agent or requester; null for other scopes. */
  name: u.name,
  /** It leaves too little for any run. */
  isShort: flag(sql`n.is_short`),
  /** It has reached the share from which on explorations pause. */
  isThrottled: flag(sql`n.is_throttled`),
  /** All budgets pay for an exploration with this model. */
  canPay: flag(sql`n.can_pay`),
}

/** A budget that pays for the explorations of an agent with one of its models. */
export type ExplorationBudget = RowOf<typeof explorationFields>

/**
 * Selects the budgets that pay for the explorations of agents, once for each model, those of requesters first.
 * What runs have spent and not yet settled is left out, because a list of agents would read all of them for
 * each: it counts when LOAD decides.
 *
 * @param agents a select of their ids as `account_id`
 */
export const selectExplorationBudgets = (
  agents: SQL,
  now: SQLWrapper,
): Statement<ExplorationBudget[]> => {
  const isShort = isShortSql({ microusd: sql`room.microusd`, tokens: sql`room.tokens` })
  return manySql(
    explorationFields,
    sql`FROM (
      SELECT ask.agent_id, ask.at, room.budget_id, ${isShort} AS is_short, room.is_throttled,
        min(NOT ${isShort} AND NOT room.is_throttled) OVER (PARTITION BY ask.candidate) AS can_pay
      FROM (${selectSettledRoomSql(askSpender)}) room JOIN ask ON ask.candidate = ${roomOfWait.candidate}) n
      JOIN ${budgets} ${b} ON ${b.id} = n.budget_id
      LEFT JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, sql`n.at`)}
      LEFT JOIN ${accounts} ${u} ON ${b.scope} IN ('agent', 'requester') AND ${u.id} = ${b.scopeId}
      ORDER BY ${payerOrderSql}`,
    withAsk({
      agentId: first.accountId,
      now,
      task: sql`SELECT account_id, row_number() OVER () AS nth, ${explorationTaskSql} FROM (${agents})`,
      place: { candidate: sql`first.nth * 1000 + m.key` },
    }),
  )
}

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { replayLimits, scheduling } from '../../shared/config'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  write,
  writeReturned,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { ActivationError, Outcome } from '../../shared/errors'
import type { ActivationId, ReplayId, TrialId } from '../../shared/ids'
import type { LaneRenewal } from '../contract/hub'
import { doesInboxWaitSql } from '../rules/exploration-sql'
import {
  hasGuestSql,
  headroomOf,
  payersSql,
  selectHeadroomSql,
  spenderOf,
  toLaneSpender,
} from '../rules/payers-sql'
import { inboxDepthSql, isHubPausedSql, runningCountSql } from '../rules/waiting-sql'
import { ownerOfSql } from '../runs/claim-queries'
import { accounts } from '../schema/accounts'
import { activations, activationTraces } from '../schema/activations'
import { usageEvents } from '../schema/budgets'
import { agentDefinitions, agents } from '../schema/definitions'
import { replayLanes, replays } from '../schema/replays'
import { trialCases, trials } from '../schema/trials'
import { isStoppedSql } from '../viewers/ban-sql'
import { isOpenSql } from './queries'

/*
 * How lanes of replays start, reserve money and end. A lane is claimed, renewed and finished like an activation, by
 * conditions on its row, so that a repeat of any request changes nothing.
 */

const l = alias(replayLanes, 'l')
const r = alias(replays, 'r')
const q = alias(replayLanes, 'q')
const x = alias(activations, 'x')
const t = alias(activationTraces, 't')
const d = alias(agentDefinitions, 'd')
const g = alias(agents, 'g')
const a = alias(accounts, 'a')
const by = alias(accounts, 'by_account')
const e = alias(usageEvents, 'e')

const runningMax = sql.raw(String(replayLimits.runningMax))

const countRunningSql = sql`(SELECT count(*) FROM ${replayLanes} ${q} INDEXED BY replay_lanes_running
  WHERE ${q.state} = 'running')`

/** Whether a lane may start: all that may run at a time do not run yet, no task waits for capacity, and no agent is paused by an admin. */
const canStartSql = (now: SQLWrapper): SQL =>
  sql`(${countRunningSql} < ${runningMax} AND NOT ${isHubPausedSql} AND NOT ${doesInboxWaitSql(now)})`

type LaneAt = { laneId: ActivationId; now: number }

/** Claims a queued lane. Who pays is read now, as at the claim of a run. */
export const claimLane = prepare((v: Params<LaneAt>) => {
  const payers = payersSql(replayLanes.requesters, ownerOfSql(replayLanes.agentId))
  return write(
    updateSet(
      replayLanes,
      {
        state: 'running',
        payers,
        isForGuest: hasGuestSql(payers),
        startedAt: v.now,
        reservedAt: v.now,
        deadlineAt: sql`${v.now} + ${replayLanes.durationMsMax} + ${scheduling.deadlineGraceMs}`,
      },
      sql`WHERE ${replayLanes.id} = ${v.laneId} AND ${replayLanes.state} = 'queued' AND ${canStartSql(v.now)}`,
    ),
  )
})

const orderFields = {
  replayId: sql<ReplayId>`${l.replayId}`,
  lane: l.lane,
  sample: l.sample,
  activationId: x.id,
  startedAt: x.startedAt,
  record: t.trace,
  version: d.version,
  etag: d.etag,
  isAsThen: flag(sql`${r.baselineVersion} IS NULL`),
  agent: { id: a.id, name: a.name, kind: a.kind, description: a.description },
  /** Null for the baseline, which runs the definition of the run. */
  draft: sql`CASE WHEN ${l.lane} = 'candidate' THEN ${r.draft} END`.mapWith(
    (json: string | null): Record<string, string> | null => json && JSON.parse(json),
  ),
  by: { id: by.id, name: by.name, kind: by.kind },
  costMaxMicrousd: l.costMaxMicrousd,
}

export type Order = RowOf<typeof orderFields>

/** Selects what a running lane runs from. */
export const selectOrder = prepare(({ laneId }: Params<{ laneId: ActivationId }>) =>
  oneSql(
    orderFields,
    sql`FROM ${replayLanes} ${l} JOIN ${replays} ${r} ON ${r.id} = ${l.replayId}
      JOIN ${activations} ${x} ON ${x.id} = ${l.activationId} JOIN ${activationTraces} ${t} ON ${t.activationId} = ${x.id}
      JOIN ${agentDefinitions} ${d} ON ${d.accountId} = ${l.agentId}
        AND ${d.version} = coalesce(${r.baselineVersion}, ${x.definitionVersion})
      JOIN ${accounts} ${a} ON ${a.id} = ${l.agentId} JOIN ${accounts} ${by} ON ${by.id} = ${r.requestedBy}
      WHERE ${l.id} = ${laneId} AND ${l.state} = 'running'`,
  ),
)

const one = alias(replayLanes, 'one')
const other = alias(replayLanes, 'other')
const k = alias(trialCases, 'k')
const tr = alias(trials, 'tr')

const comparisonFields = {
  baseline: { state: one.state, answer: one.answer, models: one.models },
  candidate: { state: other.state, answer: other.answer, models: other.models },
  note: k.note,
  judge: tr.judge,
  displayName: a.displayName,
  usesOwnAccount: x.usesOwnAccount,
}

export type Comparison = RowOf<typeof comparisonFields>

/** Selects the answers that a lane of a judge compares: two of its samples are for one of theirs, as in `readJudgeSample`. */
export const selectComparison = prepare(({ laneId }: Params<{ laneId: ActivationId }>) =>
  oneSql(
    comparisonFields,
    sql`FROM ${replayLanes} ${l} JOIN ${activations} ${x} ON ${x.id} = ${l.activationId}
      JOIN ${accounts} ${a} ON ${a.id} = ${l.agentId}
      JOIN ${trialCases} ${k} ON ${k.replayId} = ${l.replayId} JOIN ${trials} ${tr} ON ${tr.id} = ${k.trialId}
      JOIN ${replayLanes} ${one} ON ${one.replayId} = ${l.replayId} AND ${one.lane} = 'baseline'
        AND ${one.sample} = (${l.sample} + 1) / 2
      JOIN ${replayLanes} ${other} ON ${other.replayId} = ${l.replayId} AND ${other.lane} = 'candidate'
        AND ${other.sample} = ${one.sample}
      WHERE ${l.id} = ${laneId} AND ${l.lane} = 'judge'`,
  ),
)

/** What the calls of a lane have cost, as a subquery over its usage. */
const chargedSql = (laneId: SQLWrapper, amount: SQLWrapper): SQL<number> =>
  sql`(SELECT coalesce(sum(${amount}), 0) FROM ${usageEvents} ${e} WHERE ${e.activationId} = ${laneId})`

const usedTokensSql = sql`${e.inputTokens} + ${e.outputTokens}`

/** Whether a lane ends: its replay was cancelled, or nothing runs any more for whoever asked for it. */
const isEndingSql = (lane: Record<'replayId', SQLWrapper>, now: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${replays} ${r} WHERE ${r.id} = ${lane.replayId}
    AND (${r.cancelledAt} IS NOT NULL OR ${isStoppedSql(r.requestedBy, now)}))`

/** Ends a running lane whose replay was cancelled; after its calls were charged. */
export const endCancelledLane = prepare((v: Params<LaneAt>) =>
  write(
    updateSet(
      replayLanes,
      {
        state: 'cancelled',
        outcome: 'cancelled',
        finishedAt: v.now,
        durationMs: sql`max(0, ${v.now} - ${replayLanes.startedAt})`,
        ...released(replayLanes.id),
      },
      sql`WHERE ${replayLanes.id} = ${v.laneId} AND ${replayLanes.state} = 'running'
        AND ${isEndingSql(replayLanes, v.now)}`,
    ),
  ),
)

/** What a lane that ends has: nothing reserved, and what its calls were charged. */
function released(laneId: SQLWrapper) {
  return {
    reservedMicrousd: 0,
    reservedTokens: 0,
    costMicrousd: chargedSql(laneId, e.costMicrousd),
    tokens: chargedSql(laneId, usedTokensSql),
  }
}

interface Extension extends LaneAt {
  model: string
  wantMicrousd: number
  wantTokens: number
  floorMicrousd: number
  floorTokens: number
  /** How many calls the request reports. */
  calls: number
  inputs: string | null
}

export const toExtension = (request: LaneRenewal): Extension => ({
  laneId: request.laneId,
  now: request.now,
  model: request.model,
  wantMicrousd: request.want.microusd,
  wantTokens: request.want.tokens,
  floorMicrousd: request.floor.microusd,
  floorTokens: request.floor.tokens,
  calls: new Set(request.usage.map(({ call }) => call)).size,
  inputs: request.inputs,
})

/** Whether a call of the lane can be in flight: no call was reported since it last reserved. */
const isRepeatSql = (lane: Record<'reservedCalls', SQLWrapper>, calls: SQLWrapper): SQL =>
  sql`${lane.reservedCalls} = ${calls}`

/** A running lane as a row of `ask`, with what it may still cost. A call in flight is of one of its earlier models. */
const askSql = (v: Params<Extension>): SQL => sql`
  SELECT ${l.id}, max(${v.now}, ${l.reservedAt}) AS at, 0 AS candidate, ${l.agentId}, ${l.communityId},
    'normal' AS priority, ${l.requesters}, ${l.payers}, ${l.isForGuest},
    iif(${isRepeatSql(l, v.calls)} AND ${l.models} <> '[]', (
      SELECT json_group_array(value) FROM (SELECT value FROM json_each(${l.models}) UNION SELECT ${v.model})),
      json_array(${v.model})) AS models,
    ${l.costMaxMicrousd} - ${chargedSql(l.id, e.costMicrousd)} AS own_microusd,
    ${l.tokensMax} - ${chargedSql(l.id, usedTokensSql)} AS own_tokens,
    coalesce(${g.isPaused}, 1) OR ${isHubPausedSql} OR ${isStoppedSql(l.agentId, v.now)} AS is_paused
  FROM ${replayLanes} ${l} LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${l.agentId}
  WHERE ${l.id} = ${v.laneId} AND ${l.state} = 'running' AND ${l.reservedCalls} <= ${v.calls}`

const room = headroomOf('h')
const headroomOfLaneSql = selectHeadroomSql(toLaneSpender(spenderOf('ask')))

/** Whether the next call fits what all budgets and the promise leave. */
const fitsSql = (v: Params<Extension>): SQL => sql`(NOT ask.is_paused AND ask.own_tokens > 0
  AND ${room.leftMicrousd} > 0 AND ${room.leftTokens} > 0
  AND min(${room.freeMicrousd}, ask.own_microusd) >= ${v.floorMicrousd} AND ${room.freeTokens} >= ${v.floorTokens})`

/**
 * Reserves the worst case of the next call, or less when a budget or the promise is short. What a call in flight may have
 * reserved stays reserved.
 */
export const extendLane = prepare((v: Params<Extension>) => {
  const isRepeat = isRepeatSql(replayLanes, v.calls)
  const held = (column: SQLWrapper) => sql`iif(${isRepeat}, ${column}, 0)`
  const { reservedMicrousd, reservedTokens } = replayLanes
  return write(
    updateSet(
      replayLanes,
      {
        models: sql`room.models`,
        reservedAt: sql`room.at`,
        reservedCalls: v.calls,
        // what it does is of no use to others when that has changed since it began
        inputs: sql`iif(${replayLanes.inputs} = ${v.inputs}, ${v.inputs}, NULL)`,
        reservedMicrousd: sql`CASE WHEN room.fits
          THEN min(room.free_microusd, room.own_microusd, max(${held(reservedMicrousd)}, ${v.wantMicrousd}))
          ELSE ${held(reservedMicrousd)} END`,
        reservedTokens: sql`CASE WHEN room.fits
          THEN min(room.free_tokens, max(${held(reservedTokens)}, ${v.wantTokens}))
          ELSE ${held(reservedTokens)} END`,
      },
      sql`FROM (SELECT ask.models, ask.at, ask.own_microusd, ${room.freeMicrousd}, ${room.freeTokens}, ${fitsSql(v)} AS fits
        FROM ask JOIN (${headroomOfLaneSql}) h ON ${room.candidate} = ask.candidate) AS room
      WHERE ${replayLanes.id} = ${v.laneId}`,
      sql`WITH ask AS MATERIALIZED (${askSql(v)})`,
    ),
  )
})

const stateFields = (v: Params<Extension>) => ({
  agentId: l.agentId,
  reservedMicrousd: l.reservedMicrousd,
  reservedTokens: l.reservedTokens,
  isPaused: flag(sql`ask.is_paused`),
  /** What the promise leaves. */
  ownMicrousd: sql<number>`ask.own_microusd`,
  ownTokens: sql<number>`ask.own_tokens`,
  leftMicrousd: sql<number>`coalesce(${room.leftMicrousd}, 0)`,
  leftTokens: sql<number>`coalesce(${room.leftTokens}, 0)`,
  fits: flag(sql`coalesce(${fitsSql(v)}, 0)`),
  runningActivations: runningCountSql,
  inboxDepth: inboxDepthSql(l.agentId),
})

export type LaneState = RowOf<ReturnType<typeof stateFields>>

/** Selects a running lane after a renewal, with what its budgets leave; no row for a late renewal. */
export const selectLaneState = prepare((v: Params<Extension>) =>
  oneSql(
    stateFields(v),
    sql`FROM ask JOIN ${replayLanes} ${l} ON ${l.id} = ask.id
      LEFT JOIN (${headroomOfLaneSql}) h ON ${room.candidate} = ask.candidate`,
    sql`WITH ask AS MATERIALIZED (${askSql(v)})`,
  ),
)

interface Inputs extends LaneAt {
  inputs: string
}

/** Whether a lane runs and has not reserved its first call. */
const isUnbegunSql = (laneId: SQLWrapper): SQL =>
  sql`${replayLanes.id} = ${laneId} AND ${replayLanes.state} = 'running' AND ${replayLanes.models} = '[]'`

/** Notes what decides what a baseline does, before its first call. */
export const markInputs = prepare((v: Params<Inputs>) =>
  write(updateSet(replayLanes, { inputs: v.inputs }, sql`WHERE ${isUnbegunSql(v.laneId)}`)),
)

const s = alias(replayLanes, 's')
const rs = alias(replays, 'rs')

const reusableFields = {
  id: s.id,
  activationId: s.activationId,
  requestedBy: rs.requestedBy,
  record: t.trace,
}

/** Selects baselines of earlier replays of the same run that had the same to go by and ended whole, the latest first. */
export const selectReusable = prepare((v: Params<Inputs>) =>
  manySql(
    reusableFields,
    sql`FROM ${replayLanes} ${l} JOIN ${replays} ${r} ON ${r.id} = ${l.replayId}
      JOIN ${replays} ${rs} ON ${rs.activationId} = ${r.activationId} AND ${rs.id} <> ${r.id}
        AND ${rs.requestedBy} = ${r.requestedBy} AND ${rs.baselineVersion} IS ${r.baselineVersion}
      JOIN ${replayLanes} ${s} ON ${s.replayId} = ${rs.id} AND ${s.lane} = 'baseline'
      JOIN ${activationTraces} ${t} ON ${t.activationId} = ${s.id}
      WHERE ${l.id} = ${v.laneId} AND ${s.state} = 'done' AND ${s.inputs} = ${v.inputs} AND ${s.reusedFrom} IS NULL
        AND ${s.incomplete} IS NULL AND ${s.outcome} NOT IN ('failed', 'cancelled', 'budget_exhausted')
        AND ${s.finishedAt} > ${v.now} - ${sql.raw(String(replayLimits.reuseMs))}
      ORDER BY ${s.finishedAt} DESC, ${s.id} LIMIT ${sql.raw(String(replayLimits.repeatsMax))}`,
  ),
)

/** What a lane has of the one whose result it gets. Its cost was paid then. */
const results = [
  'outcome',
  'error',
  'answer',
  'models',
  'steps',
  'tokens',
  'costMicrousd',
  'durationMs',
  'notes',
  'calls',
] as const

/**
 * Ends a lane that has not begun with the result of the first of a list, a JSON list of ids, that no other lane of its
 * replay has. `isReused` answers whether there was one.
 */
export const reuseStatements = ({ laneId, now, ids }: LaneAt & { ids: string }) => ({
  isReused: writeReturned(
    sql`${updateSet(
      replayLanes,
      {
        state: 'done',
        finishedAt: now,
        reusedFrom: sql`${s.id}`,
        ...Object.fromEntries(results.map((name) => [name, sql`${s[name]}`])),
      },
      sql`FROM ${replayLanes} ${s} WHERE ${isUnbegunSql(sql`${laneId}`)} AND NOT ${isEndingSql(replayLanes, sql`${now}`)}
        AND ${s.id} = (SELECT n.value FROM json_each(${ids}) n JOIN ${replayLanes} ${q} ON ${q.id} = n.value
          WHERE ${q.replayId} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${replayLanes} o
            WHERE o.replay_id = ${replayLanes.replayId} AND o.reused_from = ${q.id})
          ORDER BY n.key LIMIT 1)`,
    )} RETURNING ${sql.raw('id')}`,
  ),
  // a copy, so that each is deleted with its own replay, and found by whom it names
  record: write(
    insertSelect(
      activationTraces,
      { activationId: l.id, trace: t.trace },
      sql`FROM ${replayLanes} ${l} JOIN ${activationTraces} ${t} ON ${t.activationId} = ${l.reusedFrom}
        WHERE ${l.id} = ${laneId} ON CONFLICT (activation_id) DO NOTHING`,
    ),
  ),
})

interface Finish extends LaneAt {
  outcome: Outcome
  /** JSON, or null. */
  error: ActivationError | null
  answer: string
  steps: number
  durationMs: number
  incomplete: string | null
  notes: string[]
  calls: string
}

/** Stores the record of a running lane where those of runs are, which have other ids. */
export const storeRecord = prepare((v: Params<{ laneId: ActivationId; record: string }>) =>
  write(
    insertSelect(
      activationTraces,
      { activationId: l.id, trace: v.record },
      sql`FROM ${replayLanes} ${l} WHERE ${l.id} = ${v.laneId} AND ${l.state} = 'running' AND ${v.record} <> ''
      ON CONFLICT (activation_id) DO UPDATE SET trace = excluded.trace`,
    ),
  ),
)

/** Ends a running lane with its result; after its calls were charged. */
export const endLane = prepare((v: Params<Finish>) =>
  write(
    updateSet(
      replayLanes,
      {
        state: sql`iif(${v.outcome} = 'cancelled', 'cancelled', 'done')`,
        outcome: v.outcome,
        error: v.error,
        answer: v.answer,
        steps: v.steps,
        durationMs: v.durationMs,
        incomplete: v.incomplete,
        notes: v.notes,
        calls: v.calls,
        finishedAt: v.now,
        ...released(replayLanes.id),
      },
      sql`WHERE ${replayLanes.id} = ${v.laneId} AND ${replayLanes.state} = 'running'`,
    ),
  ),
)

/** Selects the queued lanes to start next, the oldest first; none while a task waits for capacity. */
export const selectNextLanes = prepare(({ now }: Params<{ now: number }>) =>
  manySql(
    { id: sql<ActivationId>`${l.id}` },
    sql`FROM ${replayLanes} ${l} INDEXED BY replay_lanes_queued WHERE ${l.state} = 'queued' AND ${canStartSql(now)}
      ORDER BY ${l.id} LIMIT max(0, ${runningMax} - ${countRunningSql})`,
  ),
)

/** A running lane whose end was not reported, with what it had reserved. */
const runningFields = (now: SQLWrapper) => ({
  id: sql<ActivationId>`${l.id}`,
  models: l.models,
  reservedMicrousd: l.reservedMicrousd,
  reservedTokens: l.reservedTokens,
  lastCall: chargedLastSql(l.id),
  isEnding: flag(isEndingSql(l, now)),
  isLost: flag(sql`${l.deadlineAt} + ${sql.raw(String(replayLimits.lostMs))} < ${now}`),
})

/** The greatest number of a charged call of a lane. */
function chargedLastSql(laneId: SQLWrapper): SQL<number> {
  return sql`(SELECT coalesce(max(${e.call}), 0) FROM ${usageEvents} ${e} WHERE ${e.activationId} = ${laneId})`
}

export type RunningLane = RowOf<ReturnType<typeof runningFields>>

/** Selects the running lanes. */
export const selectRunningLanes = prepare(({ now }: Params<{ now: number }>) =>
  manySql(
    runningFields(now),
    sql`FROM ${replayLanes} ${l} INDEXED BY replay_lanes_running WHERE ${l.state} = 'running'`,
  ),
)

/** Selects what the next sweep looks at again: whether lanes are queued, and the trials that have not finished. */
export const selectOpenWork = prepare((_: Params<Record<never, never>>) =>
  oneSql(
    {
      hasQueuedLanes:
        flag(sql`EXISTS (SELECT 1 FROM ${replayLanes} ${l} INDEXED BY replay_lanes_queued
        WHERE ${l.state} = 'queued')`),
      trials: sql`(SELECT json_group_array(${tr.id}) FROM ${trials} ${tr} INDEXED BY trials_open
        WHERE ${tr.finishedAt} IS NULL)`.mapWith((json: string): TrialId[] => JSON.parse(json)),
    },
    sql``,
  ),
)

/** Selects the trial whose case a lane is of, when it was the last open one of that case. */
export const selectTrialToAdvance = prepare(({ laneId }: Params<{ laneId: ActivationId }>) =>
  oneSql(
    { id: sql<TrialId>`${k.trialId}` },
    sql`FROM ${replayLanes} ${l} JOIN ${trialCases} ${k} ON ${k.replayId} = ${l.replayId}
      WHERE ${l.id} = ${laneId} AND NOT ${isOpenSql(k.replayId)}`,
  ),
)

/** Ends a running lane as lost; after what it had reserved was charged. */
export const endLostLane = prepare((v: Params<LaneAt & { incomplete: string }>) =>
  write(
    updateSet(
      replayLanes,
      {
        state: 'failed',
        outcome: 'failed',
        finishedAt: v.now,
        incomplete: v.incomplete,
        ...released(replayLanes.id),
      },
      sql`WHERE ${replayLanes.id} = ${v.laneId} AND ${replayLanes.state} = 'running'`,
    ),
  ),
)

/** Cancels the queued lanes of replays that were cancelled, or whose requester is stopped. */
export const cancelQueuedLanes = prepare(({ now }: Params<{ now: number }>) =>
  write(
    updateSet(
      replayLanes,
      { state: 'cancelled', outcome: 'cancelled', finishedAt: now },
      sql`WHERE ${replayLanes.state} = 'queued' AND ${isEndingSql(replayLanes, now)}`,
    ),
  ),
)

/** Selects those of a list of lanes that run. @param ids JSON list */
export const selectRunningAmong = prepare((v: Params<{ ids: string; now: number }>) =>
  manySql(
    runningFields(v.now),
    sql`FROM ${replayLanes} ${l} WHERE ${l.id} IN (SELECT value FROM json_each(${v.ids})) AND ${l.state} = 'running'`,
  ),
)

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { replayLimits } from '../../shared/config'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, ReplayId } from '../../shared/ids'
import type { ReplayLane } from '../contract/hub'
import { hasGuestSql, payersSql } from '../rules/payers-sql'
import { personSql } from '../rules/people-sql'
import { canReadSql, isPostReadableSql, listUnreadableSql } from '../rules/readable-sql'
import { isCommentShownSql, isRunGoneSql } from '../rules/shown-sql'
import { traceAccessColumns } from '../rules/traces-sql'
import { askSpender, ownerOfSql, selectPayingFrom } from '../runs/claim-queries'
import { accounts } from '../schema/accounts'
import { activations, activationTraces } from '../schema/activations'
import { agentDefinitions, agents } from '../schema/definitions'
import { comments, posts } from '../schema/posts'
import { replayLanes, replays } from '../schema/replays'
import { caseSets, trialCases, trials } from '../schema/trials'
import type { Reader } from '../viewers/reader'

const x = alias(activations, 'x')
const p = alias(posts, 'p')
const c = alias(comments, 'c')
const a = alias(accounts, 'a')
const t = alias(activationTraces, 't')
const d = alias(agentDefinitions, 'd')
const g = alias(agents, 'g')
const r = alias(replays, 'r')
const l = alias(replayLanes, 'l')
const by = alias(accounts, 'by_account')
const earlier = alias(replayLanes, 'earlier')
const n = alias(trials, 'n')
const k = alias(trialCases, 'k')
const s = alias(caseSets, 's')

const runFields = (reader: SQLWrapper) => ({
  id: x.id,
  agentId: x.agentId,
  agentName: a.name,
  ...traceAccessColumns(reader),
  state: x.state,
  outcome: x.outcome,
  error: x.error,
  program: x.program,
  communityId: x.communityId,
  version: x.definitionVersion,
  startedAt: x.startedAt,
  finishedAt: x.finishedAt,
  iterations: x.iterations,
  inputTokens: x.inputTokens,
  outputTokens: x.outputTokens,
  costMicrousd: x.costMicrousd,
  trace: nullable(t.trace),
  /** Null: the version is no longer kept. */
  etag: nullable(d.etag),
  /** Whether the agent still runs on this hub. */
  isHosted: flag(sql`${g.accountId} IS NOT NULL`),
})

/** A run that is replayed, with who may see it. */
export type ReplayedRun = RowOf<ReturnType<typeof runFields>>

const runTablesSql = sql`${activations} ${x} JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
  LEFT JOIN ${activationTraces} ${t} ON ${t.activationId} = ${x.id}
  LEFT JOIN ${agentDefinitions} ${d} ON ${d.accountId} = ${x.agentId} AND ${d.version} = ${x.definitionVersion}
  LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${x.agentId}`

export const selectRun = prepare((v: Params<{ id: string; reader: Reader }>) =>
  oneSql(runFields(v.reader), sql`FROM ${runTablesSql} WHERE ${x.id} = ${v.id}`),
)

/** Selects the run of a replay. */
export const selectRunOfReplay = prepare((v: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    runFields(v.reader),
    sql`FROM ${replays} ${r} CROSS JOIN ${runTablesSql} WHERE ${r.id} = ${v.id} AND ${x.id} = ${r.activationId}`,
  ),
)

/** The lanes in a state that an account asked for, from the index of the lanes in that state. */
const countLanesSql = (state: 'queued' | 'running', accountId: SQLWrapper): SQL =>
  sql`(SELECT count(*) FROM ${replayLanes} ${l} INDEXED BY ${sql.raw(`replay_lanes_${state}`)}
    WHERE ${l.state} = ${sql.raw(`'${state}'`)} AND ${l.requesters} = json_array(${accountId}))`

/** Selects what stands in the way of a replay besides its definitions. @param both reads for the run and for whoever asks */
export const selectObstacles = prepare(
  (
    v: Params<{
      id: string
      both: Reader
      accountId: AccountId
      /** JSON lists of ids of what its tools read. */
      posts: string
      comments: string
    }>,
  ) =>
    oneSql(
      {
        /** Whether it holds words that were deleted or removed. */
        isGone: flag(isRunGoneSql(x)),
        isReadable: flag(canReadSql(sql`coalesce(${x.communityId}, '')`, v.both)),
        unreadable: listUnreadableSql(v.both),
        /** Whether one of the texts that its tools read is not there for both now. */
        lacksText: flag(sql`EXISTS (SELECT 1 FROM json_each(${v.posts}) n WHERE NOT EXISTS (
            SELECT 1 FROM ${posts} ${p} WHERE ${p.id} = n.value AND ${isPostReadableSql(p, v.both)}))
          OR EXISTS (SELECT 1 FROM json_each(${v.comments}) n WHERE NOT EXISTS (
            SELECT 1 FROM ${comments} ${c} JOIN ${posts} ${p} ON ${p.id} = ${c.postId}
            WHERE ${c.id} = n.value AND ${isCommentShownSql(c)} AND ${canReadSql(p.communityId, v.both)}))`),
        /** Lanes of the account that are queued or run. */
        openLanes: sql<number>`(${countLanesSql('queued', v.accountId)} + ${countLanesSql('running', v.accountId)})`,
      },
      sql`FROM ${activations} ${x} WHERE ${x.id} = ${v.id}`,
    ),
)

/** Who would pay for a lane, and the models that it can call. */
interface Payment {
  agentId: AccountId
  accountId: AccountId
  communityId: string | null
  /** JSON list. */
  models: string
  now: number
  both: Reader
}

/** Selects the budgets that pay for the lanes of a replay of a run that both read. */
export const selectPayingBudgets = prepare((v: Params<Payment>) => {
  const requesters = sql`json_array(${v.accountId})`
  return selectPayingFrom(
    sql`WITH ask AS MATERIALIZED (
      SELECT '' AS id, ${v.now} AS at, 0 AS candidate, ${v.agentId} AS agent_id, ${v.communityId} AS community_id,
        'normal' AS priority, ${v.models} AS models, ${requesters} AS requesters,
        ${payersSql(requesters, ownerOfSql(v.agentId))} AS payers, 0 AS call_floor_microusd, 0 AS call_floor_tokens
      WHERE ${canReadSql(sql`coalesce(${v.communityId}, '')`, v.both)})`,
    { ...askSpender, isForGuest: hasGuestSql(sql`ask.payers`), isReplay: sql.raw('1') },
  )
})

type NewReplay = Pick<
  typeof replays.$inferSelect,
  'id' | 'activationId' | 'requestedBy' | 'draft' | 'baselineVersion' | 'createdAt'
>

export type NewLane = Pick<
  typeof replayLanes.$inferInsert,
  'id' | 'lane' | 'sample' | 'grants' | 'durationMsMax' | 'tokensMax' | 'costMaxMicrousd'
>

/** Lanes of a list as rows, for FROM `json_each(...) j`. */
const laneValues = (
  replay: Pick<NewReplay, 'id' | 'activationId' | 'requestedBy'>,
  run: Pick<ReplayedRun, 'agentId' | 'communityId'>,
) => ({
  id: sql`j.value ->> 'id'`,
  replayId: replay.id,
  activationId: replay.activationId,
  lane: sql`j.value ->> 'lane'`,
  sample: sql`j.value ->> 'sample'`,
  state: 'queued',
  agentId: run.agentId,
  communityId: run.communityId,
  requesters: sql`json_array(${replay.requestedBy})`,
  grants: sql`j.value ->> 'grants'`,
  durationMsMax: sql`j.value ->> 'durationMsMax'`,
  tokensMax: sql`j.value ->> 'tokensMax'`,
  costMaxMicrousd: sql`j.value ->> 'costMaxMicrousd'`,
})

/** Inserts a replay with its queued lanes. @param guard without which it does nothing */
export const insertReplay = (
  replay: NewReplay,
  run: Pick<ReplayedRun, 'agentId' | 'communityId'>,
  lanes: NewLane[],
  guard: SQL = sql`1`,
) => ({
  replay: write(
    insertSelect(
      replays,
      { ...replay, draft: replay.draft ? sql`${JSON.stringify(replay.draft)}` : null },
      sql`WHERE ${guard}`,
    ),
  ),
  lanes: write(
    insertSelect(
      replayLanes,
      laneValues(replay, run),
      sql`FROM json_each(${JSON.stringify(lanes)}) j
        WHERE EXISTS (SELECT 1 FROM ${replays} ${r} WHERE ${r.id} = ${replay.id})`,
    ),
  ),
})

/** Adds lanes to a replay. @param guard without which it does nothing */
export const insertLanes = (
  replay: Pick<NewReplay, 'id' | 'activationId' | 'requestedBy'>,
  run: Pick<ReplayedRun, 'agentId' | 'communityId'>,
  lanes: NewLane[],
  guard: SQL,
): Statement<void> =>
  write(
    insertSelect(
      replayLanes,
      laneValues(replay, run),
      sql`FROM json_each(${JSON.stringify(lanes)}) j WHERE ${guard}`,
    ),
  )

/** Whether lanes of a replay are queued or run. */
export const isOpenSql = (
  replayId: SQLWrapper,
): SQL => sql`EXISTS (SELECT 1 FROM ${replayLanes} ${l}
  WHERE ${l.replayId} = ${replayId} AND ${l.state} IN ('queued', 'running'))`

const hasLaneSql = (state: string): SQL =>
  sql`EXISTS (SELECT 1 FROM ${replayLanes} ${l} WHERE ${l.replayId} = ${r.id} AND ${l.state} = ${sql.raw(`'${state}'`)})`

/** What a replay is doing: `failed` when a lane of it did not report its end. */
const statusSql = sql<ReplayStatus>`CASE WHEN ${r.cancelledAt} IS NOT NULL THEN 'cancelled'
  WHEN NOT ${isOpenSql(r.id)} THEN iif(${hasLaneSql('failed')}, 'failed', iif(${hasLaneSql('cancelled')}, 'cancelled', 'done'))
  WHEN ${hasLaneSql('running')} OR ${hasLaneSql('done')} OR ${hasLaneSql('failed')} THEN 'running' ELSE 'queued' END`

export const replayStatuses = ['queued', 'running', 'done', 'cancelled', 'failed'] as const
export type ReplayStatus = (typeof replayStatuses)[number]

const replayFields = {
  id: r.id,
  activationId: r.activationId,
  status: statusSql,
  requestedBy: personSql(by),
  hasDraft: flag(sql`${r.draft} IS NOT NULL`),
  createdAt: r.createdAt,
  cancelledAt: r.cancelledAt,
}

export type ReplayRow = RowOf<typeof replayFields>

const fromReplaySql = sql`FROM ${replays} ${r} JOIN ${accounts} ${by} ON ${by.id} = ${r.requestedBy}`

export const selectReplay = prepare(({ id }: Params<{ id: string }>) =>
  oneSql(replayFields, sql`${fromReplaySql} WHERE ${r.id} = ${id}`),
)

/** Selects the case of a trial that a replay runs, with who may edit its agent. */
export const selectTrialOfReplay = prepare(({ id }: Params<{ id: ReplayId }>) =>
  oneSql(
    { id: n.id, caseId: k.id, setName: s.name, ownerId: a.ownerId },
    sql`FROM ${trialCases} ${k} JOIN ${trials} ${n} ON ${n.id} = ${k.trialId}
      JOIN ${caseSets} ${s} ON ${s.id} = ${n.setId} JOIN ${accounts} ${a} ON ${a.id} = ${n.agentId}
      WHERE ${k.replayId} = ${id}`,
  ),
)

/** Selects the replays of a run, newest first. */
export const selectReplays = prepare(({ activationId }: Params<{ activationId: string }>) =>
  manySql(
    replayFields,
    sql`${fromReplaySql} WHERE ${r.activationId} = ${activationId}
      ORDER BY ${r.createdAt} DESC, ${r.id} DESC LIMIT ${sql.raw(String(replayLimits.listedMax))}`,
  ),
)

const laneFields = {
  id: l.id,
  lane: sql<ReplayLane>`${l.lane}`,
  sample: l.sample,
  state: l.state,
  outcome: l.outcome,
  error: l.error,
  answer: l.answer,
  steps: l.steps,
  tokens: l.tokens,
  costMicrousd: l.costMicrousd,
  costMaxMicrousd: l.costMaxMicrousd,
  durationMs: l.durationMs,
  incomplete: l.incomplete,
  notes: l.notes,
  calls: l.calls,
  isReused: flag(sql`${l.reusedFrom} IS NOT NULL`),
  /** The replay whose result it has, while that exists. */
  reusedFrom: sql<ReplayId | null>`(SELECT ${earlier.replayId} FROM ${replayLanes} ${earlier} WHERE ${earlier.id} = ${l.reusedFrom})`,
  /** Of the first sample alone: it is compared. */
  record: sql<string | null>`iif(${l.sample} = 1, (SELECT ${t.trace} FROM ${activationTraces} ${t}
    WHERE ${t.activationId} = ${l.id}), NULL)`,
}

/** A lane with its result. */
export type LaneRow = RowOf<typeof laneFields>

/** Selects the lanes of a replay that ran a definition, the baseline first. */
export const selectLanes = prepare(({ replayId }: Params<{ replayId: string }>) =>
  manySql(
    laneFields,
    sql`FROM ${replayLanes} ${l} WHERE ${l.replayId} = ${replayId} AND ${l.lane} <> 'judge' ORDER BY ${l.lane}, ${l.sample}`,
  ),
)

/** Marks a replay with open lanes as cancelled; answers whether it is. */
export const markCancelled = (id: ReplayId, now: number): Statement<boolean> =>
  writeChanges(
    updateSet(
      replays,
      { cancelledAt: sql`coalesce(${replays.cancelledAt}, ${now})` },
      sql`WHERE ${replays.id} = ${id} AND (${replays.cancelledAt} IS NOT NULL OR ${isOpenSql(replays.id)})`,
    ),
  )

/** Selects the running lanes of a replay. */
export const selectRunningOf = (replayId: ReplayId): Statement<{ id: ActivationId }[]> =>
  manySql(
    { id: sql<ActivationId>`${l.id}` },
    sql`FROM ${replayLanes} ${l} WHERE ${l.replayId} = ${replayId} AND ${l.state} = 'running'`,
  )

/**
 * The replays that go with an account: of runs of an agent, those that it asked for and, with its words, those of runs that
 * can have read them and those whose own records name it.
 *
 * @param runs a select of the ids of these runs and records
 */
const goneReplaysSql = (accountId: AccountId, runs: SQL | null): SQL => sql`(
  SELECT ${l.replayId} FROM ${replayLanes} ${l} WHERE ${l.agentId} = ${accountId}
  UNION SELECT ${r.id} FROM ${replays} ${r} WHERE ${r.requestedBy} = ${accountId}
  ${
    runs
      ? sql`UNION SELECT ${r.id} FROM ${replays} ${r} WHERE ${r.activationId} IN ${runs}
  UNION SELECT ${l.replayId} FROM ${replayLanes} ${l} WHERE ${l.id} IN ${runs}`
      : sql``
  })`

export interface GoneLane {
  id: ActivationId
  replayId: ReplayId
}

/** Selects the lanes of the replays that go with an account. */
export const selectGoneLanes = (accountId: AccountId, runs: SQL | null): Statement<GoneLane[]> =>
  manySql(
    { id: sql<ActivationId>`o.id`, replayId: sql<ReplayId>`o.replay_id` },
    sql`FROM ${replayLanes} o WHERE o.replay_id IN ${goneReplaysSql(accountId, runs)}`,
  )

const none = sql`'[]'`

/**
 * Deletes replays with the records and words of their lanes, none of which runs any more. Of a lane stays who paid for its
 * calls, so that budgets can be counted again.
 */
export const deleteReplays = (gone: GoneLane[]) => {
  const ids = [...new Set(gone.map(({ replayId }) => replayId))]
  const listed = sql`(SELECT value FROM json_each(${JSON.stringify(ids)}))`
  return {
    replayRecords:
      write(sql`DELETE FROM ${activationTraces} WHERE ${activationTraces.activationId} IN (
      SELECT o.id FROM ${replayLanes} o WHERE o.replay_id IN ${listed})`),
    replayLanes: write(
      updateSet(
        replayLanes,
        {
          replayId: null,
          state: sql`iif(${replayLanes.state} IN ('queued', 'running'), 'cancelled', ${replayLanes.state})`,
          reservedMicrousd: 0,
          reservedTokens: 0,
          answer: '',
          error: null,
          incomplete: null,
          notes: none,
          calls: none,
          grants: none,
        },
        sql`WHERE ${replayLanes.replayId} IN ${listed}`,
      ),
    ),
    replays: write(sql`DELETE FROM ${replays} WHERE ${replays.id} IN ${listed}`),
  }
}

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { trialLimits } from '../../shared/config'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
  writeReturned,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, CaseId, ReplayId, TrialId } from '../../shared/ids'
import type { ReplayLane } from '../contract/hub'
import { isOpenSql } from '../replays/queries'
import { isForPeopleSql } from '../rules/held-sql'
import { personSql } from '../rules/people-sql'
import { isRunGoneSql } from '../rules/shown-sql'
import { traceAccessColumns } from '../rules/traces-sql'
import { accounts } from '../schema/accounts'
import { activations, activationTraces } from '../schema/activations'
import { agentDefinitions, agents, heldDefinitions } from '../schema/definitions'
import { replayLanes, replays } from '../schema/replays'
import { caseSets, cases, trialCases, trials } from '../schema/trials'
import { isStoppedSql } from '../viewers/ban-sql'
import { guardLimit } from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const s = alias(caseSets, 's')
const n = alias(trials, 'n')
const k = alias(trialCases, 'k')
const c = alias(cases, 'c')
const x = alias(activations, 'x')
const a = alias(accounts, 'a')
const t = alias(activationTraces, 't')
const d = alias(agentDefinitions, 'd')
const g = alias(agents, 'g')
const r = alias(replays, 'r')
const l = alias(replayLanes, 'l')
const by = alias(accounts, 'by_account')
const h = alias(heldDefinitions, 'h')

const limited = (text: SQLWrapper, chars: number): SQL<string> =>
  sql<string>`substr(${text}, 1, ${sql.raw(String(chars))})`

const setFields = (since: SQLWrapper) => ({
  id: s.id,
  name: s.name,
  agentId: s.agentId,
  agentName: a.name,
  ownerId: a.ownerId,
  /** Null: the agent no longer runs on this hub. */
  version: nullable(g.definitionVersion),
  /** Null: the version is no longer kept. */
  etag: nullable(d.etag),
  runsMonth: sql<number>`(SELECT count(*) FROM ${activations} ${x} WHERE ${x.agentId} = ${s.agentId} AND ${x.startedAt} > ${since})`,
})

/** Selects a set on which a draft is tried, with the active definition of its agent and the runs of the agent since a time. */
export const selectSetToTry = prepare((v: Params<{ id: string; since: number }>) =>
  oneSql(
    setFields(v.since),
    sql`FROM ${caseSets} ${s} JOIN ${accounts} ${a} ON ${a.id} = ${s.agentId}
      LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${s.agentId}
      LEFT JOIN ${agentDefinitions} ${d} ON ${d.accountId} = ${s.agentId} AND ${d.version} = ${g.definitionVersion}
      WHERE ${s.id} = ${v.id}`,
  ),
)

export type TriedSet = RowOf<ReturnType<typeof setFields>>

/** Whose agent a set is of. */
export const selectSetOwner = prepare(({ id }: Params<{ id: string }>) =>
  oneSql(
    { id: s.id, ownerId: a.ownerId },
    sql`FROM ${caseSets} ${s} JOIN ${accounts} ${a} ON ${a.id} = ${s.agentId} WHERE ${s.id} = ${id}`,
  ),
)

const accessFields = (reader: SQLWrapper) => ({
  agentId: x.agentId,
  ...traceAccessColumns(reader),
})

const caseToTryFields = (reader: SQLWrapper) => ({
  id: c.id,
  activationId: c.activationId,
  checks: c.checks,
  note: c.note,
  state: x.state,
  program: x.program,
  communityId: x.communityId,
  hasRecord: flag(
    sql`EXISTS (SELECT 1 FROM ${activationTraces} ${t} WHERE ${t.activationId} = ${x.id})`,
  ),
  ...accessFields(reader),
})

export type CaseToTry = RowOf<ReturnType<typeof caseToTryFields>>

/** Selects the cases of a set, the oldest first: those of runs of which nothing was deleted or removed since. */
export const selectCasesToTry = prepare((v: Params<{ setId: string; reader: Reader }>) =>
  manySql(
    caseToTryFields(v.reader),
    sql`FROM ${cases} ${c} JOIN ${activations} ${x} ON ${x.id} = ${c.activationId}
      WHERE ${c.setId} = ${v.setId} AND NOT ${isRunGoneSql(x)} ORDER BY ${c.createdAt}, ${c.id}
      LIMIT ${sql.raw(String(trialLimits.casesPerSet))}`,
  ),
)

const openTrialsSql = (accountId: SQLWrapper): SQL =>
  sql`FROM ${trials} ${n} INDEXED BY trials_open WHERE ${n.finishedAt} IS NULL AND ${n.requestedBy} = ${accountId}`

/** Counts the trials of an account that have not finished. */
export const countOpenTrials = prepare(({ accountId }: Params<{ accountId: AccountId }>) =>
  oneSql({ count: sql<number>`count(*)` }, openTrialsSql(accountId)),
)

/** The constraint that fails when an account has the most trials that may be open. */
export const trialLimitConstraint = 'access_trials'

/** Fails its batch with `access_trials` when an account has the most trials that may be open. */
export const guardOpenTrials = (accountId: AccountId): Statement<void> =>
  guardLimit(
    'trials',
    sql`(SELECT count(*) ${openTrialsSql(sql`${accountId}`)})`,
    trialLimits.perAccountMax,
  )

type NewTrial = Omit<typeof trials.$inferSelect, 'cancelledAt' | 'finishedAt'>

type NewTrialCase = Pick<
  typeof trialCases.$inferSelect,
  'id' | 'activationId' | 'position' | 'checks' | 'note' | 'state' | 'reason'
>

/** Inserts a trial with its cases. A case whose run has gone since is left out. */
export const insertTrial = (trial: NewTrial, list: NewTrialCase[]) => ({
  trial: write(
    insertSelect(
      trials,
      {
        ...trial,
        draft: sql`${JSON.stringify(trial.draft)}`,
        limits: sql`${JSON.stringify(trial.limits)}`,
      },
      sql``,
    ),
  ),
  cases: write(
    insertSelect(
      trialCases,
      {
        id: sql`j.value ->> 'id'`,
        trialId: trial.id,
        activationId: sql`j.value ->> 'activationId'`,
        position: sql`j.value ->> 'position'`,
        checks: sql`j.value ->> 'checks'`,
        note: sql`j.value ->> 'note'`,
        state: sql`j.value ->> 'state'`,
        reason: sql`j.value ->> 'reason'`,
      },
      sql`FROM json_each(${JSON.stringify(list)}) j
        WHERE EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.id} = j.value ->> 'activationId')`,
    ),
  ),
})

const isOpenCaseSql = (state: SQLWrapper): SQL => sql`${state} IN ('queued', 'running', 'judging')`

const hasOpenCasesSql = (trialId: SQLWrapper): SQL => sql`EXISTS (SELECT 1 FROM ${trialCases} ${k}
  WHERE ${k.trialId} = ${trialId} AND ${isOpenCaseSql(k.state)})`

const openTrialFields = (now: SQLWrapper) => ({
  id: n.id,
  agentId: n.agentId,
  agentName: a.name,
  draft: n.draft,
  baselineVersion: n.baselineVersion,
  repeats: n.repeats,
  judge: n.judge,
  limits: n.limits,
  by: { id: by.id, kind: by.kind, role: by.role },
  /** Whether nothing runs any more for whoever asked for it. */
  isStopped: flag(isStoppedSql(n.requestedBy, now)),
})

export type OpenTrial = RowOf<ReturnType<typeof openTrialFields>>

/** Selects a trial that has not finished. */
export const selectOpenTrial = prepare((v: Params<{ id: TrialId; now: number }>) =>
  oneSql(
    openTrialFields(v.now),
    sql`FROM ${trials} ${n} JOIN ${accounts} ${a} ON ${a.id} = ${n.agentId} JOIN ${accounts} ${by} ON ${by.id} = ${n.requestedBy}
      WHERE ${n.id} = ${v.id} AND ${n.finishedAt} IS NULL`,
  ),
)

const openCaseFields = {
  id: k.id,
  activationId: k.activationId,
  replayId: k.replayId,
  state: k.state,
  checks: k.checks,
  communityId: x.communityId,
  usesOwnAccount: flag(sql`${x.usesOwnAccount} = 1`),
  /** Whether all lanes of its replay have ended. */
  isOver: flag(sql`${k.replayId} IS NOT NULL AND NOT ${isOpenSql(k.replayId)}`),
}

export type OpenCase = RowOf<typeof openCaseFields>

/** Selects the cases of a trial that run or are judged, and those that come next. */
export const selectOpenCases = prepare(({ trialId }: Params<{ trialId: TrialId }>) =>
  manySql(
    openCaseFields,
    sql`FROM ${trialCases} ${k} JOIN ${activations} ${x} ON ${x.id} = ${k.activationId}
      WHERE ${k.trialId} = ${trialId} AND ${isOpenCaseSql(k.state)}
      ORDER BY ${k.state} = 'queued', ${k.position}
      LIMIT ${sql.raw(String(trialLimits.casesAtOnce + trialLimits.casesPerTurn))}`,
  ),
)

/** Whether a queued case may start: its trial goes on, and no more cases run than may at a time. */
export const mayStartSql = (caseId: CaseId): SQL =>
  sql`EXISTS (SELECT 1 FROM ${trialCases} ${k} JOIN ${trials} ${n} ON ${n.id} = ${k.trialId}
    WHERE ${k.id} = ${caseId} AND ${k.state} = 'queued' AND ${k.replayId} IS NULL AND ${n.finishedAt} IS NULL
      AND (SELECT count(*) FROM ${trialCases} ${sql.raw('o')} WHERE o.trial_id = ${n.id} AND o.state IN ('running', 'judging'))
        < ${sql.raw(String(trialLimits.casesAtOnce))})`

/** Marks a queued case as running, if its replay was inserted. */
export const markStarted = (id: CaseId, replayId: ReplayId, question: string): Statement<void> =>
  write(
    updateSet(
      trialCases,
      { state: 'running', replayId, question },
      sql`WHERE ${trialCases.id} = ${id} AND ${trialCases.state} = 'queued'
        AND EXISTS (SELECT 1 FROM ${replays} ${r} WHERE ${r.id} = ${replayId})`,
    ),
  )

/** Ends a queued case that cannot run. */
export const markSkipped = (id: CaseId, reason: string): Statement<void> =>
  write(
    updateSet(
      trialCases,
      { state: 'skipped', reason },
      sql`WHERE ${trialCases.id} = ${id} AND ${trialCases.state} = 'queued'`,
    ),
  )

/** Whether a case still runs. */
export const isRunningSql = (id: CaseId): SQL =>
  sql`EXISTS (SELECT 1 FROM ${trialCases} ${k} WHERE ${k.id} = ${id} AND ${k.state} = 'running')`

type Found = Partial<
  Pick<
    typeof trialCases.$inferSelect,
    'results' | 'findings' | 'checksVerdict' | 'judgeVerdict' | 'reason'
  >
>

/** Moves a case on from a state, with what was found of it; from another state it does nothing. */
export const markFound = (
  { id, state }: { id: CaseId; state: 'running' | 'judging' },
  next: 'judging' | 'done',
  { results, findings, ...found }: Found,
): Statement<void> =>
  write(
    updateSet(
      trialCases,
      {
        state: next,
        ...found,
        ...(results && { results: sql`${JSON.stringify(results)}` }),
        ...(findings && { findings: sql`${JSON.stringify(findings)}` }),
      },
      sql`WHERE ${trialCases.id} = ${id} AND ${trialCases.state} = ${sql.raw(`'${state}'`)}`,
    ),
  )

/** Ends a trial without open cases. Answers whether it has ended it. */
export const finishTrial = (id: TrialId, now: number): Statement<boolean> =>
  writeReturned(
    sql`${updateSet(
      trials,
      { finishedAt: now },
      sql`WHERE ${trials.id} = ${id} AND ${trials.finishedAt} IS NULL AND NOT ${hasOpenCasesSql(trials.id)}`,
    )} RETURNING id`,
  )

/** Cancels a trial that has not finished, its open cases and their replays; `isMarked` answers whether it is cancelled. */
export const cancelStatements = (id: TrialId, now: number) => ({
  isMarked: writeReturned(
    sql`${updateSet(
      trials,
      {
        cancelledAt: sql`coalesce(${trials.cancelledAt}, ${now})`,
        finishedAt: sql`coalesce(${trials.finishedAt}, ${now})`,
      },
      sql`WHERE ${trials.id} = ${id} AND (${trials.cancelledAt} IS NOT NULL OR ${trials.finishedAt} IS NULL)`,
    )} RETURNING id`,
  ),
  replays: write(
    updateSet(
      replays,
      { cancelledAt: now },
      sql`WHERE ${replays.cancelledAt} IS NULL AND ${replays.id} IN (
        SELECT ${k.replayId} FROM ${trialCases} ${k} JOIN ${trials} ${n} ON ${n.id} = ${k.trialId}
        WHERE ${k.trialId} = ${id} AND ${n.cancelledAt} IS NOT NULL AND ${isOpenCaseSql(k.state)})`,
    ),
  ),
  cases: write(
    updateSet(
      trialCases,
      { state: 'cancelled' },
      sql`WHERE ${trialCases.trialId} = ${id} AND ${isOpenCaseSql(trialCases.state)}
        AND EXISTS (SELECT 1 FROM ${trials} ${n} WHERE ${n.id} = ${id} AND ${n.cancelledAt} IS NOT NULL)`,
    ),
  ),
  running: manySql(
    { id: l.id },
    sql`FROM ${trialCases} ${k} JOIN ${replayLanes} ${l} ON ${l.replayId} = ${k.replayId}
      WHERE ${k.trialId} = ${id} AND ${k.state} = 'cancelled' AND ${l.state} = 'running'`,
  ),
})

const caseLaneFields = {
  lane: sql<ReplayLane | 'judge'>`${l.lane}`,
  sample: l.sample,
  state: l.state,
  outcome: l.outcome,
  answer: l.answer,
  steps: l.steps,
  costMicrousd: l.costMicrousd,
  incomplete: l.incomplete,
  calls:
    sql`(SELECT json_group_array(json_object('tool', j.value ->> 'tool', 'isError', j.value ->> 'isError'))
    FROM json_each(${l.calls}) j)`.mapWith(
      (json: string): { tool: string; isError: 0 | 1 | null }[] => JSON.parse(json),
    ),
}

export type CaseLane = RowOf<typeof caseLaneFields>

/** Selects the lanes of a case whose lanes have ended. */
export const selectCaseLanes = prepare(({ replayId }: Params<{ replayId: ReplayId }>) =>
  manySql(
    caseLaneFields,
    sql`FROM ${replayLanes} ${l} WHERE ${l.replayId} = ${replayId} ORDER BY ${l.lane}, ${l.sample}`,
  ),
)

const statusSql = sql<
  'queued' | 'running' | 'done' | 'cancelled'
>`CASE WHEN ${n.cancelledAt} IS NOT NULL THEN 'cancelled'
  WHEN ${n.finishedAt} IS NOT NULL THEN 'done'
  WHEN EXISTS (SELECT 1 FROM ${trialCases} ${k} WHERE ${k.trialId} = ${n.id} AND ${k.state} NOT IN ('queued', 'skipped'))
    THEN 'running' ELSE 'queued' END`

const rowFields = {
  id: n.id,
  setId: n.setId,
  setName: s.name,
  agent: personSql(a),
  ownerId: a.ownerId,
  status: statusSql,
  requestedBy: personSql(by),
  repeats: n.repeats,
  judge: n.judge,
  createdAt: n.createdAt,
  finishedAt: n.finishedAt,
}

export type StoredTrial = RowOf<typeof rowFields>

const fromTrialsSql = sql`FROM ${trials} ${n} JOIN ${caseSets} ${s} ON ${s.id} = ${n.setId}
  JOIN ${accounts} ${a} ON ${a.id} = ${n.agentId} JOIN ${accounts} ${by} ON ${by.id} = ${n.requestedBy}`

/** A saved change that a trial decides on: how that ended, and the version that it became. */
export type TrialHeld = Pick<typeof heldDefinitions.$inferSelect, 'outcome' | 'version'>

const viewFields = {
  ...rowFields,
  /** What became of the saved change that it decides on; null when it decides on none. */
  held: sql<TrialHeld | null>`(SELECT json_object('outcome', ${h.outcome}, 'version', ${h.version}) FROM ${heldDefinitions} ${h}
    WHERE ${h.agentId} = ${n.agentId} AND ${h.trialId} = ${n.id})`.mapWith((text: string) =>
    JSON.parse(text),
  ),
  costMaxMicrousd: n.costMaxMicrousd,
  runsMonth: n.runsMonth,
  limits: n.limits,
}

export type ViewedTrial = RowOf<typeof viewFields>

export const selectTrial = prepare(({ id }: Params<{ id: string }>) =>
  oneSql(viewFields, sql`${fromTrialsSql} WHERE ${n.id} = ${id}`),
)

/** Selects the files that a trial tries. */
export const selectTrialDraft = prepare(({ id }: Params<{ id: string }>) =>
  oneSql(
    { agentName: a.name, ownerId: a.ownerId, files: n.draft },
    sql`${fromTrialsSql} WHERE ${n.id} = ${id}`,
  ),
)

const verdictSql = sql`coalesce(${k.peopleVerdict}, ${k.judgeVerdict}, ${k.checksVerdict})`

/** How many cases that are done have each verdict; waiting: none. */
export interface VerdictCounts {
  better: number
  worse: number
  same: number
  cannotTell: number
  waiting: number
}

const countsSql = sql`(SELECT json_object(
    'better', total(${verdictSql} = 'better'), 'worse', total(${verdictSql} = 'worse'), 'same', total(${verdictSql} = 'same'),
    'cannotTell', total(${verdictSql} = 'cannot_tell'), 'waiting', total(${verdictSql} IS NULL))
  FROM ${trialCases} ${k} WHERE ${k.trialId} = ${n.id} AND ${k.state} = 'done')`.mapWith(
  (json: string): VerdictCounts => JSON.parse(json),
)

/** Selects the trials of a set, the newest first. */
export const selectTrials = prepare(({ setId }: Params<{ setId: string }>) =>
  manySql(
    { ...rowFields, counts: countsSql },
    sql`${fromTrialsSql} WHERE ${n.setId} = ${setId} ORDER BY ${n.createdAt} DESC, ${n.id} DESC
      LIMIT ${sql.raw(String(trialLimits.listedMax))}`,
  ),
)

const listedFields = (reader: SQLWrapper) => ({
  id: k.id,
  activationId: k.activationId,
  replayId: k.replayId,
  state: k.state,
  reason: k.reason,
  question: limited(k.question, trialLimits.listedCharsMax),
  note: k.note,
  checks: k.checks,
  results: k.results,
  findings: k.findings,
  verdicts: { checks: k.checksVerdict, judge: k.judgeVerdict, people: k.peopleVerdict },
  access: accessFields(reader),
})

export type ListedCase = RowOf<ReturnType<typeof listedFields>>

/** Selects the cases of a trial. */
export const selectTrialCases = prepare((v: Params<{ trialId: string; reader: Reader }>) =>
  manySql(
    listedFields(v.reader),
    sql`FROM ${trialCases} ${k} JOIN ${activations} ${x} ON ${x.id} = ${k.activationId}
      WHERE ${k.trialId} = ${v.trialId} ORDER BY ${k.position}`,
  ),
)

const listedLaneFields = {
  caseId: k.id,
  lane: sql<ReplayLane | 'judge'>`${l.lane}`,
  sample: l.sample,
  state: l.state,
  steps: l.steps,
  tokens: l.tokens,
  costMicrousd: l.costMicrousd,
  durationMs: l.durationMs,
  incomplete: l.incomplete,
  isReused: flag(sql`${l.reusedFrom} IS NOT NULL`),
  answer: sql<string>`CASE WHEN ${l.lane} = 'judge' THEN ${limited(l.answer, trialLimits.judgeCharsMax)}
    WHEN ${l.sample} = 1 THEN ${limited(l.answer, trialLimits.listedCharsMax)} ELSE '' END`,
}

export type ListedLane = RowOf<typeof listedLaneFields>

/** Selects the lanes of the cases of a trial, with the beginning of what the first sample of each definition answered. */
export const selectTrialLanes = prepare(({ trialId }: Params<{ trialId: string }>) =>
  manySql(
    listedLaneFields,
    sql`FROM ${trialCases} ${k} JOIN ${replayLanes} ${l} ON ${l.replayId} = ${k.replayId}
      WHERE ${k.trialId} = ${trialId} ORDER BY ${k.position}, ${l.lane}, ${l.sample}`,
  ),
)

const comparedFields = (reader: SQLWrapper) => ({
  id: k.id,
  state: k.state,
  replayId: k.replayId,
  question: k.question,
  note: k.note,
  verdicts: { checks: k.checksVerdict, judge: k.judgeVerdict, people: k.peopleVerdict },
  ownerId: a.ownerId,
  access: accessFields(reader),
})

const fromComparedSql = sql`FROM ${trialCases} ${k} JOIN ${trials} ${n} ON ${n.id} = ${k.trialId}
  JOIN ${accounts} ${a} ON ${a.id} = ${n.agentId} JOIN ${activations} ${x} ON ${x.id} = ${k.activationId}`

/** Selects the cases of a trial that people compare: those that nobody has decided. */
export const selectWaitingCases = prepare((v: Params<{ trialId: string; reader: Reader }>) =>
  manySql(
    comparedFields(v.reader),
    sql`${fromComparedSql} WHERE ${k.trialId} = ${v.trialId} AND ${isForPeopleSql(k)} ORDER BY ${k.position}`,
  ),
)

/** Selects one case of a trial, to compare its answers. */
export const selectComparedCase = prepare(
  (v: Params<{ trialId: string; id: string; reader: Reader }>) =>
    oneSql(
      comparedFields(v.reader),
      sql`${fromComparedSql} WHERE ${k.trialId} = ${v.trialId} AND ${k.id} = ${v.id}`,
    ),
)

/** Saves what a person says of a case that has ended. Answers whether it has. */
export const markJudged = (
  id: CaseId,
  { verdict, by: accountId, now }: { verdict: string; by: AccountId; now: number },
): Statement<boolean> =>
  writeReturned(
    sql`${updateSet(
      trialCases,
      { peopleVerdict: sql`${verdict}`, judgedBy: accountId, judgedAt: now },
      sql`WHERE ${trialCases.id} = ${id} AND ${trialCases.state} = 'done'`,
    )} RETURNING id`,
  )

/**
 * Deletes the trials that an account asked for, and cases of trials: those of runs that can have read its words, and
 * those whose replays are deleted after them.
 *
 * @param runs a select of the ids of these runs
 */
export const deleteTrialsOf = (
  accountId: AccountId,
  runs: SQL | null,
  gone: { replayId: ReplayId }[],
) => {
  const replayIds = JSON.stringify(gone.map(({ replayId }) => replayId))
  return {
    casesOfTrials: write(sql`DELETE FROM ${trialCases}
      WHERE ${trialCases.replayId} IN (SELECT value FROM json_each(${replayIds}))
        OR ${trialCases.trialId} IN (SELECT ${n.id} FROM ${trials} ${n} WHERE ${n.requestedBy} = ${accountId})
        ${runs ? sql`OR ${trialCases.activationId} IN ${runs}` : sql``}`),
    trialsOf: write(sql`DELETE FROM ${trials} WHERE ${trials.requestedBy} = ${accountId}`),
  }
}

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
  writeChanges,
} from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import { foldText } from '../../shared/fold-text'
import type { AccountId, ActivationId, CaseId, CaseSetId } from '../../shared/ids'
import type { CaseCheck } from '../contract/hub'
import type { GoneLane } from '../replays/queries'
import { personSql } from '../rules/people-sql'
import { readersSql } from '../rules/readable-sql'
import { isCommentShownSql, isRunGoneSql, itemTextSql } from '../rules/shown-sql'
import { isRunShownSql, traceAccessColumns } from '../rules/traces-sql'
import { isRequestSql } from '../rules/waiting-sql'
import { accessGuard, accounts } from '../schema/accounts'
import { activations, runFeedback } from '../schema/activations'
import { agents } from '../schema/definitions'
import { directMessages } from '../schema/dms'
import { inboxItems } from '../schema/inbox'
import { comments } from '../schema/posts'
import { replayLanes } from '../schema/replays'
import { caseSets, cases, trialCases, trials } from '../schema/trials'
import type { Reader } from '../viewers/reader'

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const s = alias(caseSets, 's')
const k = alias(cases, 'k')
const x = alias(activations, 'x')
const i = alias(inboxItems, 'i')
const report = alias(inboxItems, 'report')
const m = alias(comments, 'm')
const d = alias(directMessages, 'd')
const t = alias(trials, 't')
const tc = alias(trialCases, 'tc')
const l = alias(replayLanes, 'l')
const f = alias(runFeedback, 'f')

const toNumber = (value: number): SQL => sql.raw(String(value))

/** Names of sets that a form suggests. */
const namesMax = 100

/** Characters of an answer that a list shows. */
const answerChars = toNumber(2_000)

/** Selects an agent of this hub, with who may edit it. */
export const selectAgent = prepare(({ name }: Params<{ name: string }>) =>
  oneSql(
    { id: a.id, name: a.name, ownerId: a.ownerId, person: personSql(a), gate: g.gate },
    sql`FROM ${accounts} ${a} JOIN ${agents} ${g} ON ${g.accountId} = ${a.id} WHERE ${a.name} = ${name}`,
  ),
)

/** The cases of a set: those of runs of which nothing was deleted or removed since. */
const casesSql = (setId: SQLWrapper): SQL => sql`${cases} ${k}
  CROSS JOIN ${activations} ${x} ON ${x.id} = ${k.activationId}
  WHERE ${k.setId} = ${setId} AND NOT ${isRunGoneSql(x)}`

/** Whether changes of the agent of a set have to pass a trial on it. */
const isGateSql = sql`EXISTS (SELECT 1 FROM ${agents} ${g} WHERE ${g.accountId} = ${s.agentId} AND ${g.gate} ->> 'setKey' = ${s.nameKey})`

const setFields = {
  id: s.id,
  agentId: s.agentId,
  agentName: a.name,
  agent: personSql(a),
  ownerId: a.ownerId,
  name: s.name,
  cases: sql<number>`(SELECT count(*) FROM ${casesSql(s.id)})`,
  /** Whether changes of its agent have to pass a trial on it. */
  isGate: flag(isGateSql),
  createdAt: s.createdAt,
}

/** A set, with who may edit its agent. */
export type StoredSet = RowOf<typeof setFields>

const setTablesSql = sql`${caseSets} ${s} JOIN ${accounts} ${a} ON ${a.id} = ${s.agentId}`

/** Selects the sets of an agent, by name. */
export const selectSets = prepare(({ agent }: Params<{ agent: string }>) =>
  manySql(
    setFields,
    sql`FROM ${accounts} ${a} JOIN ${caseSets} ${s} ON ${s.agentId} = ${a.id} WHERE ${a.name} = ${agent} ORDER BY ${s.name}
      LIMIT ${toNumber(trialLimits.setsPerAgent)}`,
  ),
)

/** The constraint that fails when a set is not as a write needs it. */
export const setConstraint = 'access_set'

const failWithoutSet = (found: SQL): Statement<void> =>
  write(insertSelect(accessGuard, { name: sql`'access_set'` }, sql`WHERE NOT EXISTS ${found}`))

/** Fails its batch with `access_set` when an agent does not have a set. */
export const guardSet = (agentId: AccountId, name: string): Statement<void> =>
  failWithoutSet(
    sql`(SELECT 1 FROM ${caseSets} ${s} WHERE ${s.agentId} = ${agentId} AND ${s.nameKey} = ${foldText(name)})`,
  )

export const selectSet = prepare(({ id }: Params<{ id: string }>) =>
  oneSql(setFields, sql`FROM ${setTablesSql} WHERE ${s.id} = ${id}`),
)

/** Selects the set of an agent with a name, whatever its case and white space. */
export const selectSetByName = ({ agentId, name }: { agentId: AccountId; name: string }) =>
  selectSetByKey({ agentId, key: foldText(name) })

const selectSetByKey = prepare((v: Params<{ agentId: AccountId; key: string }>) =>
  oneSql(
    setFields,
    sql`FROM ${setTablesSql} WHERE ${s.agentId} = ${v.agentId} AND ${s.nameKey} = ${v.key}`,
  ),
)

/** Selects names of the sets of the agents that a reader owns, of an admin of all. */
export const selectSetNames = prepare(({ reader }: Params<{ reader: Reader }>) =>
  manySql(
    { name: s.name },
    sql`FROM ${readersSql(reader)} r CROSS JOIN ${setTablesSql}
      WHERE r.role = 'admin' OR ${a.ownerId} = r.id
      GROUP BY ${s.nameKey} ORDER BY ${s.name} LIMIT ${toNumber(namesMax)}`,
  ),
)

type NewSet = Pick<
  typeof caseSets.$inferInsert,
  'id' | 'agentId' | 'name' | 'createdBy' | 'createdAt'
>

/**
 * Inserts a set. When the agent has the most sets that it can have, the NULL fails the NOT NULL constraint of
 * `case_sets.created_at` and with it the whole batch.
 */
export const insertSet = ({ createdAt, ...row }: NewSet): Statement<void> =>
  write(
    insertSelect(
      caseSets,
      {
        ...row,
        nameKey: foldText(row.name),
        createdAt: sql`iif((SELECT count(*) FROM ${caseSets} ${s} WHERE ${s.agentId} = ${row.agentId})
          < ${toNumber(trialLimits.setsPerAgent)}, ${createdAt}, NULL)`,
      },
      sql`WHERE true`,
    ),
  )

/** Fails its batch with `access_set` when a set is not there, or has another name in the trial that its agent has to pass. */
export const guardRename = (id: CaseSetId, name: string): Statement<void> =>
  failWithoutSet(
    sql`(SELECT 1 FROM ${caseSets} ${s} WHERE ${s.id} = ${id} AND (${s.nameKey} = ${foldText(name)} OR NOT ${isGateSql}))`,
  )

export const renameSet = (id: CaseSetId, name: string): Statement<void> =>
  write(updateSet(caseSets, { name, nameKey: foldText(name) }, sql`WHERE ${caseSets.id} = ${id}`))

/** What was asked: the first request that the run answered. */
const questionSql = sql<string>`coalesce((SELECT ${itemTextSql(i)} FROM ${inboxItems} ${i}
  WHERE ${i.claimedBy} = ${x.id} AND ${isRequestSql(i)} ORDER BY ${i.createdAt}, ${i.id} LIMIT 1), '')`

/** What was answered: in a thread, in a message, or to whoever gave the task. */
const answerSql = sql<string>`coalesce(
  (SELECT substr(${m.content}, 1, ${answerChars}) FROM ${comments} ${m}
    WHERE ${m.id} = ${x.replyCommentId} AND ${isCommentShownSql(m)}),
  (SELECT substr(${d.content}, 1, ${answerChars}) FROM ${directMessages} ${d} WHERE ${d.activationId} = ${x.id}),
  (SELECT substr(${itemTextSql(report)}, 1, ${answerChars}) FROM ${inboxItems} ${report}
    WHERE ${report.activationId} = ${x.id} AND ${report.type} = 'reply' ORDER BY ${report.createdAt} LIMIT 1), '')`

const caseFields = (reader: SQLWrapper) => ({
  id: k.id,
  setId: k.setId,
  activationId: k.activationId,
  agentId: x.agentId,
  ...traceAccessColumns(reader),
  question: questionSql,
  answer: answerSql,
  checks: k.checks,
  note: k.note,
  createdAt: k.createdAt,
})

/** A case with all that its run says: it is shown only to whoever sees all of the run. */
export type StoredCase = RowOf<ReturnType<typeof caseFields>>

/** Selects the cases of a set, the newest first. */
export const selectCases = prepare((v: Params<{ setId: CaseSetId; reader: Reader }>) =>
  manySql(
    caseFields(v.reader),
    sql`FROM ${casesSql(v.setId)} ORDER BY ${k.createdAt} DESC, ${k.id} DESC
      LIMIT ${toNumber(trialLimits.casesPerSet)}`,
  ),
)

/** Selects a case, with who may edit its agent. */
export const selectCase = prepare((v: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    { ...caseFields(v.reader), ownerId: a.ownerId },
    sql`FROM ${cases} ${k} JOIN ${activations} ${x} ON ${x.id} = ${k.activationId}
      JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId} WHERE ${k.id} = ${v.id} AND NOT ${isRunGoneSql(x)}`,
  ),
)

const runFields = (reader: SQLWrapper) => ({
  id: x.id,
  agentId: x.agentId,
  agentName: a.name,
  ownerId: a.ownerId,
  ...traceAccessColumns(reader),
  state: x.state,
  program: nullable(x.program),
  /** Whether a list of runs has it for the reader. */
  isListed: flag(isRunShownSql(reader)),
})

/** A run that somebody wants to make a case of. */
export type CaseRun = RowOf<ReturnType<typeof runFields>>

/** Selects runs. @param ids JSON list */
export const selectRuns = prepare((v: Params<{ ids: string; reader: Reader }>) =>
  manySql(
    runFields(v.reader),
    sql`FROM json_each(${v.ids}) n CROSS JOIN ${activations} ${x} ON ${x.id} = n.value
      JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}`,
  ),
)

/** Selects the cases that a set has of some runs. @param runs JSON list of ids */
export const selectCasesOf = prepare((v: Params<{ setId: CaseSetId; runs: string }>) =>
  manySql(
    { id: k.id, activationId: k.activationId },
    sql`FROM ${cases} ${k} WHERE ${k.setId} = ${v.setId}
      AND ${k.activationId} IN (SELECT n.value FROM json_each(${v.runs}) n)`,
  ),
)

/** Selects what an account noted about a run whose answer it rated as bad. */
export const selectBadRating = prepare((v: Params<{ id: string; accountId: AccountId }>) =>
  oneSql(
    { note: f.note },
    sql`FROM ${runFeedback} ${f} WHERE ${f.activationId} = ${v.id} AND ${f.accountId} = ${v.accountId} AND ${f.value} = -1`,
  ),
)

export interface NewCase {
  id: CaseId
  activationId: ActivationId
  checks: CaseCheck[]
  note: string
}

/** Inserts those cases for which the set has room, the first ones first. One that it has stays as it is. */
export const insertCases = (
  set: { id: CaseSetId; createdBy: AccountId; now: number },
  rows: NewCase[],
): Statement<void> =>
  write(
    insertSelect(
      cases,
      {
        id: sql`j.value ->> 'id'`,
        setId: set.id,
        activationId: sql`j.value ->> 'activationId'`,
        checks: sql`j.value ->> 'checks'`,
        note: sql`j.value ->> 'note'`,
        createdBy: set.createdBy,
        createdAt: set.now,
      },
      sql`FROM json_each(${JSON.stringify(rows)}) j
        WHERE EXISTS (SELECT 1 FROM ${caseSets} ${s} WHERE ${s.id} = ${set.id})
          AND NOT EXISTS (SELECT 1 FROM ${cases} ${k} WHERE ${k.setId} = ${set.id} AND ${k.activationId} = j.value ->> 'activationId')
        ORDER BY j.key LIMIT max(0, ${toNumber(trialLimits.casesPerSet)} - (SELECT count(*) FROM ${casesSql(sql`${set.id}`)}))
        ON CONFLICT (${bare(cases.setId)}, ${bare(cases.activationId)}) DO NOTHING`,
    ),
  )

export const updateCase = (
  id: CaseId,
  { checks, note }: { checks: CaseCheck[]; note: string },
): Statement<boolean> =>
  writeChanges(
    updateSet(
      cases,
      { checks: sql`${JSON.stringify(checks)}`, note },
      sql`WHERE ${cases.id} = ${id}`,
    ),
  )

export const deleteCase = (id: CaseId): Statement<boolean> =>
  writeChanges(sql`DELETE FROM ${cases} WHERE ${cases.id} = ${id}`)

const hasOpenTrialSql = (setId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${trials} ${t} WHERE ${t.setId} = ${setId} AND ${t.finishedAt} IS NULL)`

/** Selects what keeps a set from being deleted. */
export const selectSetUse = (setId: CaseSetId) =>
  oneSql(
    { hasOpenTrial: flag(hasOpenTrialSql(s.id)), isGate: flag(isGateSql) },
    sql`FROM ${caseSets} ${s} WHERE ${s.id} = ${setId}`,
  )

/** A set of which no trial runs, and which no change has to pass, as behind IN. */
export const unusedSetSql = (id: CaseSetId): SQL =>
  sql`(SELECT ${s.id} FROM ${caseSets} ${s} WHERE ${s.id} = ${id} AND NOT ${hasOpenTrialSql(s.id)} AND NOT ${isGateSql})`

/** Fails its batch with `access_set` when something keeps a set from being deleted. */
export const guardUnusedSet = (id: CaseSetId): Statement<void> => failWithoutSet(unusedSetSql(id))

/** The sets that go with an account: of an agent its own and, with its words, those that it has made. */
export const goneSetsSql = (accountId: AccountId, withWords: boolean): SQL =>
  sql`(SELECT ${s.id} FROM ${caseSets} ${s} WHERE ${s.agentId} = ${accountId}${
    withWords ? sql` OR ${s.createdBy} = ${accountId}` : sql``
  })`

/** Selects the lanes of the trials of sets. */
export const selectLanesOfSets = (sets: SQL): Statement<GoneLane[]> =>
  manySql(
    { id: l.id, replayId: sql<GoneLane['replayId']>`${l.replayId}` },
    sql`FROM ${trials} ${t} CROSS JOIN ${trialCases} ${tc} ON ${tc.trialId} = ${t.id}
      CROSS JOIN ${replayLanes} ${l} ON ${l.replayId} = ${tc.replayId} WHERE ${t.setId} IN ${sets}`,
  )

/** Deletes sets with their cases and trials. The replays of these are deleted after them. */
export const deleteSets = (sets: SQL) => ({
  trialCases: write(sql`DELETE FROM ${trialCases} WHERE ${trialCases.trialId} IN (
    SELECT ${t.id} FROM ${trials} ${t} WHERE ${t.setId} IN ${sets})`),
  trials: write(sql`DELETE FROM ${trials} WHERE ${trials.setId} IN ${sets}`),
  cases: write(sql`DELETE FROM ${cases} WHERE ${cases.setId} IN ${sets}`),
  caseSets: write(sql`DELETE FROM ${caseSets} WHERE ${caseSets.id} IN ${sets}`),
})

/** Deletes the cases that an account has made, and those of runs that can have read its words. @param runs a select of their ids */
export const deleteCasesWithWords = (accountId: AccountId, runs: SQL): Statement<void> =>
  write(
    sql`DELETE FROM ${cases} WHERE ${cases.createdBy} = ${accountId} OR ${cases.activationId} IN ${runs}`,
  )

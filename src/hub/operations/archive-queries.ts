import { and, asc, eq, gt, inArray, lt, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { archiving } from '../../shared/config'
import type { Statements } from '../../shared/db/batch'
import { many, manySql, orm, type Statement, write } from '../../shared/db/statement'
import { idAt, updateSet } from '../../shared/db/write-sql'
import { accounts } from '../schema/accounts'
import { activations, activationTraces } from '../schema/activations'
import {
  type ArchiveKind,
  archiveFiles,
  archiveProgress,
  auditLog,
  type OldKind,
} from '../schema/audit'
import { usageEvents } from '../schema/budgets'
import { pushedBranches, receivedReviews } from '../schema/definitions'
import { replayLanes } from '../schema/replays'
import { triggerDeliveries } from '../schema/triggers'

export const dayMs = 86_400_000

/** The first day of each kind that stays in the database, as days since the Unix epoch. */
export type Cutoffs = Record<OldKind, number>

export type Progress = typeof archiveProgress.$inferSelect

export type AuditRecord = typeof auditLog.$inferSelect

export type UsageRecord = typeof usageEvents.$inferSelect

export interface TraceRecord {
  activationId: string
  trace: string
}

const t = alias(activationTraces, 't')

const x = alias(activations, 'x')

const p = alias(archiveProgress, 'p')

const lane = alias(replayLanes, 'lane')

/** Old traces of ended runs and lanes of replays that are still in the database, behind the last one that was moved. */
const oldTraces = (afterId: SQL, day: number): SQL => sql`${activationTraces} ${t}
  LEFT JOIN ${activations} ${x} ON ${x.id} = ${t.activationId}
  WHERE (${x.state} = 'done' OR EXISTS (SELECT 1 FROM ${replayLanes} ${lane} WHERE ${lane.id} = ${t.activationId}))
    AND ${t.activationId} > ${afterId} AND ${t.activationId} < ${idAt(day * dayMs)}
    AND substr(${t.trace}, 1, ${archivedMark.length}) <> ${archivedMark}`

/** Old calls that no standing rule allowed: the page of a rule counts its uses. */
const oldCalls = (at: SQL, id: SQL, day: number): SQL => sql`${auditLog}
  WHERE (${auditLog.createdAt}, ${auditLog.id}) > (${at}, ${id})
    AND ${auditLog.createdAt} < ${day * dayMs} AND ${auditLog.ruleId} IS NULL`

const oldReviews = (day: number): SQL =>
  sql`${receivedReviews} WHERE ${receivedReviews.createdAt} < ${day * dayMs} AND ${receivedReviews.part} IS NULL`

const oldBranches = (day: number): SQL =>
  sql`${pushedBranches} WHERE ${pushedBranches.pushedAt} < ${day * dayMs}`

const oldDeliveries = (day: number): SQL =>
  sql`${triggerDeliveries} WHERE ${triggerDeliveries.at} < ${day * dayMs}`

const hasOldSql = (cutoffs: Cutoffs): SQL => sql`CASE ${p.kind}
  WHEN 'traces' THEN EXISTS (SELECT 1 FROM ${oldTraces(sql`${p.afterId}`, cutoffs.traces)})
  WHEN 'audit' THEN EXISTS (SELECT 1 FROM ${oldCalls(sql`${p.afterAt}`, sql`${p.afterId}`, cutoffs.audit)})
  WHEN 'reviews' THEN EXISTS (SELECT 1 FROM ${oldReviews(cutoffs.reviews)})
    OR EXISTS (SELECT 1 FROM ${oldBranches(cutoffs.reviews)}) OR EXISTS (SELECT 1 FROM ${oldDeliveries(cutoffs.reviews)})
  ELSE EXISTS (SELECT 1 FROM ${usageEvents} WHERE ${usageEvents.createdAt} < ${cutoffs.usage * dayMs}) END`

/**
 * The statements of a sweep: kinds without old records are done up to their day, and the others are returned.
 * On all but the first sweep of a day they find no row.
 */
export function archiveStatements(cutoffs: Cutoffs) {
  const isBehind = sql`${p.throughDay} < ${cutoffs.traces}`
  return {
    archived: write(sql`UPDATE ${archiveProgress} AS ${p} SET through_day = ${cutoffs.traces}
      WHERE ${isBehind} AND NOT ${hasOldSql(cutoffs)}`),
    toArchive: manySql(
      { kind: p.kind, throughDay: p.throughDay, afterAt: p.afterAt, afterId: p.afterId },
      sql`FROM ${archiveProgress} ${p} WHERE ${isBehind}`,
    ),
  } satisfies Statements
}

/** Selects the next old traces, at least one, as many as one file holds. */
export const selectOldTraces = (from: Progress, day: number): Statement<TraceRecord[]> =>
  manySql(
    { activationId: sql<string>`o.activation_id`, trace: sql<string>`o.trace` },
    sql`FROM (SELECT ${t.activationId}, ${t.trace},
        sum(length(${t.trace})) OVER (ORDER BY ${t.activationId}) - length(${t.trace}) AS chars
      FROM ${oldTraces(sql`${from.afterId}`, day)}
      ORDER BY ${t.activationId} LIMIT ${archiving.recordsMax.traces}) o
    WHERE o.chars < ${archiving.traceCharsMax} ORDER BY o.activation_id`,
  )

export const selectOldCalls = (from: Progress, day: number): Statement<AuditRecord[]> =>
  many(
    orm
      .select()
      .from(auditLog)
      .where(
        sql`(${auditLog.createdAt}, ${auditLog.id}) > (${from.afterAt}, ${from.afterId})
          AND ${auditLog.createdAt} < ${day * dayMs} AND ${auditLog.ruleId} IS NULL`,
      )
      .orderBy(asc(auditLog.createdAt), asc(auditLog.id))
      .limit(archiving.recordsMax.audit),
  )

export const selectOldUsage = (day: number): Statement<UsageRecord[]> =>
  many(
    orm
      .select()
      .from(usageEvents)
      .where(lt(usageEvents.createdAt, day * dayMs))
      .orderBy(asc(usageEvents.createdAt), asc(usageEvents.activationId), asc(usageEvents.call))
      .limit(archiving.recordsMax.usage),
  )

/** Selects what is stored of a run. */
export const selectTrace = (activationId: string): Statement<{ trace: string }[]> =>
  many(
    orm
      .select({ trace: activationTraces.trace })
      .from(activationTraces)
      .where(sql`${activationTraces.activationId} = ${activationId}`),
  )

/** Selects which of these words are names of accounts. */
export const selectNames = (words: readonly string[]): Statement<{ name: string }[]> =>
  many(
    orm
      .select({ name: accounts.name })
      .from(accounts)
      .where(inArray(accounts.name, sql`(SELECT value FROM json_each(${JSON.stringify(words)}))`)),
  )

/** Names a file and how far it goes. Fails when another file with the same first record is there. */
export const recordFile = (
  file: typeof archiveFiles.$inferInsert,
  last: Omit<Progress, 'throughDay'>,
) => ({
  file: write(orm.insert(archiveFiles).values(file)),
  progress: write(
    orm
      .update(archiveProgress)
      .set({ afterAt: last.afterAt, afterId: last.afterId })
      .where(eq(archiveProgress.kind, last.kind)),
  ),
})

/** Leaves a stub in the place of each trace. A trace that was deleted meanwhile stays deleted. */
export const replaceTraces = (stubs: { id: string; stub: string }[]): Statement<void> =>
  write(
    updateSet(
      activationTraces,
      { trace: sql`j.value ->> 'stub'` },
      sql`FROM json_each(${JSON.stringify(stubs)}) j
        WHERE ${activationTraces.activationId} = j.value ->> 'id'`,
    ),
  )

export const deleteCalls = (records: readonly AuditRecord[]): Statement<void> =>
  write(
    sql`DELETE FROM ${auditLog} WHERE ${auditLog.id} IN (SELECT value FROM json_each(
      ${JSON.stringify(records.map(({ id }) => id))}))`,
  )

export const deleteUsage = (records: readonly UsageRecord[]): Statement<void> =>
  write(
    sql`DELETE FROM ${usageEvents} WHERE (${usageEvents.activationId}, ${usageEvents.call}) IN (
      SELECT value ->> 0, value ->> 1 FROM json_each(
        ${JSON.stringify(records.map(({ activationId, call }) => [activationId, call]))}))`,
  )

/** Deletes reviews and deliveries of triggers that were received, and branches that were last pushed, before a day. */
export const deleteOldReviews = (day: number) => ({
  reviews: write(sql`DELETE FROM ${oldReviews(day)}`),
  branches: write(sql`DELETE FROM ${oldBranches(day)}`),
  deliveries: write(sql`DELETE FROM ${oldDeliveries(day)}`),
})

/** A file as pages name it. */
export interface ListedFile {
  key: string
  day: number
}

/** Selects the newest files with records between two times. */
export const selectFiles = (
  kind: ArchiveKind,
  {
    since = 0,
    until = Number.MAX_SAFE_INTEGER,
  }: { since?: number | undefined; until?: number | undefined },
): Statement<ListedFile[]> =>
  many(
    orm
      .select({ key: archiveFiles.key, day: archiveFiles.day })
      .from(archiveFiles)
      .where(
        and(
          eq(archiveFiles.kind, kind),
          gt(archiveFiles.day, Math.floor(since / dayMs) - 1),
          lt(archiveFiles.day, Math.ceil(until / dayMs)),
        ),
      )
      .orderBy(sql`${archiveFiles.day} DESC`, sql`${archiveFiles.firstId} DESC`)
      .limit(archiving.listedMax),
  )

/** The time before which model calls are archived: windows of budgets before it cannot be counted again. */
export const usageArchivedBeforeSql = sql`(SELECT iif(${p.afterAt} = 0, 0,
  (${p.afterAt} / ${sql.raw(String(dayMs))} + 1) * ${sql.raw(String(dayMs))})
  FROM ${archiveProgress} ${p} WHERE ${p.kind} = 'usage')`

/** Begins what stands for a trace that is in object storage; a record is a JSON object. */
export const archivedMark = 'archived:'

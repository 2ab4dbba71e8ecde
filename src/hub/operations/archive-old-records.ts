import { archiving } from '../../shared/config'
import { batch, run, type Statements } from '../../shared/db/batch'
import type { Settings } from '../../shared/settings'
import type { ActionContext } from '../database/action-context'
import type { ArchiveKind } from '../schema/audit'
import { encodeLines } from './archive-format'
import {
  type AuditRecord,
  type Cutoffs,
  dayMs,
  deleteCalls,
  deleteOldReviews,
  deleteUsage,
  type Progress,
  recordFile,
  replaceTraces,
  selectOldCalls,
  selectOldTraces,
  selectOldUsage,
  type UsageRecord,
} from './archive-queries'
import { sealTraces } from './seal-traces'

/** Returns the first day of each kind that stays in the database; null when nothing is archived. */
export function findCutoffs(
  { ROOKERY_RETENTION_DAYS: days }: Pick<Settings, 'ROOKERY_RETENTION_DAYS'>,
  now: number,
): Cutoffs | null {
  if (days === 0) return null
  const first = Math.floor(now / dayMs) - days
  const firstUsage = Math.floor(now / dayMs) - Math.max(days, archiving.usageDaysMin)
  return { traces: first, audit: first, usage: firstUsage, reviews: firstUsage }
}

/** A file that is written: its bytes, its last record, and what the database does with the records. */
interface NextFile {
  day: number
  firstId: string
  records: number
  bytes: Uint8Array
  last: Omit<Progress, 'throughDay' | 'kind'>
  statements: Statements
}

type CreateFile = (
  context: ActionContext,
  from: Progress,
  cutoff: number,
  key: (day: number) => string,
) => Promise<(NextFile & { key: string }) | null>

/** Returns the records of the first one's day. */
const takeDay = <R>(records: R[], dayOf: (record: R) => number): R[] => {
  const [first] = records
  return first === undefined ? [] : records.filter((record) => dayOf(record) === dayOf(first))
}

const dayOfTime = ({ createdAt }: { createdAt: number }): number => Math.floor(createdAt / dayMs)

/** The day on which an id was made: its first 48 bits are milliseconds. */
const dayOfId = (id: string): number =>
  Math.floor(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16) / dayMs)

const createTraceFile: CreateFile = async ({ db }, from, cutoff, toKey) => {
  const found = await run(db, selectOldTraces(from, cutoff))
  const records = takeDay(found, ({ activationId }) => dayOfId(activationId))
  const [first, last] = [records[0], records.at(-1)]
  if (!first || !last) return null
  const key = toKey(dayOfId(first.activationId))
  const { bytes, stubs } = await sealTraces(db, key, records)
  return {
    key,
    bytes,
    day: dayOfId(first.activationId),
    firstId: first.activationId,
    records: records.length,
    last: { afterAt: 0, afterId: last.activationId },
    statements: { traces: replaceTraces(stubs) },
  }
}

/** Arguments can hold words of people. Their hash stays. */
const withoutWords = (record: AuditRecord): Omit<AuditRecord, 'arguments'> => {
  const { arguments: _words, ...rest } = record
  return rest
}

const createCallFile: CreateFile = async ({ db }, from, cutoff, toKey) => {
  const records = takeDay(await run(db, selectOldCalls(from, cutoff)), dayOfTime)
  const [first, last] = [records[0], records.at(-1)]
  if (!first || !last) return null
  return {
    key: toKey(dayOfTime(first)),
    day: dayOfTime(first),
    firstId: first.id,
    bytes: await encodeLines(records.map(withoutWords)),
    records: records.length,
    last: { afterAt: last.createdAt, afterId: last.id },
    statements: { calls: deleteCalls(records) },
  }
}

const idOfUsage = ({ activationId, call }: UsageRecord): string => `${activationId}.${call}`

const createUsageFile: CreateFile = async ({ db }, _from, cutoff, toKey) => {
  const records = takeDay(await run(db, selectOldUsage(cutoff)), dayOfTime)
  const [first, last] = [records[0], records.at(-1)]
  if (!first || !last) return null
  const firstId = idOfUsage(first)
  return {
    key: toKey(dayOfTime(first)),
    day: dayOfTime(first),
    firstId,
    bytes: await encodeLines(records),
    records: records.length,
    last: { afterAt: last.createdAt, afterId: idOfUsage(last) },
    statements: { usage: deleteUsage(records) },
  }
}

const creators: Record<ArchiveKind, CreateFile> = {
  traces: createTraceFile,
  audit: createCallFile,
  usage: createUsageFile,
}

const formatDay = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)

/**
 * Moves old records to object storage, a few files a sweep. A file is written first; the batch that takes its
 * records out of the database also names the file, so at every moment a record is in exactly one of both. A file
 * that no batch named is never read. Old reviews are deleted.
 */
export async function archiveOldRecords(
  context: ActionContext,
  behind: readonly Progress[],
  now: number,
): Promise<void> {
  const cutoffs = findCutoffs(context.settings, now)
  if (!cutoffs) return
  for (const progress of behind) {
    const { kind } = progress
    if (kind === 'reviews') {
      await batch(context.db, deleteOldReviews(cutoffs.reviews))
      continue
    }
    let from = { ...progress, kind }
    for (let file = 0; file < archiving.filesPerSweep; file++) {
      const next = await archiveNext(context, from, cutoffs[from.kind], now)
      if (!next) break
      from = next
    }
  }
}

type FileProgress = Progress & { kind: ArchiveKind }

/** Moves the records of one file; returns how far it went, null when there were none. */
async function archiveNext(
  context: ActionContext,
  from: FileProgress,
  cutoff: number,
  now: number,
): Promise<FileProgress | null> {
  const { kind } = from
  // Two sweeps at once write two files, of which one is named.
  const name = crypto.randomUUID()
  const toKey = (day: number) => `archive/${kind}/${formatDay(day)}/${name}.jsonl.gz`
  const next = await creators[kind](context, from, cutoff, toKey)
  if (!next) return null
  const { key, day, firstId, records, bytes, last, statements } = next
  await context.archive.put(key, bytes)
  await batch(context.db, {
    ...recordFile(
      { key, kind, day, firstId, records, bytes: bytes.length, createdAt: now },
      { kind, ...last },
    ),
    ...statements,
  })
  return { ...from, ...last }
}

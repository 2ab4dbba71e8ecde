import { limits } from '../../shared/config'
import { isLongerThan } from '../../shared/cut-text'
import { run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { ActivationId } from '../../shared/ids'
import type { ActionContext } from '../database/action-context'
import { joinLines, seal } from './archive-format'
import { selectNames, selectTrace, type TraceRecord } from './archive-queries'
import { findKey, findNames, formatNames, formatStub, type TraceLine } from './archive-view'

/**
 * Returns the file of traces, each encrypted with a key of its own, and for each what stays in the database: where it
 * lies, its key, and the names of accounts that it holds.
 *
 * @param key of the file
 */
export async function sealTraces(db: Db, key: string, records: readonly TraceRecord[]) {
  const words = records.map(({ trace }) => findNames(trace))
  const accounts = await run(db, selectNames([...new Set(words.flat())]))
  const names = new Set(accounts.map(({ name }) => name))
  const sealed = await Promise.all(records.map(({ trace }) => seal(trace)))
  const lines = records.map(
    ({ activationId }, at): TraceLine => ({
      activation_id: activationId,
      sealed: sealed[at]?.sealed ?? '',
    }),
  )
  const { bytes, places } = await joinLines(lines)
  const stubs = records.map(({ activationId }, at) => ({
    id: activationId,
    stub: formatStub({
      key,
      offset: 0,
      length: 0,
      ...places[at],
      secret: sealed[at]?.secret ?? '',
      names: formatNames(words[at]?.filter((word) => names.has(word)) ?? []),
    }),
  }))
  return { bytes, stubs }
}

const toFolder = (activationId: ActivationId): string => `archive/records/${activationId}/`

/** Whether the record of a run is too long for a row of the database. */
export const isLongTrace = (trace: string): boolean => isLongerThan(trace, limits.traceBytesMax)

/**
 * Writes a long record to object storage, and returns what the database stores in its place. The file is there before
 * any row names it. Each write has a file of its own, because the key that a row holds opens one file only.
 */
export async function storeLongTrace(
  { db, archive }: Pick<ActionContext, 'db' | 'archive'>,
  activationId: ActivationId,
  trace: string,
): Promise<string> {
  const key = `${toFolder(activationId)}${crypto.randomUUID()}.jsonl.gz`
  const { bytes, stubs } = await sealTraces(db, key, [{ activationId, trace }])
  await archive.put(key, bytes)
  return stubs[0]?.stub ?? ''
}

/**
 * Deletes what earlier writes of a run that has ended left: those of a run that parked, and those before a crash. No
 * statement can name them any more.
 */
export async function deleteUnnamedTraces(
  { db, archive }: Pick<ActionContext, 'db' | 'archive'>,
  activationId: ActivationId,
): Promise<void> {
  const [row] = await run(db, selectTrace(activationId))
  const named = findKey(row?.trace ?? null)
  const keys = await archive.list(toFolder(activationId))
  await archive.delete(keys.filter((key) => key !== named))
}

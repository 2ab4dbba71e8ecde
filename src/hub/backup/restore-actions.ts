import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import { findRefusedValue } from '../constraint-errors'
import { selectAgentsAmong } from './agent-queries'
import { findTable } from './backup-actions'
import { backupErrors } from './errors'
import { batchInHold, type HubState, hold, readHubState } from './hold'
import {
  createTrigger,
  deleteTransfer,
  dropTrigger,
  endRestore,
  saveTriggers,
  selectTransfer,
  selectTriggers,
} from './hold-queries'
import {
  clearIndex,
  deleteRows,
  dropReplyIndex,
  type IndexedTable,
  indexedTables,
  indexReplies,
  indexRows,
  insertRows,
  selectIsUsed,
  selectLastToIndex,
  updateOwn,
  type Value,
} from './row-queries'
import type { CopiedTable } from './tables'

/** A restore ends when it is complete. */
const foreverMs = 100 * 365 * 86_400_000
/** Rows that are indexed in a batch. */
const rowsPerIndexing = 500

export interface BegunRestore {
  id: string
  /** Whether rows can be sent; otherwise call again with the id. */
  isReady: boolean
  /** In the order in which their rows have to be sent. */
  tables: CopiedTable[]
}

/**
 * Begins a restore: until it is complete the hub takes no other write. An interrupted one begins from the start.
 *
 * @param asked `migrations`: of the hub that the backup was made of
 * @throws CONFLICT when the hub is not empty, or another version wrote the backup
 */
export async function beginRestore(
  context: ActionContext,
  asked: { id: string | null; migrations: string[] },
): Promise<BegunRestore> {
  const { db, clock } = context
  const state = await readHubState(db)
  requireSameVersion(state.migrations, asked.migrations)
  if (state.transfer?.kind === 'backup' && state.transfer.holds) throw backupErrors.backupRunning()
  const isBegun = state.transfer?.kind === 'restore'
  if (!isBegun && (await run(db, selectIsUsed()))) throw backupErrors.isUsed()
  if (asked.id !== null && state.transfer?.transfer !== asked.id) throw backupErrors.notRestoring()
  const id = asked.id ?? clock.newId<string>()
  const { tables } = state
  const held = await hold(db, state, { kind: 'restore', id, holdMs: foreverMs }, null)
  if (held.transfer?.transfer !== id) throw backupErrors.backupRunning()
  if (held.missing > 0) return { id, isReady: false, tables }
  await empty(context, state, id)
  return { id, isReady: true, tables }
}

function requireSameVersion(own: string[], theirs: string[]): void {
  const newer = theirs.find((name) => !own.includes(name))
  if (newer !== undefined) throw backupErrors.isNewer(newer)
  const older = own.find((name) => !theirs.includes(name))
  if (older !== undefined) throw backupErrors.isOlder(older)
}

/**
 * Deletes what the hub has, in the order that references allow, and its triggers, which would act on rows as if
 * they were new. Whether somebody has written before the hold is seen in it.
 */
async function empty({ db }: ActionContext, state: HubState, id: string): Promise<void> {
  const found = await batch(db, { isUsed: selectIsUsed(), transfer: selectTransfer() })
  const stored = found.transfer?.triggers ?? null
  if (stored === null && found.isUsed) {
    await run(db, deleteTransfer(id))
    throw backupErrors.isUsed()
  }
  const triggers = state.triggers.filter(({ isGuard }) => !isGuard)
  await batchInHold(db, {
    save: stored === null ? saveTriggers(triggers.map((each) => each.sql)) : null,
    drop: triggers.map(({ name }) => dropTrigger(name)),
    indexReplies: indexReplies(),
    rows: state.tables.toReversed().map(deleteRows),
    dropReplyIndex: dropReplyIndex(),
  })
}

/**
 * Throws CONFLICT unless this restore has begun, and the hub is empty. Of two that were begun, the later one goes on.
 *
 * @returns the statements that create the triggers that it has dropped
 */
async function requireRestore({ db }: ActionContext, id: string): Promise<string[]> {
  const transfer = await run(db, selectTransfer())
  if (transfer?.kind !== 'restore' || transfer.transfer !== id) throw backupErrors.notRestoring()
  if (transfer.triggers === null) throw backupErrors.notReady()
  return transfer.triggers
}

/**
 * Writes rows of a table, which can be repeated.
 *
 * @param isSecond sets the references to rows of the same table, after all rows were sent once
 * @throws VALIDATION for rows that the table does not take; nothing is written then
 */
export async function writeRows(
  context: ActionContext,
  id: string,
  part: { table: string; rows: Value[][]; isSecond: boolean },
): Promise<void> {
  await requireRestore(context, id)
  const table = await findTable(context.db, part.table)
  if (!table) throw backupErrors.unknownTable(part.table)
  if (part.rows.some((row) => row.length !== table.columns.length)) {
    throw backupErrors.wrongRows(table.name)
  }
  if (part.isSecond && table.own.length === 0) throw backupErrors.noSecondPass(table.name)
  const write = part.isSecond ? updateOwn(table, part.rows) : insertRows(table, part.rows)
  await batchInHold(context.db, { write }).catch((error: unknown) => {
    const reason = findRefusedValue(error)
    throw reason === null ? error : backupErrors.refusedRows(table.name, reason, error)
  })
}

/**
 * Writes what agents remember.
 *
 * @throws VALIDATION for what is not the object of an agent; nothing is written then
 */
export async function writeObjects(
  context: ActionContext,
  id: string,
  objects: { agentId: AccountId; content: string }[],
): Promise<void> {
  await requireRestore(context, id)
  const { transfer } = context.agents
  const found = await run(context.db, selectAgentsAmong(objects.map(({ agentId }) => agentId)))
  const known = new Set(found.map(({ id }) => id))
  for (const { agentId, content } of objects) {
    const refusal = known.has(agentId)
      ? await transfer.checkObject(agentId, content)
      : 'no row of the backup says that there is such an agent'
    if (refusal !== null) throw backupErrors.refusedObject(agentId, refusal)
  }
  for (const { agentId, content } of objects) {
    const refusal = await transfer.writeObject(agentId, content)
    if (refusal !== null) throw backupErrors.refusedObject(agentId, refusal)
  }
}

export async function writeFiles(
  context: ActionContext,
  id: string,
  files: Parameters<ActionContext['agents']['transfer']['writeFiles']>[0],
): Promise<void> {
  await requireRestore(context, id)
  await context.agents.transfer.writeFiles(files)
}

/** Where the indexing goes on: a table, and the last row of it that is indexed. */
export interface IndexPlace {
  table: IndexedTable
  after: number
}

/**
 * Completes a restore step by step: creates the triggers again, indexes rows for search, and opens the hub.
 *
 * @throws VALIDATION for a place before the first step: the hub would open without its triggers
 * @returns where the next call goes on; null when the hub is open
 */
export async function completeRestore(
  context: ActionContext,
  adminId: AccountId,
  id: string,
  place: IndexPlace | null,
): Promise<IndexPlace | null> {
  const { db } = context
  const triggers = await requireRestore(context, id)
  const existing = (await run(db, selectTriggers())).map((each) => each.sql)
  const missing = triggers.filter((text) => !existing.includes(text))
  if (place !== null && missing.length > 0) throw backupErrors.notIndexed()
  if (place === null) {
    await batch(db, { triggers: missing.map(createTrigger), index: clearIndex() })
    return { table: indexedTables[0] ?? 'accounts', after: 0 }
  }
  const { last } = await batchInHold(db, {
    last: selectLastToIndex(place.table, place.after, rowsPerIndexing),
    index: indexRows(place.table, place.after, rowsPerIndexing),
  })
  if (last !== null) return { table: place.table, after: last }
  const next = indexedTables[indexedTables.indexOf(place.table) + 1]
  if (next) return { table: next, after: 0 }
  await batchInHold(db, {
    entry: recordAdminAction(context, adminId, {
      action: 'hub.restored',
      targetType: 'hub',
      targetId: 'database',
    }),
    end: endRestore(),
  })
  await context.scheduler.reset()
  return null
}

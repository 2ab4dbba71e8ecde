import { type Answers, batch, run, type Statements } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { Statement } from '../../shared/db/statement'
import { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import {
  findFailedConstraint,
  findRefusedValue,
  type TransferKind,
} from '../database/constraint-errors'
import {
  clearIndex,
  createTrigger,
  deleteRows,
  deleteTransfer,
  dropReplyIndex,
  dropTrigger,
  endRestore,
  heldConstraint,
  type IndexedTable,
  indexedTables,
  indexReplies,
  indexRows,
  insertRows,
  insertTransfer,
  insertWrittenBackup,
  listGuards,
  requireNoHold,
  saveTriggers,
  selectAgentsAmong,
  selectIsUsed,
  selectLastToIndex,
  selectTransfer,
  selectTriggers,
  setWriting,
  type Transfer,
  tableStatements,
  updateOwn,
  type Value,
  type WrittenBackup,
} from './backup-queries'
import { type CopiedTable, toTables } from './backup-tables'

/** Errors of backups and restores, as their clients show them. */
export const backupErrors = {
  adminKeyOnly: () =>
    new AppError('FORBIDDEN', 'Only the admin key of the hub can do this.', {
      hint: 'A backup holds what admins cannot read either. Use the key that ROOKERY_ADMIN_KEY sets.',
    }),
  backupRunning: () =>
    new AppError('CONFLICT', 'Another backup of this hub is being written.', {
      hint: 'Wait until it is finished. After an interruption its hold ends by itself.',
    }),
  restoreRunning: () =>
    new AppError('CONFLICT', 'A restore into this hub has not finished.', {
      hint: 'Run the restore again, or start with an empty folder or database.',
    }),
  holdEnded: () =>
    new AppError('CONFLICT', 'The time in which nothing else could write has ended.', {
      hint: 'Write the backup again, with a longer hold: npm run backup -- <folder> --hold 300',
    }),
  noBackup: () =>
    new AppError('CONFLICT', 'No such backup of this hub has begun, or it has ended.', {
      hint: 'Begin one without an id.',
    }),
  notRestoring: () => new AppError('CONFLICT', 'No such restore into this hub has begun.'),
  notReady: () =>
    new AppError('CONFLICT', 'The restore is not ready. Nothing was changed.', {
      hint: 'Call POST /restore again with its id, until it is ready.',
    }),
  notIndexed: () =>
    new AppError('VALIDATION', 'The request is not valid.', {
      details: [
        { path: 'next', message: 'Must be the next of the answer before; begin without it' },
      ],
    }),
  isUsed: () =>
    new AppError('CONFLICT', 'This hub is not empty. Nothing was changed.', {
      hint: 'Restore into a new one: ROOKERY_STATE_DIR=<new folder> npm run restore -- <folder>',
    }),
  isNewer: (migration: string) =>
    new AppError(
      'CONFLICT',
      `A newer version of Rookery wrote this backup (migration ${migration}). Nothing was changed.`,
      { hint: 'Update this hub first.' },
    ),
  isOlder: (migration: string) =>
    new AppError(
      'CONFLICT',
      `An older version of Rookery wrote this backup (before migration ${migration}). Nothing was changed.`,
      { hint: 'Restore with the version that wrote it, then upgrade: docs/upgrading.md' },
    ),
  unknownTable: (table: string) =>
    new AppError('VALIDATION', 'The request is not valid.', {
      details: [{ path: 'table', message: `There is no table ${table.slice(0, 100)} to copy` }],
    }),
  wrongCursor: (table: string) =>
    new AppError('VALIDATION', 'The request is not valid.', {
      details: [
        { path: 'after', message: `Must be the next_after of the page of ${table} before` },
      ],
    }),
  noSecondPass: (table: string) =>
    new AppError('VALIDATION', 'The request is not valid.', {
      details: [
        { path: 'is_second_pass', message: `Rows of ${table} refer to no rows of ${table}` },
      ],
    }),
  refusedRows: (table: string, reason: string, cause: unknown) =>
    new AppError(
      'VALIDATION',
      `The table ${table} does not take these rows. Nothing was changed.`,
      {
        hint: 'Send tables in their order, and rows as the backup has them.',
        details: [{ path: 'rows', message: reason }],
        cause,
      },
    ),
  refusedObject: (agentId: string, reason: string) =>
    new AppError('VALIDATION', 'An object of an agent was not restored.', {
      hint: 'Send objects as the backup has them, after the rows.',
      details: [{ path: `objects ${agentId}`, message: `Not restored: ${reason}` }],
    }),
  wrongRows: (table: string) =>
    new AppError('VALIDATION', 'The request is not valid.', {
      details: [
        { path: 'rows', message: `Each row must have a value for each column of ${table}` },
      ],
    }),
}

/** Statements of one request: a deployed hub on the free plan runs at most 50. */
const guardsPerCall = 30

interface HoldAsked {
  kind: TransferKind
  id: string
  holdMs: number
}

/** What a hub is before a transfer. */
interface HubState {
  tables: CopiedTable[]
  migrations: string[]
  transfer: Transfer | undefined
  triggers: { name: string; sql: string; isGuard: boolean }[]
}

export async function readHubState(db: Db): Promise<HubState> {
  const found = await batch(db, {
    ...tableStatements(),
    transfer: selectTransfer(),
    triggers: selectTriggers(),
  })
  return {
    tables: toTables(found.columns, found.references),
    migrations: found.migrations.map(({ name }) => name),
    transfer: found.transfer,
    triggers: found.triggers,
  }
}

/**
 * Holds the hub: guards of the tables refuse all writes but those of the transfer. Creates some of the guards
 * that are missing; repeat it until none is.
 *
 * @param before written before the hold
 * @returns the transfer that holds the hub now, and how many guards are missing
 */
export async function hold(
  db: Db,
  { tables, triggers }: HubState,
  { kind, id, holdMs }: HoldAsked,
  before: Statement<void> | null,
): Promise<{ transfer: Transfer | undefined; missing: number }> {
  const guards = tables.flatMap(({ name }) => listGuards(kind, name))
  const findMissing = (existing: { name: string }[]) => {
    const names = new Set(existing.map(({ name }) => name))
    return guards.filter(({ name }) => !names.has(name))
  }
  const held = await batch(db, {
    before,
    hold: insertTransfer(kind, id, holdMs),
    guards: findMissing(triggers)
      .slice(0, guardsPerCall)
      .map((guard) => createTrigger(guard.sql)),
    transfer: selectTransfer(),
    // Those of an earlier hold can have been dropped since they were read; from now on they stay.
    triggers: selectTriggers(),
  })
  return { transfer: held.transfer, missing: findMissing(held.triggers).length }
}

/**
 * Drops guards that no hold needs; returns how many are left.
 *
 * @throws CONFLICT while a transfer holds the hub, whose guards they are
 */
export async function dropGuards(
  db: Db,
  { triggers }: Pick<HubState, 'triggers'>,
): Promise<number> {
  const guards = triggers.filter(({ isGuard }) => isGuard)
  const dropped = guards.slice(0, guardsPerCall)
  if (dropped.length === 0) return 0
  const drop = dropped.map(({ name }) => dropTrigger(name))
  await batch(db, { free: requireNoHold(), drop }).catch((error: unknown) => {
    throw findFailedConstraint(error) === heldConstraint ? backupErrors.backupRunning() : error
  })
  return guards.length - dropped.length
}

/** Drops guards of a hold that has ended by itself, because the client of the backup stopped. */
export async function clearEndedHold(db: Db): Promise<void> {
  const left = await dropGuards(db, { triggers: await run(db, selectTriggers()) })
  if (left === 0) await run(db, deleteTransfer(null))
}

/** Sends statements that write although the hub is held. */
const batchInHold = <Batch extends Statements>(
  db: Db,
  statements: Batch,
): Promise<Answers<Batch>> =>
  batch(db, { '#begin': setWriting(true), ...statements, '#end': setWriting(false) }) as Promise<
    Answers<Batch>
  >

/** A backup that has begun. */
interface BegunBackup {
  id: string
  /** Whether nothing but the backup writes from now on; otherwise call again with the id. */
  isReady: boolean
  /** Milliseconds since the epoch. */
  holdsUntil: number
  migrations: string[]
  tables: CopiedTable[]
}

/**
 * Begins a backup: until it is released, or the hold ends, nothing is written to the database. Runs and people
 * who write wait or are asked to try again; reading goes on.
 *
 * @throws CONFLICT while another backup is being written, a restore has not finished, or the asked backup has ended
 */
export async function beginBackup(
  context: ActionContext,
  adminId: AccountId,
  asked: { id: string | null; holdMs: number },
): Promise<BegunBackup> {
  const { db, clock } = context
  const state = await readHubState(db)
  requireFree(state.transfer, asked.id)
  if (asked.id !== null && state.transfer?.transfer !== asked.id) throw backupErrors.noBackup()
  const id = asked.id ?? clock.newId<string>()
  const entry =
    asked.id === null
      ? recordAdminAction(context, adminId, {
          action: 'hub.backup',
          targetType: 'hub',
          targetId: 'database',
        })
      : null
  const held = await hold(db, state, { kind: 'backup', id, holdMs: asked.holdMs }, entry)
  requireFree(held.transfer, id)
  const { migrations, tables } = state
  return {
    id,
    migrations,
    tables,
    isReady: held.missing === 0,
    holdsUntil: held.transfer?.holdsUntil ?? 0,
  }
}

function requireFree(transfer: Transfer | undefined, id: string | null): void {
  if (transfer?.kind === 'restore') throw backupErrors.restoreRunning()
  if (transfer?.holds && transfer.transfer !== id) throw backupErrors.backupRunning()
}

/**
 * Ends a hold, and deletes some of its guards. Returns how many are left: repeat it until none is.
 *
 * @throws CONFLICT while another backup is being written, or a restore has not finished
 */
export async function releaseBackup(
  context: ActionContext,
  adminId: AccountId,
  id: string,
): Promise<number> {
  const { db } = context
  const state = await readHubState(db)
  requireFree(state.transfer, id)
  if (state.transfer?.transfer === id) {
    await batch(db, {
      release: deleteTransfer(id),
      entry: recordAdminAction(context, adminId, {
        action: 'hub.release',
        targetType: 'hub',
        targetId: 'database',
      }),
    })
  }
  const left = await dropGuards(db, state)
  if (left === 0) await run(db, deleteTransfer(id))
  return left
}

/** Records a backup that was written whole, once: an entry of the admin log, which a restored hub has, too. */
export async function finishBackup(
  { db, clock }: ActionContext,
  adminId: AccountId,
  written: WrittenBackup,
): Promise<void> {
  await run(
    db,
    insertWrittenBackup({ id: clock.newId(), accountId: adminId, at: clock.now(), written }),
  )
}

/** The tables of this isolate's database, which change with the version only. */
let known: Map<string, CopiedTable> | null = null

/** Returns a table to copy; null for any other name. */
export async function findTable(db: Db, name: string): Promise<CopiedTable | null> {
  if (!known) {
    const { columns, references } = await batch(db, tableStatements())
    known = new Map(toTables(columns, references).map((table) => [table.name, table]))
  }
  return known.get(name) ?? null
}

/**
 * Throws CONFLICT unless the transfer that a page was read for holds the hub.
 *
 * @param transfer as read after the page, in the same batch
 */
export function requireHold(transfer: Transfer | undefined, id: string): void {
  if (!transfer?.holds || transfer.transfer !== id) throw backupErrors.holdEnded()
}

/** A restore ends when it is complete. */
const foreverMs = 100 * 365 * 86_400_000
/** Rows that are indexed in a batch. */
const rowsPerIndexing = 500

interface BegunRestore {
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
interface IndexPlace {
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

import { type Answers, batch, run, type Statements } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { Statement } from '../../shared/db/statement'
import { findFailedConstraint } from '../constraint-errors'
import type { TransferKind } from '../hold-errors'
import { backupErrors } from './errors'
import {
  createTrigger,
  deleteTransfer,
  dropTrigger,
  heldConstraint,
  insertTransfer,
  listGuards,
  requireNoHold,
  selectTransfer,
  selectTriggers,
  setWriting,
  type Transfer,
} from './hold-queries'
import { tableStatements } from './table-queries'
import { type CopiedTable, toTables } from './tables'

/** Statements of one request: a deployed hub on the free plan runs at most 50. */
const guardsPerCall = 30

export interface HoldAsked {
  kind: TransferKind
  id: string
  holdMs: number
}

/** What a hub is before a transfer. */
export interface HubState {
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
export const batchInHold = <Batch extends Statements>(
  db: Db,
  statements: Batch,
): Promise<Answers<Batch>> =>
  batch(db, { '#begin': setWriting(true), ...statements, '#end': setWriting(false) }) as Promise<
    Answers<Batch>
  >

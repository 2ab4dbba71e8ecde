import { type Answers, batch, type Statements } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { Statement } from '../../shared/db/statement'
import type { TransferKind } from '../hold-errors'
import {
  createTrigger,
  dropTrigger,
  insertTransfer,
  listGuards,
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
  const existing = new Set(triggers.map(({ name }) => name))
  const missing = tables
    .flatMap(({ name }) => listGuards(kind, name))
    .filter(({ name }) => !existing.has(name))
  const created = missing.slice(0, guardsPerCall)
  const { transfer } = await batch(db, {
    before,
    hold: insertTransfer(kind, id, holdMs),
    guards: created.map((guard) => createTrigger(guard.sql)),
    transfer: selectTransfer(),
  })
  return { transfer, missing: missing.length - created.length }
}

/** Drops guards that no hold needs; returns how many are left. */
export async function dropGuards(db: Db, { triggers }: HubState): Promise<number> {
  const guards = triggers.filter(({ isGuard }) => isGuard)
  const dropped = guards.slice(0, guardsPerCall)
  if (dropped.length > 0) {
    await batch(db, { drop: dropped.map(({ name }) => dropTrigger(name)) })
  }
  return guards.length - dropped.length
}

/** Sends statements that write although the hub is held. */
export const batchInHold = <Batch extends Statements>(
  db: Db,
  statements: Batch,
): Promise<Answers<Batch>> =>
  batch(db, { '#begin': setWriting(true), ...statements, '#end': setWriting(false) }) as Promise<
    Answers<Batch>
  >

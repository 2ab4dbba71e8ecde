import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import { backupErrors } from './errors'
import { dropGuards, hold, readHubState } from './hold'
import { deleteTransfer, type Transfer } from './hold-queries'
import { tableStatements } from './table-queries'
import { type CopiedTable, toTables } from './tables'

/** A backup that has begun. */
export interface BegunBackup {
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
    ...{ id, migrations, tables, isReady: held.missing === 0 },
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

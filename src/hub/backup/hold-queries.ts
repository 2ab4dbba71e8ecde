import { eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { manySql, one, orm, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import { holdMessages, type TransferKind } from '../hold-errors'
import { transfers } from '../schema/transfers'
import { unfiltered } from '../unfiltered-sql'

/** Milliseconds since the Unix epoch by the clock of the database. */
const nowSql = sql.raw(`CAST(unixepoch('subsec') * 1000 AS INTEGER)`)

const t = alias(transfers, 't')

const fields = {
  kind: transfers.kind,
  transfer: transfers.transfer,
  holdsUntil: transfers.holdsUntil,
  holds: sql<number>`${transfers.holdsUntil} > ${nowSql}`.as('holds'),
  triggers: transfers.triggers,
}

/** Selects the backup that is being written, or the restore that has not finished. */
export const selectTransfer = () => one(orm.select(fields).from(transfers))

export type Transfer = NonNullable<ReturnType<ReturnType<typeof selectTransfer>['read']>>

/** Holds the hub for a transfer; it replaces one whose hold has ended, and a restore the one before. */
export const insertTransfer = (
  kind: TransferKind,
  transfer: string,
  holdMs: number,
): Statement<void> =>
  write(
    sql`${insertSelect(
      transfers,
      { id: 1, kind, transfer, holdsUntil: sql`${nowSql} + ${holdMs}`, isWriting: false },
      sql`WHERE 1`,
    )} ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, transfer = excluded.transfer,
      holds_until = excluded.holds_until, is_writing = 0
      WHERE transfers.transfer = excluded.transfer OR transfers.holds_until <= ${nowSql}
        OR (transfers.kind = 'restore' AND excluded.kind = 'restore')`,
  )

/** Ends a transfer; another one stays unless its hold has ended. */
export const deleteTransfer = (transfer: string | null): Statement<void> =>
  write(sql`DELETE FROM ${transfers} WHERE ${transfers.transfer} = ${transfer}
    OR ${transfers.holdsUntil} <= ${nowSql}`)

/** Ends the hold of a restore. Its guards are there still, as after a backup that was interrupted. */
export const endRestore = (): Statement<void> =>
  write(
    orm
      .update(transfers)
      .set({ kind: 'backup', transfer: '', holdsUntil: 0, triggers: null })
      .where(eq(transfers.id, 1)),
  )

/** The constraint that `requireNoHold` fails. */
export const heldConstraint = 'one_transfer'

/** Makes a batch fail while a transfer holds the hub. */
export const requireNoHold = (): Statement<void> =>
  write(
    insertSelect(
      transfers,
      { id: 2, kind: 'backup', transfer: '', holdsUntil: 0, isWriting: false },
      sql`FROM ${transfers} ${t} WHERE ${t.holdsUntil} > ${nowSql}`,
    ),
  )

/** Begins and ends the part of a batch that writes although the hub is held. */
export const setWriting = (isWriting: boolean): Statement<void> =>
  write(orm.update(transfers).set({ isWriting }).where(eq(transfers.id, 1)))

export const saveTriggers = (triggers: string[]): Statement<void> =>
  write(orm.update(transfers).set({ triggers }).where(eq(transfers.id, 1)))

const prefix = 'hold_for_'

/** Selects the triggers of the hub, and the guards of holds. */
export const selectTriggers = (): Statement<{ name: string; sql: string; isGuard: boolean }[]> =>
  manySql(
    {
      name: sql<string>`name`,
      sql: sql<string>`sql`,
      isGuard: sql<boolean>`substr(name, 1, ${prefix.length}) = ${prefix}`.mapWith(Boolean),
    },
    sql`FROM sqlite_master WHERE type = 'trigger' ORDER BY name`,
  )

const events = ['INSERT', 'UPDATE', 'DELETE'] as const

/** A trigger that refuses writes to a table while the hub is held. */
export interface Guard {
  name: string
  sql: string
}

/** Returns the guards of a table. They cost nothing but during a transfer, because they exist only then. */
export const listGuards = (kind: TransferKind, table: string): Guard[] =>
  events.map((event) => {
    const name = `${prefix}${kind}_${event.toLowerCase()}_${table}`
    return {
      name,
      sql: `CREATE TRIGGER "${name}" BEFORE ${event} ON "${table}" WHEN EXISTS (SELECT 1 FROM transfers
        WHERE kind = '${kind}' AND is_writing = 0 AND holds_until > unixepoch('subsec') * 1000)
        BEGIN SELECT raise(ABORT, '${holdMessages[kind]}'); END`,
    }
  })

/** Runs a stored CREATE TRIGGER. */
export const createTrigger = (text: string): Statement<void> =>
  write(sql`${unfiltered('backup')} ${sql.raw(text)}`)

export const dropTrigger = (name: string): Statement<void> =>
  write(sql`DROP TRIGGER IF EXISTS ${sql.identifier(name)}`)

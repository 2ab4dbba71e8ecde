import { eq, gt, inArray, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import {
  many,
  manySql,
  mapStatement,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { insertAdminEntryIf } from '../database/admin-log-queries'
import { holdMessages, type TransferKind } from '../database/constraint-errors'
import { unfiltered } from '../database/unfiltered-sql'
import { systemAccountId } from '../schema/accounts'
import { adminLog } from '../schema/audit'
import { agents } from '../schema/definitions'
import { transfers } from '../schema/system'
import { type ViewerValues, viewer, viewerCte } from '../viewers/queries'
import type { ColumnRow, CopiedTable, ReferenceRow } from './backup-tables'

const entry = alias(adminLog, 'entry')

/**
 * Which tables are copied. Not the search index, which is built again, what the platform keeps, this transfer, who
 * watches now, which is noted during a transfer too, and sessions with other servers, which end with their runs.
 */
const isCopiedSql =
  sql.raw(`t.type = 'table' AND t.name NOT IN ('transfers', 'live_objects', 'remote_sessions') AND t.sql NOT LIKE 'CREATE VIRTUAL%'
  AND substr(t.name, 1, 12) <> 'search_index' AND substr(t.name, 1, 4) <> '_cf_'
  AND substr(t.name, 1, 7) <> 'sqlite_' AND t.name <> 'd1_migrations'`)

/** Tables first: of a table of the platform no column may be read. */
const copiedSql: SQL = sql`(SELECT name, sql FROM sqlite_master t WHERE ${isCopiedSql} LIMIT -1)`

const selectColumns = (): Statement<ColumnRow[]> =>
  manySql(
    {
      name: sql<string>`t.name`,
      sql: sql<string>`t.sql`,
      column: sql<string>`c.name`,
      type: sql<string>`c.type`,
      pk: sql<number>`c.pk`,
    },
    sql`FROM ${copiedSql} t JOIN pragma_table_info(t.name) c ORDER BY t.name, c.cid`,
  )

const selectReferences = (): Statement<ReferenceRow[]> =>
  manySql(
    {
      name: sql<string>`t.name`,
      column: sql<string>`f."from"`,
      parent: sql<string>`f."table"`,
    },
    sql`FROM ${copiedSql} t JOIN pragma_foreign_key_list(t.name) f`,
  )

/** Selects the names of the migrations that made the database, in order. */
const selectMigrations = (): Statement<{ name: string }[]> =>
  manySql({ name: sql<string>`name` }, sql`FROM d1_migrations ORDER BY name`)

export const tableStatements = () => ({
  columns: selectColumns(),
  references: selectReferences(),
  migrations: selectMigrations(),
})

/** A value of a column; no table that is copied has bytes. */
export type Value = string | number | null

const column = (name: string): SQL => sql`${sql.identifier(name)}`
const list = (parts: SQL[]): SQL => sql.join(parts, sql`, `)
const columns = (names: string[]): SQL => list(names.map(column))
const tuple = (parts: SQL[]): SQL => (parts.length === 1 ? list(parts) : sql`(${list(parts)})`)

/** About the characters of a row. */
const sizeSql = (names: string[]): SQL =>
  sql.join(
    names.map((name) => sql`coalesce(length(${column(name)}), 4)`),
    sql` + `,
  )

/**
 * Selects rows of a table in the order of its key, the values in the order of its columns.
 *
 * @param after key of the last row before them; null for the first page
 * @param limits of the page; it has at least one row when there is one
 */
export function selectRows(
  table: CopiedTable,
  after: Value[] | null,
  limits: { rows: number; chars: number },
): Statement<Value[][]> {
  const names = table.columns
  const fields = Object.fromEntries(
    names.map((name, at) => [`c${at}`, sql<Value>`${column(name)}`] as const),
  )
  const begin = after
    ? sql`WHERE ${tuple(table.key.map(column))} > ${tuple(after.map((value) => sql`${value}`))}`
    : sql``
  const own = sql.join(
    names.map((name) => sql`${column(name)} AS ${column(name)}`),
    sql`, `,
  )
  const statement = manySql(
    fields,
    sql`FROM (SELECT *, sum(transfer_chars) OVER (ORDER BY ${columns(table.key)} ROWS UNBOUNDED PRECEDING)
          - transfer_chars AS transfer_before
        FROM (SELECT ${own}, ${sizeSql(names)} AS transfer_chars
          FROM ${column(table.name)} ${begin} ORDER BY ${columns(table.key)} LIMIT ${limits.rows}))
      WHERE transfer_before < ${limits.chars} ORDER BY ${columns(table.key)} ${unfiltered('backup')}`,
  )
  return mapStatement(statement, (rows) =>
    rows.map((row) => names.map((_, at) => row[`c${at}`] ?? null)),
  )
}

const valueAt = (at: number): SQL => sql`json_extract(value, ${sql.raw(`'$[${at}]'`)})`

/** Inserts rows. Those that exist are replaced, so that a request can be repeated. */
export const insertRows = ({ name, columns: names, own }: CopiedTable, rows: Value[][]) =>
  write(sql`INSERT OR REPLACE INTO ${column(name)} (${columns(names)})
    SELECT ${list(names.map((each, at) => (own.includes(each) ? sql`NULL` : valueAt(at))))}
    FROM json_each(${JSON.stringify(rows)})`)

/** Sets the columns that refer to rows of the same table, once all rows are there. */
export const updateOwn = ({ name, columns: names, key, own }: CopiedTable, rows: Value[][]) => {
  const at = (each: string) => valueAt(names.indexOf(each))
  return write(sql`UPDATE ${column(name)}
    SET ${list(own.map((each) => sql`${column(each)} = ${column(`new_${each}`)}`))}
    FROM (SELECT ${at(key[0] ?? '')} AS transfer_key, ${list(own.map((each) => sql`${at(each)} AS ${column(`new_${each}`)}`))}
      FROM json_each(${JSON.stringify(rows)}))
    WHERE ${column(name)}.${column(key[0] ?? '')} = transfer_key`)
}

/** Accounts that the migrations create, and the admin key belongs to. Those of the backup replace them. */
const fixedAccounts = sql.raw(
  `'00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002'`,
)

/** Deletes what a hub has before anybody used it. */
export const deleteRows = ({ name }: CopiedTable): Statement<void> =>
  write(
    name === 'accounts'
      ? sql`DELETE FROM accounts WHERE id NOT IN (${fixedAccounts})`
      : sql`DELETE FROM ${column(name)} ${unfiltered('backup')}`,
  )

/**
 * Statements around the deletion of comments. Deleting one looks for its replies, which have no index: without
 * this one 100,000 comments would be read 100,000 times.
 */
export const indexReplies = (): Statement<void> =>
  write(sql`CREATE INDEX IF NOT EXISTS replies_while_emptying ON comments (parent_id)`)
export const dropReplyIndex = (): Statement<void> => write(sql`DROP INDEX replies_while_emptying`)

/**
 * Selects whether anybody has used the hub: what the migrations, the loading of definitions and a first sign-in
 * write does not count, and neither does what the hub itself has posted.
 */
export const selectIsUsed = (): Statement<boolean> =>
  mapStatement(
    oneSql(
      {
        isUsed: sql<number>`EXISTS (SELECT 1 FROM posts WHERE author_id <> ${systemAccountId}) OR EXISTS (SELECT 1 FROM comments)
          OR EXISTS (SELECT 1 FROM activations) OR EXISTS (SELECT 1 FROM conversations)
          OR EXISTS (SELECT 1 FROM accounts WHERE id NOT IN (${fixedAccounts})
            AND id NOT IN (SELECT account_id FROM agents))`,
      },
      sql`${unfiltered('backup')}`,
    ),
    (row) => Boolean(row?.isUsed),
  )

/** Empties the search index, which then counts as if nothing had ever been in it. */
export const clearIndex = (): Statement<void> =>
  write(sql`INSERT INTO search_index (search_index) VALUES ('delete-all')`)

/** Tables of the search index: the key, and the column whose update indexes a row again. */
const indexed = {
  accounts: 'display_name',
  communities: 'display_name',
  posts: 'title',
  comments: 'content',
} as const

export type IndexedTable = keyof typeof indexed
export const indexedTables = Object.keys(indexed) as IndexedTable[]

const nextSeqs = (table: IndexedTable, after: number, rows: number): SQL =>
  sql`SELECT seq FROM ${column(table)} WHERE seq > ${after} ORDER BY seq LIMIT ${rows}`

/** Selects the last of the next rows to index; null when there are none. */
export const selectLastToIndex = (table: IndexedTable, after: number, rows: number) =>
  mapStatement(
    oneSql(
      { last: sql<number | null>`max(seq)` },
      sql`FROM (${nextSeqs(table, after, rows)}) ${unfiltered('backup')}`,
    ),
    (row) => row?.last ?? null,
  )

/** Has the triggers of a table index its next rows. */
export const indexRows = (table: IndexedTable, after: number, rows: number): Statement<void> => {
  const name = column(indexed[table])
  return write(sql`UPDATE ${column(table)} SET ${name} = ${name}
    WHERE seq IN (${nextSeqs(table, after, rows)}) ${unfiltered('backup')}`)
}

/** Selects which of these agents there are. */
export const selectAgentsAmong = (ids: AccountId[]): Statement<{ id: AccountId }[]> =>
  many(orm.select({ id: agents.accountId }).from(agents).where(inArray(agents.accountId, ids)))

/** Selects agents that have objects, in the order of their ids. */
export const selectCopiedAgents = (
  after: string,
  agentsMax: number,
): Statement<{ id: AccountId }[]> =>
  many(
    orm
      .select({ id: agents.accountId })
      .from(agents)
      .where(gt(agents.accountId, after as AccountId))
      .orderBy(agents.accountId)
      .limit(agentsMax),
  )

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
interface Guard {
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

/** What a backup holds, as the command that wrote it counted. */
export interface WrittenBackup {
  backup: string
  rows: number
  agents: number
  files: number
  bytes: number
}

/** All backups have one target, so that an index finds them. */
const backupTarget = 'backups'

export const insertWrittenBackup = (of: {
  id: string
  accountId: AccountId
  at: number
  written: WrittenBackup
}): Statement<void> =>
  insertAdminEntryIf(
    {
      id: of.id,
      accountId: of.accountId,
      createdAt: of.at,
      action: 'backup.written',
      targetType: 'hub',
      targetId: backupTarget,
      after: { ...of.written },
    },
    sql`NOT EXISTS (SELECT 1 FROM ${adminLog} ${entry} WHERE ${entry.targetId} = ${backupTarget}
      AND ${entry.after} ->> 'backup' = ${of.written.backup})`,
  )

/** Backups that a page lists. */
const listedBackupsMax = sql.raw('20')

const writtenFields = {
  at: entry.createdAt,
  written: sql<WrittenBackup>`${entry.after}`.mapWith((json): WrittenBackup => JSON.parse(json)),
}

export type WrittenBackupRow = RowOf<typeof writtenFields>

/** Selects the last backups that were written, newest first, for an admin; none for anybody else. */
export const selectWrittenBackups = prepare((values: Params<ViewerValues>) =>
  manySql(
    writtenFields,
    sql`FROM ${adminLog} ${entry} WHERE ${entry.targetId} = ${backupTarget}
      AND EXISTS (SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin')
      ORDER BY ${entry.createdAt} DESC, ${entry.id} DESC LIMIT ${listedBackupsMax}`,
    viewerCte(values),
  ),
)

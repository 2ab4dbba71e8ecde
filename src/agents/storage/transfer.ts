import * as z from 'zod'
import type { StoredFile } from '../contract/agents'
import { memoryTables } from '../memory/memory-store'
import { journalTables, ownerSeq } from './journal'

/** The statements of this version that create each table of an agent's object. A backup brings rows only. */
const tableSql: Readonly<Record<string, string>> = { ...journalTables, ...memoryTables }

/** SQLite creates this table itself, for tables with AUTOINCREMENT. */
const sequences = 'sqlite_sequence'

const tableShape = z.strictObject({
  name: z.string(),
  columns: z.array(z.string()).min(1),
  rows: z.array(z.array(z.union([z.string(), z.number(), z.null()]))),
})
const contentShape = z.strictObject({ tables: z.array(tableShape) })

type ObjectTable = z.output<typeof tableShape>

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

const tableNamesSql = `SELECT name FROM sqlite_master
  WHERE type = 'table' AND substr(name, 1, 4) <> '_cf_' ORDER BY name`

const listTables = (sql: SqlStorage): string[] =>
  sql
    .exec<{ name: string }>(tableNamesSql)
    .toArray()
    .map(({ name }) => name)

/** Returns the rows of all tables as JSON. Nothing comes between the reads, so they are of one moment. */
export function readTables(sql: SqlStorage): string {
  const tables = listTables(sql).map((name): ObjectTable => {
    const cursor = sql.exec(`SELECT * FROM ${quote(name)}`)
    const { columnNames: columns } = cursor
    return { name, columns, rows: [...cursor.raw()] as ObjectTable['rows'] }
  })
  return JSON.stringify({ tables } satisfies z.input<typeof contentShape>)
}

/** Undoes a transaction. The reason is for the client of a restore. */
class Undo extends Error {
  readonly reason: string | null

  constructor(reason: string | null) {
    super(reason ?? 'trial')
    this.reason = reason
  }
}

/**
 * Replaces all tables by those that `readTables` returned, whole or not at all. Statements of this version create
 * them: nothing of the content is ever run.
 *
 * @param agentId the agent of the object
 * @param isTrial undoes everything, to find out whether it would be written
 * @returns why it is refused: it is not what `readTables` returns for this agent; null when it is written
 */
export function replaceTables(
  storage: Pick<DurableObjectStorage, 'sql' | 'transactionSync'>,
  agentId: string,
  content: string,
  isTrial: boolean,
): string | null {
  try {
    storage.transactionSync(() => {
      writeTables(storage.sql, parseContent(content, agentId))
      if (isTrial) throw new Undo(null)
    })
    return null
  } catch (error) {
    if (error instanceof Undo) return error.reason
    throw error
  }
}

function parseContent(content: string, agentId: string): ObjectTable[] {
  const parsed = contentShape.safeParse(parseJson(content))
  if (!parsed.success) throw new Undo('it is not the content of an agent’s object')
  const { tables } = parsed.data
  for (const { name, columns, rows } of tables) {
    const shown = name.slice(0, 100)
    if (name !== sequences && !Object.hasOwn(tableSql, name))
      throw new Undo(`there is no table ${shown}`)
    if (hasTwice(columns)) throw new Undo(`a column of ${name} is there twice`)
    if (rows.some((row) => row.length !== columns.length)) {
      throw new Undo(`a row of ${name} has no value for each of its columns`)
    }
  }
  if (hasTwice(tables.map(({ name }) => name))) throw new Undo('a table is there twice')
  const owner = findOwner(tables)
  if (owner !== null && owner !== agentId) throw new Undo('it belongs to another agent')
  return tables
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const hasTwice = (names: string[]): boolean => new Set(names).size < names.length

/** Returns the agent that a journal is of, which runs go on as; null before its first run. */
function findOwner(tables: ObjectTable[]): SqlStorageValue {
  const journal = tables.find(({ name }) => name === 'journal')
  const [seq = -1, event = -1] = ['seq', 'event'].map(
    (name) => journal?.columns.indexOf(name) ?? -1,
  )
  const owner = journal?.rows.find((row) => row[seq] === ownerSeq)?.[event] ?? null
  return owner === '' ? null : owner
}

function writeTables(sql: SqlStorage, tables: ObjectTable[]): void {
  for (const name of listTables(sql)) {
    if (name !== sequences) sql.exec(`DROP TABLE ${quote(name)}`)
  }
  for (const { name } of tables) if (name !== sequences) sql.exec(tableSql[name] ?? '')
  // Last, because rows of the other tables count up here.
  const isCount = ({ name }: ObjectTable) => Number(name === sequences)
  const inOrder = tables.toSorted((one, other) => isCount(one) - isCount(other))
  for (const table of inOrder) writeTable(sql, table)
  for (const table of tables) requireSame(sql, table)
}

function writeTable(sql: SqlStorage, { name, columns, rows }: ObjectTable): void {
  if (!listTables(sql).includes(name)) throw new Undo(`there is no table ${name} to count for`)
  const own = sql.exec(`SELECT * FROM ${quote(name)} LIMIT 0`).columnNames
  const unknown = columns.find((column) => !own.includes(column))
  if (unknown !== undefined) throw new Undo(`${name} has no column ${unknown.slice(0, 100)}`)
  if (columns.length < own.length) throw new Undo(`${name} lacks one of its columns`)
  if (name === sequences) sql.exec(`DELETE FROM ${sequences}`)
  const insert = `INSERT INTO ${quote(name)} (${columns.map(quote).join()})
    VALUES (${columns.map(() => '?').join()})`
  try {
    for (const row of rows) sql.exec(insert, ...row)
  } catch (error) {
    throw new Undo(`${name} does not take its rows: ${String(error).slice(0, 200)}`)
  }
}

/** Compares a table with what was written, as `readTables` reads it. */
function requireSame(sql: SqlStorage, { name, columns, rows }: ObjectTable): void {
  const cursor = sql.exec(`SELECT * FROM ${quote(name)}`)
  const places = columns.map((column) => cursor.columnNames.indexOf(column))
  const found = [...cursor.raw()].map((row) => places.map((place) => row[place]))
  if (JSON.stringify(found) !== JSON.stringify(rows)) {
    throw new Undo(`the rows of ${name} are not stored as they were sent`)
  }
}

/** Bytes of a page, unless its first file is longer. */
const pageBytesMax = 4 * 1024 * 1024
const filesPerPage = 100

/** Returns files of the bucket after a key, in the order of keys. */
export async function readFiles(
  bucket: R2Bucket,
  after: string | null,
): Promise<{ files: StoredFile[]; next: string | null }> {
  const listed = await bucket.list({
    limit: filesPerPage,
    include: ['customMetadata', 'httpMetadata'],
    ...(after !== null && { startAfter: after }),
  })
  const page: R2Object[] = []
  let bytes = 0
  for (const object of listed.objects) {
    bytes += object.size
    if (page.length > 0 && bytes > pageBytesMax) break
    page.push(object)
  }
  const files = await Promise.all(page.map((object) => readFile(bucket, object)))
  const isLast = page.length === listed.objects.length && !listed.truncated
  return { files: files.flat(), next: isLast ? null : (page.at(-1)?.key ?? null) }
}

/** Returns a file; none when it was deleted meanwhile. */
async function readFile(bucket: R2Bucket, { key }: R2Object): Promise<StoredFile[]> {
  const object = await bucket.get(key)
  if (!object) return []
  const bytes = new Uint8Array(await object.arrayBuffer())
  return [
    {
      key,
      body: toBase64(bytes),
      contentType: object.httpMetadata?.contentType ?? null,
      metadata: object.customMetadata ?? {},
    },
  ]
}

export async function writeFiles(bucket: R2Bucket, files: StoredFile[]): Promise<void> {
  for (const { key, body, contentType, metadata } of files) {
    await bucket.put(key, fromBase64(body), {
      customMetadata: metadata,
      ...(contentType !== null && { httpMetadata: { contentType } }),
    })
  }
}

/** Bytes per call, as arguments of a function. */
const chunkBytes = 32 * 1024

function toBase64(bytes: Uint8Array): string {
  const parts: string[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    parts.push(String.fromCharCode(...bytes.subarray(at, at + chunkBytes)))
  }
  return btoa(parts.join(''))
}

const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (char) => char.charCodeAt(0))

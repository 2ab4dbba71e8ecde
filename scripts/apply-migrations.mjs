// Brings a local D1 database up to migrations/*.sql, with the bookkeeping of
// `wrangler d1 migrations apply`: table d1_migrations, one row a file.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from './local-database/plugin.mjs'
import { PlainError } from './local-state.mjs'
import { Miniflare } from './miniflare.mjs'

const createTable = `CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`

const emptyWorker = 'export default { fetch: () => new Response("migrating", { status: 503 }) }'

/** @typedef {{ name: string, sha256: string, statements: string[] }} Migration with the hash of its file */

/**
 * Migrates before the hub listens, so that no request meets an old schema: a runtime of its own
 * on the same data, with an empty Worker. A record beside the data saves that on later starts.
 *
 * @param {string} dataDir
 * @param {Migration[]} migrations in their order
 * @param {(script: string) => import('miniflare').MiniflareOptions} describeWorker the hub's
 *   options, with its bindings and data, around another script
 * @throws PlainError for data that migrations of another version made; nothing is changed then
 */
export async function applyMigrations(dataDir, migrations, describeWorker) {
  const hashes = Object.fromEntries(migrations.map(({ name, sha256 }) => [name, sha256]))
  const applied = readRecord(dataDir)
  requireKnown(dataDir, applied, hashes)
  if (Object.keys(hashes).every((name) => name in applied)) return
  mkdirSync(dataDir, { recursive: true })
  const miniflare = new Miniflare(describeWorker(emptyWorker))
  try {
    await migrate(await openDatabase(miniflare), migrations)
  } finally {
    await miniflare.dispose()
  }
  writeFileSync(join(dataDir, recordName), `${JSON.stringify(hashes, null, 2)}\n`)
}

const recordName = 'migrations.json'
/** The record of versions before 0.1, whose migrations became one file of another name. */
const oldRecordName = 'migrations.sha256'

/**
 * @param {string} dataDir
 * @returns {Record<string, string>} names and hashes of the migrations that made this data
 */
function readRecord(dataDir) {
  const path = join(dataDir, recordName)
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}

/**
 * @param {string} dataDir
 * @param {Record<string, string>} applied
 * @param {Record<string, string>} known
 */
function requireKnown(dataDir, applied, known) {
  const isOld = existsSync(join(dataDir, oldRecordName))
  const other = Object.keys(applied).find((name) => applied[name] !== known[name])
  if (!isOld && other === undefined) return
  const why = isOld ? 'an early version' : `another version (migration ${other})`
  throw new PlainError(
    `The data in ${dataDir} was made by ${why} of Rookery, and this one cannot read it. ` +
      'Nothing was changed. Start with a new folder: ROOKERY_STATE_DIR=<folder> npm start',
  )
}

/**
 * @param {import('@cloudflare/workers-types').D1Database} d1
 * @param {Migration[]} migrations
 */
async function migrate(d1, migrations) {
  await d1.prepare(createTable).run()
  const rows = await d1.prepare('SELECT name FROM d1_migrations').all()
  const applied = new Set(rows.results.map((row) => row.name))
  for (const { name, statements } of migrations.filter((each) => !applied.has(each.name))) {
    const record = d1.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name)
    try {
      // One batch is one transaction: a migration is applied whole or not at all.
      await d1.batch([...statements.map((sql) => d1.prepare(sql)), record])
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new PlainError(`Migration ${name} failed and was rolled back: ${why}`)
    }
  }
}

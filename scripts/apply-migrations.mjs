// Brings a local D1 database up to migrations/*.sql, with the bookkeeping of
// `wrangler d1 migrations apply`: table d1_migrations, one row a file.
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PlainError } from './local-state.mjs'
import { Miniflare } from './miniflare.mjs'

const createTable = `CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`

/**
 * Returns a Worker that migrates for who knows the key. All in one request, inside of the runtime: from here each statement
 * would be a call that holds everything else up, and after some seconds of that on a busy machine the runtime has closed the
 * connection on which the last one is sent.
 * @param {string} key
 */
const writeWorker = (key) => `export default {
  async fetch(request, { DB }) {
    if (request.headers.get('authorization') !== ${JSON.stringify(key)}) {
      return new Response('migrating', { status: 503 })
    }
    await DB.prepare(${JSON.stringify(createTable)}).run()
    const { results } = await DB.prepare('SELECT name FROM d1_migrations').all()
    const applied = new Set(results.map((row) => row.name))
    for (const { name, statements } of await request.json()) {
      if (applied.has(name)) continue
      const record = DB.prepare('INSERT INTO d1_migrations (name) VALUES (?)').bind(name)
      try {
        // One batch is one transaction: a migration is applied whole or not at all.
        await DB.batch([...statements.map((sql) => DB.prepare(sql)), record])
      } catch (error) {
        return Response.json({ name, why: error.message })
      }
    }
    return Response.json(null)
  }
}`

/** @typedef {{ name: string, sha256: string, statements: string[] }} Migration with the hash of its file */

/**
 * Migrates before the hub listens, so that no request meets an old schema: a runtime of its own
 * on the same data, with a Worker of its own. A record beside the data saves that on later starts.
 *
 * @param {string} dataDir
 * @param {Migration[]} migrations in their order
 * @param {(script: string) => import('miniflare').MiniflareOptions} describeWorker the hub's
 *   options, with its bindings and data, around another script
 * @param {(error: unknown) => Promise<unknown>} [explainError] returns what is thrown, before the runtime is ended
 * @throws PlainError for data that migrations of another version made; nothing is changed then
 */
export async function applyMigrations(
  dataDir,
  migrations,
  describeWorker,
  explainError = async (error) => error,
) {
  const hashes = Object.fromEntries(migrations.map(({ name, sha256 }) => [name, sha256]))
  const applied = readRecord(dataDir)
  requireKnown(dataDir, applied, hashes)
  if (Object.keys(hashes).every((name) => name in applied)) return
  mkdirSync(dataDir, { recursive: true })
  const key = randomUUID()
  const miniflare = new Miniflare(describeWorker(writeWorker(key)))
  try {
    const answer = await miniflare.dispatchFetch('http://migrations/', {
      method: 'POST',
      headers: { authorization: key },
      body: JSON.stringify(migrations),
    })
    const failed = /** @type {{ name: string, why: string } | null} */ (await answer.json())
    if (failed) {
      throw new PlainError(`Migration ${failed.name} failed and was rolled back: ${failed.why}`)
    }
  } catch (error) {
    const reason = await explainError(error)
    // this throws again what was thrown when the runtime could not start
    await miniflare.dispose().catch(() => {})
    throw reason
  }
  await miniflare.dispose()
  writeFileSync(join(dataDir, recordName), `${JSON.stringify(hashes, null, 2)}\n`)
}

const recordName = 'migrations.json'

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
  const other = Object.keys(applied).find((name) => applied[name] !== known[name])
  if (other === undefined) return
  throw new PlainError(
    `The data in ${dataDir} was made by another version (migration ${other}) of Rookery, and this one cannot read it. ` +
      'Nothing was changed. Start with a new folder: ROOKERY_STATE_DIR=<folder> npm start',
  )
}

// Writes a backup into an empty hub, over the API of its admins, and compares what it then has.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { demand } from '../hub-client.mjs'
import { PlainError } from '../local-state.mjs'
import {
  checkFile,
  filesName,
  objectsName,
  readLines,
  readManifest,
  sumLines,
  tableName,
} from './format.mjs'
import { readFiles, readRows, release } from './write-backup.mjs'

/** About the characters of a request. A statement of D1 takes 2 MB. */
const requestChars = 500_000
const rowsPerRequest = 2_000
/** Each is two calls to another service, of which a hub on the free plan makes 50 in one request. */
const callsPerRequest = 20

/**
 * @typedef {import('../../client/index.ts').HubClient} HubClient
 * @typedef {import('./format.mjs').Manifest} Manifest
 * @typedef {(text: string) => void} Report
 */

/**
 * Restores a backup. Interrupted, it begins from the start when it is called again.
 *
 * @param {HubClient} client
 * @param {string} folder
 * @param {{ report: Report }} options
 * @returns {Promise<Manifest>}
 * @throws PlainError for a damaged backup, and for a hub that is not empty or of another version
 */
export async function restoreBackup(client, folder, { report }) {
  const manifest = readManifest(folder)
  await checkFiles(folder, manifest)
  const { restore, tables } = await begin(client, manifest)
  for (const { name } of tables) await sendRows(client, folder, restore, name, false, report)
  for (const { name, has_two_passes } of tables) {
    if (has_two_passes) await sendRows(client, folder, restore, name, true, report)
  }
  await sendObjects(client, folder, restore, report)
  await sendFiles(client, folder, restore, report)
  report('Comparing what the hub has with the backup')
  await compareRows(client, restore, manifest)
  await compareFiles(client, folder)
  await complete(client, restore)
  await release(client, restore)
  return manifest
}

/**
 * @param {string} folder
 * @param {Manifest} manifest
 */
async function checkFiles(folder, { tables, objects, files }) {
  for (const table of tables) await checkFile(folder, tableName(table.name), table)
  await checkFile(folder, objectsName, objects)
  await checkFile(folder, filesName, files)
}

/**
 * @param {HubClient} client
 * @param {Manifest} manifest
 */
async function begin(client, { migrations }) {
  /** @type {string | null} */
  let restore = null
  for (;;) {
    /** @type {import('../../client/index.ts').Answer<'POST /restore'>} */
    const begun = await demand(client.call('POST /restore', { body: { restore, migrations } }))
    if (begun.is_ready) return begun
    restore = begun.restore
  }
}

/**
 * Groups values so that none but a single long one makes a request too long.
 * @param {AsyncIterable<any>} values
 * @param {number} countMax
 */
async function* group(values, countMax) {
  /** @type {any[]} */
  let found = []
  let chars = 0
  for await (const value of values) {
    const size = JSON.stringify(value).length
    if (found.length === countMax || (found.length > 0 && chars + size > requestChars)) {
      yield found
      found = []
      chars = 0
    }
    found.push(value)
    chars += size
  }
  if (found.length > 0) yield found
}

/**
 * @param {HubClient} client
 * @param {string} folder
 * @param {string} restore
 * @param {string} table
 * @param {boolean} isSecond
 * @param {Report} report
 */
async function sendRows(client, folder, restore, table, isSecond, report) {
  let sent = 0
  for await (const rows of group(readLines(join(folder, tableName(table))), rowsPerRequest)) {
    const body = { restore, table, rows, is_second_pass: isSecond }
    await demand(client.call('PUT /restore/rows', { body }))
    sent += rows.length
  }
  if (sent > 0 && !isSecond) report(`${sent} rows of ${table}`)
}

/**
 * @param {HubClient} client
 * @param {string} folder
 * @param {string} restore
 * @param {Report} report
 */
async function sendObjects(client, folder, restore, report) {
  let sent = 0
  for await (const objects of group(readLines(join(folder, objectsName)), callsPerRequest)) {
    await demand(client.call('PUT /restore/objects', { body: { restore, objects } }))
    sent += objects.length
  }
  report(`${sent} agents`)
}

/**
 * @param {HubClient} client
 * @param {string} folder
 * @param {string} restore
 * @param {Report} report
 */
async function sendFiles(client, folder, restore, report) {
  let sent = 0
  for await (const files of group(readLines(join(folder, filesName)), callsPerRequest)) {
    await demand(client.call('PUT /restore/files', { body: { restore, files } }))
    sent += files.length
  }
  report(`${sent} files`)
}

/**
 * @param {HubClient} client
 * @param {string} restore
 * @param {Manifest} manifest
 */
async function compareRows(client, restore, { tables }) {
  for (const { name, lines, sha256 } of tables) {
    const sum = sumLines()
    for await (const rows of readRows(client, restore, name)) for (const row of rows) sum.add(row)
    const found = sum.read()
    if (found.lines === lines && found.sha256 === sha256) continue
    throw new PlainError(
      `The table ${name} is not that of the backup: ${found.lines} rows of ${lines}. ` +
        'The hub stays closed. Run the restore again.',
    )
  }
}

/**
 * Compares files by key: a hub that was deployed with agents has their definitions, too.
 * @param {HubClient} client
 * @param {string} folder
 */
async function compareFiles(client, folder) {
  const hash = (/** @type {object} */ file) =>
    createHash('sha256').update(JSON.stringify(file)).digest('base64')
  /** @type {Map<string, string>} */
  const expected = new Map()
  for await (const file of readLines(join(folder, filesName))) expected.set(file.key, hash(file))
  for await (const files of readFiles(client)) {
    for (const file of files) if (expected.get(file.key) === hash(file)) expected.delete(file.key)
  }
  const [missing] = expected.keys()
  if (missing === undefined) return
  throw new PlainError(
    `The file ${missing} is not that of the backup. The hub stays closed. Run the restore again.`,
  )
}

/**
 * @param {HubClient} client
 * @param {string} restore
 */
async function complete(client, restore) {
  /** @type {import('../../client/index.ts').Answer<'POST /restore/complete'>['next']} */
  let next = null
  do {
    /** @type {import('../../client/index.ts').Answer<'POST /restore/complete'>} */
    const answer = await demand(client.call('POST /restore/complete', { body: { restore, next } }))
    next = answer.next
  } while (next !== null)
}

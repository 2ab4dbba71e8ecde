// Copies a hub into a folder, over the API of its admins.
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { demand } from '../hub-client.mjs'
import { PlainError } from '../local-state.mjs'
import {
  filesName,
  formatVersion,
  manifestName,
  objectsName,
  openLines,
  tableName,
} from './format.mjs'

/**
 * @typedef {import('../../client/index.ts').HubClient} HubClient
 * @typedef {(text: string) => void} Report
 */

/**
 * Writes a backup. While objects and the database are read nothing else writes to the hub; files, which
 * nothing depends on, are read after it.
 *
 * @param {HubClient} client
 * @param {string} folder which is new or empty
 * @param {{ holdSeconds: number, report: Report }} options
 * @returns {Promise<import('./format.mjs').Manifest>}
 */
export async function writeBackup(client, folder, { holdSeconds, report }) {
  prepareFolder(folder)
  const begun = await begin(client, holdSeconds)
  const beganAt = Date.now()
  /** @type {Pick<import('./format.mjs').Manifest, 'objects' | 'tables'>} */
  let held
  try {
    held = {
      objects: await copyObjects(client, folder, begun.backup, report),
      tables: await copyTables(client, folder, begun, report),
    }
  } finally {
    await release(client, begun.backup)
  }
  report(`Writing to the hub was held for ${((Date.now() - beganAt) / 1_000).toFixed(1)} s.`)
  const files = await copyFiles(client, folder, report)
  /** @type {import('./format.mjs').Manifest} */
  const manifest = {
    format: 'rookery-backup',
    version: formatVersion,
    created_at: new Date(beganAt).toISOString(),
    hub: client.url,
    migrations: begun.migrations,
    ...held,
    files,
  }
  writeFileSync(join(folder, manifestName), `${JSON.stringify(manifest, null, 2)}\n`, {
    mode: 0o600,
  })
  await recordWritten(client, begun.backup, manifest, folder).catch((error) =>
    report(`The backup is whole, but the hub's page of backups does not list it: ${error.message}`),
  )
  return manifest
}

/**
 * Lets the hub list the backup.
 * @param {HubClient} client
 * @param {string} id
 * @param {import('./format.mjs').Manifest} manifest
 * @param {string} folder
 */
async function recordWritten(client, id, { tables, objects, files }, folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).size)
  const body = {
    backup: id,
    rows: tables.reduce((sum, { lines }) => sum + lines, 0),
    agents: objects.lines,
    files: files.lines,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
  }
  await demand(client.call('POST /backup/finish', { body }))
}

/** @param {string} folder */
function prepareFolder(folder) {
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new PlainError(`${folder} is not empty. Choose a new folder.`)
  }
  // What is in it are private messages, too.
  mkdirSync(join(folder, 'tables'), { recursive: true, mode: 0o700 })
}

/**
 * @param {HubClient} client
 * @param {number} holdSeconds
 */
async function begin(client, holdSeconds) {
  /** @type {string | null} */
  let backup = null
  for (;;) {
    /** @type {import('../../client/index.ts').Answer<'POST /backup'>} */
    const begun = await demand(
      client.call('POST /backup', { body: { backup, hold_seconds: holdSeconds } }),
    )
    if (begun.is_ready) return begun
    backup = begun.backup
  }
}

/**
 * Ends the hold, and deletes what it needed.
 * @param {HubClient} client
 * @param {string} id
 */
export async function release(client, id) {
  for (;;) {
    const { guards_left } = await demand(client.call('DELETE /backup/:id', { params: { id } }))
    if (guards_left === 0) return
  }
}

/**
 * @param {HubClient} client
 * @param {string} folder
 * @param {string} backup
 * @param {Report} report
 */
async function copyObjects(client, folder, backup, report) {
  const lines = openLines(join(folder, objectsName))
  for await (const objects of readObjects(client, backup)) lines.write(objects)
  const sum = lines.close()
  report(`${sum.lines} agents`)
  return sum
}

/**
 * @param {HubClient} client
 * @param {string} backup
 */
async function* readObjects(client, backup) {
  /** @type {string | null} */
  let after = null
  do {
    /** @type {import('../../client/index.ts').Answer<'GET /backup/objects'>} */
    const page = await demand(
      client.call('GET /backup/objects', { query: { backup, ...(after !== null && { after }) } }),
    )
    yield page.objects
    after = page.next_after
  } while (after !== null)
}

/**
 * @param {HubClient} client
 * @param {string} folder
 * @param {{ backup: string, tables: import('./format.mjs').Table[] }} begun
 * @param {Report} report
 */
async function copyTables(client, folder, { backup, tables }, report) {
  const copied = []
  for (const table of tables) {
    const lines = openLines(join(folder, tableName(table.name)))
    for await (const rows of readRows(client, backup, table.name)) lines.write(rows)
    const sum = lines.close()
    if (sum.lines > 0) report(`${sum.lines} rows of ${table.name}`)
    copied.push({ ...table, ...sum })
  }
  return copied
}

/**
 * The pages of a table.
 * @param {HubClient} client
 * @param {string} backup
 * @param {string} table
 */
export async function* readRows(client, backup, table) {
  /** @type {string | null} */
  let after = null
  do {
    /** @type {import('../../client/index.ts').Answer<'GET /backup/rows'>} */
    const page = await demand(
      client.call('GET /backup/rows', {
        query: { backup, table, ...(after !== null && { after }) },
      }),
    )
    yield page.rows
    after = page.next_after
  } while (after !== null)
}

/**
 * @param {HubClient} client
 * @param {string} folder
 * @param {Report} report
 */
async function copyFiles(client, folder, report) {
  const lines = openLines(join(folder, filesName))
  for await (const files of readFiles(client)) lines.write(files)
  const sum = lines.close()
  report(`${sum.lines} files`)
  return sum
}

/**
 * The pages of definitions and files.
 * @param {HubClient} client
 */
export async function* readFiles(client) {
  /** @type {string | null} */
  let after = null
  do {
    /** @type {import('../../client/index.ts').Answer<'GET /backup/files'>} */
    const page = await demand(
      client.call('GET /backup/files', { query: { ...(after !== null && { after }) } }),
    )
    yield page.files
    after = page.next_after
  } while (after !== null)
}

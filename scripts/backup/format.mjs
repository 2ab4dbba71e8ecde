// What a backup is on disk: a folder with a manifest, and lines of JSON. docs/upgrading.md describes it.
import { createHash } from 'node:crypto'
import { closeSync, createReadStream, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { PlainError } from '../local-state.mjs'

/** Counts up when a reader of the version before would misread it. */
export const formatVersion = 1

/**
 * @typedef {{ lines: number, sha256: string }} Sum
 * @typedef {{ name: string, columns: string[], key: string[], has_two_passes: boolean }} Table
 * @typedef {object} Manifest written last: a folder without one is no backup
 * @property {'rookery-backup'} format
 * @property {number} version
 * @property {string} created_at
 * @property {string} hub
 * @property {string[]} migrations
 * @property {(Table & Sum)[]} tables
 * @property {Sum} objects
 * @property {Sum} files
 */

const newline = 0x0a

export const manifestName = 'manifest.json'
export const objectsName = 'objects.ndjson'
export const filesName = 'files.ndjson'
/** @param {string} table */
export const tableName = (table) => join('tables', `${table}.ndjson`)

/**
 * Writes values as lines of a file, and sums them up.
 * @param {string} path
 */
export function openLines(path) {
  const file = openSync(path, 'wx', 0o600)
  const sum = sumLines()
  return {
    /** @param {unknown[]} values */
    write(values) {
      for (const value of values) writeSync(file, sum.add(value))
    },
    /** @returns {Sum} */
    close() {
      closeSync(file)
      return sum.read()
    },
  }
}

/** Sums up values as the lines that they would be. */
export function sumLines() {
  const hash = createHash('sha256')
  let lines = 0
  return {
    /** @param {unknown} value */
    add(value) {
      const line = `${JSON.stringify(value)}\n`
      hash.update(line)
      lines++
      return line
    },
    /** @returns {Sum} */
    read: () => ({ lines, sha256: hash.digest('hex') }),
  }
}

/**
 * The values of a file's lines, one at a time.
 * @param {string} path
 * @returns {AsyncGenerator<any>}
 */
export async function* readLines(path) {
  /** @type {Buffer[]} */
  let begun = []
  for await (const chunk of createReadStream(path)) {
    let from = 0
    for (;;) {
      const end = chunk.indexOf(newline, from)
      if (end === -1) break
      const text = Buffer.concat([...begun, chunk.subarray(from, end)]).toString('utf8')
      begun = []
      from = end + 1
      yield JSON.parse(text)
    }
    begun.push(chunk.subarray(from))
  }
}

/**
 * @param {string} folder
 * @returns {Manifest}
 * @throws PlainError for a folder that is no complete backup, or one of a newer version
 */
export function readManifest(folder) {
  const path = join(folder, manifestName)
  if (!existsSync(path)) {
    throw new PlainError(
      `${folder} is no complete backup: it has no ${manifestName}, which is written last.`,
    )
  }
  const manifest = JSON.parse(readFileSync(path, 'utf8'))
  if (manifest.format !== 'rookery-backup') throw new PlainError(`${path} is no manifest.`)
  if (manifest.version <= formatVersion) return manifest
  throw new PlainError(
    `A newer version of Rookery wrote ${folder} (format ${manifest.version}). Update this checkout first.`,
  )
}

/**
 * Compares a file with its sum in the manifest.
 * @param {string} folder
 * @param {string} file
 * @param {Sum} expected
 */
export async function checkFile(folder, file, expected) {
  const path = join(folder, file)
  if (!existsSync(path)) throw new PlainError(`${path} is missing: the backup is damaged.`)
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  if (hash.digest('hex') === expected.sha256) return
  throw new PlainError(`${path} is damaged: its hash is not that of ${manifestName}.`)
}

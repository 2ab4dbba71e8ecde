// `npm run import -- FILE`: loads an archive of posts into a running hub. Repeating it changes
// nothing, so repeat an import that was interrupted.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { HubError } from '../client/index.ts'
import { parseExactJson } from '../src/shared/exact-json.ts'
import { connect, demand } from './hub-client.mjs'
import { PlainError } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

const recordsPerCall = 25
const bytesPerCall = 1024 * 1024
const barWidth = 30
const usage =
  'Usage: npm run import -- <archive.json> [--source <name of the site that it is from>]'

/**
 * @typedef {{ posts: number, comments: number, accounts: number, communities: number }} Counts
 * @typedef {{ index: number, id: string | null, reason: string }} Entry
 * @typedef {{ imported: Counts, skipped: Entry[], changed: Entry[], not_listed: number, unchanged: number }} Report
 * @typedef {(chunk: unknown[]) => Promise<Report>} Send
 */

await runCli(async () => {
  const { file, source } = readArguments()
  const records = readArchive(file)
  const client = connect(process.env)
  /** @type {Send} */
  const send = (chunk) => client.call('POST /import', { query: { source }, body: chunk })
  /** @type {Report} */
  const report = {
    imported: { posts: 0, comments: 0, accounts: 0, communities: 0 },
    skipped: [],
    changed: [],
    not_listed: 0,
    unchanged: 0,
  }
  let done = 0
  const showProgress = openProgress(records.length)
  for (const chunk of split(records)) {
    await sendChunk(send, chunk, done, report)
    done += chunk.length
    showProgress(done)
  }
  show(report)
})

function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { source: { type: 'string' } },
    })
    const [file] = positionals
    if (file !== undefined && positionals.length === 1) return { file, source: values.source }
  } catch {
    // The usage says more than a list of what is not known.
  }
  throw new PlainError(usage)
}

/**
 * Sends records; where the hub refuses them together, one by one, so that one record keeps out no other.
 *
 * @param {Send} send
 * @param {unknown[]} chunk
 * @param {number} first position of the first record
 * @param {Report} report
 */
async function sendChunk(send, chunk, first, report) {
  /** @type {Report} */
  let answer
  try {
    answer = await send(chunk)
  } catch (error) {
    if (!isRefused(error)) {
      await demand(Promise.reject(error))
      return
    }
    if (chunk.length > 1) {
      for (const [at, record] of chunk.entries()) {
        await sendChunk(send, [record], first + at, report)
      }
      return
    }
    const reason = error instanceof HubError ? error.message : 'The record is nested too deep.'
    report.skipped.push({ index: first, id: null, reason })
    return
  }
  for (const kind of /** @type {(keyof Counts)[]} */ (Object.keys(report.imported))) {
    report.imported[kind] += answer.imported[kind]
  }
  for (const list of /** @type {const} */ (['skipped', 'changed'])) {
    report[list].push(...answer[list].map((each) => ({ ...each, index: each.index + first })))
  }
  report.not_listed += answer.not_listed
  report.unchanged += answer.unchanged
}

/**
 * Whether the hub refused what was sent, or it cannot even be written as JSON.
 * @param {unknown} error
 */
function isRefused(error) {
  return (
    error instanceof RangeError ||
    (error instanceof HubError && (error.status === 400 || error.status === 413))
  )
}

/**
 * @param {string} file
 * @returns {unknown[]}
 */
function readArchive(file) {
  /** @type {Buffer} */
  let bytes
  try {
    bytes = readFileSync(file)
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? error.code : error
    throw new PlainError(`${file} cannot be read: ${why === 'ENOENT' ? 'no such file' : why}.`)
  }
  const archive = parseJson(bytes, file)
  const records = Array.isArray(archive) ? archive : (archive?.posts ?? archive?.items)
  if (Array.isArray(records)) return records
  throw new PlainError(`${file} is no archive: it should be a JSON array of posts.`)
}

/**
 * @param {Buffer} bytes
 * @param {string} file
 * @returns {any}
 */
function parseJson(bytes, file) {
  /** @type {string} */
  let text
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new PlainError(`${file} is not UTF-8 text. Save it as UTF-8 and import it again.`)
  }
  try {
    return parseExactJson(text)
  } catch (error) {
    throw new PlainError(`${file} is no JSON: ${error instanceof Error ? error.message : error}`)
  }
}

/**
 * @param {unknown[]} records
 * @returns {Generator<unknown[]>}
 */
function* split(records) {
  /** @type {unknown[]} */
  let chunk = []
  let bytes = 0
  for (const record of records) {
    const size = measure(record)
    if (chunk.length === recordsPerCall || (chunk.length > 0 && bytes + size > bytesPerCall)) {
      yield chunk
      chunk = []
      bytes = 0
    }
    chunk.push(record)
    bytes += size
  }
  if (chunk.length > 0) yield chunk
}

/**
 * Bytes of a record; one that cannot be written is sent alone.
 * @param {unknown} record
 */
function measure(record) {
  try {
    return Buffer.byteLength(JSON.stringify(record))
  } catch {
    return bytesPerCall
  }
}

/** @param {number} total */
function openProgress(total) {
  const isTerminal = process.stdout.isTTY
  return (/** @type {number} */ done) => {
    if (!isTerminal) {
      console.log(`${done} of ${total} records`)
      return
    }
    const filled = Math.round((done / total) * barWidth)
    const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
    process.stdout.write(`\r${bar} ${done} of ${total} records${done === total ? '\n' : ''}`)
  }
}

/** @param {Report} report */
function show({ imported, skipped, changed, not_listed: notListed, unchanged }) {
  const parts = Object.entries(imported).map(([kind, count]) => `${count} ${kind}`)
  console.log(`Imported ${parts.join(', ')}; ${unchanged} were there already.`)
  list('Skipped', skipped)
  list('Changed', changed)
  if (notListed > 0) console.log(`And ${notListed} more, which the hub did not list.`)
}

/**
 * @param {string} title
 * @param {Entry[]} entries
 */
function list(title, entries) {
  if (entries.length > 0) console.log(`${title} ${entries.length}:`)
  for (const { index, id, reason } of entries) {
    console.log(`  record ${index}${id ? ` (${id})` : ''}: ${reason}`)
  }
}

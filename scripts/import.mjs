// `npm run import -- FILE`: loads an archive of posts into a running hub. Repeating it changes
// nothing, so repeat an import that was interrupted.
import { readFileSync } from 'node:fs'
import { connect, demand } from './hub-client.mjs'
import { PlainError } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

const recordsPerCall = 25
const bytesPerCall = 1024 * 1024
const barWidth = 30

/**
 * @typedef {{ posts: number, comments: number, accounts: number, communities: number }} Counts
 * @typedef {{ index: number, id: string | null, reason: string }} Skipped
 */

await runCli(async () => {
  const [file, ...rest] = process.argv.slice(2)
  if (file === undefined || rest.length > 0) {
    throw new PlainError('Usage: npm run import -- <archive.json>')
  }
  const records = readArchive(file)
  const client = connect(process.env)
  /** @type {Counts} */
  const imported = { posts: 0, comments: 0, accounts: 0, communities: 0 }
  /** @type {Skipped[]} */
  const skipped = []
  let unchanged = 0
  let done = 0
  const showProgress = openProgress(records.length)
  for (const chunk of split(records)) {
    const answer = await demand(client.call('POST /import', { body: chunk }))
    for (const kind of /** @type {(keyof Counts)[]} */ (Object.keys(imported))) {
      imported[kind] += answer.imported[kind]
    }
    const first = done
    skipped.push(...answer.skipped.map((each) => ({ ...each, index: each.index + first })))
    unchanged += answer.unchanged
    done += chunk.length
    showProgress(done)
  }
  report(imported, skipped, unchanged)
})

/**
 * @param {string} file
 * @returns {unknown[]}
 */
function readArchive(file) {
  /** @type {string} */
  let text
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? error.code : error
    throw new PlainError(`${file} cannot be read: ${why === 'ENOENT' ? 'no such file' : why}.`)
  }
  const archive = parseJson(text, file)
  const records = Array.isArray(archive) ? archive : archive?.posts
  if (Array.isArray(records)) return records
  throw new PlainError(`${file} is no archive: it should be a JSON array of posts.`)
}

/**
 * @param {string} text
 * @param {string} file
 * @returns {any}
 */
function parseJson(text, file) {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
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
    const size = Buffer.byteLength(JSON.stringify(record))
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

/**
 * @param {Counts} imported
 * @param {Skipped[]} skipped
 * @param {number} unchanged
 */
function report(imported, skipped, unchanged) {
  const parts = Object.entries(imported).map(([kind, count]) => `${count} ${kind}`)
  console.log(`Imported ${parts.join(', ')}; ${unchanged} were there already.`)
  if (skipped.length === 0) return
  console.log(`Skipped ${skipped.length}:`)
  for (const { index, id, reason } of skipped) {
    console.log(`  record ${index}${id ? ` (${id})` : ''}: ${reason}`)
  }
}

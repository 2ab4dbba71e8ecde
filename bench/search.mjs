// node bench/search.mjs [documents]
//
// Searches in a hub of 300,000 documents (a third posts, the rest replies) whose words are distributed as
// Zipf and Mandelbrot found: wall time of the statement and of GET /search, and how many of the ten best of
// the full ranking are found. docs/decisions/search.md has the figures.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { build } from 'esbuild'
import { startHub } from '../scripts/hub-runtime.mjs'
import { root } from '../scripts/local-state.mjs'

const documents = Number(process.argv[2] ?? 300_000)
const queriesOfEach = 200
const vocabulary = 60_000

let state = 1
/** Pseudorandom numbers below 1, the same in every run. */
function random() {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}

const totals = new Float64Array(vocabulary)
for (let rank = 0, sum = 0; rank < vocabulary; rank++) {
  sum += 1 / (rank + 2.7)
  totals[rank] = sum
}

/** A word by its rank: syllables, so that the stemmer has something to do, and no two ranks alike. */
function spell(rank) {
  let word = 'x'
  for (let rest = rank; rest > 0; rest = Math.floor(rest / 20)) {
    word += ['ba', 'co', 'du', 'fe', 'gi', 'ha', 'jo', 'ku', 'le', 'mi'][rest % 10] ?? ''
    word += rest % 20 < 10 ? '' : 'n'
  }
  return word
}

function drawWord() {
  const at = random() * totals[vocabulary - 1]
  let [low, high] = [0, vocabulary - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (totals[middle] < at) low = middle + 1
    else high = middle
  }
  return spell(low)
}

const drawText = (words) => Array.from({ length: words }, drawWord).join(' ')

function fill(file) {
  const db = new DatabaseSync(file)
  const community = db.prepare("SELECT id FROM communities WHERE name = 'general'").get().id
  const author = db.prepare('SELECT id FROM accounts LIMIT 1').get().id
  const post = db.prepare(
    'INSERT INTO posts (id, community_id, author_id, title, content, created_at) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const comment = db.prepare(
    'INSERT INTO comments (id, post_id, author_id, content, created_at) VALUES (?, ?, ?, ?, ?)',
  )
  db.exec('BEGIN')
  for (let number = 0; number < documents; number++) {
    const text = drawText(20 + Math.floor(random() * 60))
    if (number % 3 === 0) post.run(`p${number}`, community, author, drawText(6), text, number)
    else comment.run(`m${number}`, `p${number - (number % 3)}`, author, text, number)
  }
  db.exec('COMMIT')
  const { pages } = db
    .prepare("SELECT sum(pgsize) AS pages FROM dbstat WHERE name LIKE 'search_index%'")
    .get()
  console.log(`search.index_bytes_per_document ${Math.round(pages / documents)}`)
  return db
}

/** Words of one text, so that there is something to find. */
function drawQuery(db, words) {
  const number = Math.floor(random() * (documents / 3)) * 3
  const { content } = db.prepare('SELECT content FROM posts WHERE id = ?').get(`p${number}`)
  const all = content.split(' ')
  return Array.from({ length: words }, () => all[Math.floor(random() * all.length)]).join(' ')
}

/** The statements of a search, as the Worker has them. */
async function loadSearch(directory) {
  const outfile = join(directory, 'search.mjs')
  await build({
    stdin: {
      contents: `export { selectHits, hitTypes } from '${root}src/hub/search/queries'
        export { readSearchTerms } from '${root}src/hub/search/search-terms'
        export { requestReader } from '${root}src/hub/viewers/reader'`,
      resolveDir: root,
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile,
    logLevel: 'error',
  })
  return import(outfile)
}

const percentile = (times, part) =>
  [...times].sort((a, b) => a - b)[Math.floor(times.length * part)].toFixed(1)

function report(name, times) {
  console.log(`${name} p50 ${percentile(times, 0.5)} ms, p95 ${percentile(times, 0.95)} ms`)
}

/** Milliseconds of CPU of this process. */
const readCpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Statements by their text: the hub's database keeps them prepared too. */
const prepared = new Map()

function prepare(db, sql) {
  const known = prepared.get(sql) ?? db.prepare(sql)
  prepared.set(sql, known)
  return known
}

const directory = mkdtempSync(join(tmpdir(), 'rookery-bench-search-'))
try {
  const env = { ROOKERY_LOG_LEVEL: 'warn', ROOKERY_CLIENT_ADDRESS_HEADER: 'x-client' }
  const stateDir = join(directory, 'state')
  await (await startHub({ stateDir, env })).stop()
  const file = readdirSync(join(stateDir, 'data'), { recursive: true, encoding: 'utf8' })
    .map((name) => join(stateDir, 'data', name))
    .find((name) => name.endsWith('.sqlite') && hasPosts(name))
  const db = fill(file)
  const search = await loadSearch(directory)

  const queries = {
    'all, 1 word': Array.from({ length: queriesOfEach }, () => [drawQuery(db, 1), 'all']),
    'all, 3 words': Array.from({ length: queriesOfEach }, () => [drawQuery(db, 3), 'all']),
    'any, 6 words': Array.from({ length: queriesOfEach }, () => [drawQuery(db, 6), 'any']),
    'common words': Array.from({ length: queriesOfEach }, () => [
      [1, 2].map(() => spell(Math.floor(random() * 30))).join(' '),
      'all',
    ]),
  }
  const everything = []
  for (const [name, asked] of Object.entries(queries)) {
    const [times, cpu] = [[], []]
    for (const [text, match] of asked) {
      const [start, cpuStart] = [performance.now(), readCpuMs()]
      runSearch(db, search, text, match)
      times.push(performance.now() - start)
      cpu.push(readCpuMs() - cpuStart)
    }
    everything.push(...cpu)
    report(`search.statement (${name}), wall:`, times)
    report(`search.statement (${name}), CPU:`, cpu)
  }
  report('search.statement (all of these), CPU:', everything)

  const overlaps = queries['any, 6 words'].flatMap(([text]) => compareBest(db, search, text))
  const mean = overlaps.reduce((sum, each) => sum + each, 0) / overlaps.length
  console.log(`search.overlap_of_ten_best ${mean.toFixed(3)} of ${overlaps.length} searches`)
  db.close()
  await measureHttp(stateDir, env, queries)
} finally {
  rmSync(directory, { recursive: true, force: true })
}

function hasPosts(file) {
  const db = new DatabaseSync(file)
  const found = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'posts'").get()
  db.close()
  return found !== undefined
}

function runSearch(db, { selectHits, hitTypes, readSearchTerms, requestReader }, text, match) {
  const statement = selectHits({
    reader: requestReader(null, 0),
    terms: readSearchTerms(text, match),
    types: hitTypes,
    community: null,
    author: null,
    exceptPostId: null,
    demoteQuestionsFor: null,
    limit: 10,
    offset: 0,
  })
  const { sql, params } = statement.compile()
  const values = params.map((value) => (typeof value === 'boolean' ? Number(value) : value))
  return statement.read({ results: prepare(db, sql).all(...values) })
}

/** The share of the ten best of all matches that a search finds; nothing if all its words are common. */
function compareBest(db, search, text) {
  const { words } = search.readSearchTerms(text, 'any')
  const frequency = db.prepare('SELECT doc FROM search_index_words WHERE term = ?')
  if (!words.some(({ terms }) => (frequency.get(terms[0])?.doc ?? 0) < documents * 0.03)) return []
  const best = db
    .prepare(
      `SELECT rowid >> 2 AS seq, rowid & 3 AS kind FROM search_index
       WHERE search_index MATCH ? AND rank MATCH 'bm25(4.0, 1.0, 0.0)' ORDER BY rank LIMIT 10`,
    )
    .all(words.map(({ phrase }) => phrase).join(' OR '))
    .map(({ seq, kind }) => {
      const table = ['posts', 'comments', 'accounts', 'communities'][kind]
      return db.prepare(`SELECT id FROM ${table} WHERE seq = ?`).get(seq).id
    })
  const found = new Set(runSearch(db, search, text, 'any').map(({ id }) => id))
  return [best.filter((id) => found.has(id)).length / best.length]
}

async function measureHttp(stateDir, env, queries) {
  const hub = await startHub({ stateDir, env })
  try {
    for (const [name, asked] of Object.entries(queries).filter(
      ([each]) => !each.startsWith('any'),
    )) {
      const times = []
      let rows = 0
      for (const [index, [text]] of asked.entries()) {
        const start = performance.now()
        const response = await fetch(`${hub.url}/api/v1/search?q=${encodeURIComponent(text)}`, {
          headers: { 'x-client': `192.0.2.${index}` },
        })
        await response.text()
        if (!response.ok) throw new Error(`GET /search answered ${response.status}.`)
        times.push(performance.now() - start)
        const read = /rows_read=(\d+)/.exec(response.headers.get('server-timing') ?? '')
        rows = Math.max(rows, Number(read?.[1]))
      }
      report(`search.http (${name}), at most ${rows} rows,`, times)
    }
  } finally {
    await hub.stop()
  }
}

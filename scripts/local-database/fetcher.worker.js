// What D1's binding calls `fetcher`: instead of a service it calls the object, with JSON, which is cheaper than values here.
// Texts of statements are long and the same again and again: each is sent once, then named by the number that the object
// gave it.

const bookmarkHeader = 'x-cf-d1-session-commit-token'
/** The object forgets all texts when it has many. A second time in a row is a mistake. */
const attemptsMax = 3

/** What SQLite says of a statement; other errors are of the call. */
class StatementError extends Error {}

export default function makeFetcher({ objects, name, machine }) {
  // A stub belongs to the request that made it and to its failures, so each call has one of its own.
  const id = objects.idFromName(name)
  let known = { memory: '', numbers: new Map() }

  /** With the flag `d1_binding_jsrpc` the binding calls this. */
  async function query({ queries, bookmark }) {
    const object = objects.get(id)
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const { memory, numbers } = known
      const sent = queries.map(({ sql, params }) => [numbers.get(sql) ?? sql, params ?? []])
      const message = JSON.stringify({ memory, sent, isInSession: bookmark !== undefined })
      const answer = JSON.parse(await object.query(message).catch(explain))
      learn(answer, sent)
      if (answer.error !== undefined) throw new StatementError(answer.error)
      if (answer.results) return answer
    }
    throw new Error('The database forgot its statements again and again.')
  }

  /**
   * The runtime hides why a transaction could not be committed. On a full disk the message is SQLite's, as it is for a
   * statement that finds no room.
   */
  async function explain(error) {
    const disk = await machine?.fetch('http://machine/disk').then(
      (answer) => answer.json(),
      () => null,
    )
    if (disk?.state === 'full') throw new StatementError('database or disk is full: SQLITE_FULL')
    throw error
  }

  function learn({ memory, numbers = [] }, sent) {
    if (memory !== known.memory) known = { memory, numbers: new Map() }
    for (const [at, number] of numbers.entries()) {
      const [text] = sent[at]
      if (typeof text === 'string') known.numbers.set(text, number)
    }
  }

  return { query, fetch: (url, init) => fetchJson(query, String(url), init) }
}

/** The same for the binding of a Worker without the flag: Miniflare's own, through which Node reads the database. */
async function fetchJson(query, url, { headers, body }) {
  const sent = JSON.parse(body)
  const bookmark = headers.get(bookmarkHeader) ?? undefined
  const isOfArrays = url.endsWith('=ROWS_AND_COLUMNS')
  try {
    const answer = await query({ queries: Array.isArray(sent) ? sent : [sent], bookmark })
    const results = answer.results.map(({ data: { columns, rows }, meta }) => ({
      success: true,
      results: isOfArrays ? { columns, rows } : rows.map((row) => toObject(columns, row)),
      meta,
    }))
    return respond(results, answer.bookmark)
  } catch (error) {
    if (!(error instanceof StatementError)) throw error
    return respond({ success: false, error: error.message })
  }
}

const toObject = (columns, row) => Object.fromEntries(columns.map((name, at) => [name, row[at]]))

const respond = (answer, bookmark = null) => ({
  headers: { get: () => bookmark },
  text: async () => JSON.stringify(answer),
})

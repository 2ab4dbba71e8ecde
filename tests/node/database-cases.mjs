// What the databases of `local-database.test.ts` are asked: imported by the test, and by a Worker that runs them inside.

/**
 * @typedef {import('@cloudflare/workers-types').D1Database} D1Database
 * @typedef {(database: D1Database) => Promise<unknown>} Case
 */

export const schema = [
  'CREATE TABLE parents (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)',
  `CREATE TABLE things (id INTEGER PRIMARY KEY AUTOINCREMENT, parent_id INTEGER REFERENCES parents (id),
    value, CONSTRAINT small CHECK (typeof(value) <> 'integer' OR value < 1000))`,
  'CREATE TABLE pairs (a TEXT, b TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID',
  'CREATE INDEX things_by_parent ON things (parent_id)',
  'CREATE VIRTUAL TABLE texts USING fts5(body)',
]
const addParent = "INSERT INTO parents (name) VALUES ('first')"

/**
 * @param {string[]} statements
 * @returns {Case}
 */
export const sendMany =
  (...statements) =>
  (database) =>
    database.batch(statements.map((sql) => database.prepare(sql)))
/**
 * @param {string} sql
 * @param {unknown[]} values
 * @returns {Case}
 */
const bindAll =
  (sql, ...values) =>
  (database) =>
    database
      .prepare(sql)
      .bind(...values)
      .all()

/**
 * In order: each finds what those before it wrote.
 * @type {Record<string, Case>}
 */
export const cases = {
  'a schema as one batch': sendMany(...schema),
  'a write': (database) => database.prepare(addParent).run(),
  'a write that is given several rows back': sendMany(
    "INSERT INTO things (parent_id, value) VALUES (1, 'a'), (1, 'b'), (NULL, 'c') RETURNING id, value",
    'SELECT count(*) AS n FROM things',
  ),
  'rows of a WITHOUT ROWID table': sendMany(
    "INSERT INTO pairs VALUES ('x', 'y'), ('x', 'z')",
    "UPDATE pairs SET b = 'w' WHERE b = 'z'",
    'DELETE FROM pairs',
  ),
  'a write that changes nothing': sendMany('UPDATE things SET value = 1 WHERE id = 99'),
  'a write of the value that is there': sendMany("UPDATE things SET value = 'a' WHERE id = 1"),
  'full text': sendMany(
    "INSERT INTO texts (body) VALUES ('pelicans dive'), ('terns dive too')",
    "SELECT body, bm25(texts) < 0 AS ranked FROM texts WHERE texts MATCH 'pelicans'",
  ),
  'a common table expression that writes': sendMany(
    "WITH v (x) AS (VALUES ('cte')) INSERT INTO things (value) SELECT x FROM v",
    'WITH v (x) AS (VALUES (1)) SELECT x FROM v',
  ),
  'statements behind comments': sendMany('-- one\nSELECT 1 AS x', '/* two */ SELECT 2 AS y'),
  'all types': bindAll(
    'SELECT ?1 AS i, ?2 AS r, ?3 AS t, ?4 AS n, ?5 AS yes, ?6 AS no, ?7 AS blob, ?8 AS buffer, typeof(?7) AS type',
    7,
    1.5,
    'ä🪶',
    null,
    true,
    false,
    new Uint8Array([0, 1, 255]),
    new Uint8Array([9]).buffer,
  ),
  'numbers at the edges': bindAll('SELECT ? AS a, ? AS b, 9007199254740993 AS c', 2 ** 53, -1e300),
  'a stored blob': sendMany("INSERT INTO things (value) VALUES (x'00ff') RETURNING value"),
  'rows as arrays': (database) =>
    database.prepare('SELECT id, value FROM things').raw({ columnNames: true }),
  'two columns of one name': sendMany('SELECT 1 AS x, 2 AS x'),
  'the first row': (database) =>
    database.prepare('SELECT id, value FROM things ORDER BY id').first(),
  'one column of the first row': (database) =>
    database.prepare('SELECT value FROM things ORDER BY id').first('value'),
  'no first row': (database) => database.prepare('SELECT 1 WHERE 0').first(),
  'a column that is not there': (database) => database.prepare('SELECT 1 AS x').first('y'),
  'several lines': (database) =>
    database.exec("INSERT INTO things (value) VALUES ('d')\nSELECT count(*) FROM things"),
  'several lines of which one is wrong': (database) => database.exec('SELECT 1\nSELECT nothing'),
  UNIQUE: sendMany(addParent),
  'NOT NULL': sendMany('INSERT INTO parents (name) VALUES (NULL)'),
  CHECK: sendMany('INSERT INTO things (value) VALUES (1000)'),
  'a foreign key': sendMany('INSERT INTO things (parent_id) VALUES (99)'),
  'a deferred foreign key that stays broken': sendMany(
    'PRAGMA defer_foreign_keys = TRUE',
    'INSERT INTO things (parent_id) VALUES (98)',
  ),
  'a deferred foreign key that is mended': sendMany(
    'PRAGMA defer_foreign_keys = TRUE',
    'INSERT INTO things (parent_id) VALUES (50)',
    "INSERT INTO parents (id, name) VALUES (50, 'late')",
  ),
  syntax: sendMany('SELEKT 1'),
  'an unknown table': sendMany('SELECT * FROM nowhere'),
  'a batch that fails at its end': sendMany(
    "INSERT INTO things (value) VALUES ('never')",
    addParent,
    "INSERT INTO things (value) VALUES ('nor this')",
  ),
  'nothing of it is written': sendMany(
    "SELECT count(*) AS n FROM things WHERE value IN ('never', 'nor this')",
  ),
  'the next write after a failure': sendMany("INSERT INTO things (value) VALUES ('after')"),
  'several statements in one text': sendMany(
    "CREATE TABLE more (a);\n-- one\nCREATE TRIGGER grow AFTER INSERT ON more BEGIN INSERT INTO texts (body) VALUES (new.a); END;\nINSERT INTO more VALUES ('one');",
    'SELECT m.a, t.body FROM more m JOIN texts t ON t.body = m.a',
  ),
  'several statements in one text of which the last fails': sendMany(
    `CREATE TABLE never_there (a); INSERT INTO more VALUES ('never'); ${addParent}`,
    "INSERT INTO more VALUES ('nor this')",
  ),
  'rows of them are not written': sendMany('SELECT a FROM more'),
  'a table of them is not there': sendMany('SELECT a FROM never_there'),
  'no statement': sendMany('-- nothing'),
  'an empty batch': sendMany(),
  'too few values': bindAll('SELECT ?1, ?2', 1),
  'too many values': bindAll('SELECT ?1', 1, 2),
  'a value of another type': async (database) => bindAll('SELECT ?', { a: 1 })(database),
  'one hundred values': bindAll(
    `SELECT ${Array.from({ length: 100 }, () => '?').join(' + ')} AS n`,
    ...Array.from({ length: 100 }, (_, at) => at),
  ),
  'more than one hundred values': bindAll(
    `SELECT ${Array.from({ length: 101 }, () => '?').join(' + ')} AS n`,
    ...Array.from({ length: 101 }, (_, at) => at),
  ),
  'a long LIKE pattern': bindAll("SELECT 'a' LIKE ? AS x", 'a'.repeat(60)),
  'a value above 2 MB': bindAll('SELECT length(?) AS n', 'a'.repeat(2_200_000)),
  'a transaction in SQL': sendMany('BEGIN TRANSACTION'),
  'a forbidden pragma': sendMany('PRAGMA journal_mode = DELETE'),
  'PRAGMA optimize': sendMany('PRAGMA optimize'),
  'a session': async (database) => {
    const session = database.withSession('first-primary')
    const { results } = await session.prepare('SELECT 1 AS x').all()
    return [results, typeof session.getBookmark()]
  },
  'a schema that is read': sendMany("SELECT name FROM sqlite_master WHERE type = 'index'"),
  'the size of the file after a read and after a write': async (database) => {
    const sizeAfter = async (/** @type {string} */ sql) =>
      (await database.prepare(sql).run()).meta.size_after
    const first = await sizeAfter('SELECT 1')
    const written = await sizeAfter('INSERT INTO things (value) VALUES (hex(zeroblob(900000)))')
    const read = await sizeAfter('SELECT 1')
    return [written - first >= 1_000_000, read - written]
  },
  'a dropped table': async (database) => {
    const { success } = await database.prepare('DROP TABLE pairs').run()
    return [
      success,
      await database.prepare("SELECT name FROM sqlite_master WHERE name = 'pairs'").raw(),
    ]
  },
}

/**
 * Returns what is wrong with the answers when the local database is sent more statements than it keeps, and then the first
 * ones again.
 * @type {Case}
 */
export const sendMoreThanIsKept = async (database) => {
  const wrong = []
  for (const first of [0, 800, 1_600, 0, 1_600]) {
    const numbers = Array.from({ length: 800 }, (_, at) => first + at)
    const ask = (/** @type {number} */ n) => database.prepare(`SELECT ${n} AS n, ? AS value`)
    const answers = await database.batch(numbers.map((n) => ask(n).bind(-n)))
    for (const [at, { results }] of answers.entries()) {
      const text = JSON.stringify(results)
      if (text !== `[{"n":${numbers[at]},"value":${0 - (numbers[at] ?? 0)}}]`) wrong.push(text)
    }
  }
  return wrong
}

/** Times, names, and a size that includes pages that Miniflare keeps bookmarks in. */
const ofTheServer = ['duration', 'timings', 'served_by', 'size_after']

/**
 * What is answered or thrown, without what differs from server to server.
 * @param {Case} run
 * @param {D1Database} database
 * @returns {Promise<unknown>}
 */
export async function answer(run, database) {
  try {
    const text = JSON.stringify(await run(database), (key, value) =>
      ofTheServer.includes(key) ? undefined : value,
    )
    return JSON.parse(text ?? 'null')
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const cause = error.cause instanceof Error ? withoutReference(error.cause.message) : error.cause
    return { error: withoutReference(error.message), cause }
  }
}

/** @param {string} text */
const withoutReference = (text) => text.replace(/(?<=reference = )\w+/, '')

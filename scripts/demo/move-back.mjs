// Moves what the demo's story wrote during one of its days to that day.

const dayMs = 86_400_000

/** Seconds in which a post falls behind one with ten times its score, as in the order `hot` of the hub. */
const tenfoldSeconds = 45_000

/**
 * @typedef {import('@cloudflare/workers-types').D1Database} Database
 * @typedef {{ name: string, sql: string }} Trigger
 */

/**
 * Lifts the triggers that keep the audit and the admin log from changing, while `work` runs.
 * @param {Database} db
 * @param {() => Promise<void>} work
 */
export async function withoutGuards(db, work) {
  const found = await db
    .prepare(
      `SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%BEFORE UPDATE%RAISE%'`,
    )
    .all()
  const guards = /** @type {Trigger[]} */ (/** @type {unknown} */ (found.results))
  for (const { name } of guards) await db.prepare(`DROP TRIGGER "${name}"`).run()
  try {
    await work()
  } finally {
    for (const { sql } of guards) await db.prepare(sql).run()
  }
}

/**
 * Moves all rows that were written since `since` back: their times, their days, the logs of runs and the rank of posts.
 *
 * @param {Database} db
 * @param {number} since milliseconds since the epoch
 * @param {number} days
 * @param {number} [earlierMs] to an earlier time of that day, too
 */
export async function moveBack(db, since, days, earlierMs = 0) {
  const ms = days * dayMs + earlierMs
  if (ms === 0) return
  const today = Math.floor(since / dayMs)
  await moveLogs(db, since, ms)
  const rank = ms / 1000 / tenfoldSeconds
  const statements = [
    db.prepare('UPDATE posts SET hot_rank = hot_rank - ? WHERE created_at >= ?').bind(rank, since),
  ]
  for (const { table, column } of await listTimes(db)) {
    const set = `UPDATE "${table}" SET "${column}" = "${column}" -`
    statements.push(
      column === 'day'
        ? db.prepare(`${set} ? WHERE day >= ?`).bind(days, today)
        : db.prepare(`${set} ? WHERE "${column}" >= ?`).bind(ms, since),
    )
  }
  await db.batch(statements)
}

/**
 * Columns with a time in milliseconds (`..._at`) or a day since the epoch (`day`). The windows of budgets stay where
 * they are: the hub counts them anew from the usage when all days are written. So do schedules: their next run is ahead.
 * @param {Database} db
 * @returns {Promise<{ table: string, column: string }[]>}
 */
async function listTimes(db) {
  const found = await db
    .prepare(
      `SELECT t.name AS "table", c.name AS "column" FROM pragma_table_list t, pragma_table_info(t.name) c
        WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE '\\_cf%' ESCAPE '\\'
          AND t.name NOT IN ('budget_windows', 'budget_levels', 'schedules')
          AND c.type = 'INTEGER' AND (c.name = 'day' OR c.name LIKE '%\\_at' ESCAPE '\\')`,
    )
    .all()
  return /** @type {{ table: string, column: string }[]} */ (/** @type {unknown} */ (found.results))
}

/**
 * @param {Database} db
 * @param {number} since
 * @param {number} ms
 */
async function moveLogs(db, since, ms) {
  const { results } = await db
    .prepare(
      `SELECT l.activation_id AS id, l.trace FROM activation_traces l
         JOIN activations a ON a.id = l.activation_id WHERE a.started_at >= ?`,
    )
    .bind(since)
    .all()
  const rows = /** @type {{ id: string, trace: string }[]} */ (/** @type {unknown} */ (results))
  const isoPattern = /"20\d\d-\d\d-\d\dT[\d:.]+Z"/g
  for (const { id, trace } of rows) {
    const moved = trace
      .replace(/(?<![\w.])1\d{12}(?!\d)/g, (text) =>
        String(Number(text) - (Number(text) >= since ? ms : 0)),
      )
      .replace(isoPattern, (text) => {
        const at = Date.parse(text.slice(1, -1))
        return at >= since ? JSON.stringify(new Date(at - ms).toISOString()) : text
      })
    await db
      .prepare('UPDATE activation_traces SET trace = ? WHERE activation_id = ?')
      .bind(moved, id)
      .run()
  }
}

import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { beforeAll, expect, test } from 'vitest'
import { boundedColumns } from '../../../src/hub/api/sweep-queries'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub, hubApi, createAgent } = office
const day = 86_400_000
let scout: Awaited<ReturnType<typeof createAgent>>
let wren: typeof scout

beforeAll(async () => {
  scout = await createAgent('scout')
  wren = await createAgent('wren')
})

/** Inserts a row of each table, whose time is given, by an id. */
const insertRow: Record<string, (id: string, at: number) => Promise<unknown>> = {
  providers: (id, at) =>
    office.run(
      'INSERT INTO provider_outages (address, started_at, due_at, attempts) VALUES (?, 0, ?, 1)',
      id,
      at,
    ),
  pushes: async (id, at) => {
    await office.run(
      `INSERT INTO inbox_items (id, account_id, type, created_at) VALUES (?, ?, 'comment', 0)`,
      id,
      scout.id,
    )
    await office.run(
      `INSERT INTO api_keys (id, account_id, hash, kind, created_at) VALUES (?1, ?2, ?1, 'session', 0)`,
      id,
      scout.id,
    )
    await office.run(
      `INSERT INTO push_devices (id, account_id, session_id, label, endpoint, p256dh, auth, server_key, created_at)
       VALUES (?1, ?2, ?1, '', ?1, '', '', '', 0)`,
      id,
      scout.id,
    )
    await office.run(
      'INSERT INTO push_queue (device_id, item_id, due_at) VALUES (?1, ?1, ?2)',
      id,
      at,
    )
  },
  webhooks: (id, at) =>
    office.run(
      `INSERT INTO webhooks (id, account_id, url, host, sealed, format, events, created_at, retry_at)
       VALUES (?, ?, '', '', '', 'json', '[]', 0, ?)`,
      id,
      scout.id,
      at,
    ),
  deliveries: (id, at) =>
    office.run(
      `INSERT INTO outbox (id, kind, target_id, event, "key", created_at, next_at)
       VALUES (?1, 'webhook', 'none', 'post.created', ?1, ?3, ?2)`,
      id,
      at,
      hub.clock.now(),
    ),
  mailServer: (_, at) => office.run('INSERT INTO mail_server (id, retry_at) VALUES (1, ?)', at),
  digests: (id, at) =>
    office.run(
      `INSERT INTO notification_settings (account_id, choices, timezone, digest_hour, digest_at, digested_at)
       VALUES (?1, '{}', 'UTC', 8, ?2, 0)`,
      id === 'ahead' ? scout.id : wren.id,
      at,
    ),
  approvals: (id, at) =>
    office.run(
      `INSERT INTO approvals (id, account_id, call_id, tool, "grant", tier, arguments, arguments_hash, created_at, expires_at)
       VALUES (?1, ?2, ?1, 't', 'hub:write', 'write', '{}', ?1, 0, ?3)`,
      id,
      scout.id,
      at,
    ),
  deadlines: (id, at) =>
    office.run(
      `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at)
       VALUES (?, ?, 'inbox', 'mention', 'running', 'granted', 'm', 1, 0, ?)`,
      id,
      id === 'ahead' ? scout.id : wren.id,
      at,
    ),
  lanes: async (id, at) => {
    await office.run(
      `INSERT OR IGNORE INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at)
       VALUES ('replayed', ?, 'inbox', 'mention', 'done', 'granted', 'm', 1, 0, 0)`,
      scout.id,
    )
    await office.run(
      `INSERT OR IGNORE INTO replays (id, activation_id, requested_by, created_at) VALUES ('r', 'replayed', ?, 0)`,
      scout.id,
    )
    await office.run(
      `INSERT INTO replay_lanes (id, replay_id, activation_id, lane, sample, state, agent_id, requesters, grants,
         duration_ms_max, tokens_max, cost_max_microusd, deadline_at)
       VALUES (?1, 'r', 'replayed', 'candidate', ?2, 'running', ?3, '[]', '[]', 0, 0, 0, ?4)`,
      id,
      id === 'ahead' ? 1 : 2,
      scout.id,
      at,
    )
  },
  rates: (id, at) =>
    office.run('INSERT INTO rate_buckets (id, tokens, updated_at) VALUES (?, 0, ?)', id, at),
  backups: (id, at) =>
    office.run(
      `INSERT INTO transfers (id, kind, transfer, holds_until, is_writing) VALUES (1, 'backup', ?, ?, 0)`,
      id,
      at,
    ),
}

test.each(Object.entries(boundedColumns))(
  'L36: a wait of %s that was stored by a clock that was ahead ends within the longest wait of its rule',
  async (name, { table, column, longestMs }) => {
    // holds end by the clock of the database
    const now = name === 'backups' ? Date.now() : hub.clock.now()
    const question = { since: now, until: now, after: null, isFirst: true }
    const insert = insertRow[name]
    if (!insert) throw new Error(`No row for ${name}`)
    const isOnlyOne = name === 'backups' || name === 'mailServer'
    await insert('ahead', now + longestMs + 30 * day)
    // what a rule can have stored stays, though the clock steps back a little
    if (!isOnlyOne) await insert('kept', now + longestMs)
    await hubApi.sweep(now, question)
    const read = async () =>
      (
        await office.all<{ at: number }>(
          `SELECT ${column.name} AS at FROM ${getTableName(table)} ORDER BY 1`,
        )
      ).map(({ at }) => at)
    const bounded = now + longestMs
    expect(await read()).toEqual(isOnlyOne ? [bounded] : [bounded, bounded])
    await hubApi.sweep(now + 1, question)
    expect(await read()).not.toContain(bounded + 1)
    await office.run(`DELETE FROM ${getTableName(table)}`)
  },
)

/** Times ahead that delay nothing, or that have a rule of their own. */
const others: Record<string, string> = {
  'schedules.due_at':
    'a cron expression: the scheduler gives new times when its clock was set back',
  'api_keys.expires_at': 'ends a right, later at worst',
  'sign_in_attempts.expires_at': 'ends a right',
  'admin_openings.expires_at': 'ends a right',
  'requester_spending_progress.counted_until': 'what is counted for a list of an ended hour',
  'claims.expires_at': 'ends a right',
  'invitations.expires_at': 'ends a right',
  'connect_attempts.expires_at': 'ends a right',
  'triggers.old_secrets_until': 'end rights, later at worst',
  'past_access.until': 'when a right ended, of which nothing waits',
}

test('L36: each time of the schema that ends a wait is bounded, or is listed with the reason why it is not', async () => {
  const modules = import.meta.glob('../../../src/hub/schema/*.ts', { eager: true })
  const tables = Object.values(modules)
    .flatMap((module) => Object.values(module as object))
    .filter((each): each is SQLiteTable => is(each, SQLiteTable))
  const ahead = tables.flatMap((table) =>
    Object.values(getTableColumns(table)).flatMap(({ name }) =>
      /^(due|next|expires|deadline|until|retry)(_at)?$|_until$/.test(name)
        ? [`${getTableName(table)}.${name}`]
        : [],
    ),
  )
  const bounded = Object.values(boundedColumns).map(
    ({ table, column }) => `${getTableName(table)}.${column.name}`,
  )
  expect(ahead.length).toBeGreaterThan(8)
  expect(ahead.filter((each) => !bounded.includes(each) && !(each in others))).toEqual([])
})

test('L36: schedules that are due later are new ones after the clock was set back, and one that is never due is not', async () => {
  const now = hub.clock.now()
  const never = Number.MAX_SAFE_INTEGER
  for (const [key, at] of Object.entries({ due: now - 1, later: now + 30 * day, never })) {
    await office.run(
      `INSERT INTO schedules (account_id, key, cron, timezone, task, due_at) VALUES (?, ?, '0 9 * * *', 'UTC', 't', ?)`,
      scout.id,
      key,
      at,
    )
  }
  const ask = async (isClockBack: boolean) => {
    const question = { since: now, until: now, after: null, isClockBack }
    const { exploration } = await hubApi.sweep(now, question)
    return exploration?.schedules.map(({ key, dueAt }) => [key, dueAt])
  }
  expect(await ask(false)).toEqual([['due', now - 1]])
  expect(await ask(true)).toEqual([
    ['later', 0],
    ['due', now - 1],
  ])
})

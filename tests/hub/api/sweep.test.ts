import { afterEach, beforeAll, expect, test } from 'vitest'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub, createAgent, start, post } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada
let wren: typeof ada

const sweep = async () => (await office.hubApi.sweep(hub.clock.now())).wake

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  wren = await createAgent('wren')
})
afterEach(office.clear)

test('B2: the first sweep makes windows in a second round trip; an idle hub then costs one', async () => {
  expect(await office.countTrips(sweep)).toBe(2)
  expect(await office.countTrips(sweep)).toBe(1)
  expect(await sweep()).toEqual([])
})

test('S10: an idle sweep reads few rows, however many windows there are', async () => {
  hub.clock.advance(40 * 86_400_000)
  await sweep()
  const context = office.context()
  const { sweep: direct } = await import('../../../src/hub/api/sweep')
  await direct(context, hub.clock.now())
  expect(context.db.cost).toMatchObject({ roundTrips: 1 })
  // Seven of them look for claims that have expired, two for accounts that used up the budget of their role,
  // one for messages to browsers, two for webhooks, two for mail, three for old records, one for a backup that stopped, one for lost model calls, four for
  // lanes of replays, one for a change that is held, and some for the free slots.
  expect(context.db.cost.rowsRead).toBeLessThan(65)
})

test('S6: agents with unclaimed tasks are found, longest waiting first, paused ones not', async () => {
  await post(ada.key, '@wren')
  await post(ada.key, '@scout')
  expect(await sweep()).toEqual([wren.id, scout.id])
  await office.run('UPDATE agents SET is_paused = 1 WHERE account_id = ?', wren.id)
  expect(await sweep()).toEqual([scout.id])
  await office.run('UPDATE agents SET is_paused = 0')
  await office.run(`INSERT INTO settings (key, value, updated_at) VALUES ('paused', 'true', 0)`)
  expect(await sweep()).toEqual([])
})

test('S3 S6: a sweep wakes no more waiting agents than there are free slots', async () => {
  const few = createOffice({ ROOKERY_MAX_CONCURRENT: '1' })
  await post(ada.key, '@scout')
  await post(ada.key, '@wren')
  const { wake } = await few.hubApi.sweep(hub.clock.now())
  expect(wake).toContain(scout.id)
  await start(scout.id)
  expect((await few.hubApi.sweep(hub.clock.now())).wake).toEqual([])
})

test('S6: the owner of an activation that runs for a while is woken, paused or not, once', async () => {
  await post(ada.key, '@scout')
  await start(scout.id)
  expect(await sweep()).toEqual([])
  hub.clock.advance(6_000)
  await post(ada.key, '@scout')
  await office.run(`INSERT INTO settings (key, value, updated_at) VALUES ('paused', 'true', 0)`)
  expect(await sweep()).toEqual([scout.id])
  await office.run(`DELETE FROM settings WHERE key = 'paused'`)
  expect(await office.hubApi.sweep(hub.clock.now())).toEqual({ wake: [scout.id], running: 1 })
})

test('B2 S6: windows of budgets that run short together are made a part at a time', async () => {
  await post(ada.key, '@scout')
  const now = hub.clock.now()
  await office.run(
    `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, created_at, updated_at)
     SELECT 'budget:agent:00000000-0000-7000-8000-' || format('%012d', key), 'agent',
       '00000000-0000-7000-8000-' || format('%012d', key), 'day', 60, 0, 0
     FROM json_each(?)`,
    JSON.stringify(Array.from({ length: 650 }, () => 0)),
  )
  const count = async () =>
    (
      await office.first<{ n: number }>(
        `SELECT count(DISTINCT w.budget_id) AS n FROM budget_windows w
         JOIN budgets b ON b.id = w.budget_id AND b.scope = 'agent'`,
      )
    )?.n ?? 0
  expect(await sweep()).toEqual([scout.id])
  const first = await count()
  expect(first).toBeGreaterThan(0)
  expect(first).toBeLessThan(650)
  for (let tries = 0; tries < 3; tries++) await sweep()
  expect(await count()).toBe(650)
  expect(
    await office.all(
      `SELECT b.id FROM budgets b JOIN budget_windows w ON w.budget_id = b.id
       WHERE b.scope = 'agent' GROUP BY b.id HAVING max(w.ends_at) < ? OR sum(w.spent_tokens < 0) > 0`,
      now + 62 * 86_400_000,
    ),
  ).toEqual([])
  expect(await office.countTrips(sweep)).toBe(1)
})

test('S6: a sweep that cannot create budget windows logs the error and still returns the agents to wake', async () => {
  await post(ada.key, '@wren')
  hub.clock.advance(40 * 86_400_000)
  await office.run(
    `CREATE TRIGGER windows_fail BEFORE INSERT ON budget_windows
     BEGIN SELECT raise(ABORT, 'no room for windows'); END`,
  )
  try {
    expect(await sweep()).toEqual([wren.id])
    expect(hub.seen.logged.join()).toContain('no room for windows')
  } finally {
    await office.run('DROP TRIGGER windows_fail')
  }
  expect(await office.countTrips(sweep)).toBe(2)
})

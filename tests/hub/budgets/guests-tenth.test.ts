import { beforeEach, expect, test } from 'vitest'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
const hubId = '00000000-0000-7000-8000-000000000201'
const guestsId = '00000000-0000-7000-8000-000000000202'

beforeEach(async () => {
  await office.run('DELETE FROM budgets WHERE id <> ?', hubId)
  await office.run(
    `INSERT INTO budgets (id, scope, period, created_at, updated_at) VALUES (?, 'guests', 'month', 0, 0)`,
    guestsId,
  )
  await office.run(
    `UPDATE budgets SET limit_tokens = NULL, limit_microusd = iif(scope = 'hub', 20000000, 2000000)`,
  )
})

const patch = (id: string, body: object) =>
  hub.call(`/budgets/${id}`, { key: adminKey, method: 'PATCH', body })
const create = (body: object) =>
  hub.call('/budgets', { key: adminKey, body: { period: 'day', ...body } })
const limits = (id: string) =>
  office.first('SELECT limit_microusd AS usd, limit_tokens AS tokens FROM budgets WHERE id = ?', id)
const countEntries = (id: string) =>
  office.first<{ n: number }>('SELECT count(*) AS n FROM admin_log WHERE target_id = ?', id)

test('T3: guests get at most a tenth of the hub’s budget; a higher limit is refused', async () => {
  const before = await countEntries(guestsId)
  const over = await patch(guestsId, { limit_microusd: 2_000_001 })
  expect(over.status).toBe(400)
  expect(over.body.details).toEqual([
    {
      path: 'body.limit_microusd',
      message: 'At most $2.00 (2000000 micro-dollars), a tenth of the hub’s monthly budget',
    },
  ])
  const none = await patch(guestsId, { limit_microusd: null, warning_share: 0.5 })
  expect(none.status).toBe(400)
  expect(await limits(guestsId)).toEqual({ usd: 2_000_000, tokens: null })
  expect(await countEntries(guestsId)).toEqual(before)
  expect((await patch(guestsId, { limit_microusd: 2_000_000 })).status).toBe(200)
  expect((await patch(guestsId, { limit_tokens: 1_000_000 })).status).toBe(200)
})

test('T3: a new budget of guests keeps to the tenth of each limit of the hub, by period', async () => {
  await office.run(`DELETE FROM budgets WHERE scope = 'guests'`)
  await create({ scope: 'hub', limit_microusd: 1_000, limit_tokens: 105 })
  const key = { 'idempotency-key': 'the-tenth' }
  const body = { scope: 'guests', period: 'day', limit_microusd: 101 }
  const refused = await hub.call('/budgets', { key: adminKey, headers: key, body })
  expect(refused.status).toBe(400)
  expect(refused.body.details).toEqual([
    {
      path: 'body.limit_microusd',
      message: expect.stringContaining('(100 micro-dollars), a tenth of the hub’s daily budget'),
    },
    { path: 'body.limit_tokens', message: 'At most 10 tokens, a tenth of the hub’s daily budget' },
  ])
  const kept = await office.first(`SELECT count(*) AS n FROM budgets WHERE scope = 'guests'`)
  expect(kept).toEqual({ n: 0 })
  const fits = { scope: 'guests', limit_microusd: 100, limit_tokens: 10 }
  expect((await create(fits)).status).toBe(201)
})

test('T3: lowering the hub’s limit lowers that of guests with it, with an admin entry', async () => {
  const { n = 0 } = (await countEntries(guestsId)) ?? {}
  const same = await patch(hubId, { limit_microusd: 30_000_000 })
  expect(same.body.warnings).toEqual([])
  expect(await limits(guestsId)).toEqual({ usd: 2_000_000, tokens: null })
  const lowered = await patch(hubId, { limit_microusd: 1_005, limit_tokens: 99 })
  expect(lowered.status).toBe(200)
  expect(lowered.body.warnings).toEqual([
    { path: 'body', message: 'The monthly budget of guests was lowered to a tenth of the hub’s' },
  ])
  expect(await limits(guestsId)).toEqual({ usd: 100, tokens: 9 })
  const after = '{"limit_microusd":100,"limit_tokens":9}'
  const entry = await office.first(
    'SELECT action, target_type, before FROM admin_log WHERE target_id = ? AND after = ?',
    guestsId,
    after,
  )
  expect(entry).toEqual({
    action: 'budget.change',
    target_type: 'budget',
    before: '{"limit_microusd":2000000,"limit_tokens":null}',
  })
  expect(await countEntries(guestsId)).toEqual({ n: n + 1 })
})

test('T3: beside a monthly budget of the hub alone, guests get at most a tenth of it a day, too', async () => {
  const over = await create({ scope: 'guests', limit_microusd: 2_000_001 })
  expect(over.status).toBe(400)
  expect(over.body.details).toEqual([
    {
      path: 'body.limit_microusd',
      message: 'At most $2.00 (2000000 micro-dollars), a tenth of the hub’s monthly budget',
    },
  ])
  expect((await create({ scope: 'guests' })).status).toBe(400)
  expect((await create({ scope: 'guests', limit_microusd: 2_000_000 })).status).toBe(201)
})

test('T3: of several budgets of the hub, the least tenth limits guests, of each kind', async () => {
  await create({ scope: 'hub', period: 'week', limit_microusd: 50_000_000, limit_tokens: 1_000 })
  await create({ scope: 'hub', period: 'day', limit_tokens: 2_000 })
  const over = await create({ scope: 'guests', limit_microusd: 3_000_000, limit_tokens: 150 })
  expect(over.body.details).toEqual([
    {
      path: 'body.limit_microusd',
      message: 'At most $2.00 (2000000 micro-dollars), a tenth of the hub’s monthly budget',
    },
    {
      path: 'body.limit_tokens',
      message: 'At most 100 tokens, a tenth of the hub’s weekly budget',
    },
  ])
})

test('T3: a lower or new budget of the hub lowers those of guests of each shorter period', async () => {
  const readAll = () =>
    office.all(
      `SELECT period, limit_microusd AS usd FROM budgets WHERE scope = 'guests' ORDER BY period`,
    )
  await create({ scope: 'guests', limit_microusd: 2_000_000 })
  const lowered = await patch(hubId, { limit_microusd: 10_000_000 })
  expect(lowered.body.warnings.map((each: { message: string }) => each.message)).toEqual([
    'The daily budget of guests was lowered to a tenth of the hub’s',
    'The monthly budget of guests was lowered to a tenth of the hub’s',
  ])
  expect(await readAll()).toEqual([
    { period: 'day', usd: 1_000_000 },
    { period: 'month', usd: 1_000_000 },
  ])
  const { body } = await create({ scope: 'hub', period: 'week', limit_microusd: 4_000_000 })
  expect(body.warnings).toHaveLength(1)
  expect(await readAll()).toEqual([
    { period: 'day', usd: 400_000 },
    { period: 'month', usd: 1_000_000 },
  ])
})

test('T3: a new daily budget of the hub does not lower the monthly one of guests', async () => {
  await create({ scope: 'guests', limit_microusd: 500 })
  const { body } = await create({ scope: 'hub', limit_microusd: 400 })
  expect(body.warnings).toHaveLength(1)
  const daily = `SELECT limit_microusd AS usd FROM budgets WHERE scope = 'guests' AND period = 'day'`
  expect(await office.first(daily)).toEqual({ usd: 40 })
  expect(await limits(guestsId)).toEqual({ usd: 2_000_000, tokens: null })
})

test('T3: thresholds out of order change neither the hub’s budget nor that of guests', async () => {
  const refused = await patch(hubId, { limit_microusd: 100, warning_share: 0.95 })
  expect(refused.status).toBe(400)
  expect(await limits(guestsId)).toEqual({ usd: 2_000_000, tokens: null })
})

test('T3: the budget of guests cannot be deleted beside a limit of the hub', async () => {
  const remove = () => hub.call(`/budgets/${guestsId}`, { key: adminKey, method: 'DELETE' })
  expect((await remove()).status).toBe(409)
  expect(await limits(guestsId)).toEqual({ usd: 2_000_000, tokens: null })
})

test('T3: of two requests at once, none leaves guests more than a tenth', async () => {
  for (let round = 0; round < 10; round += 1) {
    await office.run(`UPDATE budgets SET limit_microusd = iif(scope = 'hub', 20000000, 1000000)`)
    await Promise.all([
      patch(guestsId, { limit_microusd: 2_000_000 }),
      patch(hubId, { limit_microusd: 10_000_000 }),
    ])
    expect(await limits(guestsId)).toEqual({ usd: 1_000_000, tokens: null })
  }
})

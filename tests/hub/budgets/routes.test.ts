import { afterEach, beforeAll, expect, test } from 'vitest'
import { settings } from '../../../src/hub/budgets/inputs'
import type { ActivationId } from '../../../src/shared/ids'
import { adminKey, createTestHub, readCost } from '../create-test-hub'
import { createOffice, usageOf } from '../runs/create-office'

const office = createOffice()
const { hub, createAgent, start, post } = office
const hubBudget = '00000000-0000-7000-8000-000000000201'
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada
let wren: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  wren = await createAgent('wren')
  // one budget at a time: that of the guests, which every hub has, would be in every answer
  await office.run(`DELETE FROM budgets WHERE scope IN ('guests', 'replay')`)
  await office.run('UPDATE api_keys SET last_used_at = ?', hub.clock.now())
  await office.hubApi.sweep(hub.clock.now())
})
afterEach(office.clear)

const health = async () => (await hub.call('/budgets/health')).body

test.each([
  [0, 'healthy'],
  [799, 'healthy'],
  [800, 'warning'],
  [899, 'warning'],
  [900, 'throttle'],
  [999, 'throttle'],
  [1_000, 'critical'],
  [1_200, 'critical'],
])('B3: %i of 1000 spent is %s', async (spent, status) => {
  await office.setHubLimit(1_000)
  await office.setSpent(spent)
  expect(await health()).toMatchObject({
    status,
    budgets: [
      {
        id: hubBudget,
        scope: 'hub',
        agent: null,
        period: 'month',
        limit_microusd: 1_000,
        spent_microusd: spent,
        share_used: spent / 1_000,
        status,
        limit_tokens: null,
        ends_at: '2026-02-01T00:00:00.000Z',
      },
    ],
  })
})

test('B8: health is open to people and agents in one round trip, and includes reservations', async () => {
  await post(ada.key, '@scout')
  await start(scout.id)
  for (const key of [ada.key, scout.key, null]) {
    const { status, body, headers } = await hub.call('/budgets/health', { key })
    expect(status).toBe(200)
    expect(body.budgets[0]).toMatchObject({ reserved_microusd: 100, reserved_tokens: 10 })
    expect(readCost(headers).roundTrips).toBe(1)
  }
  expect(await hub.call('/budgets/health', { key: 'wrong' })).toMatchObject({ status: 401 })
})

test('B8: a hub that is not public requires a key', async () => {
  const shut = createTestHub({ ROOKERY_PUBLIC: 'false' })
  for (const path of ['/budgets/health', '/budgets', '/usage', '/activations']) {
    expect(await shut.call(path)).toMatchObject({ status: 401 })
    expect(await shut.call(path, { key: ada.key })).toMatchObject({ status: 200 })
  }
})

test('B3: the worst budget decides the status, tokens count, and without a window it is critical', async () => {
  await office.run(
    `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, limit_tokens, created_at, updated_at)
     VALUES ('scout-day', 'agent', ?, 'day', NULL, 100, 0, 0)`,
    scout.id,
  )
  expect(await health()).toMatchObject({ status: 'critical', budgets: [{}, { ends_at: null }] })
  await office.hubApi.sweep(hub.clock.now())
  await office.run(`UPDATE budget_windows SET spent_tokens = 85 WHERE budget_id = 'scout-day'`)
  expect(await health()).toMatchObject({
    status: 'warning',
    budgets: [
      { status: 'healthy' },
      { agent: { id: scout.id, name: 'scout' }, share_used: 0.85, status: 'warning' },
    ],
  })
  const { body } = await hub.call('/budgets')
  expect(body.budgets.map(({ id }: { id: string }) => id)).toEqual([hubBudget, 'scout-day'])
})

const put = (body: unknown, key: string | null = adminKey, id = hubBudget) =>
  hub.call(`/budgets/${id}`, { method: 'PATCH', key, body })

test('B2: an admin sets limits; an absent limit stays, null removes a limit', async () => {
  expect(await put({ limit_microusd: 5_000, limit_tokens: 70 })).toMatchObject({
    status: 200,
    body: { budget: { id: hubBudget, limit_microusd: 5_000, limit_tokens: 70 } },
  })
  expect((await put({ limit_tokens: null })).body.budget).toMatchObject({
    limit_microusd: 5_000,
    limit_tokens: null,
  })
  expect((await put({ limit_microusd: 0 })).body.budget.status).toBe('critical')
  expect((await put({ limit_microusd: null })).body.budget).toMatchObject({
    limit_microusd: null,
    share_used: null,
    status: 'healthy',
  })
})

test('B2: a limit applies from the next admission on', async () => {
  await put({ limit_microusd: 50 })
  await post(ada.key, '@scout')
  expect((await start(scout.id)).reservation.microusd).toBe(50)
})

test.each([
  [{ limit_microusd: -1 }, 'body.limit_microusd'],
  [{ limit_microusd: 1.5 }, 'body.limit_microusd'],
  [{ limit_microusd: '5' }, 'body.limit_microusd'],
  [{ limit_tokens: 1e300 }, 'body.limit_tokens'],
  [{ limit_usd: 5 }, 'body.limit_usd'],
  [{}, 'body'],
  [[], 'body'],
])('B2: PUT %j answers 400 with the field', async (body, path) => {
  const answer = await put(body)
  expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION' } })
  expect(answer.body.details[0].path).toBe(path)
})

test('B2: PUT is for admins, and an unknown budget is 404', async () => {
  expect(await put({ limit_tokens: 1 }, null)).toMatchObject({ status: 401 })
  expect(await put({ limit_tokens: 1 }, ada.key)).toMatchObject({ status: 403 })
  expect(await put({ limit_tokens: 1 }, adminKey, 'nonsense')).toMatchObject({ status: 404 })
})

test('H6: the same key creates a budget once, and a refused request does not use its key', async () => {
  const create = (limit: number, key: string) =>
    hub.call('/budgets', {
      key: adminKey,
      headers: { 'idempotency-key': key },
      body: { scope: 'model', name: 'test/model', period: 'week', limit_microusd: limit },
    })
  const first = await create(5, 'budget-1')
  const again = await create(5, 'budget-1')
  expect(first.status).toBe(201)
  expect([again.status, again.body]).toEqual([201, first.body])
  expect(again.headers.get('idempotent-replay')).toBe('true')
  expect((await create(6, 'budget-1')).body.code).toBe('IDEMPOTENCY_CONFLICT')
  const { id } = first.body.budget
  const duplicate = await create(5, 'budget-2')
  expect(duplicate).toMatchObject({ status: 409, body: { hint: expect.stringContaining(id) } })
  await hub.call(`/budgets/${id}`, { method: 'DELETE', key: adminKey })
  const twenty = await Promise.all(Array.from({ length: 20 }, () => create(5, 'budget-2')))
  expect(new Set(twenty.map(({ status }) => status))).toEqual(new Set([201]))
  expect(new Set(twenty.map(({ body }) => body.budget.id)).size).toBe(1)
  expect((await create(5, 'budget-1')).status).toBe(404)
})

/** Runs two agents, on three days. */
const runAgents = async () => {
  for (const [agent, model, cost, isPriced] of [
    [scout, 'test/big', 300, true],
    [scout, 'test/small', 20, true],
    [wren, 'test/open', 0, false],
  ] as const) {
    await post(ada.key, `@${agent.name}`)
    const { activationId } = await start(agent.id)
    const usage = [{ ...usageOf(cost, 10), model, isPriced, outputTokens: 5 }]
    await office.commit(agent.id, activationId as ActivationId, { usage })
    hub.clock.advance(86_400_000)
  }
}

test('B8: usage by agent, model, task and day adds up to the same total', async () => {
  const from = new Date(hub.clock.now()).toISOString()
  await runAgents()
  // one budget at a time: that of the guests, which every hub has, would be in every answer
  await office.run(`DELETE FROM budgets WHERE scope IN ('guests', 'replay')`)
  await office.run('UPDATE api_keys SET last_used_at = ?', hub.clock.now())
  const total = { calls: 3, cost_microusd: 320, input_tokens: 30, output_tokens: 15 }
  const read = async (group: string) => {
    const { body, headers } = await hub.call(`/usage?group_by=${group}&from=${from}`, {
      key: ada.key,
    })
    expect(body.total).toMatchObject({ ...total, unpriced_tokens: 15, estimated_calls: 0 })
    expect(readCost(headers).roundTrips).toBe(1)
    const sum = body.usage.reduce(
      (all: number, row: { cost_microusd: number }) => all + row.cost_microusd,
      0,
    )
    expect(sum).toBe(320)
    return body.usage
  }
  expect(await read('agent')).toMatchObject([
    { agent: { name: 'scout', kind: 'agent' }, calls: 2, cost_microusd: 320 },
    { agent: { name: 'wren' }, calls: 1, cost_microusd: 0, unpriced_tokens: 15 },
  ])
  expect((await read('model')).map(({ model }: { model: string }) => model)).toEqual([
    'test/big',
    'test/small',
    'test/open',
  ])
  expect(await read('task')).toMatchObject([{ task: 'mention', calls: 3 }])
  expect(await read('community')).toMatchObject([{ community: { name: 'general' }, calls: 3 }])
  expect(await read('provider')).toMatchObject([{ provider: 'test', calls: 3 }])
  expect(await read('day')).toMatchObject([
    { day: '2026-01-01', cost_microusd: 300 },
    { day: '2026-01-02', cost_microusd: 20 },
    { day: '2026-01-03', cost_microusd: 0 },
  ])
})

test('B8: from is inclusive; in to a day is inclusive, a time exclusive', async () => {
  const day = new Date(hub.clock.now()).toISOString().slice(0, 10)
  await runAgents()
  const count = async (query: string) => (await hub.call(`/usage?${query}`)).body.total.calls
  expect(await count('')).toBe(3)
  const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10)
  expect(await count(`from=${day}&to=${day}`)).toBe(1)
  expect(await count(`from=${day}&to=${next}`)).toBe(2)
  expect(await count(`from=${day}&to=${next}T00:00:00Z`)).toBe(1)
  expect(await count(`from=${next}`)).toBe(2)
  expect(await count(`from=${day}T00:00:00%2B05:00&to=${day}T00:00:00-05:00`)).toBe(1)
  expect(await count('from=2020-01-01&to=2020-02-01')).toBe(0)
})

test.each(['group_by=planet', 'from=yesterday', 'to=2026-13-01', 'from=2026-02-01&to=2026-01-01'])(
  'B8: usage with %s answers 400 with the field',
  async (query) => {
    const { status, body } = await hub.call(`/usage?${query}`)
    expect(status).toBe(400)
    expect(body.details[0].path).toBe(`query.${query.split('=')[0]}`)
  },
)

test('B2 B10: each setting of a budget is kept, answered and recorded under its name, new and changed', async () => {
  const give = (amount: number) =>
    Object.fromEntries(
      settings.map((name) => [
        name,
        name.endsWith('_share') ? 1 / amount : name === 'allows_critical' ? amount > 1 : amount,
      ]),
    )
  const recorded = async (id: string, action: string) => {
    const select = 'SELECT after FROM admin_log WHERE target_id = ? AND action = ?'
    return JSON.parse((await office.first<{ after: string }>(select, id, action))?.after ?? '{}')
  }
  const body = { scope: 'agent', name: 'wren', period: 'week', ...give(1) }
  const { budget } = (await hub.call('/budgets', { key: adminKey, body })).body
  const path = `/budgets/${budget.id}`
  const changed = await hub.call(path, { key: adminKey, method: 'PATCH', body: give(2) })
  expect(budget).toMatchObject(give(1))
  expect(changed.body.budget).toMatchObject(give(2))
  expect(await recorded(budget.id, 'budget.create')).toMatchObject(give(1))
  expect(await recorded(budget.id, 'budget.change')).toMatchObject(give(2))
  await hub.call(path, { key: adminKey, method: 'DELETE' })
})

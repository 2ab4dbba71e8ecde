import { afterEach, beforeAll, expect, it } from 'vitest'
import type { ActivationId } from '../../../src/shared/ids'
import { adminKey, readCost } from '../create-test-hub'
import { createOffice, usageOf } from '../runs/create-office'

const office = createOffice()
const { hub, createAgent, start, post } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada
let wren: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  wren = await createAgent('wren')
  await setModels(scout.id, ['test/big'])
  await setModels(wren.id, ['test/small'])
  await office.hubApi.sweep(hub.clock.now())
})
afterEach(async () => {
  await office.clear()
  await office.run(
    `DELETE FROM budgets WHERE scope <> 'hub' OR made_by <> 'admin' OR period <> 'month'`,
  )
  await office.run('DELETE FROM budget_windows WHERE budget_id NOT IN (SELECT id FROM budgets)')
  await setModels(scout.id, ['test/big'])
})

const setModels = (id: string, models: string[]) =>
  office.run('UPDATE agents SET models = ?2 WHERE account_id = ?1', id, JSON.stringify(models))
const create = (body: object, key: string | null = adminKey) => hub.call('/budgets', { key, body })
const make = async (scope: string, name: string | undefined, microusd: number, more = {}) => {
  const { body, status } = await create({
    scope,
    ...(name && { name }),
    period: 'day',
    limit_microusd: microusd,
    ...more,
  })
  expect([status, body]).toEqual([201, expect.anything()])
  return body.budget
}
const read = async (id: string) => {
  const { body } = await hub.call('/budgets')
  return body.budgets.find((each: { id: string }) => each.id === id)
}
const spend = async (agent: typeof ada, microusd: number, model = 'test/big') => {
  await post(ada.key, `@${agent.name}`)
  const { activationId } = await start(agent.id)
  const usage = [{ ...usageOf(microusd, 1), model }]
  await office.commit(agent.id, activationId, { usage })
}

it('B2: a budget of each scope limits the agents that it pays for, and no others', async () => {
  for (const [scope, name, isWrenFree] of [
    ['agent', 'scout', true],
    ['model', 'test/big', true],
    ['provider', 'test', false],
    ['community', 'general', false],
  ] as const) {
    const { id } = await make(scope, name, 40)
    await post(ada.key, '@scout @wren')
    const first = await start(scout.id)
    expect(first.reservation.microusd, scope).toBe(40)
    expect(first.budgets.map((each) => each.scope)).toEqual(['hub', scope])
    expect((await office.load(wren.id)).kind, scope).toBe(isWrenFree ? 'loaded' : 'wait')
    await office.commit(scout.id, first.activationId, {
      usage: [{ ...usageOf(35, 7), model: 'test/big' }],
    })
    expect(await read(id)).toMatchObject({ scope, spent_microusd: 35, spent_tokens: 7 })
    await hub.call(`/budgets/${id}`, { method: 'DELETE', key: adminKey })
    await office.clear()
  }
})

it('B2: a task without a thread spends from no community, and a model also from its provider', async () => {
  const community = await make('community', 'general', 0)
  const provider = await make('provider', 'test', 1_000)
  await hub.call('/agents/scout/activate', { key: adminKey, body: { task: 'Look' } })
  const { activationId, admission, budgets } = await start(scout.id)
  expect(admission).toBe('granted')
  expect(budgets.map((each) => each.scope)).toEqual(['hub', 'provider'])
  await office.commit(scout.id, activationId, { usage: [{ ...usageOf(5, 1), model: 'test/big' }] })
  expect((await read(community.id)).spent_microusd).toBe(0)
  expect((await read(provider.id)).spent_microusd).toBe(5)
})

it('B2: a daily and a monthly budget of one agent both apply: the tighter one counts', async () => {
  await make('agent', 'scout', 60)
  await make('agent', 'scout', 1_000, { period: 'month' })
  await spend(scout, 50)
  await post(ada.key, '@scout')
  expect((await start(scout.id)).reservation.microusd).toBe(10)
  expect(await create({ scope: 'agent', name: 'scout', period: 'day' })).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT', hint: expect.stringContaining('Edit that budget (') },
  })
})

it('B2: a new budget counts from the beginning of its period', async () => {
  await spend(scout, 30)
  expect(await make('agent', 'scout', 50)).toMatchObject({ spent_microusd: 30, spent_tokens: 1 })
  hub.clock.advance(86_400_000)
  expect(await make('model', 'test/big', 50)).toMatchObject({ spent_microusd: 0 })
  await office.hubApi.sweep(hub.clock.now())
})

it('B2: each call is paid by the budgets of its own model', async () => {
  const big = await make('model', 'test/big', 1_000)
  const small = await make('model', 'test/small', 1_000)
  await post(ada.key, '@scout')
  const { activationId } = await start(scout.id)
  const usage = [
    { ...usageOf(30, 3, 1), model: 'test/big' },
    { ...usageOf(4, 1, 2), model: 'test/small' },
  ]
  await office.commit(scout.id, activationId, { usage })
  expect((await read(big.id)).spent_microusd).toBe(30)
  expect((await read(small.id)).spent_microusd).toBe(4)
})

it('B2: a model that changes during the run is checked before its call', async () => {
  await make('model', 'test/small', 25)
  await post(ada.key, '@scout')
  const { activationId } = await start(scout.id)
  const ask = (models: string[], spent: number) =>
    office.hubApi.renew({
      agentId: scout.id,
      activationId,
      now: hub.clock.now(),
      models,
      spent: { microusd: spent, tokens: 1 },
      want: { microusd: 100, tokens: 1 },
      floor: { microusd: 10, tokens: 1 },
    })
  expect(await ask(['test/big', 'test/small'], 5)).toMatchObject({
    kind: 'renewed',
    reservation: { microusd: 20 },
    budgets: [{ scope: 'hub' }, { scope: 'model', scopeId: 'test/small' }],
  })
  await post(ada.key, '@wren')
  expect(await office.load(wren.id)).toMatchObject({ kind: 'wait', reason: 'money_reserved' })
  expect(await ask(['test/big', 'test/small'], 16)).toMatchObject({
    kind: 'refused',
    reason: 'budget_exhausted',
    shortage: { scope: 'model', left: expect.any(Number), needs: 10 },
  })
  expect((await ask(['test/big'], 16)).kind).toBe('renewed')
})

it('B6: of several possible models the one with the most headroom is used', async () => {
  await setModels(scout.id, ['test/big', 'test/small', 'other/one'])
  const loadedModel = async () => {
    await post(ada.key, '@scout')
    const { activationId, model } = await start(scout.id)
    await office.commit(scout.id, activationId, { usage: [{ ...usageOf(40, 1), model }] })
    return model
  }
  expect(await loadedModel()).toBe('test/big')
  await make('provider', 'test', 200)
  expect(await loadedModel()).toBe('other/one')
  await make('model', 'other/one', 50)
  expect(await loadedModel()).toBe('test/big')
  await make('model', 'test/big', 81)
  expect(await loadedModel()).toBe('test/small')
})

it('B6: while one model has nothing left and another has, nothing is refused', async () => {
  await setModels(scout.id, ['test/big', 'other/one'])
  await make('model', 'test/big', 0)
  await make('model', 'other/one', 10)
  await setModels(wren.id, ['other/one'])
  await post(ada.key, '@wren @scout')
  await start(wren.id)
  expect(await office.load(scout.id)).toMatchObject({ kind: 'wait', reason: 'money_reserved' })
})

it('B3: the part beyond the critical share is reserved for critical tasks, if the budget allows them', async () => {
  const { id } = await make('agent', 'scout', 100, { critical_share: 0.9, throttle_share: 0.9 })
  await spend(scout, 85)
  const give = (priority?: string) =>
    hub.call('/agents/scout/activate', { key: adminKey, body: { task: 'Look', priority } })
  const admit = async (priority?: string) => {
    expect((await give(priority)).status).toBe(202)
    const { admission, reservation, activationId } = await start(scout.id)
    await office.commit(scout.id, activationId as ActivationId, { usage: [] })
    return [admission, reservation.microusd]
  }
  expect(await admit()).toEqual(['budget_exhausted', 0])
  expect(await admit('critical')).toEqual(['budget_exhausted', 0])
  await hub.call(`/budgets/${id}`, {
    method: 'PATCH',
    key: adminKey,
    body: { allows_critical: true },
  })
  expect(await admit('critical')).toEqual(['granted', 15])
  expect(await admit('normal')).toEqual(['budget_exhausted', 0])
  await office.run(`UPDATE agents SET priority = 'critical' WHERE account_id = ?`, scout.id)
  expect(await admit()).toEqual(['granted', 15])
  await office.run(`UPDATE agents SET priority = 'normal' WHERE account_id = ?`, scout.id)
  expect((await give('urgent')).status).toBe(400)
})

it('B4: a clock that goes back over midnight adds nothing from the previous day', async () => {
  const hourMs = 3_600_000
  hub.clock.advance(24 * hourMs - (hub.clock.now() % (24 * hourMs)) + hourMs)
  const { id } = await make('hub', undefined, 100)
  await spend(wren, 60)
  await post(ada.key, '@scout')
  const { activationId, reservation } = await start(scout.id)
  expect(reservation.microusd).toBe(40)
  hub.clock.advance(-2 * hourMs)
  expect(await office.renew(scout.id, activationId, { spent: 30 })).toMatchObject({
    reservation: { microusd: 10 },
  })
  await office.commit(scout.id, activationId, { usage: [usageOf(40, 1)] })
  hub.clock.advance(2 * hourMs)
  expect((await read(id)).spent_microusd).toBe(100)
  expect((await hub.call('/budgets/audit', { key: adminKey })).body.is_consistent).toBe(true)
})

it('B5: an activation that used all its tokens is refused one more call', async () => {
  await office.run('UPDATE agents SET activation_tokens_max = 20 WHERE account_id = ?', scout.id)
  await post(ada.key, '@scout')
  const { activationId } = await start(scout.id)
  expect((await office.renew(scout.id, activationId, { spent: 190 })).kind).toBe('renewed')
  expect(await office.renew(scout.id, activationId, { spent: 200 })).toEqual({
    kind: 'refused',
    reason: 'max_tokens',
  })
  await office.run('UPDATE agents SET activation_tokens_max = NULL WHERE account_id = ?', scout.id)
})

it.each([
  [{ scope: 'planet', period: 'day' }, 'body.scope'],
  [{ scope: 'agent', period: 'day' }, 'body.name'],
  [{ scope: 'hub', name: 'x', period: 'day' }, 'body.name'],
  [{ scope: 'model', name: 'big', period: 'day' }, 'body.name'],
  [{ scope: 'provider', name: 'a/b', period: 'day' }, 'body.name'],
  [{ scope: 'hub', period: 'year' }, 'body.period'],
  [{ scope: 'hub', period: 'week', reset_day: 8 }, 'body.reset_day'],
  [{ scope: 'hub', period: 'day', reset_day: 2 }, 'body.reset_day'],
  [{ scope: 'hub', period: 'day', timezone: 'Mars/Olympus' }, 'body.timezone'],
  [{ scope: 'hub', period: 'day', limit_microusd: -1 }, 'body.limit_microusd'],
  [{ scope: 'hub', period: 'day', warning_share: 1.1 }, 'body.warning_share'],
])('B2: POST %j answers 400 with the field', async (body, path) => {
  const answer = await create(body)
  expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION' } })
  expect(answer.body.details[0].path).toBe(path)
})

it('B2: unknown names are refused, thresholds must be in order, and only admins create budgets', async () => {
  const day = { period: 'day' }
  expect(await create({ scope: 'agent', name: 'ada', ...day })).toMatchObject({ status: 404 })
  expect(await create({ scope: 'community', name: 'no-such', ...day })).toMatchObject({
    status: 404,
  })
  expect(await create({ scope: 'hub', ...day }, ada.key)).toMatchObject({ status: 403 })
  const crossed = { warning_share: 0.95 }
  expect(await create({ scope: 'hub', ...day, ...crossed })).toMatchObject({
    status: 400,
    body: { hint: expect.stringContaining('throttle_share') },
  })
  const { id } = await make('hub', undefined, 5)
  const put = (body: object) => hub.call(`/budgets/${id}`, { method: 'PATCH', key: adminKey, body })
  expect(await put(crossed)).toMatchObject({ status: 400 })
  expect((await put({ warning_share: 0.5, critical_share: 0.95 })).body.budget).toMatchObject({
    warning_share: 0.5,
    throttle_share: 0.9,
    critical_share: 0.95,
    limit_microusd: 5,
  })
})

it('B2: a budget can be deleted, but not the last one of the hub', async () => {
  const { id } = await make('hub', undefined, 0)
  const remove = (what: string, key = adminKey) =>
    hub.call(`/budgets/${what}`, { method: 'DELETE', key })
  await post(ada.key, '@scout')
  expect((await office.load(scout.id)) as object).toMatchObject({ admission: 'budget_exhausted' })
  expect((await remove(id, ada.key)).status).toBe(403)
  expect((await remove(id)).body).toMatchObject({ deleted: id })
  expect((await remove(id)).status).toBe(404)
  expect(await remove('00000000-0000-7000-8000-000000000201')).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT' },
  })
  expect(await office.first('SELECT 1 FROM budget_windows WHERE budget_id = ?', id)).toBeNull()
})

it('B2: the budgets are read in one round trip, whatever their scopes', async () => {
  await make('community', 'm/general', 5)
  const { body, headers } = await hub.call('/budgets')
  expect(readCost(headers).roundTrips).toBe(1)
  expect(body.budgets[1]).toMatchObject({ scope: 'community', community: { name: 'general' } })
})

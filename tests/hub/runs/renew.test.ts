import { afterEach, beforeAll, expect, test } from 'vitest'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, createAgent, start, post, renew } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada
let wren: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  wren = await createAgent('wren')
  await office.hubApi.sweep(hub.clock.now())
})
afterEach(office.clear)

/** Both agents at work. */
const startBoth = async () => {
  await post(ada.key, '@scout @wren')
  return [await start(scout.id), await start(wren.id)] as const
}

test('L37: RENEW extends in one round trip and returns current policy, budgets and environment', async () => {
  const [{ activationId }] = await startBoth()
  await post(ada.key, '@scout more')
  let answer: unknown
  const trips = await office.countTrips(async () => {
    answer = await renew(scout.id, activationId, { spent: 40, want: 200 })
  })
  expect(trips).toBe(1)
  expect(answer).toMatchObject({
    kind: 'renewed',
    reservation: { microusd: 200, tokens: 20 },
    policy: { requested: ['hub:read'] },
    budgets: [{ scope: 'hub', reservedMicrousd: 340 }],
    environment: { inboxDepth: 1, runningActivations: 2 },
  })
  expect(await office.activation(activationId)).toMatchObject({
    reserved_microusd: 240,
    cost_microusd: 40,
  })
})

test('B4: a renewal gets what is free when that is less than wanted', async () => {
  const [{ activationId }] = await startBoth()
  await office.setHubLimit(250)
  expect(await renew(scout.id, activationId, { spent: 90, want: 500 })).toMatchObject({
    kind: 'renewed',
    reservation: { microusd: 60 },
  })
})

test('B4: money reserved by others: wait, and give back what is not spent', async () => {
  const [one, two] = await startBoth()
  await office.setHubLimit(200)
  const answer = await renew(scout.id, one.activationId, { spent: 95 })
  expect(answer).toEqual({
    kind: 'wait',
    reason: 'money_reserved',
    retryAt: hub.clock.now() + 2_000,
  })
  expect(await office.activation(one.activationId)).toMatchObject({ reserved_microusd: 95 })
  await office.commit(wren.id, two.activationId)
  expect(await renew(scout.id, one.activationId, { spent: 95 })).toMatchObject({
    kind: 'renewed',
    reservation: { microusd: 75 },
  })
})

test('B4: two that spent all there is do not wait for each other: the budget is used up', async () => {
  const [one, two] = await startBoth()
  await office.setHubLimit(200)
  await renew(scout.id, one.activationId, { spent: 100 })
  expect(await renew(wren.id, two.activationId, { spent: 95 })).toMatchObject({
    kind: 'refused',
    reason: 'budget_exhausted',
    shortage: { scope: 'hub', period: 'month', kind: 'microusd', left: 5, needs: 10 },
  })
  expect(await renew(scout.id, one.activationId, { spent: 100 })).toMatchObject({
    kind: 'refused',
    reason: 'budget_exhausted',
    shortage: { left: 5, needs: 10, resetsAt: expect.any(Number) },
  })
})

test('B4: the budget used up refuses, without a window too', async () => {
  const [{ activationId }] = await startBoth()
  await office.setSpent(20_000_000)
  const refused = { kind: 'refused', reason: 'budget_exhausted' }
  expect(await renew(scout.id, activationId)).toMatchObject({ ...refused, shortage: { left: 0 } })
  await office.setSpent(0)
  hub.clock.advance(400 * 86_400_000)
  expect(await renew(scout.id, activationId)).toMatchObject({
    ...refused,
    shortage: { left: 0, resetsAt: null },
  })
  await office.hubApi.sweep(hub.clock.now())
  expect(await renew(scout.id, activationId)).toMatchObject({ kind: 'renewed' })
})

test('L37: an activation that is over or unknown is lost', async () => {
  const [{ activationId }] = await startBoth()
  await office.commit(scout.id, activationId)
  const lost = { kind: 'refused', reason: 'lost' }
  expect(await renew(scout.id, activationId)).toEqual(lost)
  expect(await renew(scout.id, office.newId())).toEqual(lost)
  expect(await office.activation(activationId)).toMatchObject({ reserved_microusd: 0 })
  const row = await office.activation(activationId)
  expect(await renew(scout.id, activationId, { spent: 500 })).toEqual(lost)
  expect(await office.activation(activationId)).toEqual(row)
})

test.each([
  ['money', { microusd: 49, tokens: 5 }],
  ['tokens', { microusd: 50, tokens: 4 }],
])(
  'L37: a renewal that comes late, with less %s spent than is on record, changes nothing',
  async (_, spent) => {
    const [{ activationId }] = await startBoth()
    await renew(scout.id, activationId, { spent: 50 })
    const row = await office.activation(activationId)
    await office.hubApi.renew({
      agentId: scout.id,
      activationId,
      now: hub.clock.now() + 1,
      spent,
      want: { microusd: 900, tokens: 90 },
      floor: { microusd: 10, tokens: 1 },
    })
    expect(await office.activation(activationId)).toEqual(row)
  },
)

test('H21: a pause of the agent or the hub holds before the next model call', async () => {
  const [{ activationId }] = await startBoth()
  const paused = { kind: 'refused', reason: 'paused' }
  await office.run('UPDATE agents SET is_paused = 1 WHERE account_id = ?', scout.id)
  expect(await renew(scout.id, activationId)).toEqual(paused)
  await office.run('UPDATE agents SET is_paused = 0 WHERE account_id = ?', scout.id)
  await office.run(`INSERT INTO settings (key, value, updated_at) VALUES ('paused', 'true', 0)`)
  expect(await renew(scout.id, activationId)).toEqual(paused)
})

test('L36: a renewal of a run that was taken over comes late: it is lost and takes nothing away', async () => {
  const [{ activationId }] = await startBoth()
  await renew(scout.id, activationId, { spent: 50, want: 300 })
  expect(await renew(scout.id, activationId, { spent: 20, want: 100 })).toEqual({
    kind: 'refused',
    reason: 'lost',
  })
  await renew(scout.id, activationId, { spent: 50, want: 100 })
  expect(await office.activation(activationId)).toMatchObject({
    reserved_microusd: 350,
    cost_microusd: 50,
  })
})

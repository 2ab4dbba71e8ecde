import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { Usage } from '../../../src/hub/contract/hub'
import { createOffice, usageOf } from '../runs/create-office'
import { createParking } from '../runs/create-parking'

const office = createOffice()
const { hub } = office
const scopes = ['hub', 'agent', 'model', 'provider', 'task', 'community']
let scout: Awaited<ReturnType<typeof hub.join>>
let mira: Awaited<ReturnType<typeof hub.join>>

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  scout = await office.createAgent('scout')
})

beforeEach(async () => {
  await createParking(office, () => scout.id).clear()
  await office.run('DELETE FROM usage_events')
  await office.run('DELETE FROM usage_days')
})

const calls: Usage[] = [
  usageOf(30, 3, 1),
  { ...usageOf(20, 5, 2), cachedTokens: 2, outputTokens: 7, reasoningTokens: 4, isEstimated: true },
  { ...usageOf(0, 11, 3), model: 'other/free', isPriced: false },
]

/** The sums of each scope, by scope; equal to those of the usage events when each is counted once. */
const readSums = () =>
  office.all<Record<string, number | string>>(
    `SELECT scope, sum(calls) AS calls, sum(estimated_calls) AS estimated, sum(input_tokens) AS input,
       sum(cached_tokens) AS cached, sum(output_tokens) AS output, sum(reasoning_tokens) AS reasoning,
       sum(cost_microusd) AS cost, sum(unpriced_calls) AS unpricedCalls, sum(unpriced_tokens) AS unpricedTokens
     FROM usage_days GROUP BY scope ORDER BY scope`,
  )
const expected = {
  calls: 3,
  estimated: 1,
  input: 19,
  cached: 2,
  output: 7,
  reasoning: 4,
  cost: 50,
  unpricedCalls: 1,
  unpricedTokens: 11,
}
const allScopes = scopes.toSorted().map((scope) => ({ scope, ...expected }))

test('B8: each call of a commit is counted once in every scope, also when the commit is repeated', async () => {
  await office.post(mira.key, '@scout')
  const { activationId } = await office.start(scout.id)
  const commit = () => office.commit(scout.id, activationId, { usage: [...calls, ...calls] })
  await Promise.all([commit(), commit()])
  await commit()
  expect(await readSums()).toEqual(allScopes)
  expect(
    await office.all(`SELECT scope_id, calls, cost_microusd FROM usage_days
      WHERE scope IN ('model', 'provider') ORDER BY scope, scope_id`),
  ).toEqual([
    { scope_id: 'other/free', calls: 1, cost_microusd: 0 },
    { scope_id: 'test/model', calls: 2, cost_microusd: 50 },
    { scope_id: 'other', calls: 1, cost_microusd: 0 },
    { scope_id: 'test', calls: 2, cost_microusd: 50 },
  ])
})

test('B8: commits at different times of one day add to one row of each scope', async () => {
  for (const text of ['@scout first', '@scout second']) {
    hub.clock.advance(1_234)
    await office.post(mira.key, text)
    const { activationId } = await office.start(scout.id)
    await office.commit(scout.id, activationId, { usage: [usageOf(30, 3, 1)] })
  }
  expect(
    await office.all(`SELECT typeof(day) AS type, calls FROM usage_days WHERE scope = 'hub'`),
  ).toEqual([{ type: 'integer', calls: 2 }])
})

test('B8 L30: calls that were settled when the activation was parked are not counted again', async () => {
  const parking = createParking(office, () => scout.id)
  await office.post(mira.key, '@scout')
  const activationId = await parking.parkTask({ usage: calls.slice(0, 2) })
  await parking.park(activationId, { usage: calls.slice(0, 2) })
  await parking.decide(`${activationId}:call-1`)
  await parking.resume()
  await office.commit(scout.id, activationId, { usage: calls })
  await office.commit(scout.id, activationId, { usage: calls })
  expect(await readSums()).toEqual(allScopes)
})

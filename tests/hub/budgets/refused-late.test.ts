import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { sampleSize } from '../../support/sample'
import { adminKey } from '../create-test-hub'
import { CallRunner, outputTokensMax, prices, type ScriptedCall } from './call-runner'
import { createSpendingWorld, type SpendingWorld } from './spending-world'

let world: SpendingWorld
let refusals = 0
let answers = 0

beforeAll(async () => {
  world = await createSpendingWorld(64)
  const want = (48_000 * prices.input + outputTokensMax * prices.output) / 1_000_000
  const floor = (256 * prices.output) / 1_000_000
  await world.office.run(
    'UPDATE agents SET call_want_microusd = ?1, call_floor_microusd = ?2, call_want_tokens = 49000, call_floor_tokens = 256',
    want,
    floor,
  )
})

const call: fc.Arbitrary<ScriptedCall> = fc.record({
  chars: fc.integer({ min: 0, max: 40_000 }),
  countedShare: fc.double({ min: 0.7, max: 1.6, noNaN: true }),
  outputShare: fc.double({ min: 0, max: 1, noNaN: true }),
})
const planOf = (min: number, max: number) =>
  fc.record({
    runs: fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), {
      minLength: min,
      maxLength: max,
      size: 'max',
    }),
    limit: fc.integer({ min: 1_000, max: 300_000 }),
  })

const hubSpent = async () =>
  (
    await world.office.first<{ n: number }>(
      `SELECT total(w.spent_microusd) AS n FROM budget_windows w JOIN budgets b ON b.id = w.budget_id
       WHERE b.scope = 'hub' AND b.period = 'day'`,
    )
  )?.n ?? 0

async function play(runs: ScriptedCall[][], limit: number): Promise<void> {
  const { hub, hubApi, office, flock } = world
  await world.clear()
  hub.clock.advance(24 * 3_600_000)
  await world.setLimits([{ microusd: null, tokens: null }])
  await office.run(
    "UPDATE budgets SET limit_microusd = ? WHERE scope = 'hub' AND period = 'day'",
    limit,
  )
  await hubApi.sweep(hub.clock.now())
  await world.giveTasks(runs.length)
  const runners = runs.map((calls, index) => {
    const agent = flock[index]
    if (!agent) throw new Error('no such agent')
    return new CallRunner(world, agent, calls, {}, limit)
  })
  for (let round = 0; runners.some(({ isDone }) => !isDone); round++) {
    expect(round, 'all runs wait for each other').toBeLessThan(300)
    hub.clock.advance(1)
    await Promise.all(runners.filter(({ isDone }) => !isDone).map((each) => each.work()))
  }
  const charges = runners.flatMap(({ charges: each }) => each)
  const overrun = charges.reduce((all, { overrun: each }) => all + (each?.microusd ?? 0), 0)
  expect(await hubSpent()).toBe(charges.reduce((all, { microusd }) => all + microusd, 0))
  expect(await hubSpent(), 'spent beyond the limit and the recorded overruns').toBeLessThanOrEqual(
    limit + overrun,
  )
  for (const { unspentAtRefusal, floor } of runners) {
    expect(unspentAtRefusal, 'refused while the call fitted what was unspent').toBeLessThan(floor)
  }
  refusals += runners.filter(({ wasRefused }) => wasRefused).length
  answers += charges.length
}

test.each([
  [1, 4, 12],
  [8, 24, sampleSize(2, 5)],
  [64, 64, sampleSize(1, 2)],
] as const)(
  'T4: %i to %i runs at once with a provider that counts 0.7 to 1.6 times the estimate: nothing is overspent but by recorded overruns, and no call is refused that fits what is unspent',
  async (min, max, numRuns) => {
    await fc.assert(
      fc.asyncProperty(planOf(min, max), ({ runs, limit }) => play(runs, limit)),
      { numRuns, endOnFailure: true },
    )
  },
  180_000,
)

test('T4: the laws were put to the test', () => {
  expect(answers).toBeGreaterThan(20)
  expect(refusals).toBeGreaterThan(5)
})

test('T4: an overrun is charged, recorded, and raises the next reservation', async () => {
  await play([], 300_000)
  await world.giveTasks(1)
  const [agent] = world.flock
  if (!agent) throw new Error('no such agent')
  const dense = { chars: 8_000, countedShare: 3, outputShare: 0.1 }
  const runner = new CallRunner(world, agent, [dense, dense], {}, 300_000)
  await runner.work()
  const [first, second] = runner.charges
  expect(first).toMatchObject({ inputTokens: 6_012, isEstimated: false })
  expect(first?.overrun?.tokens).toBeGreaterThan(1_000)
  expect(second?.overrun).toBeUndefined()
})

test('T4: health, forecast and refusal agree, until the limit is raised', async () => {
  await play([], 20_000)
  await world.giveTasks(1)
  const [agent] = world.flock
  if (!agent) throw new Error('no such agent')
  const first = { chars: 24_000, countedShare: 1, outputShare: 0.1 }
  const runner = new CallRunner(world, agent, [first, { ...first, chars: 60_000 }], {}, 20_000)
  await runner.work()
  expect(runner).toMatchObject({ wasRefused: true, isDone: true })
  const readHub = async () => {
    const { body } = await world.hub.call('/budgets/health', { key: adminKey })
    return body.budgets.find(
      ({ scope, period }: { scope: string; period: string }) => scope === 'hub' && period === 'day',
    )
  }
  const refused = await readHub()
  expect(refused.share_used).toBeLessThan(0.5)
  expect(refused).toMatchObject({
    status: 'critical',
    needed_microusd: runner.floor,
    forecast: { state: 'exhausted' },
  })
  await world.office.run(
    "UPDATE budgets SET limit_microusd = 1000000 WHERE scope = 'hub' AND period = 'day'",
  )
  expect((await readHub()).status).toBe('healthy')
})

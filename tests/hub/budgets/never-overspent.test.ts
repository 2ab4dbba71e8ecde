import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sample, sampleSize } from '../../support/sample'
import { adminKey } from '../create-test-hub'
import { type Script, Spender, sumUp } from './spender'
import {
  createSpendingWorld,
  type Held,
  kinds,
  type Limits,
  pays,
  type SpendingWorld,
} from './spending-world'

const HOUR_MS = 3_600_000
const share = fc.constantFrom(0, 0.1, 0.4, 0.9, 1)
const script: fc.Arbitrary<Script> = fc.record({
  costs: fc.array(share, { minLength: 1, maxLength: 4 }),
  diesAfter: fc.option(fc.integer({ min: 1, max: 3 }), { freq: 2 }),
  switchesAt: fc.option(fc.integer({ min: 0, max: 3 }), { freq: 1 }),
  repeats: fc.boolean(),
})
/** A short script for many agents at once, so that the test ends soon. */
const short = script.map((each) => ({ ...each, costs: each.costs.slice(0, 1), repeats: false }))
/** Enough for no call, a few or many, in micro-dollars; a tenth as many tokens. */
const amount = fc.oneof(fc.integer({ min: 0, max: 600 }), fc.integer({ min: 600, max: 8_000 }))
const limit: fc.Arbitrary<Limits> = fc.record({
  microusd: fc.option(amount, { freq: 3 }),
  tokens: fc.option(
    amount.map((microusd) => Math.round(microusd / 10)),
    { freq: 2 },
  ),
})
/** An event between two rounds: the clock jumps, or the limits change. */
const event = fc.record({
  inRound: fc.integer({ min: 1, max: 4 }),
  jumpMs: fc.constantFrom(0, -5_000, -20 * HOUR_MS, 20 * HOUR_MS, 25 * HOUR_MS, 32 * 24 * HOUR_MS),
  limits: fc.option(fc.array(limit, { minLength: 3, maxLength: 7 })),
})
const planOf = (min: number, max: number) =>
  fc.record({
    scripts: fc.array(max > 100 ? short : script, { minLength: min, maxLength: max, size: 'max' }),
    limits: fc.array(limit, { minLength: 3, maxLength: 7 }),
    events: fc.array(event, { maxLength: 3 }),
  })
type Plan = typeof planOf extends (...args: never[]) => fc.Arbitrary<infer T> ? T : never

type Counted = Pick<Held, 'id' | 'scope' | 'scopeId'> & { microusd: number; tokens: number }
const noLimit = Number.MAX_SAFE_INTEGER

let world: SpendingWorld
let refusals = 0
let grants = 0

beforeAll(async () => {
  world = await createSpendingWorld(256)
})

/** Checks that no budget ever grows beyond the current limit. */
class Watch {
  before = new Map<string, number>()
  /** The highest limit so far, by budget and kind. */
  highest = new Map<string, number>()

  async look() {
    const now = await world.look(world.hub.clock.now())
    return kinds.flatMap((kind) => {
      const sums = sumUp(now, kind)
      return now.budgets.map((budget) => ({
        key: `${kind} ${budget.id}`,
        name: `${kind} of ${budget.scope} ${budget.scopeId}`,
        limit: budget[`limit_${kind}`] ?? noLimit,
        sum: sums.get(budget.id) ?? 0,
      }))
    })
  }

  async begin(): Promise<void> {
    const now = await this.look()
    this.before = new Map(now.map(({ key, sum }) => [key, sum]))
    for (const { key, limit } of now) {
      this.highest.set(key, Math.max(this.highest.get(key) ?? 0, limit))
    }
  }

  /** Spending and reservations grow only up to the limit, with any number of concurrent agents. */
  async check(): Promise<void> {
    for (const { key, name, limit, sum } of await this.look()) {
      const most = Math.max(limit, this.before.get(key) ?? 0)
      expect(sum, `spent and reserved ${name}`).toBeLessThanOrEqual(most)
    }
  }

  /** No window counts more than the highest limit of its budget. */
  async end(): Promise<void> {
    const windows = await world.office.all<{ id: string; microusd: number; tokens: number }>(
      'SELECT budget_id AS id, spent_microusd AS microusd, spent_tokens AS tokens FROM budget_windows',
    )
    for (const { id, ...spent } of windows) {
      for (const kind of kinds) {
        expect(spent[kind]).toBeLessThanOrEqual(this.highest.get(`${kind} ${id}`) ?? 0)
      }
    }
  }
}

async function play({ scripts, limits, events }: Plan): Promise<void> {
  const { hub, hubApi } = world
  await world.clear()
  hub.clock.advance(3 * 24 * HOUR_MS)
  await world.setLimits(limits)
  await hubApi.sweep(hub.clock.now())
  await world.giveTasks(scripts.length)
  const watch = new Watch()
  const spenders: Spender[] = scripts.map(
    (each, index) => new Spender(world, index, each, () => spenders),
  )
  for (let round = 0; spenders.some(({ isDone }) => !isDone); round++) {
    expect(round, 'all agents wait for each other').toBeLessThan(300)
    for (const { jumpMs, limits: others } of events.filter(({ inRound }) => inRound === round)) {
      hub.clock.advance(jumpMs)
      if (others) await world.setLimits(others)
      await hubApi.sweep(hub.clock.now())
    }
    await watch.begin()
    const atWork = spenders.filter(({ isDone }) => !isDone)
    const checks = Array.from({ length: 1 + atWork.length / 16 }, () => watch.check())
    await Promise.all([...atWork.map((each) => each.work()), ...checks])
    await watch.check()
  }
  await watch.end()
  await checkBooks(spenders)
}

/** Nothing stays reserved, the audit finds no difference, and all spending is counted. */
async function checkBooks(spenders: Spender[]): Promise<void> {
  const { office, hub } = world
  const left = `SELECT total(reserved_microusd + reserved_tokens) AS n FROM activations`
  expect((await office.first<{ n: number }>(left))?.n).toBe(0)
  const { body } = await hub.call('/budgets/audit', { key: adminKey })
  expect(body.differences).toEqual([])
  const counted = await office.all<Counted>(
    `SELECT b.id, b.scope, b.scope_id AS scopeId, total(w.spent_microusd) AS microusd, total(w.spent_tokens) AS tokens
     FROM budgets b LEFT JOIN budget_windows w ON w.budget_id = b.id GROUP BY b.id`,
  )
  const calls = spenders.flatMap(({ usage, agent: { id: agentId }, communityId }) =>
    usage.map(({ model, costMicrousd: microusd, inputTokens: tokens }) => ({
      agentId,
      communityId,
      models: [model],
      microusd,
      tokens,
    })),
  )
  for (const budget of counted) {
    const paid = calls.filter((call) => pays(budget, call))
    for (const kind of kinds) {
      const sum = paid.reduce((all, call) => all + call[kind], 0)
      expect(budget[kind], `${kind} counted for ${budget.scope} ${budget.scopeId}`).toBe(sum)
    }
  }
  grants += spenders.filter(({ usage }) => usage.length > 0).length
  refusals += spenders.filter(({ usage, script }) => usage.length < script.costs.length).length
}

const property =
  'over overlapping budgets, with crashes, new periods, changed limits and clock jumps: never overspent, never refused with money left, nothing stays reserved, and usage adds up'

it.each([
  [1, 10, sampleSize(8, 20)],
  [16, 48, sampleSize(2, 3)],
  // As many as below.
  ...sample([[256, 256, 1] as const], 0),
] as const)(
  `B2 B4 B11: %i to %i at once, ${property}`,
  async (min, max, numRuns) => {
    await fc.assert(fc.asyncProperty(planOf(min, max), play), { numRuns, endOnFailure: true })
  },
  180_000,
)

it('B4 B11: 256 at once that call twice, some repeating every request, over the end of a week: the same properties', async () => {
  const scripts = Array.from({ length: 256 }, (_, index) => ({
    costs: [1, 0.4],
    diesAfter: null,
    switchesAt: null,
    repeats: index % 16 === 0,
  }))
  const limits = [
    { microusd: 9_000, tokens: 800 },
    { microusd: 5_000, tokens: 600 },
  ]
  const [granted, refused] = [grants, refusals]
  await play({ scripts, limits, events: [{ inRound: 1, jumpMs: 8 * 24 * HOUR_MS, limits: null }] })
  const days = `SELECT DISTINCT w.starts_at FROM budget_windows w JOIN budgets b ON b.id = w.budget_id
    WHERE b.period = 'day' AND w.spent_tokens > 0`
  expect(await world.office.all(days), 'both weeks have spending').toHaveLength(2)
  expect(grants - granted, 'agents that called').toBeGreaterThan(32)
  expect(refusals - refused, 'refused agents').toBeGreaterThan(64)
})

it('B4: 256 reservations at once against money for 100 grant exactly 100', async () => {
  await world.clear()
  const { office, flock } = world
  await world.setLimits([{ microusd: null, tokens: null }])
  await office.setHubLimit(1_000)
  await office.run('UPDATE agents SET call_want_microusd = 10')
  await world.giveTasks(256)
  const answers = await Promise.all(flock.map(({ id }) => office.load(id, undefined, 1_000)))
  const granted = answers.filter(
    (answer) => answer.kind === 'loaded' && answer.admission === 'granted',
  )
  expect(granted).toHaveLength(100)
  expect(answers.filter(({ kind }) => kind === 'wait')).toHaveLength(156)
})

afterAll(() => {
  expect(grants, 'some agents spent').toBeGreaterThan(50)
  expect(refusals, 'some agents were refused').toBeGreaterThan(10)
})

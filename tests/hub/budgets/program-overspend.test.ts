import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampleSize } from '../../support/sample'
import { adminKey } from '../create-test-hub'
import { type Ending, ProgramSpender } from './program-spender'
import { sumUp } from './spender'
import { createSpendingWorld, kinds, type Limits, type SpendingWorld } from './spending-world'

const share = fc.constantFrom(0, 0.3, 0.9, 1)
const ending: fc.Arbitrary<Ending> = fc.record({
  input: share,
  written: share,
  output: share,
  how: fc.constantFrom('counted', 'counted', 'uncounted', 'unbilled', 'nonsense'),
})
type Deed = (run: ProgramSpender) => Promise<void>
const prompt = fc.integer({ min: 1, max: 400 })
const wanted = fc.option(fc.integer({ min: 1, max: 300 }))
const admit = fc.tuple(prompt, wanted, fc.nat({ max: 6 })).map(
  ([size, output, dies]): Deed =>
    (run) =>
      run.admit(size, output, dies === 0),
)
const settle = fc.tuple(fc.nat({ max: 20 }), ending).map(
  ([choice, how]): Deed =>
    (run) =>
      run.settle(choice, how),
)
const deed = fc.oneof(
  { weight: 10, arbitrary: admit },
  { weight: 5, arbitrary: settle },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 5 }).map(
      (choice): Deed =>
        (run) =>
          run.lose(choice),
    ),
  },
  { weight: 2, arbitrary: fc.constant<Deed>(async (run) => run.kill()) },
)
/** Enough for no request, for a few or for all. */
const amount = fc.oneof(
  fc.integer({ min: 500, max: 4_000 }),
  fc.integer({ min: 4_000, max: 60_000 }),
)
const limit: fc.Arbitrary<Limits> = fc.record({
  microusd: fc.option(amount, { freq: 4 }),
  tokens: fc.option(amount, { freq: 1 }),
})
const plans = fc.record({
  limits: fc.array(limit, { minLength: 3, maxLength: 7 }),
  /** What the runs do at the same time, round by round. */
  rounds: fc.array(fc.array(deed, { minLength: 1, maxLength: 4 }), {
    minLength: 6,
    maxLength: 12,
    size: 'max',
  }),
})

let world: SpendingWorld
const met = { admitted: 0, refused: 0, waited: 0, openMost: 0, usage: 0 }

beforeAll(async () => {
  world = await createSpendingWorld(4)
})

/** Nothing is spent or promised beyond what a budget has, nor beyond what the hub keeps for a run. */
async function check(runs: ProgramSpender[]): Promise<void> {
  const now = await world.look(world.hub.clock.now())
  for (const kind of kinds) {
    const sums = sumUp(now, kind)
    for (const budget of now.budgets) {
      const limit = budget[`limit_${kind}`] ?? Number.MAX_SAFE_INTEGER
      expect(sums.get(budget.id), `${kind} of ${budget.scope}`).toBeLessThanOrEqual(limit)
    }
    for (const run of runs.filter(({ isWorking }) => isWorking)) {
      const row = now.running.find(({ id }) => id === run.id)
      expect(run.bound[kind], `${kind} of a run`).toBeLessThanOrEqual(
        row?.[`reserved_${kind}`] ?? 0,
      )
    }
  }
}

/** The charges of the runs are what the budgets count, and nothing stays reserved. */
async function checkBooks(runs: ProgramSpender[]): Promise<void> {
  const left = 'SELECT total(reserved_microusd + reserved_tokens) AS n FROM activations'
  expect((await world.office.first<{ n: number }>(left))?.n).toBe(0)
  const { body } = await world.hub.call('/budgets/audit', { key: adminKey })
  expect(body.differences).toEqual([])
  const usage = runs.flatMap((run) => {
    const microusd = run.usage.reduce((sum, { costMicrousd }) => sum + costMicrousd, 0)
    expect(run.spent).toBe(microusd)
    return run.usage
  })
  const counted = await world.office.all<{ microusd: number; tokens: number }>(
    `SELECT total(w.spent_microusd) AS microusd, total(w.spent_tokens) AS tokens
     FROM budgets b LEFT JOIN budget_windows w ON w.budget_id = b.id WHERE b.scope = 'hub' GROUP BY b.id`,
  )
  expect(counted.length).toBeGreaterThan(0)
  for (const each of counted) {
    expect(each).toEqual({
      microusd: usage.reduce((sum, { costMicrousd }) => sum + costMicrousd, 0),
      tokens: usage.reduce((sum, each) => sum + each.inputTokens + each.outputTokens, 0),
    })
  }
  met.usage += usage.length
}

async function play({ limits, rounds }: { limits: Limits[]; rounds: Deed[][] }): Promise<void> {
  await world.clear()
  world.hub.clock.advance(3 * 24 * 3_600_000)
  await world.setLimits(limits)
  await world.hubApi.sweep(world.hub.clock.now())
  await world.giveTasks(4)
  // Agents 0 and 3 share every budget but that of the agent, and models are those of the first.
  const runs = [new ProgramSpender(world, 0), new ProgramSpender(world, 3)]
  for (const deeds of rounds) {
    for (const run of runs.filter(({ events }) => events.length === 0)) await run.load()
    const working = runs.filter(({ isWorking }) => isWorking)
    await Promise.all(
      deeds.flatMap((each, index) => {
        const run = working[index % Math.max(1, working.length)]
        return run ? [each(run)] : []
      }),
    )
    for (const { open } of runs) met.openMost = Math.max(met.openMost, open.length)
    await check(runs)
  }
  for (const run of runs.filter(({ isWorking }) => isWorking)) await run.finish()
  await checkBooks(runs.filter(({ events }) => events.length > 0))
  for (const answer of runs.flatMap(({ answers }) => answers)) {
    if (answer.ok) met.admitted++
    else if (answer.retryAt !== undefined) met.waited++
    else met.refused++
  }
}

test('X4 X9 B4: however requests of two runs are admitted, settled and lost, no budget is overspent and the books agree', async () => {
  await fc.assert(fc.asyncProperty(plans, play), { numRuns: sampleSize(8, 20), endOnFailure: true })
})

test('X4 X9: a request is refused when a budget has less than its prompt and one token of the answer', async () => {
  for (const kind of kinds) {
    // 300 tokens of a prompt cost 381 micro-dollars at the highest price, and one of an answer 4.93.
    const needed = kind === 'tokens' ? 301 : 386
    for (const has of [needed - 1, needed]) {
      await world.clear()
      await world.setLimits([{ microusd: null, tokens: null }])
      await world.giveTasks(1)
      const run = new ProgramSpender(world, 0)
      await run.load()
      await world.setLimits([{ microusd: null, tokens: null, [kind]: has }])
      await run.admit(300, 1)
      const [answer] = run.answers
      if (has < needed) expect(answer).toMatchObject({ ok: false, reason: 'budget_exhausted' })
      else expect(answer).toMatchObject({ ok: true, outputTokens: 1 })
      await run.finish()
    }
  }
})

afterAll(() => {
  expect(met.openMost, 'requests that were open together').toBeGreaterThan(1)
  expect(met.admitted).toBeGreaterThan(sampleSize(8, 25))
  expect(met.refused).toBeGreaterThan(sampleSize(1, 3))
  expect(met.waited).toBeGreaterThan(0)
  expect(met.usage).toBeGreaterThan(sampleSize(4, 15))
})

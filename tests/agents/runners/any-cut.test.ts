import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { FakeRunner } from './fake-runner'
import { RunnersWorld } from './runners-world'

const ids = ['a', 'b', 'c', 'd']

/** What happens, in any order. Numbers choose a runner or a run. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('start' as const), at: fc.nat(3) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('report' as const), at: fc.nat(7) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('end' as const), at: fc.nat(7) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('connect' as const), at: fc.nat(1) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('cut' as const, 'cutUnnoticed' as const, 'crash' as const),
      at: fc.nat(1),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('restart' as const, 'toggleAgents' as const, 'toggleDatabase' as const),
      at: fc.constant(0),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      at: fc.constantFrom(1, 5_000, 61_000, 130_000),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never

/** Does one step without waiting for what it causes, so that steps overlap. */
async function take(world: RunnersWorld, runners: FakeRunner[], { do: what, at }: Step) {
  const runner = runners[at % 2]
  const name = runner && [...runner.runs.keys()][at >> 1]
  if (what === 'start') {
    const id = ids[at] ?? 'a'
    if (!world.activations.has(id)) world.track(world.start(`${id}/1`).catch(() => undefined))
  } else if (what === 'report' && name) runner.report(name)
  else if (what === 'end' && name) runner.end(name)
  else if (what === 'connect' && runner && !runner.socket) await runner.openWithHello()
  else if (what === 'cut' || what === 'cutUnnoticed') await runner?.cut(what === 'cut')
  else if (what === 'crash') await runner?.crash()
  else if (what === 'restart') world.restart()
  else if (what === 'toggleAgents') world.areAgentsDown = !world.areAgentsDown
  else if (what === 'toggleDatabase') world.isDatabaseDown = !world.isDatabaseDown
  else if (what === 'pass') await world.pass(at)
}

/** Repairs everything, and lets each run come to its end. */
async function heal(world: RunnersWorld, runners: FakeRunner[]): Promise<void> {
  world.areAgentsDown = world.isDatabaseDown = false
  for (let round = 0; round < 12; round++) {
    for (const id of world.activations.keys()) {
      const { attempt = 1, isDone } = world.activations.get(id) ?? {}
      if (!isDone) await world.start(`${id}/${attempt}`)
    }
    for (const runner of runners) {
      if (!runner.socket) await runner.connect()
      for (const name of runner.runs.keys()) runner.end(name)
    }
    await world.settle()
    await world.pass(61_000)
  }
}

let objects = 0
test('X2: whatever is cut, and when, each report is stored once and in order, and each run ends once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) =>
      runInDurableObject(env.RUNNERS.getByName(`cut-${objects++}`), async (_object, state) => {
        const world = new RunnersWorld(state)
        world.beginsAgain = true
        const runners = [new FakeRunner(world, 'one', { slots: 2 }), new FakeRunner(world, 'two')]
        for (const each of steps) await take(world, runners, each)
        await world.settle()
        await heal(world, runners)
        const started = runners.flatMap((runner) => runner.started)
        expect(new Set(started).size, 'an attempt began twice').toBe(started.length)
        for (const [id, { isDone, stored }] of world.activations) {
          expect(isDone, `${id} did not end`).toBe(true)
          for (const attempt of stored.keys()) {
            const name = `${id}/${attempt}`
            const texts = world.stored(name)
            const all = texts.map((_text, index) => `${name} ${index + 1}`)
            if (texts.at(-1) === 'ended') all[all.length - 1] = 'ended'
            expect(texts).toEqual(all)
          }
        }
        const { runners: listed, waiting } = world.shell.list()
        expect([...waiting, ...listed.flatMap((runner) => runner.runs)]).toEqual([])
        expect(runners.map((runner) => runner.runs.size)).toEqual([0, 0])
      }),
    ),
    { numRuns: 60, endOnFailure: false },
  )
})

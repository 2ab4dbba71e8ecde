import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SocketCounts } from '../../../src/hub/live/live-publisher'
import { liveLimits } from '../../../src/shared/config'

const owner = { tag: 'account a1', max: 5 }
const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant('open' as const) },
  { weight: 2, arbitrary: fc.constant('close' as const) },
  { weight: 1, arbitrary: fc.constant('wait' as const) },
)

/** Objects that hold sockets; a socket can be open before its upgrade is answered, and die without a word. */
function createWorld(delays: number[]) {
  const counts = new SocketCounts(100)
  const world = { now: 0, open: 0, most: 0, asked: 0, answered: 0 }
  let turns = 0
  /** Lets as many other steps go first as the next delay says. */
  const delay = async () => {
    const ticks = delays[turns++ % Math.max(1, delays.length)] ?? 0
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
  }
  const count = async () => {
    world.asked++
    await delay()
    const { open } = world
    await delay()
    return open
  }
  const upgrade = async () => {
    await delay()
    world.open++
    world.most = Math.max(world.most, world.open)
    await delay()
    return 'socket' as const
  }
  return { world, open: () => counts.open(owner, world.now, count, upgrade) }
}

test('T7: an owner never has more sockets than its limit, whatever opens and dies at the same time', async () => {
  const delays = fc.array(fc.nat(6), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), delays, async (steps, waits) => {
      const { world, open } = createWorld(waits)
      const opening: Promise<unknown>[] = []
      for (const each of steps) {
        if (each === 'open') opening.push(open())
        if (each === 'close') world.open = Math.max(0, world.open - 1)
        if (each === 'wait') world.now += liveLimits.recountMs
        await Promise.resolve()
      }
      await Promise.all(opening)
      expect(world.most).toBeLessThanOrEqual(owner.max)
      // what has died makes room, at the latest after a recount
      world.now += liveLimits.recountMs
      const hasRoom = world.open < owner.max
      expect(await open()).toBe(hasRoom ? 'socket' : null)
    }),
  )
})

test('T7: below the limit nobody is asked, and at the limit once in a while', async () => {
  const { world, open } = createWorld([])
  for (let index = 0; index < owner.max; index++) await open()
  expect(world.asked).toBe(0)
  for (let index = 0; index < 50; index++) expect(await open()).toBeNull()
  expect(world.asked).toBe(1)
  world.now += liveLimits.recountMs
  await open()
  expect(world.asked).toBe(2)
})

test('T7: an upgrade that fails leaves no socket behind', async () => {
  const counts = new SocketCounts(100)
  const fail = () =>
    counts.open(
      owner,
      0,
      async () => 0,
      () => Promise.reject(new Error('gone')),
    )
  for (let index = 0; index < owner.max * 3; index++) await expect(fail()).rejects.toThrow('gone')
})

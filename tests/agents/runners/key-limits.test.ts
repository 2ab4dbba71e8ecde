import { expect, test } from 'vitest'
import { runnerLimits } from '../../../src/shared/config'
import { connect, inWorld } from './in-world'

test(
  'T14: one key has at most 100 connections, and other keys have theirs',
  inWorld(async (world) => {
    const { connectionsPerKeyMax } = runnerLimits
    for (let index = 0; index < connectionsPerKeyMax; index++) await connect(world, `r${index}`)
    expect(world.shell.isFull('key-1')).toBe(true)
    expect(world.shell.isFull('key-2')).toBe(false)
  }),
)

test(
  'T14: of the runners of a key that have left the last ones are remembered, and those with runs',
  inWorld(async (world) => {
    const busy = await connect(world, 'busy')
    await world.start('a/1')
    await busy.cut()
    for (let index = 0; index <= runnerLimits.leftRunnersPerKeyMax; index++) {
      await world.pass(1)
      await (await connect(world, `r${index}`)).cut()
    }
    await connect(world, 'last')
    const names = world.shell.list().runners.map(({ name }) => name)
    expect(names).toHaveLength(runnerLimits.leftRunnersPerKeyMax + 2)
    expect(names).toEqual(expect.arrayContaining(['busy', 'last', 'r1']))
    expect(names).not.toContain('r0')
  }),
)

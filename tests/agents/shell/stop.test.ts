import { describe, expect, test } from 'vitest'
import type { ActivationId } from '../../../src/shared/ids'
import { agentId } from './fake-hub'
import { approveAll, callOf, countResults, inObject, live, World } from './world'

/** Calls a tool that requires approval, then reports that it is done. */
const asking = () => {
  const world = new World((request) =>
    countResults(request) === 0 ? { calls: [callOf('a', 'act')] } : { text: 'Done.' },
  )
  world.hub.ask('@scout act')
  return world
}

/** Stops as the hub does: marks the row as cancelled, then cancels the agent. */
function stop({ hub }: World, shell: ReturnType<World['boot']>, id: ActivationId): boolean {
  const row = hub.rows.get(id)
  if (row) row.isCancelled = true
  return shell.cancel(id)
}

/** A barrier that a caller waits at until the test opens it. */
function createBarrier() {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const pass = () => {
    reached.resolve()
    return opened.promise
  }
  return { pass, reached: reached.promise, open: () => opened.resolve() }
}

const idOf = (shell: ReturnType<World['boot']>): ActivationId => {
  const { activationId } = shell.readState()
  if (!activationId) throw new Error('no activation is running')
  return activationId
}

function expectStopped({ hub, ran }: World, id: ActivationId): void {
  expect(hub.commits).toMatchObject([
    {
      activationId: id,
      outcome: 'cancelled',
      reply: { content: expect.stringContaining('asked to stop') },
    },
  ])
  expect(ran.size).toBe(0)
}

describe('a stop while the agent parks', () => {
  test.each(['before', 'after'] as const)(
    'L34: %s the hub has parked it, a repeated stop is accepted, and the run ends cancelled',
    (when) =>
      inObject(async (state) => {
        const world = asking()
        const { api } = world.hub
        const { park } = api
        const barrier = createBarrier()
        api.park = async (request) => {
          if (when === 'before') await barrier.pass()
          const answer = await park(request)
          if (when === 'after') await barrier.pass()
          return { ...answer, waiting: [] }
        }
        const shell = world.boot(state)
        shell.wake(agentId)
        await barrier.reached
        const id = idOf(shell)
        expect([stop(world, shell, id), stop(world, shell, id)]).toEqual([true, true])
        barrier.open()
        await shell.waitUntilIdle()
        expectStopped(world, id)
        expect(shell.cancel(id)).toBe(false)
      }),
  )

  test('L34: a stop during the backoff for an unreachable hub is accepted', () =>
    inObject(async (state) => {
      const world = asking()
      const { api } = world.hub
      const { park } = api
      const failed = createBarrier()
      failed.open()
      let isAway = true
      api.park = async (request) => {
        if (!isAway) return park(request)
        isAway = false
        await failed.pass()
        throw new Error('away')
      }
      const shell = world.boot(state)
      shell.wake(agentId)
      await failed.reached
      const id = idOf(shell)
      expect(stop(world, shell, id)).toBe(true)
      await shell.waitUntilIdle()
      expectStopped(world, id)
    }))
})

test.each([false, true])(
  'L34: a stop between the resume in the hub and in the agent is accepted (machine stops: %s)',
  (dies) =>
    inObject(async (state) => {
      const world = asking()
      const first = world.boot(state)
      first.wake(agentId)
      await first.waitUntilIdle()
      const id = idOf(first)
      approveAll(world)
      const { api } = world.hub
      const { load } = api
      const barrier = createBarrier()
      api.load = async (request) => {
        const answer = await load(request)
        if (answer.kind === 'resumed') await barrier.pass()
        return answer
      }
      const shell = world.boot(state)
      shell.wake(agentId)
      await barrier.reached
      expect([shell.cancel(id), shell.cancel(id)]).toEqual([true, true])
      barrier.open()
      if (dies) await live(world, state, () => {})
      else await shell.waitUntilIdle()
      expectStopped(world, id)
    }),
)

describe('a stop before the loop', () => {
  test.each([
    ['before the hub has claimed the task', 'before', false],
    ['after the hub has claimed it', 'after', false],
    ['after that, and the machine stops', 'after', true],
  ] as const)(
    'L34: %s, it ends cancelled without a model call, and the requester gets a reply',
    (_, when, dies) =>
      inObject(async (state) => {
        const world = asking()
        const { api } = world.hub
        const { load } = api
        const barrier = createBarrier()
        api.load = async (request) => {
          if (when === 'before') await barrier.pass()
          const answer = await load(request)
          if (when === 'after') await barrier.pass()
          return answer
        }
        const shell = world.boot(state)
        shell.wake(agentId)
        await barrier.reached
        const id = idOf(shell)
        expect([shell.cancel(id), shell.cancel(id)]).toEqual([true, true])
        barrier.open()
        if (dies) await live(world, state)
        else await shell.waitUntilIdle()
        expectStopped(world, id)
        expect(world.asked).toEqual([])
        expect(world.hub.commits[0]?.usage).toEqual([])
        expect(world.hub.commits[0]?.reply?.content).toMatch(/^@mira /)
        expect(world.hub.isIdle).toBe(true)
      }),
  )

  test('L34: when nothing was claimed there is nothing to end, and the next task is done', () =>
    inObject(async (state) => {
      const world = new World(() => ({ text: 'In March.' }))
      const { api } = world.hub
      const { load } = api
      const barrier = createBarrier()
      api.load = async (request) => {
        const answer = await load(request)
        await barrier.pass()
        return answer
      }
      const shell = world.boot(state)
      shell.wake(agentId)
      await barrier.reached
      expect(shell.cancel(idOf(shell))).toBe(true)
      barrier.open()
      await shell.waitUntilIdle()
      expect(world.hub.commits).toEqual([])
      world.hub.ask('@scout when?')
      shell.wake(agentId)
      await shell.waitUntilIdle()
      expect(world.hub.commits).toMatchObject([{ outcome: 'completed' }])
    }))
})

import { describe, expect, test } from 'vitest'
import type { ActivationId } from '../../../src/shared/ids'
import { agentId } from './fake-hub'
import { approveAll, callOf, countResults, inObject, live, type Script, World } from './world'

/** Calls `look`, then `act` beside another `look`, then answers with the result. */
const actor: Script = (request) => {
  const round = countResults(request)
  if (round === 0) return { text: 'Let me see.', calls: [callOf('a', 'look')] }
  if (round === 1) {
    return { calls: [callOf('b', 'look'), callOf('c', 'act', '{"title":"Herons"}')] }
  }
  const last = request.messages.findLast(({ role }) => role === 'tool')
  return { text: `It says: ${last?.role === 'tool' ? last.results[1]?.text : 'nothing'}` }
}

const asking = () => {
  const world = new World(actor)
  world.hub.ask('@scout post about herons')
  return world
}

const rowsOf = (state: DurableObjectState, table: string) =>
  state.storage.sql.exec(`SELECT * FROM ${table}`).toArray()

describe('parking', () => {
  test('L30: it parks with the exact call, then runs it as approved and continues', () =>
    inObject(async (state) => {
      const world = asking()
      await live(world, state)
      const [park] = world.hub.parks
      expect(park?.approvals).toEqual([
        {
          callId: 'c',
          tool: 'act',
          grant: 'hub:write',
          tier: 'write',
          arguments: '{"title":"Herons"}',
          argumentsHash: '{"title":"Herons"}',
        },
      ])
      expect(park?.usage).toHaveLength(2)
      expect(world.hub.commits).toHaveLength(1)
      expect(world.hub.commits[0]?.reply?.content).toContain('did {"title":"Herons"}')
      expect(world.hub.commits[0]?.activationId).toBe(park?.activationId)
      expect(world.called.map(({ callId }) => callId)).toEqual(['a', 'b', 'c', 'c'])
    }))

  test('L30: while it waits no effect, no timer and no row of the current journal is left', () =>
    inObject(async (state) => {
      const world = asking()
      const shell = world.boot(state)
      shell.wake(agentId)
      await shell.waitUntilIdle()
      expect(shell.readState()).toMatchObject({ state: 'asleep', doing: null })
      expect(rowsOf(state, 'parked').length).toBeGreaterThan(5)
      await state.storage.deleteAlarm()
      await shell.alarm()
      expect(await state.storage.getAlarm()).toBeNull()
      approveAll(world)
      shell.wake(agentId)
      await shell.waitUntilIdle()
      expect(rowsOf(state, 'parked')).toEqual([])
    }))

  test('L30: what is parked is in storage and not in memory, and its trace can still be read', () =>
    inObject(async (state) => {
      const world = asking()
      const parked = world.boot(state)
      parked.wake(agentId)
      await parked.waitUntilIdle()
      for (const shell of [parked, world.boot(state)]) {
        const { events, isCommitted: isOver } = shell.readActivation()
        expect([events.at(-1)?.type, isOver]).toEqual(['parked', false])
        // read again for every reader
        expect(shell.readActivation().events).not.toBe(events)
        expect(shell.readActivation().events).toEqual(events)
      }
      await live(world, state)
      expect(world.hub.commits).toMatchObject([{ outcome: 'completed' }])
    }))

  test('L30 L38: it takes other tasks meanwhile, and each gets one answer', () =>
    inObject(async (state) => {
      const world = asking()
      const shell = world.boot(state)
      shell.wake(agentId)
      await shell.waitUntilIdle()
      world.hub.ask('@scout and the weather?')
      shell.wake(agentId)
      await shell.waitUntilIdle()
      // the second task calls `act` too
      expect(world.hub.parks).toHaveLength(2)
      await live(world, state)
      expect(world.hub.commits.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
      expect(new Set(world.hub.commits.map(({ reply }) => reply?.id)).size).toBe(2)
    }))

  test('L30: a denied call has who denied it and why as its result, and the agent still answers', () =>
    inObject(async (state) => {
      const world = asking()
      await live(world, state, ({ hub }) => {
        for (const { activationId, callId } of hub.listOpen())
          hub.decide(activationId, callId, { decision: 'denied', note: 'Herons again?' })
      })
      expect(world.ran.size).toBe(2)
      expect(world.hub.commits[0]).toMatchObject({
        outcome: 'completed',
        reply: { content: expect.stringContaining('Error: denied by tomas: Herons again?') },
      })
    }))

  test('L34: cancelled while parked, it ends as cancelled and answers so', () =>
    inObject(async (state) => {
      const world = asking()
      await live(world, state, ({ hub }) => {
        for (const row of hub.rows.values()) row.isCancelled = true
      })
      expect(world.ran.size).toBe(2)
      expect(world.hub.commits[0]).toMatchObject({ outcome: 'cancelled' })
      expect(world.hub.commits[0]?.reply?.content).toContain('asked to stop')
    }))

  test('L30: a resumed activation without a record ends as failed', () =>
    inObject(async (state) => {
      const world = asking()
      const shell = world.boot(state)
      shell.wake(agentId)
      await shell.waitUntilIdle()
      state.storage.sql.exec('DELETE FROM parked')
      world.hub.ask('@scout something else')
      await live(world, state)
      expect(world.hub.commits.map(({ error }) => error?.code ?? null)).toEqual(['LOST', null])
    }))

  test('L30: it resumes with the definition it started with, whatever is current', () =>
    inObject(async (state) => {
      const world = asking()
      const shell = world.boot(state)
      shell.wake(agentId)
      await shell.waitUntilIdle()
      world.hub.etag = 'second'
      approveAll(world)
      const other = world.boot(state)
      const before = world.asked.length
      other.wake(agentId)
      await other.waitUntilIdle()
      expect(world.asked[before]?.messages[0]).toEqual({ role: 'system', text: 'soul first' })
      expect(world.asked[before]?.temperature).toBe(0.1)
      world.hub.ask('@scout again')
      other.wake(agentId)
      await other.waitUntilIdle()
      expect(world.asked.at(-1)?.temperature).toBe(0.2)
    }))
})

describe('crashes', () => {
  const check = (world: World, state: DurableObjectState) => {
    const { hub } = world
    expect(hub.commits).toHaveLength(1)
    expect(hub.commits[0]).toMatchObject({ outcome: 'completed', error: null })
    expect(hub.commits[0]?.reply?.content).toContain('did {"title":"Herons"}')
    expect([...world.ran.values()]).toEqual([
      'look saw it',
      'look saw it',
      'did {"title":"Herons"}',
    ])
    expect(hub.parks).toHaveLength(1)
    const numbers = hub.commits[0]?.usage.map(({ call }) => call) ?? []
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
    expect(rowsOf(state, 'parked')).toEqual([])
  }

  test.each([true, false])(
    'L36 L30: killed at any point around parking and resuming, the activation ends the same (LOAD repeats: %s)',
    async (repeats) => {
      const points = await inObject(async (state) => {
        const world = asking()
        await live(world, state)
        check(world, state)
        return world.points
      })
      expect(points).toContain('park.before')
      for (let killAt = 1; killAt <= points.length; killAt++) {
        await inObject(async (state) => {
          const world = asking()
          world.hub.repeatsResumed = repeats
          world.killAt = killAt
          await live(world, state)
          check(world, state)
        })
      }
    },
    30_000,
  )

  test('L36: a journaled answer is not charged twice', () =>
    inObject(async (state) => {
      const world = asking()
      world.killAt = 12
      await live(world, state)
      const paid = world.hub.commits[0]?.usage.filter(({ isEstimated }) => !isEstimated) ?? []
      expect(world.asked.length).toBeLessThanOrEqual(4)
      expect(paid.length).toBeLessThanOrEqual(3)
    }))
})

test('L30: parking twice, for two steps, settles the charges each time', () =>
  inObject(async (state) => {
    const world = new World((request) => {
      const round = countResults(request)
      return round < 2
        ? { calls: [callOf(`c${round}`, 'act', `{"n":${round}}`)] }
        : { text: 'Done.' }
    })
    world.hub.ask('@scout act twice')
    await live(world, state)
    const ids = world.hub.parks.map(({ activationId }) => activationId)
    expect(ids).toEqual([ids[0], ids[0]] as (ActivationId | undefined)[])
    expect(world.hub.parks.map(({ usage }) => usage.length)).toEqual([1, 2])
    expect(world.hub.commits[0]?.usage).toHaveLength(3)
  }))

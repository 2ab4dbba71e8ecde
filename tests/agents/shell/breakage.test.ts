import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { callOf, countResults, inObject, live, World } from './world'

/** What breaks in a way that nobody expected. */
beforeEach(() => {
  const wait = scheduler.wait.bind(scheduler)
  // pauses before retries are over at once
  vi.spyOn(scheduler, 'wait').mockImplementation((ms, options) =>
    wait(ms > 30_000 ? ms : 1, options),
  )
})

afterEach(() => {
  vi.restoreAllMocks()
})

test('L29: a call that breaks in the way to its tool has an error for a result, and the loop goes on', () =>
  inObject(async (state) => {
    const world = new World((request) => {
      if (countResults(request) === 0) return { calls: [callOf('a', 'break'), callOf('b', 'look')] }
      const last = request.messages.findLast(({ role }) => role === 'tool')
      return { text: last?.role === 'tool' ? last.results.map(({ text }) => text).join(' | ') : '' }
    })
    world.hub.ask('@scout break it')
    await live(world, state)
    expect(world.hub.commits).toHaveLength(1)
    expect(world.hub.commits[0]).toMatchObject({ outcome: 'completed', error: null })
    expect(world.hub.commits[0]?.reply?.content).toContain(
      'Error: Something inside the hub went wrong (TypeError). | look saw it',
    )
    expect(JSON.stringify(world.hub.commits)).not.toContain('in private')
  }))

test('L35 L24: a hub that cannot be asked for more is told as ours, and no call of a model is paid for it', () =>
  inObject(async (state) => {
    const world = new World(() => ({ calls: [callOf('a', 'look')] }))
    let renewals = 0
    world.hub.door.renew = async () => {
      renewals++
      throw new Error('in private')
    }
    world.hub.ask('@scout look')
    await live(world, state)
    expect(renewals).toBe(4)
    expect(world.asked).toHaveLength(1)
    expect(world.hub.commits[0]).toMatchObject({
      outcome: 'failed',
      error: { code: 'HUB_UNREACHABLE' },
    })
    expect(world.hub.commits[0]?.usage).toHaveLength(1)
    expect(JSON.stringify(world.hub.commits)).not.toContain('in private')
  }))

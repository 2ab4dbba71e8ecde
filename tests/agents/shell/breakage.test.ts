import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { agentId } from './fake-hub'
import { callOf, countResults, inObject, live, World } from './world'

/** Unexpected exceptions in dependencies. */
beforeEach(() => {
  const wait = scheduler.wait.bind(scheduler)
  // Waits before retries end at once.
  vi.spyOn(scheduler, 'wait').mockImplementation((ms, options) =>
    wait(ms > 30_000 ? ms : 1, options),
  )
})

afterEach(() => {
  vi.restoreAllMocks()
})

test('L29: a call that throws before its tool has an error as result, and the loop continues', () =>
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

test('L35 L24: an unreachable hub is reported as an internal error, and no model call is charged for it', () =>
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

const lacks = "The definition of scout lacks config.yaml. Push the agent's folder again."

// Soon too long for the window, so that the model is called for a summary.
const wordy = (turns: number) => (request: Parameters<typeof countResults>[0]) =>
  countResults(request) < turns
    ? { text: 'heron '.repeat(400), calls: [callOf(`c${countResults(request)}`, 'look')] }
    : { text: 'Nine.' }

test.each([
  ['a model call', 'model.after', 'soul'],
  ['a tool', 'tool.before', 'soul'],
  ['a summary', 'model.after', 'condense'],
] as const)(
  'L15 L36: a definition that is missing after a crash in %s ends the activation with a message that names its file',
  (_, point, asked) =>
    inObject(async (state) => {
      const script = wordy(8)
      const isFor = () => JSON.stringify(world.asked.at(-1)?.messages[0])?.includes(asked)
      const world: World = new World(script)
      world.model = { contextTokens: 3_000 }
      const { push } = world.points
      // The machine dies when it first gets there.
      world.points.push = (...points) => {
        const length = push.apply(world.points, points)
        if (world.killAt === null && points[0] === point && isFor()) world.killAt = length
        return length
      }
      world.hub.ask('@scout look')
      const first = world.boot(state)
      first.wake(agentId)
      expect(await world.rest(first)).toBe(true)
      world.undefinedBecause = lacks
      await live(world, state)
      const [commit] = world.hub.commits
      expect(commit).toMatchObject({
        outcome: 'failed',
        error: { code: 'INVALID_DEFINITION', message: lacks },
      })
      expect(commit?.reply?.content).toContain(lacks)
      expect(JSON.stringify(commit)).not.toContain('Something inside the hub')
    }),
)

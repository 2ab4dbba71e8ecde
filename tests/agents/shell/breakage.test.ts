import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { agentId } from './fake-hub'
import { callOf, countResults, inObject, live, World } from './world'

/** A tool that fails unexpectedly. */
beforeEach(() => {
  const wait = scheduler.wait.bind(scheduler)
  // waits before retries are skipped
  vi.spyOn(scheduler, 'wait').mockImplementation((ms, options) =>
    wait(ms > 30_000 ? ms : 1, options),
  )
})

afterEach(() => {
  vi.restoreAllMocks()
})

test('L29: a call that fails on the way to its tool has an error as its result, and the loop goes on', () =>
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
      'Error: An internal error of the hub occurred (TypeError). | look saw it',
    )
    expect(JSON.stringify(world.hub.commits)).not.toContain('in private')
  }))

test('L26 L36: of two calls with one id only the first runs, once, wherever the machine stops', async () => {
  const lookTwice = (killAt: number | null) =>
    inObject(async (state) => {
      const world = new World((request) => {
        if (countResults(request) === 0)
          return { calls: [callOf('a', 'look', '{"at":1}'), callOf('a', 'look', '{"at":2}')] }
        const last = request.messages.findLast(({ role }) => role === 'tool')
        const results = last?.role === 'tool' ? last.results : []
        return { text: results.map(({ isError }) => (isError ? 'error' : 'ok')).join(' ') }
      })
      world.killAt = killAt
      world.hub.ask('@scout look twice')
      await live(world, state)
      return world
    })
  const { points } = await lookTwice(null)
  for (let killAt = 0; killAt <= points.length; killAt++) {
    const { called, ran, hub } = await lookTwice(killAt)
    const sent = new Set(called.map((call) => call.arguments))
    expect({ killAt, sent: [...sent], ran: ran.size }).toEqual({
      killAt,
      sent: ['{"at":1}'],
      ran: 1,
    })
    expect(hub.commits[0]?.reply?.content).toBe('@mira ok error')
  }
})

test('L35 L24: a failed renewal is reported as an error of the hub, and no model call is charged for it', () =>
  inObject(async (state) => {
    const world = new World(() => ({ calls: [callOf('a', 'look')] }))
    let renewals = 0
    world.hub.api.renew = async () => {
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

// soon too long for the context window, so that the model is asked for a summary
const wordy = (rounds: number) => (request: Parameters<typeof countResults>[0]) =>
  countResults(request) < rounds
    ? { text: 'heron '.repeat(400), calls: [callOf(`c${countResults(request)}`, 'look')] }
    : { text: 'Nine.' }

test.each([
  ['a model call', 'model.after', 'soul'],
  ['a tool', 'tool.before', 'soul'],
  ['a summary', 'model.after', 'You summarize'],
] as const)(
  'L15 L36: a definition that is missing after a crash in %s ends the activation with a message that names its file',
  (_, point, asked) =>
    inObject(async (state) => {
      const script = wordy(8)
      const isFor = () => JSON.stringify(world.asked.at(-1)?.messages[0])?.includes(asked)
      const world: World = new World(script)
      world.model = { contextTokens: 3_000 }
      const { push } = world.points
      // the machine stops the first time it gets there
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
      expect(JSON.stringify(commit)).not.toContain('internal error of the hub')
    }),
)

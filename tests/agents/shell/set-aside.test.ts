import { expect, test } from 'vitest'
import { Journal } from '../../../src/agents/storage/journal'
import { agentId } from './fake-hub'
import { approveAll, callOf, countResults, inObject, live, type Script, World } from './world'

/** Words that no bare commit may hold. */
const secretWords = 'pelican quota'

const script: Script = (request) => {
  const round = countResults(request)
  if (round === 0) return { text: secretWords, calls: [callOf('a', 'look')] }
  if (round === 1) return { calls: [callOf('b', 'act')] }
  return { text: `Done: ${secretWords}.` }
}

/** Stops the machine at the nth visit of a point and at each visit after it, at most so many times. */
function stopAt(world: World, point: string, { first, times }: { first: number; times: number }) {
  const { push } = world.points
  let visits = 0
  let stops = 0
  world.points.push = (...points) => {
    const length = push.apply(world.points, points)
    if (points[0] === point && ++visits >= first && stops < times) {
      stops++
      world.killAt = length
    }
    return length
  }
  return () => stops
}

/** Points of the whole run, once without a crash. */
const findPoints = () =>
  inObject(async (state) => {
    const world = new World(script)
    world.hub.ask(`@scout ${secretWords}`)
    await live(world, state)
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed' }])
    // nothing is stored of a run that was not interrupted, but its journal
    expect(new Journal(state.storage.sql).readMark()).toBeNull()
    return [...world.points]
  })

test('L36: wherever a run takes the process down twice in a row, it ends with a notice and without its texts', async () => {
  const points = await findPoints()
  expect(new Set(points.map((point) => point.split('.')[0]))).toEqual(
    new Set(['load', 'model', 'tool', 'renew', 'park', 'commit']),
  )
  for (const [index, point] of points.entries()) {
    const first = points.slice(0, index + 1).filter((each) => each === point).length
    await inObject(async (state) => {
      const world = new World(script)
      const countStops = stopAt(world, point, { first, times: 2 })
      world.hub.ask(`@scout ${secretWords}`)
      await live(world, state)
      expect(countStops(), `${point} ${first}`).toBe(2)
      const last = world.hub.commits.at(-1)
      const isRepeated = point === 'commit.after'
      // the hub had committed the first one, which the bare one does not change
      const bare = isRepeated ? world.hub.commits.slice(0, 1) : world.hub.commits
      if (point === 'load.before' || point.startsWith('park') || isResumed(points, index)) {
        // nothing was claimed yet, or the hub holds it: it starts again
        expect(last?.outcome, `${point} ${first}`).toMatch(/completed|failed/)
        return
      }
      if (isRepeated) return expect(bare).toMatchObject([{ outcome: 'completed' }])
      expect(bare, `${point} ${first}`).toMatchObject([
        {
          outcome: 'failed',
          error: { code: 'INTERRUPTED' },
          reply: {
            content: expect.stringMatching(/^@mira I could not finish: The server stopped/),
          },
        },
      ])
      expect(JSON.stringify(bare)).not.toContain(secretWords)
    })
  }
})

/** The LOAD that resumes the parked run: what it has taken is not its own. */
const isResumed = (points: string[], index: number): boolean =>
  points[index]?.startsWith('load') === true && index > 2

test('L36: a run that makes progress between any two stops is not set aside, however often the process stops', async () => {
  await inObject(async (state) => {
    const world = new World(script)
    world.hub.ask('@scout go')
    // each effect stops the machine the first time, before anything of it is done
    const { push } = world.points
    const seen = new Set<string>()
    let stops = 0
    world.points.push = (...given) => {
      const length = push.apply(world.points, given)
      const { asked, called, hub } = world
      const key = [asked, called, hub.loads, hub.commits].map((each) => each.length).join()
      if (given[0]?.endsWith('.before') && !seen.has(key)) {
        seen.add(key)
        stops++
        world.killAt = length
      }
      return length
    }
    await live(world, state)
    expect(stops).toBeGreaterThan(6)
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed', error: null }])
  })
})

test('L36: a hang that also loses the row of the interruption is counted', () =>
  inObject(async (state) => {
    const world = new World(script)
    const countStops = stopAt(world, 'model.before', { first: 1, times: 2 })
    world.hub.ask(`@scout ${secretWords}`)
    let shell = world.boot(state)
    shell.wake(agentId)
    expect(await world.rest(shell)).toBe(true)
    shell = world.boot(state)
    void shell.alarm()
    expect(await world.rest(shell)).toBe(true)
    // the hang was in the same turn of the event loop as this row, so it never got to the disk
    const { sql } = state.storage
    const lost = sql.exec(
      "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal) AND event LIKE '%interrupted%'",
    )
    expect(lost.rowsWritten).toBe(1)
    await live(world, state)
    expect(countStops()).toBe(2)
    expect(world.hub.commits).toMatchObject([{ error: { code: 'INTERRUPTED' } }])
  }))

test('L36: a commit that takes the process down is tried without texts, then without the notice', () =>
  inObject(async (state) => {
    const world = new World(() => ({ text: secretWords }))
    const countStops = stopAt(world, 'commit.before', { first: 1, times: 4 })
    world.hub.ask('@scout go')
    await live(world, state, approveAll)
    expect(countStops()).toBe(4)
    expect(world.hub.commits).toMatchObject([
      { outcome: 'failed', error: { code: 'INTERRUPTED' }, reply: null },
    ])
    expect(JSON.stringify(world.hub.commits)).not.toContain(secretWords)
  }))

test('L36: an orderly stop in the turn of a run is not counted', () =>
  inObject(async (state) => {
    let isHanging = true
    const world = new World(() => (isHanging ? 'hang' : { text: 'Done.' }))
    world.hub.ask('@scout go')
    world.boot(state).wake(agentId)
    for (let stops = 0; stops < 3; stops++) {
      await expect.poll(() => world.asked.length).toBe(stops + 1)
      await world.lane.announceStop()
      isHanging = stops < 2
      void world.boot(state).alarm()
    }
    await world.shell?.waitUntilIdle()
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed' }])
  }))

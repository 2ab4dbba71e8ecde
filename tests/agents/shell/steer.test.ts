import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ModelRequest } from '../../../src/agents/models/model-port'
import { openTrace } from '../../support/run-log'
import { agentId } from './fake-hub'
import { callOf, countResults, inObject, live, type Script, World } from './world'

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

const textOf = ({ messages }: ModelRequest): string => JSON.stringify(messages)

/** The requester adds `lagoon` while the first call of the model runs, and `spring` while it writes its answer. */
function steered(hasHint = true): World {
  const said = new Set<string>()
  const say = (words: string) => {
    if (said.has(words)) return
    said.add(words)
    world.hub.say(words)
    if (hasHint) world.shell?.wake(agentId, { maySteer: true })
  }
  const script: Script = (request) => {
    if (!textOf(request).includes('pelicans')) return { text: `About ${[...said].at(-1)}.` }
    if (countResults(request) === 0 && !textOf(request).includes('lagoon')) {
      say('lagoon')
      return { calls: [callOf('a', 'look')] }
    }
    say('spring')
    return { text: textOf(request).includes('spring') ? 'In spring, 12.' : 'It was 12.' }
  }
  const world: World = new World(script)
  world.hub.ask('@scout how many pelicans?')
  return world
}

test('C2: what the requester writes meanwhile joins at the next steps, and one answer is for all of it', () =>
  inObject(async (state) => {
    const world = steered()
    await live(world, state)
    expect(world.hub.commits).toMatchObject([
      {
        outcome: 'completed',
        reply: { content: '@mira In spring, 12.' },
        joined: ['item-1', 'item-2'],
      },
    ])
    expect(
      world.asked.map((request) => [/lagoon/, /spring/].map((word) => word.test(textOf(request)))),
    ).toEqual([
      [false, false],
      [true, false],
      [true, true],
    ])
    const { notes, events } = openTrace(world.hub.commits[0]?.trace ?? '{}')
    expect(notes.map(({ text }) => text)).toEqual([
      'A comment by @mira joined the run: lagoon',
      'A comment by @mira joined the run: spring',
    ])
    expect(events.flatMap((each) => (each.type === 'steered' ? [each.text] : []))).toEqual([
      'lagoon',
      'spring',
    ])
  }))

test('C2: without steering a run sends what it sent before; a hint for nothing costs one request', () =>
  inObject(async (state) => {
    const plain = new World((request) =>
      countResults(request) === 0 ? { calls: [callOf('a', 'look')] } : { text: 'Done.' },
    )
    plain.hub.ask('@scout look')
    await live(plain, state)
    const requests = (world: World) =>
      world.points.filter((point) => /^(load|renew|steer|commit)\.before/.test(point))
    expect(requests(plain)).toEqual(['load.before', 'renew.before', 'commit.before'])
  }))

test('C2: a comment whose hint was lost joins at the next renewal, or is answered after the commit', () =>
  inObject(async (state) => {
    const world = steered(false)
    await live(world, state)
    expect(world.hub.commits.map(({ joined }) => joined)).toEqual([['item-1'], []])
    expect(world.hub.answered.map(({ id }) => id).sort()).toEqual(['item-0', 'item-1', 'item-2'])
  }))

test('C2 invariant 1: wherever the machine stops, each comment is answered once, by a run that has read it', async () => {
  const whole = await inObject(async (state) => {
    const world = steered()
    await live(world, state)
    return world.points
  })
  expect(whole).toContain('steer.after')
  for (let at = 1; at <= whole.length; at++) {
    await inObject(async (state) => {
      const world = steered()
      world.killAt = at
      await live(world, state)
      const where = `stopped at ${at}: ${whole[at - 1]}`
      const { answered, asked, commits } = world.hub
      expect(answered.map(({ id }) => id).sort(), where).toEqual(asked.map(({ id }) => id).sort())
      expect(new Set(commits.map(({ reply }) => reply?.id)).size, where).toBe(commits.length)
      for (const { id, by } of answered) {
        const words = asked.find((item) => item.id === id)?.words ?? ''
        const commit = commits.find(({ activationId }) => activationId === by)
        expect(commit?.outcome, where).toBe('completed')
        expect(commit?.trace, where).toContain(words)
      }
    })
  }
})

import type { LoopEvent } from '../../../src/agents/loop/event'
import { callOf, countResults, inObject, live, type Script, World } from '../shell/world'
import { activationId, start } from './events'
import type { RecordedRun } from './recording'

/** Two rounds of tools, one call of which requires approval. */
const actor: Script = (request) => {
  const round = countResults(request)
  if (round === 0) return { text: 'Let me see.', calls: [callOf('a', 'look')] }
  if (round === 1) return { calls: [callOf('b', 'look'), callOf('c', 'act', '{"title":"Herons"}')] }
  return { text: 'They came in March.' }
}

/** Plays a run in the test world of the shell; the machine stops at `killAt`, a point of the run. */
const play = (script: Script, killAt: number | null = null): Promise<RecordedRun> =>
  inObject(async (state) => {
    const world = new World(script)
    world.killAt = killAt
    world.hub.ask('@scout when did the herons come?')
    const { events, ending } = (await live(world, state)).readActivation()
    return normalize(events.slice(0, -1), ending)
  })

/**
 * Returns a run up to its commit, with the same ids and times whenever it is played, and without what
 * journals did not have when the goldens were made.
 */
function normalize(events: LoopEvent[], ending: RecordedRun['ending']): RecordedRun {
  const times = new Map([
    ['startedAt', -60],
    ['retryAt', 50],
  ])
  const fixed = events.map((event, index) => {
    const at = start + index * 100
    const text = JSON.stringify({ ...event, at }, (key, value) => {
      const offset = times.get(key)
      if (offset !== undefined) return at + offset
      if (key === 'request' || key === 'goal') return undefined
      return key === 'durationMs' ? 60 : value
    })
    return JSON.parse(text.replaceAll(findId(events), activationId)) as LoopEvent
  })
  for (const event of fixed) {
    if (event.type === 'woken') Object.assign(event, { replyId: 'reply', reportId: 'report' })
  }
  return { events: fixed, ending, finishedAt: start + events.length * 100 }
}

const findId = (events: LoopEvent[]): string =>
  events.find((event) => event.type === 'woken')?.activationId ?? '-'

export const worldRuns: Record<string, () => Promise<RecordedRun>> = {
  'world: parked and approved': () => play(actor),
  'world: stopped at load': () => play(actor, 2),
  'world: stopped at the first model call': () => play(actor, 4),
  'world: stopped at a tool': () => play(actor, 6),
  'world: the provider fails': () => play(() => ({ fails: 'No such model.' })),
  'world: a tool breaks': () =>
    play((request) =>
      countResults(request) === 0
        ? { calls: [callOf('x', 'break'), callOf('y', 'look')] }
        : { text: 'One of them failed.' },
    ),
}

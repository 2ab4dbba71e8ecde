import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { initialState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import { outcomes } from '../../../src/shared/errors'
import { drive } from '../loop/drive'
import type { RecordedRun } from './recording'
import { runs } from './runs'
import { worldRuns } from './world-runs'

const files = import.meta.glob<string>('./golden/*.jsonl', {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** Returns the run that a golden was made of; its other lines are what `folds.test.ts` compares. */
const readRun = (name: string): unknown => JSON.parse(files[pathOf(name)]?.split('\n')[0] ?? 'null')

const toJson = ({ events, ending, finishedAt }: RecordedRun): unknown =>
  JSON.parse(JSON.stringify({ events, ending, finishedAt }))

const pathOf = (name: string) => `./golden/${name.replaceAll(/[ ,:]+/g, '-')}.jsonl`

test.each(Object.entries(runs))('golden: %s', (name, play) => {
  expect(toJson(play())).toEqual(readRun(name))
})

test.each(Object.entries(worldRuns))('golden: %s', async (name, play) => {
  expect(toJson(await play())).toEqual(readRun(name))
})

const choices = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 60 })

/** Returns a run of the property tests with the ending that its state has had. */
function toRun(events: LoopEvent[]): RecordedRun {
  let state = initialState
  let ending: RecordedRun['ending'] = null
  for (const event of events) {
    state = step(state, event).state
    ending = state.ending ?? ending
  }
  return { events, ending, finishedAt: ending && (events.at(-1)?.at ?? 0) }
}

test.each([...Array(6).keys()])('golden: run %i of the property tests', (index) => {
  const [list = []] = fc.sample(choices, { seed: 40 + index, numRuns: 1 })
  const run = toRun(drive([...list, 1], true).events)
  expect(toJson(run)).toEqual(readRun(`property ${index}`))
})

test('the golden runs have every outcome', () => {
  const ends = Object.values(runs).map((play) => play().ending?.outcome)
  expect([...new Set(ends)].filter(Boolean).sort()).toEqual([...outcomes].sort())
})

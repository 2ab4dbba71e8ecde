import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { initialState } from '../../../src/agents/loop/state'
import { step } from '../../../src/agents/loop/step'
import { buildTrace } from '../../../src/agents/trace/build-trace'
import { toOtlp } from '../../../src/agents/trace/to-otlp'
import { outcomes } from '../../../src/shared/errors'
import { drive } from '../loop/drive'
import type { RecordedRun } from './recording'
import { runs } from './runs'
import { worldRuns } from './world-runs'

/** Returns what a run gives today, a line each: the run, its trace, live events and spans. */
function print({ events, ending, finishedAt }: RecordedRun): string {
  const trace = buildTrace(events, ending, finishedAt)
  const { events: live, ...rest } = trace
  const otlp = toOtlp(trace, { hub: 'Test', hasContent: true })
  return [{ events, ending, finishedAt }, rest, live, otlp]
    .map((each) => `${JSON.stringify(each)}\n`)
    .join('')
}

const pathOf = (name: string) => `./golden/${name.replaceAll(/[ ,:]+/g, '-')}.jsonl`

test.each(Object.entries(runs))('golden: %s', async (name, play) => {
  await expect(print(play())).toMatchFileSnapshot(pathOf(name))
})

test.each(Object.entries(worldRuns))('golden: %s', async (name, play) => {
  await expect(print(await play())).toMatchFileSnapshot(pathOf(name))
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

test.each([...Array(6).keys()])('golden: run %i of the property tests', async (index) => {
  const [list = []] = fc.sample(choices, { seed: 40 + index, numRuns: 1 })
  const run = toRun(drive([...list, 1], true).events)
  await expect(print(run)).toMatchFileSnapshot(pathOf(`property ${index}`))
})

test('the golden runs have every outcome', () => {
  const ends = Object.values(runs).map((play) => play().ending?.outcome)
  expect([...new Set(ends)].filter(Boolean).sort()).toEqual([...outcomes].sort())
})

import { expect, test } from 'vitest'
import type { Trace } from '../../../src/agents/contract/agents'
import type { LoopEvent } from '../../../src/agents/loop/event'
import {
  composeRecord,
  openRun,
  parseRecord,
  serializeRecord,
} from '../../../src/agents/run/record'
import { limits } from '../../../src/shared/config'
import { answered, loaded, returned, start, woken } from './events'

const bytesMax = 512 * 1024
const bytes = (text: string) => new TextEncoder().encode(text).length

/** As many steps as an activation may have, each with long words. */
function journal(steps: number, chars: number, letter = 'x'): LoopEvent[] {
  const events = [woken(start), loaded(start)]
  for (let step = 0; step < steps; step++) {
    const callIds = step < 100 ? [`call-${step}`] : []
    events.push(
      answered(start + step, callIds, {
        text: `${step}${letter.repeat(chars)}`,
        reasoning: letter.repeat(chars),
      }),
      ...callIds.map((id) => returned(id, start + step, { text: letter.repeat(chars) })),
    )
  }
  return events
}
const write = (events: LoopEvent[], max = bytesMax) =>
  serializeRecord(composeRecord(events, null, null), max)

const open = (json: string): Trace => openRun(json, 'all', false) as Trace

test('L43: a record is written whole as long as object storage takes it, far over a row of the database', () => {
  const events = journal(100, 12_000)
  const json = serializeRecord(composeRecord(events, null, null))
  expect(bytes(json)).toBeGreaterThan(limits.traceBytesMax * 4)
  expect(parseRecord(json)).toMatchObject({ ok: true, record: { events } })
  expect(json).not.toContain('isTruncated')
  expect(write(events)).toContain('"isTruncated":true')
})

test.each([
  ['letters', 'x'],
  ['letters of three bytes', '語'],
  ['characters that JSON escapes', '\u0001'],
])(
  'L43: a trace of 200 steps with long texts of %s is truncated evenly and stays below its limit',
  (_of, letter) => {
    const json = write(journal(200, 7_000, letter))
    expect(bytes(json)).toBeLessThanOrEqual(bytesMax)
    expect(bytes(json)).toBeGreaterThan(bytesMax * 0.6)
    const trace = open(json)
    expect(trace.steps).toHaveLength(200)
    const lengths = trace.steps.flatMap(({ text, reasoning, tools }) => [
      text.length,
      reasoning.length,
      ...tools.map(({ result }) => result.length),
    ])
    expect(Math.min(...lengths)).toBeGreaterThan(100)
    expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThan(20)
    expect(trace.steps.at(-1)).toMatchObject({ step: 200, costMicrousd: 700, inputTokens: 100 })
  },
)

test('L43: short texts stay whole when long ones are truncated', () => {
  const events = journal(30, 30_000)
  events.push(answered(start, [], { text: 'The short answer.' }))
  const trace = open(write(events, 100_000))
  expect(trace.steps.at(-1)?.text).toBe('The short answer.')
  expect(trace.steps[0]?.text).toMatch(/^0x+ \[\.\.\.\]$/)
})

test('L43: when even the numbers are too long, the middle steps are dropped with a note', () => {
  const json = write(journal(200, 500), 40_000)
  expect(bytes(json)).toBeLessThanOrEqual(40_000)
  const trace = open(json)
  expect(trace.steps[0]?.step).toBe(1)
  expect(trace.steps.at(-1)?.step).toBe(200)
  expect(trace.notes.at(-1)?.text).toMatch(/\d+ steps in the middle are not shown/)
})

test('a text is never truncated within a character', () => {
  const json = write(journal(60, 8_000, '😀'), 100_000)
  expect(open(json)).toSatisfy((trace: Trace) =>
    trace.steps.every(({ text }) => text.isWellFormed()),
  )
})

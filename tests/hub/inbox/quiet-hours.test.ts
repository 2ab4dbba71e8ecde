import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { findQuietEnd } from '../../../src/hub/inbox/push-actions'

const at = (text: string) => Date.parse(text)

test.each([
  ['2026-03-10T21:59:00Z', null],
  ['2026-03-10T22:00:00Z', '2026-03-11T07:00:00Z'],
  ['2026-03-11T03:00:00Z', '2026-03-11T07:00:00Z'],
  ['2026-03-11T07:00:00Z', null],
])('C4: quiet hours over midnight at %s', (now, end) => {
  const quiet = { quietFrom: 22 * 60, quietTo: 7 * 60, timezone: 'UTC' }
  expect(findQuietEnd(quiet, at(now))).toBe(end === null ? null : at(end))
})

test('C4: quiet hours follow the time zone', () => {
  const quiet = { quietFrom: 60, quietTo: 120, timezone: 'Asia/Tokyo' }
  expect(findQuietEnd(quiet, at('2026-03-10T16:30:00Z'))).toBe(at('2026-03-10T17:00:00Z'))
  expect(findQuietEnd(quiet, at('2026-03-10T01:30:00Z'))).toBeNull()
  expect(findQuietEnd({ ...quiet, quietFrom: null, quietTo: null }, 0)).toBeNull()
})

test('C4: a message waits less than a day and two hours, and never into the past', () => {
  const minute = fc.integer({ min: 0, max: 1439 })
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe')
  const time = fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2027-01-01T00:00:00Z') })
  const isAhead = fc.property(minute, minute, zone, time, (quietFrom, quietTo, timezone, now) => {
    const end = findQuietEnd({ quietFrom, quietTo, timezone }, now)
    if (end === null) return
    expect(end).toBeGreaterThan(now)
    expect(end - now).toBeLessThanOrEqual(26 * 3_600_000)
  })
  void fc.assert(isAhead, { seed: 4 })
})

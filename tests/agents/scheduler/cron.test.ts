import { expect, test } from 'vitest'
import { computeNextDue, findCronProblem } from '../../../src/agents/scheduler/cron'

const utc = (text: string) => Date.parse(`${text}:00Z`)

/** The next due times after `from`, as UTC minutes. */
function listDue(cron: string, timezone: string, from: string, count: number): string[] {
  const due: string[] = []
  let at = utc(from)
  for (let each = 0; each < count; each++) {
    at = computeNextDue(cron, timezone, at) ?? Number.NaN
    due.push(new Date(at).toISOString().slice(0, 16))
  }
  return due
}

test('S7: nine in the morning stays nine in the morning when clocks are set forward', () => {
  expect(listDue('0 9 * * *', 'Europe/Berlin', '2026-03-27T12:00', 4)).toEqual([
    '2026-03-28T08:00',
    '2026-03-29T07:00',
    '2026-03-30T07:00',
    '2026-03-31T07:00',
  ])
})

test('S7: and when they are set back', () => {
  expect(listDue('0 9 * * *', 'America/New_York', '2026-10-31T00:00', 3)).toEqual([
    '2026-10-31T13:00',
    '2026-11-01T14:00',
    '2026-11-02T14:00',
  ])
})

test('S7: a time that does not exist is due once that day, after the gap', () => {
  expect(listDue('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00', 2)).toEqual([
    '2026-03-29T01:30',
    '2026-03-30T00:30',
  ])
})

test('S7: a time that comes twice is due once that day', () => {
  const due = listDue('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00', 3)
  expect(due.map((at) => at.slice(0, 10))).toEqual(['2026-10-25', '2026-10-26', '2026-10-27'])
})

test('S7: weekdays, steps, lists and nicknames', () => {
  expect(listDue('*/20 8,17 * * 1-5', 'UTC', '2026-11-20T17:10', 4)).toEqual([
    '2026-11-20T17:20',
    '2026-11-20T17:40',
    '2026-11-23T08:00',
    '2026-11-23T08:20',
  ])
  expect(listDue('@daily', 'Asia/Tokyo', '2026-11-20T17:10', 1)).toEqual(['2026-11-21T15:00'])
  expect(listDue('0 0 29 2 *', 'UTC', '2026-11-20T17:10', 1)).toEqual(['2028-02-29T00:00'])
})

test('D3: what is wrong with a schedule is said by field', () => {
  expect(findCronProblem('0 9 * * *', 'Europe/Berlin')).toBeNull()
  expect(findCronProblem('@hourly', 'UTC')).toBeNull()
  expect(findCronProblem('0 9 * * *', 'Europe/Atlantis')).toMatchObject({ field: 'timezone' })
  for (const cron of ['every morning', '0 9 * *', '0 0 9 * * *', '61 9 * * *', '0 25 * * *', '']) {
    expect(findCronProblem(cron, 'UTC'), cron).toMatchObject({ field: 'cron' })
  }
  expect(findCronProblem('0 0 30 2 *', 'UTC')).toMatchObject({ message: 'never due' })
})

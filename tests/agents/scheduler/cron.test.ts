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

test.each([
  ['Europe/Berlin', '2026-03-28', ['08:00', '07:00', '07:00']],
  ['Europe/Berlin', '2026-10-24', ['07:00', '08:00', '08:00']],
  ['America/New_York', '2026-03-07', ['14:00', '13:00', '13:00']],
  ['America/New_York', '2026-10-31', ['13:00', '14:00', '14:00']],
])('S7: nine in the morning in %s stays nine in the morning from %s on', (timezone, day, times) => {
  const due = listDue('0 9 * * *', timezone, `${day}T00:00`, 3)
  expect(due.map((at) => at.slice(11))).toEqual(times)
})

test.each([
  ['Europe/Berlin', '2026-03-28T12:00', ['2026-03-29T01:30', '2026-03-30T00:30']],
  ['America/New_York', '2026-03-07T12:00', ['2026-03-08T07:30', '2026-03-09T06:30']],
])(
  'S7: half past two does not exist in %s when clocks go forward: it is due once, after the gap',
  (timezone, from, due) => {
    expect(listDue('30 2 * * *', timezone, from, 2)).toEqual(due)
  },
)

test.each([
  ['Europe/Berlin', '30 2 * * *', '2026-10-24T12:00', '2026-10-25', '2026-10-26T01:30'],
  ['America/New_York', '30 1 * * *', '2026-10-31T12:00', '2026-11-01', '2026-11-02T06:30'],
])(
  'S7: in %s a time that comes twice when clocks go back is due once',
  (timezone, cron, from, day, next) => {
    const due = listDue(cron, timezone, from, 2)
    expect(due[0]?.slice(0, 10)).toBe(day)
    expect(due[1]).toBe(next)
  },
)

test('S7: what is due every hour is due in each hour that there is', () => {
  const back = listDue('0 * * * *', 'Europe/Berlin', '2026-10-24T22:30', 4)
  expect(back).toEqual(
    ['23', '00', '01', '02'].map((hour, at) => `2026-10-2${at === 0 ? 4 : 5}T${hour}:00`),
  )
  const forward = listDue('0 * * * *', 'America/New_York', '2026-03-08T05:30', 3)
  expect(forward).toEqual(['06', '07', '08'].map((hour) => `2026-03-08T${hour}:00`))
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

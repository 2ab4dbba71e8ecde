import { expect, test } from 'vitest'
import { computeNextDue, findCronProblem } from '../../../src/agents/scheduler/cron'

const utc = (text: string) => Date.parse(`${text}:00Z`)

const minute = 60_000
const hour = 60 * minute

/** Returns the next due times after `from`, as UTC minutes. */
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
  ['Europe/Berlin', '2026-03-28T12:00', ['2026-03-29T01:00', '2026-03-30T00:30']],
  ['America/New_York', '2026-03-07T12:00', ['2026-03-08T07:00', '2026-03-09T06:30']],
])(
  'S7: half past two does not exist in %s when clocks go forward: it is due once, at the end of the gap',
  (timezone, from, due) => {
    expect(listDue('30 2 * * *', timezone, from, 2)).toEqual(due)
  },
)

test.each([
  ['Europe/Berlin', '30 2 * * *', '2026-10-24T12:00', '2026-10-25', '2026-10-26T01:30'],
  ['America/New_York', '30 1 * * *', '2026-10-31T12:00', '2026-11-01', '2026-11-02T06:30'],
])(
  'S7: in %s a time that is repeated when clocks go back is due once',
  (timezone, cron, from, day, next) => {
    const due = listDue(cron, timezone, from, 2)
    expect(due[0]?.slice(0, 10)).toBe(day)
    expect(due[1]).toBe(next)
  },
)

test('S7: an hourly schedule is due in every hour, also in repeated ones', () => {
  const back = listDue('0 * * * *', 'Europe/Berlin', '2026-10-24T22:30', 4)
  expect(back).toEqual(
    ['23', '00', '01', '02'].map((hour, at) => `2026-10-2${at === 0 ? 4 : 5}T${hour}:00`),
  )
  const forward = listDue('0 * * * *', 'America/New_York', '2026-03-08T05:30', 3)
  expect(forward).toEqual(['06', '07', '08'].map((hour) => `2026-03-08T${hour}:00`))
})

/** Returns the local times of the minutes from `from` until `until`, by Intl alone: `02:30`. */
function readClock(timezone: string, from: number, until: number): Map<number, string> {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, timeStyle: 'short' })
  const names = new Map<number, string>()
  for (let at = from; at < until; at += minute) names.set(at, format.format(at))
  return names
}

/** Counts due times minute by minute: a daily schedule once, an hourly one in each hour. */
function countDue(names: Map<number, string>, isDue: (name: string) => boolean, isHourly: boolean) {
  const due: number[] = []
  const shownAt = new Map<string, number>()
  for (const [at, name] of names) {
    const before = names.get(at - minute) ?? name
    const skipped = isHourly ? [] : listBetween(before, name)
    const isNew = isHourly || at - (shownAt.get(name) ?? 0) > 12 * hour
    if ((isNew && isDue(name)) || skipped.some(isDue)) due.push(at)
    shownAt.set(name, at)
  }
  return due
}

/** Returns the local times that are skipped between two consecutive minutes. */
function listBetween(before: string, name: string): string[] {
  const read = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
  const pad = (value: number) => String(value).padStart(2, '0')
  const left = (read(name) - read(before) + 1440) % 1440
  if (left > 120) return []
  return Array.from({ length: Math.max(0, left - 1) }, (_, each) => {
    const time = (read(before) + 1 + each) % 1440
    return `${pad(Math.floor(time / 60))}:${pad(time % 60)}`
  })
}

test.each([
  ['Europe/Berlin', '2026-03-29T01:00', '2026-10-25T01:00'],
  ['America/New_York', '2026-03-08T07:00', '2026-11-01T06:00'],
  ['Atlantic/Azores', '2026-03-29T01:00', '2026-10-25T01:00'],
  // A change by half an hour.
  ['Australia/Lord_Howe', '2026-10-03T15:30', '2026-04-04T15:00'],
])(
  'S7: around both clock changes in %s the next due time is in the future and exact',
  (timezone, ...changes) => {
    const crons: [cron: string, isDue: RegExp, isHourly: boolean][] = [
      ['* * * * *', /:/, true],
      ['0 * * * *', /:00/, true],
      ['*/20 */1 * * *', /:[024]0/, true],
      ['*/30 0-23 * * *', /:[03]0/, true],
      ['0,30 1-3 * * *', /0[123]:[03]0/, false],
      ['30 2 * * *', /02:30/, false],
      ['15 1 * * *', /01:15/, false],
    ]
    for (const change of changes.map(utc)) {
      const names = readClock(timezone, change - 4 * hour, change + 32 * hour)
      for (const [cron, isDue, isHourly] of crons) {
        const due = countDue(names, (name) => isDue.test(name), isHourly)
        const wrong = [...names.keys()].slice(170, 310).filter((after) => {
          return computeNextDue(cron, timezone, after) !== due.find((at) => at > after)
        })
        expect(
          wrong.map((after) => new Date(after).toISOString()),
          cron,
        ).toEqual([])
      }
    }
  },
)

test('S7: the hours of one day of the year are found from months before, including the repeated one', () => {
  expect(listDue('0 1-23 25 10 *', 'Europe/Berlin', '2025-11-01T00:00', 3)).toEqual([
    '2026-10-24T23:00',
    '2026-10-25T00:00',
    '2026-10-25T02:00',
  ])
  expect(listDue('0 * 25 10 *', 'Europe/Berlin', '2025-11-01T00:00', 5)).toEqual([
    '2026-10-24T22:00',
    '2026-10-24T23:00',
    '2026-10-25T00:00',
    '2026-10-25T01:00',
    '2026-10-25T02:00',
  ])
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

test('D3: a problem of a schedule is reported by field', () => {
  expect(findCronProblem('0 9 * * *', 'Europe/Berlin')).toBeNull()
  expect(findCronProblem('@hourly', 'UTC')).toBeNull()
  expect(findCronProblem('0 9 * * *', 'Europe/Atlantis')).toMatchObject({ field: 'timezone' })
  for (const cron of ['every morning', '0 9 * *', '0 0 9 * * *', '61 9 * * *', '0 25 * * *', '']) {
    const problem = findCronProblem(cron, 'UTC')
    expect(problem, cron).toMatchObject({ field: 'cron' })
    // An error detail has no final period, and never names more parts than the five that count here.
    expect(problem?.message, cron).not.toMatch(/\.$|seven/)
  }
  expect(findCronProblem('0 0 30 2 *', 'UTC')).toMatchObject({ field: 'cron' })
})

test.each([
  ['Berlin', 'Europe/Berlin'],
  ['europe/berlim', 'Europe/Berlin'],
  ['New York', 'America/New_York'],
  ['tokyo ', 'Asia/Tokyo'],
])('D3: the unknown time zone %j is answered with the nearest one', (typed, zone) => {
  expect(findCronProblem('0 9 * * *', typed)).toEqual({
    field: 'timezone',
    message: `Unknown time zone ${typed}. Did you mean ${zone}?`,
  })
})

/** November 2026: the 1st is a Sunday. Days of the month on which a schedule is due. */
const days: [cron: string, days: number[]][] = [
  ['0 9 * * *', Array.from({ length: 30 }, (_, at) => at + 1)],
  ['0 9 ? * ?', Array.from({ length: 30 }, (_, at) => at + 1)],
  ['0 9 ? * *', Array.from({ length: 30 }, (_, at) => at + 1)],
  // As Quartz writes them.
  ['0 9 ? * MON', [2, 9, 16, 23, 30]],
  [
    '0 9 ? * MON-FRI',
    [2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 16, 17, 18, 19, 20, 23, 24, 25, 26, 27, 30],
  ],
  ['0 9 ? 11 2,4', [3, 5, 10, 12, 17, 19, 24, 26]],
  ['0 9 15 * ?', [15]],
  ['0 9 1,20 * ?', [1, 20]],
  ['0 9 L * ?', [30]],
  ['0 9 ? * FRI#2', [13]],
  // Either field restricts days: one of them is enough (cron(5)).
  ['0 9 1,15 * 5', [1, 6, 13, 15, 20, 27]],
  ['0 9 13 * FRI', [6, 13, 20, 27]],
  ['0 9 1-7 * MON', [1, 2, 3, 4, 5, 6, 7, 9, 16, 23, 30]],
  ['0 9 2-30/7 * 0', [1, 2, 8, 9, 15, 16, 22, 23, 29, 30]],
  // One begins with a star: both have to fit.
  ['0 9 */2 * 1', [9, 23]],
  ['0 9 */2 * ?', [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29]],
  ['0 9 */10 * 0-6', [1, 11, 21]],
  ['0 9 1-7 * */7', [1]],
  ['0 9 8-14 * */3', [8, 11, 14]],
  ['0 9 */1 * SUN', [1, 8, 15, 22, 29]],
  ['0 9 * * 7', [1, 8, 15, 22, 29]],
  ['0   9  ?  *  SAT', [7, 14, 21, 28]],
  ['\t0 9 ?\t* 6 ', [7, 14, 21, 28]],
]

test.each(days)('S7: %s is due on these days of a month', (cron, expected) => {
  const due = listDue(cron, 'Europe/Berlin', '2026-10-31T12:00', 32)
  const inMonth = due.filter((at) => at.startsWith('2026-11'))
  expect(inMonth.map((at) => Number(at.slice(8, 10)))).toEqual(expected)
  expect(inMonth.every((at) => at.endsWith('T08:00'))).toBe(true)
  expect(findCronProblem(cron, 'Europe/Berlin')).toBeNull()
})

test('S7: days of both fields, by the rule of cron(5) alone', () => {
  const fields: [text: string, isOn: (day: number) => boolean][] = [
    ['*', () => true],
    ['?', () => true],
    ['*/2', (day) => day % 2 === 1],
    ['*/5', (day) => day % 5 === 1],
    ['5', (day) => day === 5],
    ['1-10', (day) => day <= 10],
    ['3,17', (day) => day === 3 || day === 17],
    ['10-20/4', (day) => day === 10 || day === 14 || day === 18],
  ]
  const weekdays: [text: string, isOn: (weekday: number) => boolean][] = [
    ['*', () => true],
    ['?', () => true],
    ['*/2', (weekday) => weekday % 2 === 0],
    ['*/3', (weekday) => weekday % 3 === 0],
    ['1', (weekday) => weekday === 1],
    ['MON-FRI', (weekday) => weekday >= 1 && weekday <= 5],
    ['0,3', (weekday) => weekday === 0 || weekday === 3],
    ['7', (weekday) => weekday === 0],
  ]
  for (const [day, isDay] of fields) {
    for (const [weekday, isWeekday] of weekdays) {
      const isEither = !/^[*?]/.test(day) && !/^[*?]/.test(weekday)
      const expected = Array.from(
        { length: 61 },
        (_, at) => new Date(utc('2026-11-01T06:30') + at * 24 * hour),
      )
        .filter((at) => {
          const [onDay, onWeekday] = [isDay(at.getUTCDate()), isWeekday(at.getUTCDay())]
          return isEither ? onDay || onWeekday : onDay && onWeekday
        })
        .map((at) => at.toISOString().slice(0, 16))
      const cron = `30 6 ${day} * ${weekday}`
      const due = listDue(cron, 'UTC', '2026-10-31T12:00', expected.length)
      expect(due, cron).toEqual(expected)
    }
  }
})

test('D3: ? stands for days only', () => {
  for (const cron of [
    '? 9 * * *',
    '0 ? * * *',
    '0 9 * ? *',
    '0 9 ?/2 * *',
    '0 9 1? * *',
    '0 9 * * ?,1',
  ]) {
    expect(findCronProblem(cron, 'UTC'), cron).toMatchObject({ field: 'cron' })
  }
})

import { expect, test } from 'vitest'
import {
  formatIsoDay,
  formatUsageQuery,
  listBuckets,
  parseUsageView,
  startOfBucket,
  type UsageView,
} from '../../../src/hub/budgets/usage-view'
import { formatAxisValue, listTicks } from '../../../src/web/budgets/spend-chart'

const now = Date.parse('2026-11-21T18:00:00Z')
const read = (query = '') => {
  const params = new URLSearchParams(query)
  return parseUsageView((name) => params.get(name) ?? undefined, now)
}
const days = (view: UsageView) => [formatIsoDay(view.fromDay), formatIsoDay(view.toDay - 1)]

test('B10: an axis has few round ticks and includes all values', () => {
  expect(listTicks(0)).toEqual([0, 1])
  for (const max of [1, 3, 7, 19, 42, 99, 100, 101, 150_000_000, 204_380_000]) {
    const ticks = listTicks(max)
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(max)
    expect(ticks.length).toBeGreaterThan(3)
    expect(ticks.length).toBeLessThan(8)
  }
})

test('B10: amounts on an axis have enough digits to differ', () => {
  const say = (value: number, step: number) => formatAxisValue(value * 1e6, step * 1e6, 'usd')
  expect([say(0, 50), say(150, 50), say(0.5, 0.5), say(7.5, 2.5), say(0.005, 0.0025)]).toEqual([
    '$0',
    '$150',
    '$0.50',
    '$7.50',
    '$0.0050',
  ])
  expect(formatAxisValue(1_200_000, 200_000, 'tokens')).toBe('1.2M')
})

test('B10: a span is whole days, weeks from Monday or months, and the query omits defaults', () => {
  expect(days(read())).toEqual(['2026-10-23', '2026-11-21'])
  expect(days(read('each=week'))).toEqual(['2026-10-19', '2026-11-21'])
  expect(days(read('days=90&each=month'))).toEqual(['2026-08-01', '2026-11-21'])
  expect(listBuckets(read('days=90&each=month')).map(formatIsoDay)).toEqual([
    '2026-08-01',
    '2026-09-01',
    '2026-10-01',
    '2026-11-01',
  ])
  for (const query of [
    '',
    '?by=model',
    '?days=90&each=month&to=2026-03-31',
    '?by=task&in=tokens',
  ]) {
    expect(formatUsageQuery(read(query))).toBe(query)
  }
  expect(startOfBucket(read('to=2026-11-16').toDay - 1, 'week')).toBe(
    read('to=2026-11-16').toDay - 1,
  )
})

test('B10: an invalid span gets the default; the future is today', () => {
  for (const query of [
    'days=31',
    'each=year',
    'to=2026-13-01',
    'to=-1',
    'to=2999-01-01',
    'in=gold',
  ]) {
    expect(read(query)).toEqual(read())
  }
})

import { expect, test } from 'vitest'
import { findCommonTitle, groupSeries } from '../../src/web/posts/post-list'

const row = (title: string, of: { author?: string; community?: string; isOnce?: boolean } = {}) =>
  ({
    title,
    authorId: of.author ?? 'bell',
    communityId: of.community ?? 'passengers',
    hasSchedule: of.isOnce !== true,
  }) as Parameters<typeof groupSeries>[0][number]

test.each([
  [['Morning summary, day 3', 'Morning summary, day 2'], 'Morning summary'],
  [['Weekly report 12 May', 'Weekly report 5 May', 'Weekly report 28 April'], 'Weekly report'],
  [['Weekly report', 'Weekly report'], 'Weekly report'],
  [['The new boat', 'The old boat'], null],
  [['Summary, day 3', 'Summary, day 4'], 'Summary, day'],
  [['Summary 3', 'Summary 4'], null],
  [['', ''], null],
])('titles %j have %j in common', (titles, common) => {
  expect(findCommonTitle(titles.map((title) => row(title)))).toBe(common)
})

test('posts of one agent with a schedule, in one community, are one line of a feed, wherever they stand', () => {
  const series = (...names: string[]) => names.map((name) => `Morning summary, day ${name}`)
  const rows = [
    ...series('5', '4').map((title) => row(title)),
    row('Heron has its thruster', { author: 'ben', isOnce: true }),
    ...series('3', '2').map((title) => row(title)),
    ...series('3', '2').map((title) => row(title, { author: 'other' })),
    ...series('1').map((title) => row(title, { community: 'boats' })),
    ...series('9', '8').map((title) => row(title, { author: 'hand', isOnce: true })),
  ]
  const groups = groupSeries(rows).map((each) => ('rows' in each ? each.rows.length : each.title))
  expect(groups).toEqual([
    4,
    'Heron has its thruster',
    2,
    'Morning summary, day 1',
    'Morning summary, day 9',
    'Morning summary, day 8',
  ])
  const listed = groupSeries(rows).flatMap((each) => ('rows' in each ? each.rows : [each]))
  expect(listed).toHaveLength(rows.length)
  expect(new Set(listed)).toEqual(new Set(rows))
})

import { expect, test } from 'vitest'
import { requirements } from '../../scripts/requirement-list.mjs'
import { findIdProblems, readTitles } from '../../scripts/requirements.mjs'

const sections = [
  { title: 'A', done: { A1: 'Does one.', A2: 'Does two.' }, open: { A3: 'Will do three.' } },
  { title: 'B', done: {}, open: { B10: 'Will do ten.' } },
]
const check = (source: string) =>
  findIdProblems(
    sections,
    readTitles(['tests/a.test.ts'], () => source),
  )
const untested = (id: string) =>
  `${id} is done, and the title of no test that always runs begins with it`
const both = `test('A1 A2: both', () => {})\n`

test.each([
  ['ids before the colon', both, [], []],
  ['ids with commas', `test('A1, A2: both', () => {})\n`, [], []],
  ['two tests', `test('A1: one', () => {})\ntest('A2: two', () => {})\n`, [], []],
  ['a test of rows', `test.each([1])(\n  'A1 A2: %s',\n  () => {},\n)\n`, [], []],
  ['no test', '', [untested('A1'), untested('A2')], []],
  [
    'an id that is not at the beginning',
    `test('Both: A1 A2', () => {})\n`,
    [untested('A1'), untested('A2')],
    [],
  ],
  ['an id without a colon', `test('A1 A2 both', () => {})\n`, [untested('A1'), untested('A2')], []],
  ['a skipped test', `test.skip('A1 A2: both', () => {})\n`, [untested('A1'), untested('A2')], []],
  [
    'a group without a test',
    `describe('A1 A2: both', () => {})\n`,
    [untested('A1'), untested('A2')],
    [],
  ],
  [
    'a test of an open requirement',
    `${both}test('B10: ten', () => {})\n`,
    [],
    ['B10 is open and has a test: tests/a.test.ts'],
  ],
  [
    'an unknown id, in a group and a skipped test too',
    `${both}describe('B1: x', () => {\n  test.skip('Z9: y', () => {})\n})\n`,
    ['Unknown requirement B1 in tests/a.test.ts', 'Unknown requirement Z9 in tests/a.test.ts'],
    [],
  ],
])('requirements: %s', (_, source, problems, hints) => {
  expect(check(source)).toEqual({ problems, hints })
})

test('requirements: an id stands once in the list, and its family in one section', () => {
  const ids = requirements.flatMap(({ done, open }) => [...Object.keys(done), ...Object.keys(open)])
  expect(new Set(ids).size).toBe(ids.length)
  const families = requirements.map(({ done, open }) => [
    ...new Set(Object.keys({ ...done, ...open }).map((id) => id[0])),
  ])
  expect(families.filter(({ length }) => length !== 1)).toEqual([])
  expect(families.flat().toSorted()).toEqual([...'BCDGHLMOPSTX'])
})

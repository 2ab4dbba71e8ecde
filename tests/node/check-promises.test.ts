import { expect, test } from 'vitest'
import { findLimitProblems, findPromiseProblems } from '../../scripts/check-promises.mjs'

/** The formatter's indentation, by which groups are read. */
const files: Record<string, string> = {
  'tests/entry.test.ts': `
    describe('T17: hosts', () => {
      test('T17: a wrong host is refused', async () => {})
      test.each([[1, 2]])(
        'T17: it answers %s',
        (origin) => {},
      )
      it.each([
        ['one', say('two', 3), ")('T17: a row', "],
        { three: [1, ')'] },
      ])('T17: it compares %s', () => {})
      describe.each(protocols)('%s', (provider) => {
        it('T17: below rows', () => {})
      })
      it("T17: a form's origin is the hub's", { timeout: 7 }, () => {})
      test.skip('T17: a test that is skipped', () => {})
      test.todo('T17: a test that is missing')
      test.runIf(isWhole)('T17: a test for some machines', () => {})
      expect('T17: no test at all', message).toBe('')
    })
    test('T17: outside of the group', () => {})
    describe.skip('T17: a skipped group', () => {
      test('T17: a test of a skipped group', () => {})
    })`,
}
const find = (text: string) => findPromiseProblems('docs/x.md', text, (path) => files[path] ?? null)
const withTest = (reference: string) => find(`It refuses.[^a]\n\n[^a]: ${reference}\n`)

test.each([
  'T17: a wrong host is refused',
  'T17: it answers %s',
  'T17: it compares %s',
  '%s > T17: below rows',
  "T17: a form's origin is the hub's",
  'T17: hosts > T17: a wrong host is refused',
])('T19: a promise with the test %j passes', (title) => {
  expect(withTest(`\`tests/entry.test.ts\`: "${title}"`)).toEqual([])
})

test.each([
  ['another title', 'T17: a wrong host is served'],
  ['a part of a title', 'T17: a wrong host'],
  ['a group without a test', 'T17: hosts'],
  ['a test of another group', 'T17: a skipped group > T17: a wrong host is refused'],
  ['a text of a row', 'T17: a row'],
  ['a text that is no title', 'T17: no test at all'],
  ['a skipped test', 'T17: a test that is skipped'],
  ['a test that is yet to be written', 'T17: a test that is missing'],
  ['a test that not every machine runs', 'T17: a test for some machines'],
  ['a test of a skipped group', 'T17: a test of a skipped group'],
])('T19: a promise with %s fails', (_what, title) => {
  expect(withTest(`\`tests/entry.test.ts\`: "${title}"`)).toEqual([
    `docs/x.md:3: tests/entry.test.ts has no test "${title}" that always runs.`,
  ])
})

test.each([
  ['names the test that begins so', 'T17: a wrong…', []],
  ['names it below its group', 'T17: hosts > T17: a wr…', []],
  [
    'of several tests names none',
    'T17: it…',
    ['docs/x.md:3: tests/entry.test.ts has 2 tests that begin "T17: it…". Write more of one.'],
  ],
  [
    'of a group names no test',
    'T17: ho…',
    ['docs/x.md:3: tests/entry.test.ts has no test "T17: ho…" that always runs.'],
  ],
  [
    'of a skipped test shows nothing',
    'T17: a test that is sk…',
    ['docs/x.md:3: tests/entry.test.ts has no test "T17: a test that is sk…" that always runs.'],
  ],
])('T19: the beginning of a title %s', (_what, title, problems) => {
  expect(withTest(`\`tests/entry.test.ts\`: "${title}"`)).toEqual(problems)
})

test('T19: a test may be wrapped over lines, and a promise may have several', () => {
  const second = '`tests/entry.test.ts`: "T17: it answers %s"'
  expect(withTest(`\`tests/entry.test.ts\`: "T17: a wrong\nhost is refused"\n${second}`)).toEqual(
    [],
  )
  expect(
    withTest(`\`tests/entry.test.ts\`: "T17: a wrong host is refused"\n\`x.ts\`: "y"`),
  ).toEqual(['docs/x.md:3: Write only tests here, each as `path`: "title".'])
})

test('T19: a missing file, footnote or test is a problem, and so is a footnote without a promise', () => {
  expect(withTest('`tests/gone.test.ts`: "T17: a wrong host is refused"')).toEqual([
    'docs/x.md:3: tests/gone.test.ts does not exist.',
  ])
  expect(withTest('see the tests')).toEqual([
    'docs/x.md:3: Write only tests here, each as `path`: "title".',
  ])
  expect(find('It refuses.[^b]')).toEqual(['docs/x.md:1: The footnote b is not defined.'])
  const definition = '[^a]: `tests/entry.test.ts`: "T17: a wrong host is refused"'
  expect(find(definition)).toEqual(['docs/x.md:1: No promise has the footnote a.'])
  expect(find(`It refuses.[^a]\n\n${definition}\n${definition}`)).toEqual([
    'docs/x.md:4: The footnote a is defined twice.',
  ])
})

test('T19: each row of a table with a column of tests has one', () => {
  const footnote = '\n\n[^a]: `tests/entry.test.ts`: "T17: a wrong host is refused"'
  const table = ['| tries | stopped by | test | not stopped |', '| --- | --- | --- | --- |']
  const withRow = (row: string) => find([...table, row].join('\n') + footnote)
  expect(withRow('| to post | a check | [^a] | |')).toEqual([])
  expect(withRow('| to post | a check[^a] | | |')).toEqual([
    'docs/x.md:3: This promise names no test.',
  ])
})

test('T19: a limit that a document states is the one of the configuration', () => {
  const limits = { mcp: { batchMessagesMax: 100 }, rates: { read: { requests: 1_200 } } }
  const find = (text: string) => findLimitProblems('docs/x.md', text, limits)
  expect(find('| `mcp.batchMessagesMax` 100, `rates.read.requests` 1,200 a minute |')).toEqual([])
  expect(find('\n`mcp.batchMessagesMax` 1,000')).toEqual([
    'docs/x.md:2: mcp.batchMessagesMax is 100, not 1,000.',
  ])
  expect(find('`mcp.gone` 5')).toEqual(['docs/x.md:1: mcp.gone is no limit, not 5.'])
})

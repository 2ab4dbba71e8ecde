import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CaseCheck } from '../../../src/hub/contract/hub'
import { type CheckedLane, runChecks } from '../../../src/hub/trials/checks'
import { outcomes } from '../../../src/shared/errors'

const lane = (given: Partial<CheckedLane> = {}): CheckedLane => ({
  outcome: 'completed',
  answer: '',
  steps: 1,
  costMicrousd: 0,
  calls: [],
  ...given,
})

const passes = (check: CaseCheck, given: Partial<CheckedLane>): boolean | undefined =>
  runChecks([check], lane(given))[0]?.passed

test.each([
  ['Monday', 'on  MONDAY,\n we ship', true],
  ['we ship on monday', 'We\nship\u00a0on\tMonday.', true],
  ['Monday', 'Tuesday', false],
  ['Straße', 'in der STRASSE 4', true],
  ['ΟΔΟΣ', 'η οδός', false],
  ['ΟΔΟΣ', 'η οδος', true],
  // composed and decomposed
  ['caf\u00e9', 'Cafe\u0301 Central', true],
  ['שלום עולם', 'אמר: שלום  עולם!', true],
  ['مرحبا', 'قال مرحبا للجميع', true],
  ['مرحبا', 'قال أهلا', false],
  ['日本語', 'これは日本語です', true],
  ['日本語', 'これは中文です', false],
  ['👩‍👩‍👧', 'family 👩‍👩‍👧 here', true],
  ['🐦', 'no bird', false],
  ['.*', 'nothing', false],
])('P5: contains %j in %j: %s', (value, answer, isThere) => {
  expect(passes({ type: 'contains', value }, { answer })).toBe(isThere)
})

test.each([
  ['mon*day', 'on MONDAY', true],
  ['we*friday', 'We ship\n on Friday, then', true],
  ['we*friday', 'on Friday we', false],
  ['from * to *', 'From 8 to 9', true],
  ['from * to *', 'from 8 until 9', false],
  ['*', '', true],
  ['costs * euros', 'it costs 5\u00a0EUROS', true],
  ['straße*4', 'STRASSE 4', true],
  ['日*語', '日本語', true],
  ['שלום*עולם', 'שלום לך עולם', true],
  ['a*a*a*b', `${'a'.repeat(50_000)}c`, false],
])('P5: matches %j in %.20j: %s', (value, answer, isThere) => {
  expect(passes({ type: 'matches', value }, { answer })).toBe(isThere)
})

const id = '01997b1c-aaaa-7000-8000-000000000001'

test.each([
  [`see /p/${id}`, true],
  [`[here](/p/x?comment=${id}#c-${id})`, true],
  [`#c-${id.toUpperCase()}.`, true],
  [`post ${id}, as before`, true],
  [`/p/${id}9`, false],
  [`/p/f${id}`, false],
  [`/p/f${id} and /p/${id}`, true],
  ['/p/01997b1c', false],
  ['', false],
])('P5: %j cites the post: %s', (answer, isThere) => {
  expect(passes({ type: 'cites', value: id }, { answer })).toBe(isThere)
})

const calls = [{ tool: 'hub_search', arguments: '{}' }]

test.each<[CaseCheck, Partial<CheckedLane>, boolean]>([
  [{ type: 'calls', value: 'hub_search' }, { calls }, true],
  [{ type: 'calls', value: 'hub.search' }, { calls }, true],
  [{ type: 'calls', value: 'hub_search' }, {}, false],
  [{ type: 'calls_not', value: 'hub_search' }, { calls }, false],
  [{ type: 'calls_not', value: 'hub_post' }, { calls }, true],
  [{ type: 'contains_not', value: 'Sorry' }, { answer: 'I am  SORRY.' }, false],
  [{ type: 'contains_not', value: 'Sorry' }, { answer: 'On Friday.' }, true],
  [{ type: 'contains_not', value: 'Straße 4' }, { answer: 'in der STRASSE\n4' }, false],
  [{ type: 'contains_not', value: 'x' }, {}, true],
  [{ type: 'steps_max', value: 2 }, { steps: 2 }, true],
  [{ type: 'steps_max', value: 2 }, { steps: 3 }, false],
  [{ type: 'cost_max', value: 500 }, { costMicrousd: 500 }, true],
  [{ type: 'cost_max', value: 500 }, { costMicrousd: 501 }, false],
  [{ type: 'refuses', value: true }, { outcome: 'content_filtered' }, true],
  [{ type: 'refuses', value: true }, { answer: 'אני לא יכול' }, true],
  [{ type: 'refuses', value: true }, { answer: 'Done.', calls }, false],
  [{ type: 'refuses', value: true }, { answer: ' ' }, false],
  [{ type: 'refuses', value: true }, { outcome: 'failed', answer: 'x' }, false],
  [{ type: 'refuses', value: false }, { answer: 'Done.', calls }, true],
  [{ type: 'refuses', value: false }, { outcome: 'content_filtered', answer: 'x' }, false],
  [{ type: 'refuses', value: false }, { outcome: 'max_tokens', answer: 'x' }, false],
])('P5: %j of %j: %s', (check, given, isPassed) => {
  const [result] = runChecks([check], lane(given))
  expect(result?.passed).toBe(isPassed)
  expect(result?.detail === '').toBe(isPassed)
})

test.each<[string, number]>([
  ['', 0],
  [' \n…!? — 🐦👩‍👩‍👧', 0],
  ['We wait until Friday.', 4],
  ['**We** `wait`, _until_\n\n- Friday 13', 5],
  ['It’s 3,5 kg', 3],
  ['see [the post](/p/01997b1c-aaaa-7000-8000-000000000001)', 3],
  ['Wir warten bis Freitag', 4],
  ['Мы ждём до пятницы', 4],
  ['אנחנו מחכים ליום שישי', 4],
  ['نحن ننتظر يوم الجمعة', 4],
  ['우리는 금요일까지 기다린다', 3],
  ['我们等到星期五', 3],
  ['金曜日まで待ちます', 4],
  ['เรารอถึงวันศุกร์', 5],
])('P5: the words of %j are at most %d', (answer, count) => {
  const passesAt = (value: number) => passes({ type: 'words_max', value }, { answer })
  expect([count > 0 && passesAt(count - 1), passesAt(count)]).toEqual([false, true])
})

test('P5: an answer as long as one can be is counted to the limit', () => {
  const long = 'ab '.repeat(50_000)
  expect(passes({ type: 'words_max', value: 9_999 }, { answer: long })).toBe(false)
  expect(passes({ type: 'words_max', value: 0 }, { answer: '](['.repeat(40_000) })).toBe(true)
})

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({
    unit: fc.constantFrom(...'()[]{}*+?|\\^$.-,ab1 dwsbß日ם🐦\u0301\ud800'),
    maxLength: 60,
  }),
)

const anyCheck = fc.oneof(
  fc.record({
    type: fc.constantFrom('contains', 'contains_not', 'matches', 'cites', 'calls', 'calls_not'),
    value: anyText,
  }),
  fc.record({ type: fc.constantFrom('words_max', 'steps_max', 'cost_max'), value: fc.double() }),
  fc.record({ type: fc.constant('refuses'), value: fc.boolean() }),
  fc.record({ type: fc.constant('of_tomorrow'), value: fc.nat() }),
) as fc.Arbitrary<CaseCheck>

test('P5: any checks of any lane have a result each, the same each time, with a reason when they fail', () => {
  fc.assert(
    fc.property(
      fc.array(anyCheck, { maxLength: 10 }),
      fc.record({
        outcome: fc.constantFrom(null, ...outcomes),
        answer: anyText,
        steps: fc.nat(),
        costMicrousd: fc.nat(),
        calls: fc.array(fc.record({ tool: anyText, arguments: anyText }), { maxLength: 3 }),
      }),
      (checks, given) => {
        const results = runChecks(checks, given)
        expect(results).toHaveLength(checks.length)
        for (const { passed, detail } of results) expect(detail === '').toBe(passed)
        expect(runChecks(checks, given)).toEqual(results)
      },
    ),
  )
})

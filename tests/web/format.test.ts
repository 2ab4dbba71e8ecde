import { expect, test } from 'vitest'
import { openRun } from '../../src/agents/run/record'
import { computeAxis, formatStep, readTrace } from '../../src/hub/rules/traces'
import {
  formatAgo,
  formatBudgetMoney,
  formatCost,
  formatDuration,
  formatMoney,
  formatShare,
  formatSpan,
} from '../../src/shared/format'
import { shrinkCss, shrinkScript } from '../../src/web/frame/assets'

test('money: one precision per kind of page, and never a rounded zero', () => {
  expect(formatMoney(61_800, 'thread')).toBe('$0.062')
  expect(formatMoney(61_800, 'trace')).toBe('$0.0618')
  expect(formatMoney(48_620_000, 'budget')).toBe('$48.62')
  expect(formatMoney(1_234_560_000, 'budget')).toBe('$1,234.56')
  expect(formatMoney(12, 'thread')).toBe('under\u00a0$0.001')
  expect(formatMoney(1_000_000, 'thread')).toBe('$1.00')
  expect(formatMoney(5_043_210, 'trace')).toBe('$5.04')
  expect(formatMoney(999_990, 'trace')).toBe('$1.00')
  expect(formatMoney(999_400, 'trace')).toBe('$0.9994')
  expect(formatMoney(0, 'thread')).toBe('no cost')
  expect(formatMoney(0, 'budget')).toBe('$0.00')
})

test('B7: a model without a price is unpriced, never free', () => {
  expect(formatCost(0, false, 'thread')).toBe('unpriced')
})

test('times: short words with a no-break space', () => {
  expect(formatDuration(340)).toBe('0.3\u00a0s')
  expect(formatDuration(42_400)).toBe('42\u00a0s')
  expect(formatDuration(68_000)).toBe('1\u00a0min\u00a008\u00a0s')
  expect(formatDuration(60_000)).toBe('1\u00a0min')
  expect(formatDuration(900_000)).toBe('15\u00a0min')
  expect(formatDuration(7_200_000)).toBe('2\u00a0h')
  expect(formatDuration(7_500_000)).toBe('2\u00a0h\u00a005\u00a0min')
  expect(formatSpan(4)).toBe('4\u00a0ms')
  expect(formatSpan(380)).toBe('0.38\u00a0s')
  expect(formatSpan(10_800)).toBe('10.8\u00a0s')
  const now = Date.UTC(2026, 10, 21)
  expect(formatAgo(now + 5_000, now)).toBe('just now')
  expect(formatAgo(now - 42 * 60_000, now)).toBe('42\u00a0min ago')
  expect(formatAgo(now - 25 * 3_600_000, now)).toBe('yesterday')
  expect(formatAgo(Date.UTC(2026, 2, 12), now)).toBe('12\u00a0Mar\u00a02026')
})

test('B3: a share below the whole is never shown as the whole', () => {
  expect(formatShare(0.999)).toBe('99\u00a0%')
  expect(formatShare(1)).toBe('100\u00a0%')
})

test('trace: the axis has few round marks and covers everything', () => {
  for (const span of [1, 7, 340, 999, 1_000, 42_400, 61_000, 300_000]) {
    const { end, marks } = computeAxis(span)
    expect(end).toBeGreaterThanOrEqual(span)
    expect(marks.length).toBeLessThanOrEqual(6)
    expect(marks[0]).toBe(0)
  }
  expect(computeAxis(42_400).marks).toEqual([0, 10_000, 20_000, 30_000, 40_000])
})

test('trace: a step says what it was, also when a program calls tools of its own', () => {
  const text = 'Let me see.'
  expect(formatStep({ finishReason: 'tool-calls', text, tools: ['hub_search'] })).toBe(
    'calls 1 tool',
  )
  expect(formatStep({ finishReason: 'tool-calls', text, tools: [] })).toBe('calls tools')
  expect(formatStep({ finishReason: 'stop', text, tools: [] })).toBe('writes the reply')
  expect(formatStep({ finishReason: '', text: '', tools: [] })).toBe('calls the model')
})

test('trace: a log that cannot be read, or of an older version, is null', () => {
  for (const json of [null, '', '[]', 'null', '{', '{}', '{"version":2,"events":[]}'])
    expect(readTrace({ openRun }, json, 'all', { usesOwnAccount: false })).toBeNull()
})

test('assets: shrinking keeps the meaning', () => {
  expect(shrinkCss('/* a */\n.a > .b {\n  color: red;\n  width: calc(1px + 2px);\n}\n')).toBe(
    '.a>.b{color:red;width:calc(1px + 2px)}',
  )
  expect(shrinkCss('.a + .b { width: calc(1px + 2px) }')).toBe('.a+.b{width:calc(1px + 2px)}')
  expect(shrinkCss('@media (width > 1px) { a { top: 0 } }')).toBe('@media(width>1px){a{top:0}}')
  expect(shrinkCss('a { margin: 0.5em -0.25em 10.5em 0 }')).toBe('a{margin:.5em -0.25em 10.5em 0}')
  expect(shrinkScript('const go = (a) => a')).toBe('const go = (a)=>a')
  expect(shrinkScript("// why\nconst a = 'x // y'\n\n  go()\n")).toBe("const a = 'x // y'\ngo()")
})

test('B2: an amount of a budget below a cent is exact, never "under $0.01 of under $0.01"', () => {
  expect([0, 4_000, 5].map((each) => formatBudgetMoney(each, 4_000))).toEqual([
    '$0.00',
    '$0.004',
    '$0.000005',
  ])
  expect(formatBudgetMoney(4_000, 58_000_000)).toBe('under\u00a0$0.01')
  expect(formatBudgetMoney(48_620_000, null)).toBe('$48.62')
})

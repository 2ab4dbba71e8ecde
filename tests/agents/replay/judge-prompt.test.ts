import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boundPromptTokens, measurePromptSize } from '../../../src/agents/effects/price-call'
import {
  boundJudge,
  type Compared,
  capJudgeOutput,
  composeJudgePrompt,
} from '../../../src/agents/replay/judge-prompt'
import { parseBlocks } from '../../../src/agents/text/fence'
import { judgeLimits } from '../../../src/shared/config'

const model = {
  id: 'near/judge',
  contextTokens: 100_000,
  outputTokensMax: 8_000,
  prices: { input: 1_000_000, cached: 100_000, output: 5_000_000 },
}
const mark = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
const compared: Compared = { question: 'Why?', note: '', first: 'Frost.', second: 'Salt.' }

const toText = (given: Partial<Compared>, of = model): string =>
  composeJudgePrompt({ ...compared, ...given }, of, mark)
    .map((message) => ('text' in message ? message.text : ''))
    .join('\n\n')

const bodyOf = (prompt: string, source: string): string =>
  parseBlocks(prompt).find((block) => block.source === source)?.body ?? ''

const countTokens = (given: Compared, of: typeof model): number =>
  boundPromptTokens(measurePromptSize({ messages: composeJudgePrompt(given, of, mark), tools: [] }))

test('P6: the rubric stands before what is compared, which says nothing of where it comes from', () => {
  const [system, user] = composeJudgePrompt(compared, model, mark)
  expect(system).toMatchObject({ role: 'system' })
  expect(user).toMatchObject({ role: 'user' })
  const prompt = toText({})
  expect(prompt.indexOf('answers the request')).toBeLessThan(prompt.indexOf('Why?'))
  for (const word of ['baseline', 'candidate', 'draft', 'scout', 'near/judge']) {
    expect(prompt).not.toContain(word)
  }
})

test('P6: exchanging the answers changes nothing else', () => {
  const exchanged = toText({ first: compared.second, second: compared.first })
  expect(exchanged.replace('Salt.', '☃').replace('Frost.', 'Salt.').replace('☃', 'Frost.')).toBe(
    toText({}),
  )
})

test('P6: a note is shown when there is one', () => {
  expect(bodyOf(toText({ note: 'It was salt.' }), 'note on what would have been right')).toBe(
    'It was salt.',
  )
  expect(parseBlocks(toText({ note: ' ' }))).toHaveLength(3)
})

test('P6: a long answer loses its middle, and the prompt says so', () => {
  const first = `The beginning. ${'x'.repeat(60_000)} The end.`
  const shown = bodyOf(toText({ first }), 'answer A')
  expect(shown).toMatch(
    /^The beginning\. x+\n\[\.\.\. \d+ characters are left out here \.\.\.\]\nx+ The end\.$/,
  )
  expect(shown.length).toBeLessThan(judgeLimits.answerBytesMax + 80)
  const missing = Number(/(\d+) characters are left out/.exec(shown)?.[1])
  const kept = shown.replace(/\n\[.*\]\n/, '')
  expect(kept.length + missing).toBe(first.length)
})

test('P6: no half of a character is left where a text is cut', () => {
  for (const first of ['👩‍👩‍👧'.repeat(9_000), `a${'🪿'.repeat(9_000)}`, 'é'.repeat(30_000)]) {
    expect(toText({ first }).isWellFormed()).toBe(true)
  }
})

/** Texts of all kinds, up to far more than is shown. */
const text = fc
  .tuple(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom('a', 'word ', '界', '"', '\\', '\n', '\u0001', '🪿', 'é', '</untrusted>'),
    ),
    fc.integer({ min: 0, max: 20_000 }),
  )
  .map(([unit, times]) => unit.repeat(times).slice(0, 60_000))
const anything = fc.record({ question: text, note: text, first: text, second: text })
const windows = fc.record({
  contextTokens: fc.constantFrom(8_192, 16_000, 32_768, 200_000),
  outputTokensMax: fc.constantFrom(1_000, 8_192),
})

test('P8: no comparison takes more than what is promised, and each fits into the window', () => {
  fc.assert(
    fc.property(anything, windows, (given, limits) => {
      const of = { ...model, ...limits }
      const { tokensMax } = boundJudge(of)
      const tokens = countTokens(given, of)
      expect(tokens + capJudgeOutput(of)).toBeLessThanOrEqual(tokensMax)
      expect(tokens + capJudgeOutput(of)).toBeLessThanOrEqual(of.contextTokens)
    }),
    { numRuns: 60 },
  )
})

test('P8: the promise is the price of these tokens; without a price it counts tokens', () => {
  const { costMaxMicrousd, tokensMax, isPriced } = boundJudge(model)
  const output = capJudgeOutput(model)
  expect(isPriced).toBe(true)
  expect(costMaxMicrousd).toBe(tokensMax - output + 5 * output)
  expect(boundJudge({ ...model, prices: null })).toMatchObject({
    costMaxMicrousd: 0,
    isPriced: false,
    tokensMax,
  })
})

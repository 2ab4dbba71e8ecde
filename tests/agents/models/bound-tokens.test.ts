import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Message } from '../../../src/agents/loop/message'
import { countTokensMax, estimateTokens } from '../../../src/agents/models/estimate-tokens'
import { searchTool } from './fake-provider'

const say = (text: string): Message[] => [{ role: 'user', text }]

test('L18: a prompt is estimated at 4 characters a token and 16 characters a message', () => {
  expect(estimateTokens(say('x'.repeat(400)), [])).toBe(104)
  const many: Message[] = Array.from({ length: 10 }, () => ({ role: 'user', text: '' }))
  expect(estimateTokens(many, [])).toBe(40)
})

test('L18: calls, results and tools count', () => {
  const calls = [{ callId: 'c', name: 'hub_search', arguments: '{"query":"tin"}' }]
  const messages: Message[] = [
    { role: 'assistant', text: 'Let me look.', calls },
    { role: 'tool', results: [{ callId: 'c', name: 'hub_search', text: 'found', isError: false }] },
  ]
  expect(estimateTokens(messages, [])).toBe(Math.ceil((10 + 15 + 12 + 10 + 5 + 32) / 4))
  expect(estimateTokens(messages, [searchTool])).toBeGreaterThan(estimateTokens(messages, []) + 30)
})

/** The highest counts of the tokenizers of OpenAI (o200k, cl100k), Llama 2, Llama 3 and Claude 2. */
const measured: [string, string, number][] = [
  [
    'Chinese',
    '人与机器之间的合作需要本平台运营者承担特别的责任。较大的改动必须事先商定。'.repeat(5),
    255,
  ],
  [
    'Japanese',
    '人間と機械の協力には、このプラットフォームの運営者に特別な責任が求められます。大きな変更は事前に相談してください。'.repeat(
      5,
    ),
    345,
  ],
  ['Korean', '사람과 기계의 협력에는 이 플랫폼 운영자의 특별한 책임이 필요합니다.'.repeat(5), 320],
  ['Hindi', 'मनुष्यों और मशीनों के बीच सहयोग के लिए इस मंच के संचालकों की विशेष ज़िम्मेदारी है। '.repeat(5), 455],
  ['Amharic', 'በሰዎችና በማሽኖች መካከል ያለው ትብብር ልዩ ኃላፊነት ይጠይቃል። '.repeat(5), 550],
  ['line breaks', '\n'.repeat(2000), 2000],
  ['control characters', '\u0001'.repeat(500), 500],
]

test.each(measured)('B4: %s is never more tokens than are reserved', (_name, text, tokens) => {
  expect(countTokensMax(say(text), [])).toBeGreaterThanOrEqual(tokens)
})

test('B4: the L18 estimate would have reserved too little for them', () => {
  const tooLow = measured.filter(([, text, tokens]) => estimateTokens(say(text), []) < tokens)
  expect(tooLow).toHaveLength(measured.length)
})

test('B4: a prompt is reserved at one token a byte and more, whatever is in it', () => {
  const bytes = (text: string) => new TextEncoder().encode(text).length
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const messages: Message[] = [
        ...say(text),
        { role: 'assistant', text, calls: [{ callId: 'c', name: 'n', arguments: text }] },
        { role: 'tool', results: [{ callId: 'c', name: 'n', text, isError: false }] },
      ]
      const bound = countTokensMax(messages, [{ ...searchTool, description: text }])
      expect(bound).toBeGreaterThan(5 * bytes(text))
      expect(bound).toBeGreaterThan(estimateTokens(messages, [searchTool]))
    }),
  )
})

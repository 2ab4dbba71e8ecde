import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createAnswerReader } from '../../../src/agents/model-gateway/read-answer'
import { createEventSplitter } from '../../../src/agents/models/repair-stream'
import type { ModelProtocol } from '../../../src/shared/runner-protocol'
import type { FakeAnswer } from '../../support/fake-model-wire'
import { toError, toStream } from './answers'
import { createHarness, eventStream, protocols, streamOf } from './gateway-harness'

const answerOf: fc.Arbitrary<FakeAnswer> = fc.record(
  {
    text: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
    reasoning: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
    calls: fc.array(
      fc.record({
        name: fc.constant('hub_search'),
        arguments: fc.dictionary(fc.string(), fc.string()),
      }),
      { minLength: 1, maxLength: 2 },
    ),
    pieceChars: fc.integer({ min: 1, max: 20 }),
    usage: fc.constantFrom(null, { input: 90, output: 7, cached: 40, written: 10, reasoning: 3 }),
    finish: fc.constantFrom('stop', 'length', 'content-filter'),
  },
  { requiredKeys: [] },
)

/** Splits bytes anywhere, within characters too. */
const cutsOf = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 })
function split(bytes: Uint8Array, cuts: number[]): Uint8Array[] {
  const at = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)), bytes.length]
  at.sort((a, b) => a - b)
  return at.slice(1).map((end, index) => bytes.slice(at[index], end))
}

const read = (protocol: ModelProtocol, chunks: Uint8Array[]) => {
  const reader = createAnswerReader(protocol, true)
  for (const chunk of chunks) reader.add(chunk)
  reader.end()
  return reader.facts()
}

describe.each(protocols)('%s', (protocol) => {
  test('X4: the bytes of an answer pass unchanged and are read alike, whatever the chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        answerOf,
        cutsOf,
        fc.constantFrom('\n', '\r\n'),
        async (answer, cuts, end) => {
          const bytes = new TextEncoder().encode(toStream(protocol, answer).replaceAll('\n', end))
          const chunks = split(bytes, cuts)
          const harness = createHarness(protocol, {
            answer: () => eventStream(streamOf(chunks.filter(({ length }) => length > 0)).stream),
          })
          const response = await harness.send()
          expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytes)
          await harness.allSettled()
          const facts = read(protocol, [bytes])
          expect(read(protocol, chunks)).toEqual(facts)
          expect(harness.settled).toEqual([
            [
              1,
              {
                status: 200,
                finish: facts.finish,
                usage: facts.usage,
                mayBeCharged: true,
                problem: null,
              },
            ],
          ])
        },
      ),
      { numRuns: 40 },
    )
  })

  test('X4: usage and end of an answer are what its protocol says', () => {
    const usage = { input: 90, output: 7, cached: 40, written: 10, reasoning: 3 }
    const counted = {
      inputTokens: 90,
      cachedTokens: 40,
      cacheWriteTokens: 10,
      outputTokens: 7,
      // Anthropic does not count thinking apart.
      reasoningTokens: protocol === 'anthropic-messages' ? 0 : 3,
    }
    const calls = [{ name: 'hub_search', arguments: { query: 'tin' } }]
    const finishOf = (answer: FakeAnswer) =>
      read(protocol, [new TextEncoder().encode(toStream(protocol, answer))])
    expect(finishOf({ text: 'Beans.', usage })).toMatchObject({
      finish: 'stop',
      usage: counted,
    })
    expect(finishOf({ text: 'Beans.', calls }).finish).toBe('tool-calls')
    expect(finishOf({ text: 'Beans.', finish: 'length' }).finish).toBe('length')
    expect(finishOf({ text: 'Beans.', finish: 'content-filter' }).finish).toBe('content-filter')
    expect(finishOf({ text: 'Beans.', finish: 'unheard-of' }).finish).toBe('unknown')
    const broken = toStream(protocol, { text: 'Beans.' }).slice(0, 700)
    const both = new TextEncoder().encode(
      `${broken.slice(0, broken.lastIndexOf('\n\n') + 2)}${toError(protocol, 'Too busy')}`,
    )
    expect(read(protocol, [both])).toMatchObject({ finish: 'error', usage: null })
    expect(read(protocol, [both]).problem).toContain('Too busy')
  })

  test('X4: a slow reader is not read ahead of', async () => {
    const { stream, seen } = streamOf(Array.from({ length: 50 }, () => ': wait\n\n'))
    const harness = createHarness(protocol, { answer: () => eventStream(stream) })
    const reader = (await harness.send()).body?.getReader()
    await reader?.read()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(seen.pulled).toBeLessThanOrEqual(2)
  })
})

const wholeAnswers: Record<ModelProtocol, object> = {
  'anthropic-messages': {
    type: 'message',
    content: [{ type: 'text', text: 'Beans.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 50, cache_read_input_tokens: 40, output_tokens: 7 },
  },
  'openai-chat': {
    choices: [{ message: { content: 'Beans.' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 90,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 40 },
    },
  },
  'openai-responses': {
    status: 'completed',
    output: [{ type: 'message', content: [{ type: 'output_text', text: 'Beans.' }] }],
    usage: { input_tokens: 90, output_tokens: 7, input_tokens_details: { cached_tokens: 40 } },
  },
}

test.each(protocols)(
  'X4: %s in one piece, and a stream of no type, are read too',
  async (protocol) => {
    const whole = JSON.stringify(wholeAnswers[protocol], null, 1)
    const stream = toStream(protocol, {
      text: 'Beans.',
      usage: { input: 90, cached: 40, output: 7 },
    })
    for (const [body, type, isStreamed] of [
      [whole, 'application/json; charset=utf-8', false],
      [whole, 'application/json', true],
      [stream, 'text/plain', true],
    ] as const) {
      const harness = createHarness(protocol, {
        answer: () => new Response(body, { headers: { 'content-type': type, server: 'x' } }),
      })
      const response = await harness.send({ stream: isStreamed })
      expect(await response.text()).toBe(body)
      const given = body === whole ? 'application/json' : 'text/event-stream; charset=utf-8'
      expect(Object.fromEntries(response.headers)).toEqual({
        'content-type': given,
      })
      await harness.allSettled()
      expect(harness.settled).toMatchObject([
        [1, { finish: 'stop', usage: { inputTokens: 90, cachedTokens: 40, outputTokens: 7 } }],
      ])
    }
  },
)

test('X4: a request that the hub itself cannot send is settled as one', async () => {
  const harness = createHarness('openai-chat', { model: 'nonsense' })
  await expect(harness.send()).rejects.toThrow('Unknown provider')
  await harness.allSettled()
  expect(harness.settled).toMatchObject([[1, { status: null, mayBeCharged: false }]])
})

test('X4: an event that is too long is passed over, and those after it are read', () => {
  const seen: string[] = []
  const add = createEventSplitter((data) => seen.push(data), 20)
  for (const text of ['data: 1\n\nda', 'ta: 1234567890', '1234567890\n\ndata: 2\r', '\n\rdata: 3'])
    add(new TextEncoder().encode(text))
  add()
  expect(seen).toEqual(['1', '2', '3'])
})

import { describe, expect, test } from 'vitest'
import { modelGateway } from '../../../src/shared/config'
import { AppError } from '../../../src/shared/errors'
import type { ModelProtocol } from '../../../src/shared/runner-protocol'
import { toError, toEvents, toStream } from './answers'
import { errorOf, notReached } from './errors-of'
import { createHarness, eventStream, protocols, streamOf } from './gateway-harness'

describe.each(protocols)('%s', (protocol) => {
  test('X4: a provider that cannot be reached, never answers, or whose client goes is settled', async () => {
    const gone = new AbortController()
    const hangs = (_: unknown, init?: RequestInit) =>
      new Promise<Response>((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted')))
      })
    const unreachable = createHarness(protocol, {
      fetch: () => Promise.reject(new Error('ECONNREFUSED')),
    })
    const first = await unreachable.send()
    expect(first.status).toBe(502)
    expect((await errorOf(protocol, first)).message).not.toMatch(/test|ECONN/)
    await unreachable.allSettled()
    expect(unreachable.settled).toMatchObject([
      // The runtime reports a connection that broke after the request in the same words.
      [1, { ...notReached, finish: 'error', mayBeCharged: true }],
    ])
    const unsent = createHarness(protocol, {
      fetch: () => Promise.reject(new AppError('UNAVAILABLE', 'The key cannot be opened.')),
    })
    expect((await unsent.send()).status).toBe(502)
    await unsent.allSettled()
    expect(unsent.settled).toMatchObject([[1, { ...notReached, mayBeCharged: false }]])

    const silent = createHarness(protocol, { fetch: hangs })
    const pending = silent.send()
    await expect.poll(() => silent.admitted.length).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 0))
    silent.clock.pass(600_000)
    expect((await pending).status).toBe(504)
    await silent.allSettled()
    expect(silent.settled).toMatchObject([
      [1, { ...notReached, finish: 'error', mayBeCharged: true }],
    ])

    const left = createHarness(protocol, { fetch: hangs })
    const abandoned = left.send({}, {}, gone.signal)
    await expect.poll(() => left.admitted.length).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 0))
    gone.abort()
    await abandoned
    await left.allSettled()
    expect(left.settled).toMatchObject([
      [1, { ...notReached, finish: 'cancelled', mayBeCharged: true }],
    ])
  })

  test('X4: an answer that breaks, stalls or is left is settled once, with what has arrived', async () => {
    const { content } = toEvents(protocol, { text: 'Beans in tomato sauce.', pieceChars: 5 })
    const partial = { status: 200, usage: null, mayBeCharged: true }

    const broken = createHarness(protocol, {
      answer: () => eventStream(streamOf(content, 'break').stream),
    })
    await expect((await broken.send()).text()).rejects.toThrow()
    await broken.allSettled()
    expect(broken.settled).toMatchObject([[1, { ...partial, finish: 'error' }]])
    expect(broken.settled[0]?.[1].problem).toContain('broke')

    const { stream, seen } = streamOf(content, 'silence')
    let signal: AbortSignal | null | undefined
    const stalled = createHarness(protocol, {
      answer: ({ init }) => {
        signal = init.signal
        return eventStream(stream)
      },
    })
    const text = (await stalled.send()).text()
    await expect.poll(() => seen.pulled).toBe(content.length)
    await new Promise((resolve) => setTimeout(resolve, 5))
    stalled.clock.pass(600_000)
    await expect(text).rejects.toThrow()
    await stalled.allSettled()
    expect(stalled.settled).toMatchObject([[1, { ...partial, finish: 'error' }]])
    expect([signal?.aborted, seen.isCancelled]).toEqual([true, true])

    const other = streamOf(content, 'silence')
    const left = createHarness(protocol, { answer: () => eventStream(other.stream) })
    const reader = (await left.send()).body?.getReader()
    for (const _ of content) await reader?.read()
    await reader?.cancel()
    await left.allSettled()
    expect(left.settled).toMatchObject([[1, { ...partial, finish: 'cancelled', problem: null }]])
    expect(other.seen.isCancelled).toBe(true)
  })

  test('X4: the time that a slow reader takes is not the stall of its provider', async () => {
    const all = [toStream(protocol, { text: 'Beans.' })]
    const harness = createHarness(protocol, {
      answer: () => eventStream(streamOf([': wait\n\n', ...all]).stream),
    })
    const reader = (await harness.send()).body?.getReader()
    await reader?.read()
    harness.clock.pass(600_000)
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(all[0])
    await reader?.read()
    await harness.allSettled()
    expect(harness.settled).toMatchObject([[1, { finish: 'stop' }]])
  })

  test('X4: errors within a stream, and answers of no protocol, are told from answers', async () => {
    const { content } = toEvents(protocol, { text: 'Beans.' })
    const failing = createHarness(protocol, {
      answer: () => eventStream(content.join('') + toError(protocol, 'Overloaded')),
    })
    expect(await (await failing.send()).text()).toContain('Overloaded')
    await failing.allSettled()
    expect(failing.settled).toMatchObject([
      [1, { status: 200, finish: 'error', usage: null, mayBeCharged: true }],
    ])
    expect(failing.settled[0]?.[1].problem).toContain('Overloaded')

    const ended = createHarness(protocol, { answer: () => eventStream(content.join('')) })
    await (await ended.send()).text()
    await ended.allSettled()
    expect(ended.settled).toMatchObject([
      [1, { finish: 'unknown', usage: null, mayBeCharged: true }],
    ])

    const garbage = createHarness(protocol, { answer: () => eventStream('data: {"what": [\n\n') })
    await (await garbage.send()).text()
    await garbage.allSettled()
    expect(garbage.settled).toMatchObject([
      [1, { finish: 'unknown', problem: 'The answer is not of the protocol.' }],
    ])

    const page = createHarness(protocol, {
      answer: () => new Response('<p>Hello', { headers: { 'content-type': 'text/html' } }),
    })
    const response = await page.send()
    expect(response.status).toBe(400)
    expect((await errorOf(protocol, response)).message).toContain('web page')
    await page.allSettled()
    const empty = createHarness(protocol, { answer: () => new Response(null, { status: 204 }) })
    await empty.send()
    await empty.allSettled()
    expect(empty.settled).toMatchObject([[1, { usage: null, mayBeCharged: true }]])
    expect(page.settled).toMatchObject([[1, { status: 200, finish: 'error', mayBeCharged: false }]])
  })

  test('X4: an endless answer is broken off', async () => {
    const chunk = new Uint8Array(4 * 1024 * 1024).fill(0x3a)
    const chunks = Array.from(
      { length: modelGateway.answerBytesMax / chunk.length + 2 },
      () => chunk,
    )
    const { stream, seen } = streamOf(chunks, 'silence')
    const harness = createHarness(protocol, { answer: () => eventStream(stream) })
    const reader = (await harness.send()).body?.getReader()
    await expect(
      (async () => {
        while (!(await reader?.read())?.done) {}
      })(),
    ).rejects.toThrow('too long')
    expect(seen.isCancelled).toBe(true)
    await harness.allSettled()
    expect(harness.settled).toMatchObject([[1, { finish: 'error' }]])
  })

  test('X4: a result is reported again while the object does not answer, and then left to its journal', async () => {
    for (const [failures, stored] of [
      [2, 1],
      [3, 0],
    ] as const) {
      const harness = createHarness(protocol, {
        failures,
        answer: () => eventStream(toStream(protocol, { text: 'x' })),
      })
      await (await harness.send()).text()
      const done = harness.allSettled()
      for (let round = 0; round < 4; round++) {
        await new Promise((resolve) => setTimeout(resolve, 5))
        harness.clock.pass(10_000)
      }
      await done
      expect(harness.settled).toHaveLength(stored)
    }
  })
})

const begin = (usage: unknown) => ({ type: 'message_start', message: { usage } })
const end = (usage: unknown, reason = 'end_turn') => ({
  type: 'message_delta',
  delta: { stop_reason: reason },
  ...(usage !== undefined && { usage }),
})
const chatEnd = (usage: unknown, reason = 'stop') => ({
  choices: [{ delta: {}, finish_reason: reason }],
  usage,
})
const responsesEnd = (usage: unknown) => ({
  type: 'response.completed',
  response: { status: 'completed', output: [], usage },
})
/** Anthropic counts one token of output before it has written any. */
const started = { input_tokens: 90, cache_read_input_tokens: 10, output_tokens: 1 }

test.each<[string, ModelProtocol, object[], { inputTokens: number; outputTokens: number } | null]>([
  [
    'at the end',
    'anthropic-messages',
    [begin(started), end({ output_tokens: 7 })],
    { inputTokens: 100, outputTokens: 7 },
  ],
  [
    'all at the end',
    'anthropic-messages',
    [begin({}), end({ input_tokens: 100, output_tokens: 7 })],
    { inputTokens: 100, outputTokens: 7 },
  ],
  [
    'zeros for what was counted',
    'anthropic-messages',
    [begin(started), end({ input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 })],
    { inputTokens: 100, outputTokens: 7 },
  ],
  [
    'twice',
    'anthropic-messages',
    [begin(started), end({ output_tokens: 7 }), end({ output_tokens: 0 })],
    { inputTokens: 100, outputTokens: 7 },
  ],
  [
    'a refusal of nothing',
    'anthropic-messages',
    [begin(started), end({ output_tokens: 0 }, 'refusal')],
    { inputTokens: 100, outputTokens: 0 },
  ],
  ['only at the start', 'anthropic-messages', [begin(started), end(undefined)], null],
  ['null at the end', 'anthropic-messages', [begin(started), end(null)], null],
  ['zeros at the end', 'anthropic-messages', [begin(started), end({ output_tokens: 0 })], null],
  [
    'zeros everywhere',
    'anthropic-messages',
    [begin({ input_tokens: 0, output_tokens: 0 }), end({ input_tokens: 0, output_tokens: 0 })],
    null,
  ],
  ['no start', 'anthropic-messages', [end({ output_tokens: 7 })], null],
  [
    'at the end',
    'openai-chat',
    [chatEnd({ prompt_tokens: 100, completion_tokens: 7 })],
    { inputTokens: 100, outputTokens: 7 },
  ],
  [
    'zeros after a count',
    'openai-chat',
    [chatEnd({ prompt_tokens: 100, completion_tokens: 0 })],
    null,
  ],
  [
    'a filtered answer',
    'openai-chat',
    [chatEnd({ prompt_tokens: 100, completion_tokens: 0 }, 'content_filter')],
    { inputTokens: 100, outputTokens: 0 },
  ],
  ['nothing', 'openai-chat', [chatEnd(undefined)], null],
  ['zeros', 'openai-chat', [chatEnd({ prompt_tokens: 0, completion_tokens: 0 })], null],
  [
    'at the end',
    'openai-responses',
    [responsesEnd({ input_tokens: 100, output_tokens: 7 })],
    { inputTokens: 100, outputTokens: 7 },
  ],
  ['zeros', 'openai-responses', [responsesEnd({ input_tokens: 0, output_tokens: 0 })], null],
  ['nothing', 'openai-responses', [responsesEnd(null)], null],
])('X4: counts, %s: %s', async (_what, protocol, events, usage) => {
  const stream = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const harness = createHarness(protocol, { answer: () => eventStream(stream) })
  await (await harness.send()).text()
  await harness.allSettled()
  // Without a count the worst case is charged.
  expect(harness.settled).toMatchObject([[1, { usage, mayBeCharged: true }]])
})

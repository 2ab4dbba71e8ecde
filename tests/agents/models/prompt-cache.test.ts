import { describe, expect, test } from 'vitest'
import type { Message } from '../../../src/agents/loop/message'
import { calculateCost } from '../../../src/agents/models/catalogue'
import {
  answerOf,
  fakeModel,
  type ProtocolName,
  protocols,
  question,
  searchTool,
} from './fake-provider'

test('L14: Anthropic gets cache markers behind the system layers and before the volatile tail', async () => {
  const { model, requests } = await fakeModel('anthropic', [{ text: 'ok' }])
  const messages: Message[] = [...question, { role: 'user', text: '[status] 3 of 10 steps used' }]
  await answerOf(model, { messages })
  const body = (await requests())[0]?.body
  expect(
    body.system.map((part: { cache_control?: unknown }) => Boolean(part.cache_control)),
  ).toEqual([false, true])
  const parts = body.messages.flatMap((message: { content: unknown[] }) => message.content)
  expect(
    parts.map((part: { text: string; cache_control?: unknown }) => [
      part.text,
      Boolean(part.cache_control),
    ]),
  ).toEqual([
    ['What is in the tin?', true],
    ['[status] 3 of 10 steps used', false],
  ])
})

test('L14: Anthropic markers: the stable layers, the end of the last step, the end of this one', async () => {
  const { model, requests } = await fakeModel('anthropic', [{ text: 'ok' }])
  const step = (n: number): Message[] => [
    {
      role: 'assistant',
      text: '',
      calls: [1, 2].map((k) => ({ callId: `c${n}${k}`, name: 'hub_search', arguments: '{}' })),
    },
    {
      role: 'tool',
      results: [1, 2].map((k) => ({
        callId: `c${n}${k}`,
        name: 'hub_search',
        text: `result ${n}${k}`,
        isError: false,
      })),
    },
  ]
  const tail: Message = { role: 'user', text: '[status] 3 of 10 steps used' }
  const messages = [...question, ...step(1), ...step(2), tail]
  await answerOf(model, { messages, tools: [searchTool] })
  const body = (await requests())[0]?.body
  const marked = [
    ...body.system,
    ...body.messages.flatMap((message: { content: unknown[] }) => message.content),
  ].filter((part: { cache_control?: unknown }) => part.cache_control)
  expect(marked.map((part) => part.text ?? part.content[0]?.text ?? part.content)).toEqual([
    'The rules of the hub.',
    'result 12',
    'result 22',
  ])
  expect(marked.every((part) => part.cache_control.type === 'ephemeral')).toBe(true)
})

test('L14: the prompt of a step is the beginning of the next, byte by byte, up to the tail', async () => {
  for (const provider of protocols) {
    const { model, requests } = await fakeModel(provider, [{ text: 'ok' }])
    const tail = (n: number): Message => ({ role: 'user', text: `[status] ${n}` })
    const more: Message[] = [
      {
        role: 'assistant',
        text: 'Let me look.',
        calls: [{ callId: 'c', name: 'hub_search', arguments: '{"query":"x"}' }],
      },
      {
        role: 'tool',
        results: [{ callId: 'c', name: 'hub_search', text: 'found', isError: false }],
      },
    ]
    await answerOf(model, { messages: [...question, tail(1)] })
    await answerOf(model, { messages: [...question, ...more, tail(2)] })
    const [first, second] = (await requests()).map(({ body }) =>
      JSON.stringify([
        body.system ?? body.instructions ?? null,
        body.messages ?? body.input,
      ]).replaceAll(',"cache_control":{"type":"ephemeral"}', ''),
    )
    // The tail is a message of its own, or the end of the one before it.
    const before = first?.slice(0, first.indexOf('[status]')) ?? ''
    const isJoined = before.endsWith('\\n\\n')
    const untilTail = isJoined ? before.slice(0, -4) : before.replace(/[^}\]]*$/, '')
    expect(untilTail).toContain('What is in the tin?')
    expect(second?.startsWith(untilTail)).toBe(true)
  }
})

test('L14: OpenAI gets a cache key per prefix; servers that may not support the field do not', async () => {
  const sent = async (provider: ProtocolName, cacheKey?: string) => {
    const { model, requests } = await fakeModel(provider, [{ text: 'ok' }])
    await answerOf(model, cacheKey === undefined ? {} : { cacheKey })
    return (await requests())[0]?.body
  }
  expect((await sent('openai', 'agent-7')).prompt_cache_key).toBe('agent-7')
  expect(await sent('openai')).not.toHaveProperty('prompt_cache_key')
  for (const provider of ['anthropic', 'openai-compatible'] as const) {
    expect(JSON.stringify(await sent(provider, 'agent-7'))).not.toContain('agent-7')
  }
})

describe.each(protocols)('%s', (provider) => {
  test('B1: cached and written tokens are part of the input, and each has its price', async () => {
    const usage = { input: 1000, output: 5, cached: 300, written: 600 }
    const { model } = await fakeModel(provider, [{ text: 'ok', usage }], {
      choice: { model: provider === 'anthropic' ? 'claude-sonnet-4-5' : 'gpt-6-sol' },
    })
    const told = (await answerOf(model)).usage
    expect(told).toEqual({
      inputTokens: 1000,
      cachedTokens: 300,
      cacheWriteTokens: 600,
      outputTokens: 5,
      reasoningTokens: 0,
    })
    if (!told || !model.prices) throw new Error('no usage or no prices')
    // 100 plain, 300 cached, 600 written, 5 out, in dollars per million
    const dollars = provider === 'anthropic' ? [3, 0.3, 3.75, 15] : [2, 0.2, 2.5, 10]
    const [plain = 0, cached = 0, written = 0, out = 0] = dollars
    expect(calculateCost(model.prices, told)).toBe(
      Math.ceil(100 * plain + 300 * cached + 600 * written + 5 * out),
    )
  })
})

test('B1: cache hits in a server-specific field are read', async () => {
  const usage = { input: 1000, output: 5, cached: 300 }
  const { model } = await fakeModel('openai-compatible', [{ text: 'ok', usage, hits: true }])
  expect((await answerOf(model)).usage).toMatchObject({ inputTokens: 1000, cachedTokens: 300 })
})

import { expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import type { Ending } from '../../../src/agents/loop/state'
import { toOtlp } from '../../../src/agents/run/otlp'
import { readOtlp } from '../../support/check-otlp'
import {
  activationId,
  answered,
  charge,
  failed,
  loaded,
  openJournal,
  returned,
  start,
  woken,
} from './events'

const busy = {
  ...({ code: 'PROVIDER_BUSY', message: 'Too many requests.', isRetryable: true } as const),
  retryAfterMs: null,
  mayBeCharged: false,
}
const completed: Ending = { outcome: 'completed', error: null, reply: 'answer', text: '' }
const journal = (): LoopEvent[] => [
  woken(start),
  loaded(start + 10, { session: { id: 'general_post', task: '', gist: '' } }),
  failed(start + 20, { failure: { ...busy, detail: 'a secret quote' } }),
  answered(start + 2_000, ['call-1', 'call-2'], {
    reasoning: 'a secret thought',
    input: { messages: 2, chars: 900, tokens: 200, prefixShare: 0.5 },
    hooks: [{ hook: 'guard', point: 'beforeModelCall', ms: 1.5, outcome: 'ok' }],
  }),
  returned('call-1', start + 2_300),
  returned('call-2', start + 2_300, { isError: true, text: 'Error: a secret result' }),
  answered(start + 2_400, [], {
    text: 'a secret answer',
    charge: charge({ durationMs: 250, cachedTokens: 80 }),
  }),
]
const write = (events = journal(), ending = completed, hasContent = false) =>
  JSON.parse(
    JSON.stringify(
      toOtlp(openJournal(events, ending, start + 3_000), { hub: 'The Owlery', hasContent }),
    ),
  )
const nanos = (ms: number) => BigInt(ms) * 1_000_000n

test('L43: an activation is an invoke_agent span with a chat span a step and an execute_tool span a call', () => {
  const spans = readOtlp(write())
  expect(spans.map(({ name }) => name)).toEqual([
    'invoke_agent scout',
    'chat claude-sonnet-4-5',
    'execute_tool hub_search',
    'execute_tool hub_search',
    'chat claude-sonnet-4-5',
  ])
  const [root, ...rest] = spans
  expect(root?.traceId).toBe(activationId.replaceAll('-', ''))
  expect(rest.every(({ parentSpanId }) => parentSpanId === root?.spanId)).toBe(true)
  expect(spans.map(({ kind }) => kind)).toEqual([1, 3, 1, 1, 3])
  expect([root?.from, root?.to]).toEqual([nanos(start), nanos(start + 3_000)])
  expect([rest[0]?.from, rest[0]?.to]).toEqual([nanos(start + 2_000), nanos(start + 2_250)])
  expect([rest[1]?.from, rest[1]?.to]).toEqual([nanos(start + 2_300), nanos(start + 2_330)])
})

test('L43: attributes are those of the conventions for generative AI', () => {
  const [root, chat, tool, broken] = readOtlp(write())
  expect(root?.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-4-5',
    'gen_ai.agent.name': 'scout',
    'gen_ai.agent.version': '3',
    'gen_ai.conversation.id': 'general_post',
    'gen_ai.usage.input_tokens': 200,
    'gen_ai.usage.output_tokens': 40,
    'rookery.outcome': 'completed',
    'rookery.cost_microusd': 1_400,
  })
  expect(chat?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-4-5',
    'gen_ai.response.finish_reasons': ['tool-calls'],
    'gen_ai.usage.input_tokens': 100,
    'gen_ai.usage.cache_read.input_tokens': 40,
    'gen_ai.usage.output_tokens': 20,
    'gen_ai.usage.reasoning.output_tokens': 5,
    'rookery.retries': 1,
    'rookery.is_estimated': false,
    'rookery.prompt.prefix_share': 0.5,
    'rookery.hooks_ms': 1.5,
    'rookery.hooks': ['guard beforeModelCall 1.5 ms ok'],
  })
  expect(tool?.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'hub_search',
    'gen_ai.tool.call.id': 'call-1',
    'gen_ai.tool.type': 'function',
  })
  expect(tool?.status).toEqual({ code: 0 })
  expect(broken?.status).toEqual({ code: 2 })
  expect(broken?.attributes['error.type']).toBe('tool_error')
})

test('L43: a failure is an error with its code', () => {
  const error = { code: 'PROVIDER_AUTH', message: 'The key is wrong.' } as const
  const [root] = readOtlp(write([woken(), loaded()], { ...completed, outcome: 'failed', error }))
  expect(root?.status).toEqual({ code: 2, message: 'The key is wrong.' })
  expect(root?.attributes['error.type']).toBe('PROVIDER_AUTH')
})

test('L43: no words of prompts, answers, thoughts or tools, unless a setting adds them', () => {
  const words = [
    'You are scout',
    'a secret thought',
    'a secret answer',
    'a secret result',
    'owls',
    // a provider may quote the prompt that it refuses
    'a secret quote',
  ]
  const bare = JSON.stringify(write())
  for (const each of words) expect(bare).not.toContain(each)
  const whole = JSON.stringify(write(journal(), completed, true))
  for (const each of words) expect(whole).toContain(each)
  const spans = readOtlp(write(journal(), completed, true))
  const [root, chat, tool, broken, last] = spans
  expect(JSON.parse(String(root?.attributes['gen_ai.input.messages']))).toEqual([
    { role: 'system', parts: [{ type: 'text', content: 'You are scout.' }] },
    { role: 'user', parts: [{ type: 'text', content: 'The task.' }] },
  ])
  expect(JSON.parse(String(chat?.attributes['gen_ai.output.messages']))).toMatchObject([
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', content: 'a secret thought' },
        { type: 'tool_call', id: 'call-1', name: 'hub_search' },
        { type: 'tool_call', id: 'call-2', name: 'hub_search' },
      ],
      finish_reason: 'tool-calls',
    },
  ])
  expect(tool?.attributes['gen_ai.tool.call.arguments']).toBe('{"query":"owls"}')
  expect(broken?.attributes['gen_ai.tool.call.result']).toBe('Error: a secret result')
  expect(String(last?.attributes['gen_ai.output.messages'])).toContain('a secret answer')
})

test('L43: a repeated export is the same, so it is idempotent', () => {
  expect(write()).toEqual(write())
  const other = write([{ ...woken(), activationId: `${activationId.slice(0, -1)}b` } as LoopEvent])
  const ids = (body: unknown) => readOtlp(body).map(({ spanId }) => spanId)
  expect(ids(other).some((id) => ids(write()).includes(id))).toBe(false)
})

test('L20 L30 L43: waits for people and summaries are spans too', () => {
  const spans = readOtlp(
    write([
      ...journal(),
      { type: 'parked', at: start + 2_700, effectId: 4, kind: 'parked', hasMore: false },
      {
        type: 'compacted',
        at: start + 2_900,
        effectId: 5,
        startedAt: start + 2_800,
        summary: '',
        replaced: 3,
        tokensBefore: 9,
        tokens: 5,
        entries: 1,
        charge: null,
        problem: 'no model',
      },
    ]),
  )
  const park = spans.find(({ name }) => name === 'await_approval')
  expect([park?.from, park?.to]).toEqual([nanos(start + 2_700), nanos(start + 3_000)])
  const compaction = spans.find(({ name }) => name === 'compact_history')
  expect([compaction?.from, compaction?.to]).toEqual([nanos(start + 2_800), nanos(start + 2_900)])
})

test('B1 L43: the run span has the total of all charges, also for calls without an answer and for summaries', () => {
  const [root] = readOtlp(
    write([
      ...journal(),
      failed(start + 2_600, { charge: charge({ microusd: 5_000 }) }),
      {
        type: 'compacted',
        at: start + 2_900,
        effectId: 5,
        startedAt: start + 2_800,
        summary: '',
        replaced: 3,
        tokensBefore: 9,
        tokens: 5,
        entries: 1,
        problem: null,
        charge: charge({ microusd: 10_000 }),
      },
    ]),
  )
  expect(root?.attributes).toMatchObject({
    'gen_ai.usage.input_tokens': 400,
    'gen_ai.usage.output_tokens': 80,
    'gen_ai.usage.cache_read.input_tokens': 40 + 80 + 40 + 40,
    'rookery.cost_microusd': 16_400,
  })
})

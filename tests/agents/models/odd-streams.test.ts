import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createMessagesRepair } from '../../../src/agents/models/providers/anthropic'
import { createChatRepair } from '../../../src/agents/models/providers/openai-compatible'
import { createRepairingFetch } from '../../../src/agents/models/repair-stream'
import { answerOf, failureOf, fakeModel, searchTool } from './fake-provider'

/** What servers were seen to send, from their public issue trackers, and what has to be read of it. */
const sse = (...events: (object | string)[]) =>
  events
    .map((each) => (typeof each === 'string' ? each : `data: ${JSON.stringify(each)}\n\n`))
    .join('')

const delta = (fields: object, finish: unknown = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
})
const usage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 }
const counted = { id: 'c', choices: [], usage }
const done = 'data: [DONE]\n\n'
const call = (fields: object) => delta({ tool_calls: [{ index: 0, ...fields }] })

describe('Chat Completions', () => {
  const hello = { text: 'Hello', finish: 'stop', usage: { inputTokens: 11, outputTokens: 5 } }

  test.each([
    ['as it should be', sse(delta({ content: 'Hello' }), delta({}, 'stop'), counted, done), hello],
    [
      'a chunk without choices after the end',
      sse(delta({ content: 'Hello' }), delta({}, 'stop'), { id: 'c', usage }, done),
      hello,
    ],
    [
      'choices of null',
      sse(delta({ content: 'Hello' }), delta({}, 'stop'), { choices: null, usage }, done),
      hello,
    ],
    [
      'a chunk of statistics',
      sse(delta({ content: 'Hello' }), { timings: { ms: 3 } }, delta({}, 'stop'), counted),
      hello,
    ],
    [
      'usage as texts',
      sse(delta({ content: 'Hello' }), {
        ...delta({}, 'stop'),
        usage: { prompt_tokens: '11', completion_tokens: '5' },
      }),
      hello,
    ],
    [
      'usage as a list before the real one',
      sse({ ...delta({ content: 'Hello' }), usage: [] }, delta({}, 'stop'), counted),
      hello,
    ],
    [
      'details of usage of another form',
      sse(delta({ content: 'Hello' }), delta({}, 'stop'), {
        choices: [],
        usage: { ...usage, prompt_tokens_details: 'none', completion_tokens_details: [] },
      }),
      hello,
    ],
    [
      'a foreign named event',
      sse(
        'event: ping\ndata: {"type":"ping"}\n\n',
        delta({ content: 'Hello' }),
        'event: x-metrics\ndata: {"a":[1]}\n\n',
        delta({}, 'stop'),
        counted,
      ),
      hello,
    ],
    [
      'empty data lines and comments',
      sse(
        'data: \n\n',
        ': hi\n\n',
        'data:\n\n',
        delta({ content: 'Hello' }),
        'data: \n\n',
        delta({}, 'stop'),
        counted,
      ),
      hello,
    ],
    [
      'CR and LF, and no last blank line',
      `data: ${JSON.stringify(delta({ content: 'Hello' }))}\r\n\r\ndata: ${JSON.stringify({ ...delta({}, 'stop'), usage })}`,
      hello,
    ],
    [
      'any role in a delta',
      sse(
        delta({ role: 'model', content: 'Hel' }),
        delta({ role: 'tool', content: 'lo' }),
        delta({ role: null }, 'stop'),
        counted,
      ),
      hello,
    ],
    [
      'a message in place of a delta',
      sse({
        choices: [{ message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
        usage,
      }),
      hello,
    ],
    [
      'a finish reason in each chunk',
      sse(
        delta({ content: 'Hel' }, ''),
        delta({ content: 'lo' }, 'stop'),
        delta({ content: '' }, 'stop'),
        counted,
      ),
      hello,
    ],
    [
      'what cannot be read after the end',
      sse(delta({ content: 'Hello' }), { ...delta({}, 'stop'), usage }, 'data: {broken\n\n'),
      hello,
    ],
    [
      'an error after the end',
      sse(
        delta({ content: 'Hello' }),
        { ...delta({}, 'stop'), usage },
        { error: { message: 'late' } },
      ),
      hello,
    ],
    [
      'no created, a list for a model',
      sse(
        { created: 'now', model: ['m'], choices: [{ delta: { content: 'Hello' } }] },
        delta({}, 'stop'),
        counted,
      ),
      hello,
    ],
    [
      'an unknown word for the end',
      sse(delta({ content: 'Hello' }), delta({}, 'eos_token'), counted),
      { text: 'Hello' },
    ],
  ])('L27: %s', async (_name, raw, expected) => {
    const { model } = await fakeModel('openai-compatible', [{ raw }])
    expect(await answerOf(model)).toMatchObject(expected)
  })

  test('L27: a connection that breaks after the finish reason takes nothing of the answer', async () => {
    const raw = sse(delta({ content: 'Hello' }), { ...delta({}, 'stop'), usage })
    const { model } = await fakeModel('openai-compatible', [{ raw, fault: 'cut' }])
    expect(await answerOf(model)).toMatchObject(hello)
  })

  const search = { name: 'hub_search', arguments: '{"query":"tin"}' }
  const other = { name: 'hub_search', arguments: '{"query":"can"}' }
  type SentCall = [index: number | null, id: string | null, called: object]
  const someId = expect.any(String)
  test.each<[string, SentCall[][], unknown[]]>([
    [
      'in one chunk',
      [
        [
          [0, 'a', search],
          [1, 'a', other],
        ],
      ],
      ['a', 'a'],
    ],
    ['without an index, in two chunks', [[[null, 'a', search]], [[null, 'a', other]]], ['a', 'a']],
    [
      'whose id the first delta has alone',
      [[[0, 'a', search]], [[1, 'a', {}]], [[1, null, other]]],
      ['a', 'a'],
    ],
    [
      'beside another one',
      [
        [
          [0, 'a', search],
          [1, 'b', other],
        ],
        [[2, 'a', other]],
      ],
      ['a', 'b', 'a'],
    ],
    [
      'without ids',
      [
        [
          [0, null, search],
          [1, null, other],
        ],
      ],
      [someId, someId],
    ],
  ])('L26: calls that share an id arrive with it: %s', async (_name, sent, ids) => {
    const chunks = sent.map((calls) =>
      delta({
        tool_calls: calls.map(([index, id, called]) => ({
          ...(index !== null && { index }),
          ...(id !== null && { id }),
          type: 'function',
          function: called,
        })),
      }),
    )
    const { model } = await fakeModel('openai-compatible', [
      { raw: sse(...chunks, delta({}, 'tool_calls')) },
    ])
    const { calls } = await answerOf(model, { tools: [searchTool] })
    expect(calls.map(({ callId }) => callId)).toEqual(ids)
    const later = ids.slice(1).map(() => other.arguments)
    expect(calls.map((call) => call.arguments)).toEqual([search.arguments, ...later])
    if (ids[0] === someId) expect(calls[0]?.callId).not.toBe(calls[1]?.callId)
  })

  test.each([
    [
      'arguments as an object',
      sse(
        call({ id: 'a', function: { name: 'hub_search', arguments: { query: 'tin' } } }),
        delta({}, 'tool_calls'),
      ),
    ],
    [
      'a first delta without a function',
      sse(
        call({ id: 'a', type: 'function' }),
        call({ function: { name: 'hub_search' } }),
        call({ function: { arguments: '{"query":"tin"}' } }),
        delta({}, 'tool_calls'),
      ),
    ],
    [
      'no index',
      sse(delta({ tool_calls: [{ id: 'a', function: search }] }), delta({}, 'tool_calls')),
    ],
    [
      'an index as a text',
      sse(
        delta({ tool_calls: [{ index: '0', id: 'a', function: search }] }),
        delta({}, 'tool_calls'),
      ),
    ],
    ['no id', sse(call({ function: search }), delta({}, 'tool_calls'))],
    ['the finish reason stop', sse(call({ id: 'a', function: search }), delta({}, 'stop'))],
    [
      'an unknown finish reason',
      sse(call({ id: 'a', function: search }), delta({}, 'tool_call_done')),
    ],
    [
      'null beside calls',
      sse(
        delta({
          content: null,
          reasoning: null,
          tool_calls: [null, { index: 0, id: 'a', function: search }],
        }),
        delta({}, 'tool_calls'),
      ),
    ],
  ])('L23: a call arrives with %s', async (_name, raw) => {
    const { model } = await fakeModel('openai-compatible', [{ raw }])
    const { calls, finish } = await answerOf(model, { tools: [searchTool] })
    expect(finish).toBe(/"stop"/.test(raw) ? 'stop' : 'tool-calls')
    expect(calls).toEqual([{ callId: expect.stringMatching(/./), ...search }])
  })

  test.each([
    [
      'no finish reason',
      sse(call({ id: 'a', function: { name: 'hub_search', arguments: '{"query":' } })),
    ],
    [
      'an unknown one and half of the arguments',
      sse(
        call({ id: 'a', function: { name: 'hub_search', arguments: '{"query":' } }),
        delta({}, 'whatever'),
      ),
    ],
    ['the reason error', sse(call({ id: 'a', function: search }), delta({}, 'error'))],
  ])('L23: calls of an answer with %s are asked for again', async (_name, raw) => {
    const { model } = await fakeModel('openai-compatible', [{ raw }])
    expect(await failureOf(model, { tools: [searchTool] })).toMatchObject({
      isRetryable: true,
      mayBeCharged: true,
    })
  })
})

const start = (fields: object = {}) => ({
  type: 'message_start',
  message: {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'x',
    content: [],
    usage: { input_tokens: 11, output_tokens: 1 },
    ...fields,
  },
})
const block = (index: number, content: object) => ({
  type: 'content_block_start',
  index,
  content_block: content,
})
const piece = (index: number, given: object) => ({
  type: 'content_block_delta',
  index,
  delta: given,
})
const close = (index: number) => ({ type: 'content_block_stop', index })
const hi = [
  block(0, { type: 'text', text: '' }),
  piece(0, { type: 'text_delta', text: 'Hello' }),
  close(0),
]
const end = (fields: object = { usage: { output_tokens: 5 } }) => ({
  type: 'message_delta',
  delta: { stop_reason: 'end_turn' },
  ...fields,
})
const stop = { type: 'message_stop' }

describe('Messages', () => {
  const hello = { text: 'Hello', finish: 'stop', usage: { inputTokens: 11, outputTokens: 5 } }
  test.each([
    ['as it should be', sse(start(), ...hi, end(), stop), hello],
    [
      'unknown events',
      sse(
        { type: 'hello' },
        start(),
        { type: 'ping' },
        ...hi,
        { type: 'metrics', a: 1 },
        end(),
        stop,
        { type: 'trailer' },
      ),
      hello,
    ],
    [
      'an unknown kind of block',
      sse(
        start(),
        block(0, { type: 'hologram', x: 1 }),
        piece(0, { type: 'hologram_delta', x: 2 }),
        close(0),
        block(1, { type: 'text', text: '' }),
        piece(1, { type: 'text_delta', text: 'Hello' }),
        close(1),
        end(),
        stop,
      ),
      hello,
    ],
    [
      'an unknown kind of delta',
      sse(
        start(),
        hi[0] ?? '',
        piece(0, { type: 'sparkle_delta', n: 1 }),
        hi[1] ?? '',
        close(0),
        end(),
        stop,
      ),
      hello,
    ],
    [
      'a text within the start of its block',
      sse(
        start(),
        block(0, { type: 'text', text: 'Hel' }),
        piece(0, { type: 'text_delta', text: 'lo' }),
        close(0),
        end(),
        stop,
      ),
      hello,
    ],
    [
      'deltas without a start',
      sse(start(), piece(0, { type: 'text_delta', text: 'Hello' }), close(0), end(), stop),
      hello,
    ],
    ['no message_stop', sse(start(), ...hi, end()), hello],
    [
      'zeros after the counts',
      sse(
        start(),
        ...hi,
        end({ usage: { output_tokens: 5, input_tokens: 0, cache_read_input_tokens: 0 } }),
        stop,
      ),
      hello,
    ],
    [
      'counts in the end only',
      sse(
        start({ usage: { input_tokens: 0, output_tokens: 0 } }),
        ...hi,
        end({ usage: { input_tokens: 11, output_tokens: 5 } }),
        stop,
      ),
      hello,
    ],
    [
      'no usage at the start',
      sse(
        start({ usage: undefined }),
        ...hi,
        end({ usage: { input_tokens: 11, output_tokens: 5 } }),
        stop,
      ),
      hello,
    ],
    ['a second start', sse(start(), start({ id: 'other' }), ...hi, end(), stop), hello],
    [
      'no usage at the end, so it is estimated',
      sse(start(), ...hi, end({}), stop),
      { text: 'Hello', finish: 'stop', usage: null },
    ],
    ['an error after the end', sse(start(), ...hi, end(), { type: 'error', error: 'late' }), hello],
  ])('L27: %s', async (_name, raw, expected) => {
    const { model } = await fakeModel('anthropic', [{ raw }])
    expect(await answerOf(model)).toMatchObject(expected)
  })

  test('L23: a call whose input came at once, or as an object', async () => {
    const tool = { type: 'tool_use', id: 't', name: 'hub_search' }
    for (const events of [
      [block(0, { ...tool, input: { query: 'tin' } }), close(0)],
      [
        block(0, { ...tool, input: {} }),
        piece(0, { type: 'input_json_delta', partial_json: { query: 'tin' } }),
        close(0),
      ],
    ]) {
      const raw = sse(
        start(),
        ...events,
        end({ delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } }),
        stop,
      )
      const { model } = await fakeModel('anthropic', [{ raw }])
      const { calls } = await answerOf(model, { tools: [searchTool] })
      expect(calls.map(({ name, arguments: text }) => [name, JSON.parse(text)])).toEqual([
        ['hub_search', { query: 'tin' }],
      ])
    }
  })
})

describe('a refusal', () => {
  const words = 'The roles must alternate'
  test.each([
    ['error.message', JSON.stringify({ error: { message: words, type: 'invalid_request_error' } })],
    ['error as a text', JSON.stringify({ error: words })],
    ['message', JSON.stringify({ object: 'error', message: words, code: 400 })],
    ['detail', JSON.stringify({ detail: words })],
    ['detail as a list', JSON.stringify({ detail: [{ loc: ['body'], msg: words }] })],
    ['a list', JSON.stringify([{ error: { code: 400, message: words } }])],
    [
      'nested metadata',
      JSON.stringify({
        error: {
          message: 'Provider returned error',
          metadata: { raw: JSON.stringify({ error: { message: words } }) },
        },
      }),
    ],
    ['plain text', words],
  ])('L35: is quoted from %s', async (_name, raw) => {
    for (const provider of ['openai-compatible', 'anthropic', 'openai'] as const) {
      const { model } = await fakeModel(provider, [{ status: 400, raw }])
      const failure = await failureOf(model)
      expect(failure).toMatchObject({ isPermanent: true, refusesPrompt: true })
      expect(failure.detail).toContain(words)
    }
  })

  test.each([
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
    'prompt is too long: 210000 tokens > 200000 maximum',
    'the request exceeds the available context size. try increasing the context size',
    'input length exceeds the context length',
    'Trying to keep the first 5000 tokens when context overflows. However, the model is loaded with context length of only 4096 tokens',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096',
    'Input validation error: `inputs` must have less than 1024 tokens. Given: 1500',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'Please reduce the length of the messages or completion.',
    'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
    'Input is too long for requested model.',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    'too many tokens: size limit exceeded by 511 tokens',
  ])('L18: is known to be about the length: %s', async (message) => {
    const { model } = await fakeModel('openai-compatible', [{ status: 400, message }])
    expect(await failureOf(model)).toMatchObject({ isTooLong: true })
  })

  test.each([
    'The model is unhappy',
    'Unknown parameter: max_tokens',
    'tools: 130 tools, at most 128',
  ])('L18: is about something else: %s', async (message) => {
    const { model } = await fakeModel('openai-compatible', [{ status: 400, message }])
    expect(await failureOf(model)).not.toHaveProperty('isTooLong')
  })
})

const encoder = new TextEncoder()

/** Returns the events that a provider's package reads of a stream that arrives in these chunks. */
async function readRepaired(
  createRepair: typeof createChatRepair,
  chunks: string[],
  // biome-ignore lint/suspicious/noExplicitAny: events of two protocols
): Promise<any[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(encoder.encode(chunk))
      controller.close()
    },
  })
  const fetch = createRepairingFetch(async () => new Response(body), createRepair)
  const text = await (await fetch('http://model.test')).text()
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((event) => JSON.parse(event.replace(/^data: /, '')))
}

const someText = fc.string({ minLength: 1, maxLength: 3, unit: 'grapheme' })
const chatPiece = fc.oneof(
  someText.map((content) => delta({ content })),
  someText.map((reasoning) => delta({ reasoning_content: reasoning })),
  fc
    .tuple(fc.nat({ max: 2 }), someText)
    .map(([index, args]) => delta({ tool_calls: [{ index, function: { arguments: args } }] })),
  fc.nat({ max: 2 }).map((index) =>
    delta({
      tool_calls: [{ index, id: `c${index}`, function: { name: 'look', arguments: '' } }],
    }),
  ),
  fc.constant(delta({ content: 'a', reasoning: 'b' })),
)
const messagesPiece = fc
  .tuple(
    fc.nat({ max: 2 }),
    fc.constantFrom(
      ['text_delta', 'text'],
      ['thinking_delta', 'thinking'],
      ['input_json_delta', 'partial_json'],
      ['signature_delta', 'signature'],
    ),
    someText,
  )
  .map(([index, [type = '', field = ''], text]) => ({
    type: 'content_block_delta',
    index,
    delta: { type, [field]: text },
  }))

// biome-ignore lint/suspicious/noExplicitAny: events of two protocols
const tellChat = ({ choices }: any): string[] =>
  // biome-ignore lint/suspicious/noExplicitAny: events of two protocols
  choices.flatMap(({ delta: { content, reasoning, reasoning_content, tool_calls } }: any) => [
    ...(content ? [`content ${content}`] : []),
    ...(reasoning || reasoning_content ? [`thoughts ${reasoning || reasoning_content}`] : []),
    // biome-ignore lint/suspicious/noExplicitAny: events of two protocols
    ...(tool_calls ?? []).flatMap((each: any) => [
      ...(each.id ? [`call ${each.index} ${each.id} ${each.function.name}`] : []),
      ...(each.function.arguments ? [`arguments-${each.index} ${each.function.arguments}`] : []),
    ]),
  ])
// biome-ignore lint/suspicious/noExplicitAny: events of two protocols
const tellMessages = ({ type, index, delta: given }: any): string[] =>
  type === 'content_block_delta'
    ? [
        `${index}-${given.type} ${given.text ?? given.thinking ?? given.partial_json ?? given.signature}`,
      ]
    : []

/** Joins what follows each other of the same kind. */
function joinTold(told: string[]): string[] {
  const joined: string[] = []
  for (const each of told) {
    const kind = each.slice(0, each.indexOf(' ') + 1)
    const isSame = !kind.startsWith('call') && joined.at(-1)?.startsWith(kind)
    if (isSame) joined[joined.length - 1] += each.slice(kind.length)
    else joined.push(each)
  }
  return joined
}

const protocols = [
  ['Chat Completions', createChatRepair, chatPiece, tellChat],
  ['Messages', createMessagesRepair, messagesPiece, tellMessages],
] as const

test.each(protocols)(
  'L27: %s: pieces that arrive together say what they say one by one',
  async (_name, createRepair, part, tell) => {
    const parts: fc.Arbitrary<object> = part
    await fc.assert(
      fc.asyncProperty(fc.array(parts, { maxLength: 40 }), async (events) => {
        const chunks = events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
        const alone = await readRepaired(createRepair, chunks)
        const together = await readRepaired(createRepair, [chunks.join('')])
        expect(joinTold(together.flatMap(tell))).toEqual(joinTold(alone.flatMap(tell)))
        expect(together.length).toBeLessThanOrEqual(alone.length)
      }),
    )
  },
)

test('L26: an answer that ends within an event is interrupted, and keeps what came before', async () => {
  const half = 'data: {"id":"c","choices":[{"delta":{"cont'
  const { model } = await fakeModel('openai-compatible', [
    { raw: sse(delta({ content: 'Hello' }), half) },
  ])
  expect(await answerOf(model)).toMatchObject({ text: 'Hello', finish: 'interrupted' })
})

test('L27: a piece of a call that says more than its arguments stays an event of its own', async () => {
  const open = call({ id: 'c', function: { name: 'look', arguments: '' } })
  const signed = call({ function: { arguments: '{}' }, extra_content: { signature: 's' } })
  const events = await readRepaired(createChatRepair, [sse(open, signed)])
  expect(events).toHaveLength(2)
  expect(JSON.stringify(events)).toContain('"signature":"s"')
})

test('L27: a thousand pieces of one text or of one call that arrive together are one event', async () => {
  const open = call({ id: 'c', function: { name: 'look', arguments: '' } })
  for (const events of [
    Array.from({ length: 1_000 }, () => delta({ content: 'a' })),
    [open, ...Array.from({ length: 1_000 }, () => call({ function: { arguments: 'a' } }))],
  ]) {
    expect(await readRepaired(createChatRepair, [sse(...events)])).toHaveLength(1)
  }
})

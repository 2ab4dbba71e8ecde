import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findUnsupported, knownFields } from '../../../src/agents/model-gateway/read-request'
import type { ModelProtocol } from '../../../src/shared/runner-protocol'
import { createHarness, protocols, wires } from './gateway-harness'
import { realRequests } from './real-requests'

const withParts = (protocol: ModelProtocol, ...content: object[]) =>
  protocol === 'openai-responses'
    ? { input: [{ role: 'user', content }] }
    : { messages: [{ role: 'user', content }] }

const answerCounts = ['n', 'best_of', 'num_choices', 'num_return_sequences', 'candidate_count']
const nested = (levels: number): object =>
  levels === 0 ? { type: 'text', text: 'x' } : { type: 'text', content: [nested(levels - 1)] }

const common = (protocol: ModelProtocol): object[] => [
  withParts(protocol, { type: 'input_file', file_id: 'file_1' }),
  withParts(protocol, { type: 'input_audio', input_audio: { data: 'AAAA' } }),
  withParts(protocol, { type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' } }),
  withParts(protocol, { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } }),
  withParts(protocol, { type: 'image_url', image_url: { url: 'https://x.test/a.png' } }),
  withParts(protocol, { type: 'input_image', image_url: 'https://x.test/a.png' }),
  withParts(protocol, { type: 'input_image', image_url: 'data:image/png;base64,A', file_id: 'f' }),
  withParts(protocol, { type: 'something_new', text: 'x' }),
  withParts(protocol, { text: 'no type' }),
  withParts(protocol, nested(20)),
  ...['web_search', 'web_search_preview', 'code_interpreter', 'computer_use_preview', 'mcp'].map(
    (type) => ({ tools: [{ type, name: type }] }),
  ),
  { tools: [[{ type: 'function' }]] },
  { tools: { type: 'web_search' } },
  { background: true },
  { background: 'true' },
  ...answerCounts.flatMap((name) => [4, '4', 0, '1.5', [1]].map((value) => ({ [name]: value }))),
  ...['mcp_servers', 'container', 'conversation', 'previous_response_id', 'prompt', 'audio'].map(
    (name) => ({ [name]: 'x' }),
  ),
  { plugins: [{ id: 'web' }] },
  { models: ['a', 'b'] },
  { modalities: ['text', 'audio'] },
]
const own: Record<ModelProtocol, object[]> = {
  'anthropic-messages': [
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] },
    { tools: [{ type: 'code_execution_20250825', name: 'x' }] },
    { tools: [{ type: 'computer_20250124', name: 'computer' }] },
    { tools: [{ type: 'tool_search_tool_regex_20251119', name: 'x' }] },
    { fallbacks: [{ model: 'another' }] },
    { thread: { type: 'continue', id: 't' } },
    { output_config: { effort: 'high', something: 1 } },
    withParts('anthropic-messages', { type: 'server_tool_use', id: 's', name: 'web_search' }),
    withParts('anthropic-messages', { type: 'container_upload', file_id: 'f' }),
    {
      messages: [
        {
          role: 'system',
          content: [
            {
              type: 'tool_addition',
              tool: { type: 'tool_definition', definition: { type: 'web_search_20250305' } },
            },
          ],
        },
      ],
    },
  ],
  'openai-chat': [
    { web_search_options: {} },
    { prediction: { type: 'content', content: 'x' } },
    { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] },
    { reasoning: { effort: 'high', mode: 'pro' } },
  ],
  'openai-responses': [
    { tools: [{ type: 'mcp', server_url: 'https://x.test' }] },
    { tools: [{ type: 'image_generation' }] },
    { tools: [{ type: 'file_search', vector_store_ids: ['v'] }] },
    { tools: [{ type: 'tool_search' }] },
    { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
    { tools: [{ type: 'namespace', tools: [{ type: 'code_interpreter' }] }] },
    { input: [{ type: 'item_reference', id: 'rs_1' }] },
    { input: [{ type: 'web_search_call', id: 'ws_1' }] },
    { input: [{ type: 'tool_search_output', tools: [{ type: 'web_search' }] }] },
    { reasoning: { effort: 'high', mode: 'pro' } },
    { context_management: [{ type: 'compaction', compact_threshold: 1_000 }] },
  ],
}

describe.each(protocols)('%s', (protocol) => {
  test('X4, X6: what the hub can neither see nor price is refused before it is admitted', async () => {
    for (const body of [...common(protocol), ...own[protocol]]) {
      const harness = createHarness(protocol)
      const response = await harness.send(body)
      expect(response.status, JSON.stringify(body)).toBe(400)
      expect(await response.text()).toContain("not possible through the hub's model gateway")
      expect([harness.admitted, harness.sent]).toEqual([[], []])
    }
  })

  test('X4: a field that nobody has thought of is refused, and one that says nothing is no field', () => {
    const { passed, dropped } = knownFields[protocol]
    const known = [...passed, ...dropped, ...answerCounts, 'num_completions', 'background']
    const unknown = fc
      .string({ minLength: 1, maxLength: 20 })
      .filter((name) => !known.includes(name))
    const value = fc.jsonValue().filter((each) => each !== null && each !== false)
    fc.assert(
      fc.property(unknown, value, (name, given) => {
        const isEmpty = Array.isArray(given) && given.length === 0
        const said = findUnsupported(protocol, { ...wires[protocol].body, [name]: given })
        expect(said === null).toBe(isEmpty)
        const none = {
          ...wires[protocol].body,
          [name]: null,
          background: false,
          n: 1,
          best_of: '1',
        }
        expect(findUnsupported(protocol, none)).toBeNull()
      }),
    )
  })

  test('X4: what cannot change the answer is left out of what the provider gets', async () => {
    const harness = createHarness(protocol)
    const response = await harness.send({
      n: 1,
      best_of: '1',
      service_tier: 'priority',
      speed: 'fast',
      inference_geo: 'us',
      background: false,
      container: null,
      mcp_servers: [],
      store: undefined,
    })
    expect(response.status).toBe(200)
    expect(Object.keys(harness.sent[0]?.body).sort()).toEqual(
      [
        ...Object.keys(wires[protocol].body),
        'model',
        'stream',
        ...(protocol === 'openai-chat' ? ['stream_options'] : []),
        ...(protocol === 'openai-responses' ? ['store'] : []),
      ].sort(),
    )
  })
})

test.each(realRequests)(
  'X4 X7: what $program sends passes, without $gone',
  async ({ protocol, body, gone }) => {
    const harness = createHarness(protocol, { outputTokens: 8_000 })
    expect((await harness.send(body)).status).toBe(200)
    const { model, store, ...sent } = harness.sent[0]?.body ?? {}
    const { max_output_tokens: _, ...rest } = sent
    const { store: __, ...given } = body as Record<string, unknown>
    expect(protocol === 'openai-responses' ? rest : sent).toEqual(
      Object.fromEntries(Object.entries(given).filter(([name]) => !gone.includes(name))),
    )
  },
)

test('X4: a change of the context that calls the model once more is left out, and so is its beta', async () => {
  const clear = { type: 'clear_tool_uses_20250919' }
  const harness = createHarness('anthropic-messages')
  const betas =
    'compact-2026-01-12,context-management-2025-06-27,Effort-2025-11-24,claude-code-20250219,' +
    'effort-2025-11-24,per-turn-control-2026-07-01,web-search-2025-03-05,files-api-2025-04-14,context-1m-2025-08-07,unheard-of-2027-01-01'
  const edits = [{ type: 'compact_20260112' }, clear]
  await harness.send({ context_management: { edits } }, { 'anthropic-beta': betas })
  await harness.send({ context_management: { edits: edits.slice(0, 1) } })
  const [first, second] = harness.sent
  expect(first?.body.context_management).toEqual({ edits: [clear] })
  expect(first?.headers.get('anthropic-beta')).toBe(
    'context-management-2025-06-27,claude-code-20250219,effort-2025-11-24,per-turn-control-2026-07-01',
  )
  expect(second?.body).not.toHaveProperty('context_management')
})

test('X4: a tool counts again wherever the prompt refers to it, and one that is named by its type as more', async () => {
  const harness = createHarness('anthropic-messages')
  const tool = { name: 'big', description: 'x'.repeat(5_000), input_schema: {} }
  const refer = { type: 'tool_reference', tool_name: 'big' }
  const add = { type: 'tool_addition', tool: { type: 'tool_reference', name: 'big' } }
  const bash = { type: 'bash_20250124', name: 'bash', cache_control: { type: 'ephemeral' } }
  const ask = (content: object[], tools: object[]) =>
    harness.send({ tools, messages: [{ role: 'user', content }] })
  await ask([{ type: 'text', text: 'x' }], [tool])
  await ask([{ type: 'tool_result', content: [refer, refer] }, add], [tool, bash])
  const [one, four] = harness.admitted.map(({ promptTokensMax }) => promptTokensMax)
  expect((four ?? 0) - (one ?? 0)).toBeGreaterThan(3 * 5_000 + 1_000)
})

import { describe, expect, test } from 'vitest'
import type { ModelProtocol } from '../../../src/shared/runner-protocol'
import { createHarness, protocols, runToken, secretKey, wires } from './gateway-harness'

const endpoints = {
  'anthropic-messages': 'https://anthropic.test/v1/messages',
  'openai-chat': 'https://compatible.test/v1/chat/completions',
  'openai-responses': 'https://openai.test/v1/responses',
} as const

const picture = `data:image/png;base64,${'A'.repeat(40_000)}`
const pictures: Record<ModelProtocol, object> = {
  'anthropic-messages': { type: 'image', source: { type: 'base64', data: picture } },
  'openai-chat': { type: 'image_url', image_url: { url: picture } },
  'openai-responses': { type: 'input_image', image_url: picture },
}
const withParts = (protocol: ModelProtocol, ...content: object[]) =>
  protocol === 'openai-responses'
    ? { input: [{ role: 'user', content }] }
    : { messages: [{ role: 'user', content }] }

describe.each(protocols)('%s', (protocol) => {
  const { output, path } = wires[protocol]

  test('X4: the hub puts in key and model, and of the program passes only what the protocol needs', async () => {
    const harness = createHarness(protocol)
    await harness.send(
      { service_tier: 'priority', temperature: 0.3, metadata: { user_id: 'u' } },
      {
        cookie: 'session=1',
        'x-forwarded-for': '10.0.0.1',
        'openai-organization': 'org',
        'user-agent': 'program/1',
        'anthropic-version': '2024-01-01',
        'anthropic-beta':
          'interleaved-thinking-2025-05-14, context-1m-2025-08-07,fast-mode-2026-02-01',
      },
    )
    const [sent] = harness.sent
    expect(sent?.url).toBe(endpoints[protocol])
    expect(sent?.init.redirect).toBe('manual')
    expect(Object.fromEntries(sent?.headers ?? [])).toEqual({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(protocol === 'anthropic-messages'
        ? {
            'x-api-key': secretKey,
            'anthropic-version': '2024-01-01',
            'anthropic-beta': 'interleaved-thinking-2025-05-14',
          }
        : { authorization: `Bearer ${secretKey}` }),
    })
    expect(sent?.body).toEqual({
      ...wires[protocol].body,
      stream: true,
      temperature: 0.3,
      // Chat Completions has metadata for stored answers only.
      ...(protocol !== 'openai-chat' && { metadata: { user_id: 'u' } }),
      model: wires[protocol].model.split('/')[1],
      [output]: 400,
      ...(protocol === 'openai-chat' && { stream_options: { include_usage: true } }),
      ...(protocol === 'openai-responses' && { store: false }),
    })
  })

  test('X4: a request is admitted by what it asks for', async () => {
    const harness = createHarness(protocol)
    await harness.send({ model: 'another' })
    const bytes = JSON.stringify({ model: 'another', stream: true, ...wires[protocol].body }).length
    expect(harness.admitted).toEqual([
      {
        attempt: 2,
        protocol,
        model: 'another',
        outputTokens: 500,
        promptTokensMax: bytes,
        promptTokens: Math.ceil(bytes / 4),
      },
    ])
    await harness.send({
      [output]: undefined,
      tools: [{ type: protocol === 'anthropic-messages' ? 'custom' : 'function', name: 'x' }],
    })
    expect(harness.admitted[1]?.outputTokens).toBeNull()
    expect(harness.admitted[1]?.promptTokensMax).toBeGreaterThan(bytes + 640 - 50)
    // The limit is sent also when the program has set none.
    expect(harness.sent[1]?.body[output]).toBe(400)
  })

  test('X4: a picture counts by what providers make of it, also in the result of a tool', async () => {
    const harness = createHarness(protocol)
    await harness.send(withParts(protocol, pictures[protocol]))
    await harness.send(
      protocol === 'openai-responses'
        ? { input: [{ type: 'function_call_output', call_id: 'a', output: [pictures[protocol]] }] }
        : protocol === 'openai-chat'
          ? { messages: [{ role: 'tool', content: [pictures[protocol]] }] }
          : withParts(protocol, { type: 'tool_result', content: [pictures[protocol]] }),
    )
    for (const { promptTokensMax } of harness.admitted) {
      expect(promptTokensMax).toBeGreaterThan(12_000)
      expect(promptTokensMax).toBeLessThan(12_500)
    }
    expect(harness.admitted).toHaveLength(2)
  })

  test('X4: malformed bodies are refused in the form of the protocol', async () => {
    const harness = createHarness(protocol)
    const headers = { authorization: `Bearer ${runToken}` }
    for (const body of ['', '[]', '{', 'null', new Uint8Array([0x7b, 0xff, 0x7d])]) {
      const response = await harness.call(path, { method: 'POST', headers, body })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
    }
    expect(harness.admitted).toEqual([])
  })

  test('X4: each way in which clients build their paths leads to the same', async () => {
    const end = path.replace('/gateway/v1', '')
    for (const each of [
      `/gateway${end}`,
      `/gateway/v1/v1${end}?beta=true`,
      `/gateway//v1${end}/`,
    ]) {
      const harness = createHarness(protocol)
      const headers = { authorization: `Bearer ${runToken}` }
      await harness.call(each, {
        method: 'POST',
        headers,
        body: JSON.stringify(wires[protocol].body),
      })
      expect(harness.sent[0]?.url, each).toBe(endpoints[protocol])
    }
    for (const each of ['/gateway', '/gateway/v1', '/gateway/v1/files', `/gatewayx${end}`]) {
      expect((await createHarness(protocol).call(each, { method: 'POST' })).status, each).toBe(404)
    }
  })

  test('X4: models and the length of a prompt are answered without the provider', async () => {
    const harness = createHarness(protocol)
    const isAnthropic = protocol === 'anthropic-messages'
    const headers = {
      authorization: `Bearer ${runToken}`,
      ...(isAnthropic && { 'anthropic-version': '2023-06-01' }),
    }
    const id = wires[protocol].model.split('/')[1] ?? ''
    const list = await (await harness.call('/gateway/v1/models?limit=9', { headers })).json()
    expect(list).toMatchObject(
      isAnthropic
        ? { has_more: false, data: [{ type: 'model', id }] }
        : { object: 'list', data: [{ id, object: 'model' }] },
    )
    expect(await (await harness.call(`/gateway/models/${id}`, { headers })).json()).toMatchObject({
      id,
    })
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(4_000) }] })
    const count = await harness.call('/gateway/v1/messages/count_tokens', {
      method: 'POST',
      headers,
      body,
    })
    const { input_tokens } = await count.json<{ input_tokens: number }>()
    expect(Math.abs(input_tokens - 1_000)).toBeLessThan(50)
    expect([harness.sent, harness.admitted]).toEqual([[], []])
  })
})

test('X4: thinking stays below a shortened answer, and the cache at the price that is reserved', async () => {
  const longCache = { type: 'ephemeral', ttl: '1h' }
  const harness = createHarness('anthropic-messages', { outputTokens: 2_000 })
  await harness.send({
    max_tokens: 32_000,
    thinking: { type: 'enabled', budget_tokens: 31_999 },
    system: [{ type: 'text', text: 'Rules', cache_control: longCache }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'tool_result', content: [{ type: 'text', text: 'x', cache_control: longCache }] },
        ],
      },
    ],
    tools: [
      {
        name: 'x',
        input_schema: { properties: { ttl: { type: 'string' } } },
        cache_control: longCache,
      },
    ],
  })
  const { body } = harness.sent[0] ?? {}
  expect([body.max_tokens, body.thinking.budget_tokens]).toEqual([2_000, 1_999])
  expect(JSON.stringify(body)).not.toContain('1h')
  expect(JSON.stringify(body).match(/"cache_control":{"type":"ephemeral"}/g)).toHaveLength(3)
  expect(body.tools[0].input_schema.properties).toEqual({ ttl: { type: 'string' } })
  const short = createHarness('anthropic-messages', { outputTokens: 800 })
  await short.send({ thinking: { type: 'enabled', budget_tokens: 2_000 } })
  expect(short.sent[0]?.body.thinking).toEqual({ type: 'disabled' })
})

test('X4: OpenAI gets the limit of an answer by the name that its models accept', async () => {
  const harness = createHarness('openai-chat', { model: 'openai/gpt-5' })
  await harness.send({ max_tokens: 300, max_completion_tokens: 200, stream: false })
  const { body } = harness.sent[0] ?? {}
  expect(harness.admitted[0]?.outputTokens).toBe(200)
  expect([body.max_completion_tokens, body.max_tokens, body.stream_options]).toEqual([
    400,
    undefined,
    undefined,
  ])
})

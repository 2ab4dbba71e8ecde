import { expect, test } from 'vitest'
import { createModelRegistry, listProviders } from '../../../src/agents/models/registry'
import { createRecentSecrets } from '../../../src/mcp-servers/credentials/scrub'
import { type AiBinding, listBindingModels } from '../../../src/mcp-servers/models/ai-binding'
import { createModelAccess } from '../../../src/mcp-servers/models/model-access'
import { createModelStore } from '../../../src/mcp-servers/models/model-store'
import { settingsSchema } from '../../../src/shared/settings'
import { question, request } from '../../agents/models/fake-provider'

interface Sent {
  model: string
  inputs: Record<string, unknown>
  options: object
}

/** The binding, with what it was asked and the raw response that it gives. */
function createBinding(answer: () => Response): { ai: AiBinding; sent: Sent[] } {
  const sent: Sent[] = []
  return {
    sent,
    ai: {
      run: async (model, inputs, options) => {
        sent.push({ model, inputs, options })
        return answer()
      },
      models: async () => [{ name: '@cf/openai/gpt-oss-20b' }, { name: 'not a model' }],
    },
  }
}

/** Cuts a text into pieces within lines and characters, as a connection does. */
const stream =
  (...events: unknown[]) =>
  () => {
    const text = events.map(
      (each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`,
    )
    const bytes = new TextEncoder().encode(text.join(''))
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 7) controller.enqueue(bytes.slice(at, at + 7))
        controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

const tool = {
  name: 'find',
  description: 'Finds.',
  inputSchema: { type: 'object', properties: {} },
}

async function callBinding(answer: () => Response, env: Record<string, string> = {}) {
  const { ai, sent } = createBinding(answer)
  const deps = { vault: { read: async () => '' }, known: createRecentSecrets(), ai }
  const access = createModelAccess({ ...deps, canReachPrivate: () => false })
  const connections = createModelStore(new Map(), true).readConnections(null)
  const registry = createModelRegistry(settingsSchema.parse(env), {
    access,
    fetch: async () => Response.json({ error: { message: 'over HTTPS' } }, { status: 400 }),
  })
  const { model } = registry.resolve({ provider: 'auto' }, connections)
  const result = await model.call(request({ messages: question, tools: [tool] }))
  return { id: model.id, result, sent, connections }
}

const usage = { prompt_tokens: 21, completion_tokens: 4, total_tokens: 25 }
const chat = (delta: object, reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: reason }],
})

test('a hub with the binding uses it as the default, without a key', async () => {
  const { id, result, sent, connections } = await callBinding(
    stream(
      chat({ role: 'assistant', content: 'Hé' }),
      chat({ content: 'llo' }, 'stop'),
      { choices: [], usage },
      '[DONE]',
    ),
  )
  expect(id).toBe('workers-ai/@cf/zai-org/glm-4.7-flash')
  const states = listProviders(settingsSchema.parse({}), connections)
  expect(states.find(({ provider }) => provider === 'workers-ai')).toMatchObject({
    source: 'binding',
    isReady: true,
    baseUrl: null,
  })
  expect(result).toMatchObject({
    ok: true,
    answer: { text: 'Héllo', finish: 'stop', usage: { inputTokens: 21, outputTokens: 4 } },
  })
  expect(sent).toMatchObject([
    {
      model: '@cf/zai-org/glm-4.7-flash',
      inputs: { stream: true, tools: [{ type: 'function', function: { name: 'find' } }] },
      options: { returnRawResponse: true, signal: expect.any(AbortSignal) },
    },
  ])
  const [{ inputs } = { inputs: {} }] = sent
  expect(Object.keys(inputs)).not.toContain('model')
  expect(Object.keys(inputs)).not.toContain('stream_options')
})

test.each<[string, () => Response, object]>([
  [
    'a stream of the platform’s own form',
    stream({ response: 'Her' }, { response: 'ons' }, { response: '', usage }, '[DONE]'),
    { text: 'Herons', finish: 'stop', calls: [], usage: { inputTokens: 21 } },
  ],
  [
    'whole calls in a stream of the platform’s own form',
    stream(
      { response: '', tool_calls: [{ name: 'find', arguments: { q: 'a' } }] },
      { response: '', tool_calls: [{ name: 'find', arguments: { q: 'b' } }], usage },
      '[DONE]',
    ),
    {
      finish: 'tool-calls',
      calls: [
        { name: 'find', arguments: '{"q":"a"}' },
        { name: 'find', arguments: '{"q":"b"}' },
      ],
    },
  ],
  [
    'a call in pieces',
    stream(
      { tool_calls: [{ id: 'c1', type: 'function', index: 0, function: { name: 'find' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"q":' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '"a"}' } }] },
      { tool_calls: [{ id: null, type: null, index: 0, function: { name: null, arguments: '' } }] },
      { response: '', usage },
      '[DONE]',
    ),
    { finish: 'tool-calls', calls: [{ name: 'find', arguments: '{"q":"a"}' }] },
  ],
  [
    'JSON of a model that does not stream',
    () => Response.json({ response: 'Whole.', usage }),
    { text: 'Whole.', finish: 'stop', usage: { outputTokens: 4 } },
  ],
  [
    'JSON of Chat Completions',
    () =>
      Response.json({
        choices: [{ message: { role: 'assistant', content: 'Whole.' }, finish_reason: 'stop' }],
        usage,
      }),
    { text: 'Whole.', finish: 'stop', usage: { inputTokens: 21 } },
  ],
])('the binding answers with %s', async (_, answer, expected) => {
  const { result } = await callBinding(answer)
  expect(result).toMatchObject({ ok: true, answer: expected })
})

test('a stream that breaks off is no whole answer', async () => {
  const { result } = await callBinding(stream({ response: 'Half of' }))
  expect(result).not.toMatchObject({ ok: true, answer: { finish: 'stop' } })
})

const used =
  "you have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid plan if you would like to continue usage."

// The documented codes and their statuses, in the form of the binding and in that of the API behind it; 4006 as accounts report it.
test.each<[number, number, string, boolean, RegExp]>([
  [5007, 400, 'No such model @cf/x or task', false, /no such model/],
  [3003, 400, 'Request is missing headers or body: messages', false, /answered 400/],
  [3023, 403, 'Service unavailable for account', false, /\(403\)/],
  [3042, 404, 'The model name is invalid', false, /answered 404/],
  [3007, 408, 'Request timeout', true, /answered 408/],
  [3006, 413, 'Request is too large', false, /too long/],
  [3036, 429, used, false, /quota is used up/],
  [4006, 429, used, false, /quota is used up/],
  [3040, 429, 'No more data centers to forward the request to', true, /answered 429/],
])('the binding fails with %s', async (code, status, words, isRetryable, message) => {
  const forms = [
    JSON.stringify({ internalCode: code, name: 'AiError', description: words }),
    JSON.stringify({
      success: false,
      result: {},
      errors: [{ code, message: `AiError: ${words}` }],
    }),
    ...(code === 4006 ? [`${code}: ${words}`] : []),
  ]
  for (const body of forms) {
    const { result } = await callBinding(() => new Response(body, { status }))
    expect(result).toMatchObject({ ok: false, failure: { isRetryable } })
    expect(result.ok ? '' : result.failure.message).toMatch(message)
  }
})

test('a key of the environment counts before the binding', async () => {
  const env = { WORKERS_AI_API_KEY: 'a-key', WORKERS_AI_ACCOUNT_ID: '0'.repeat(32) }
  const { result, sent } = await callBinding(stream(), env)
  expect([result.ok, sent]).toEqual([false, []])
})

test('the models of the binding are listed', async () => {
  const { ai } = createBinding(() => Response.json({}))
  expect(await listBindingModels(ai)).toEqual(['@cf/openai/gpt-oss-20b'])
  const broken = { ...ai, models: () => Promise.reject(new Error('Internal Error')) }
  await expect(listBindingModels(broken)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})

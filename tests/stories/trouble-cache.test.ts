import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { call, createAccount, listComments, post } from '../support/cast'
import { createAgent, waitForActivation } from '../support/create-agent'

/** Micro-dollars per token: uncached, cached, written to the cache, output. */
const prices = {
  anthropic: { model: 'claude-haiku-4-5', each: [1, 0.1, 1.25, 5] },
  openai: { model: 'gpt-6-sol', each: [2, 0.2, 2.5, 10] },
  'openai-compatible': { model: 'gpt-6-sol', each: [2, 0.2, 2.5, 10] },
} as const

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

describe.each(['anthropic', 'openai', 'openai-compatible'] as const)('%s', (provider) => {
  test('L14 B1: a step extends the previous prompt, and cached tokens are charged at their price', async () => {
    const { model, each } = prices[provider]
    const agent = await createAgent(
      `saver-${provider}`,
      [
        {
          calls: [{ id: 'c1', name: 'hub_search', arguments: { query: 'tin' } }],
          usage: { input: 2_000, output: 20, written: 1_800 },
        },
        { text: 'Saved.', usage: { input: 2_500, output: 10, cached: 1_800, written: 600 } },
      ],
      { provider, model },
    )
    const asked = await post(mira.key, 'Saving', `@${agent.name} save`)
    const { id } = await waitForActivation(asked)
    const { results } = await env.DB.prepare(
      'SELECT input_tokens, cached_tokens, cost_microusd FROM usage_events WHERE activation_id = ? ORDER BY call',
    )
      .bind(id)
      .all()
    const [plain, cached, written, answered] = each
    expect(results).toEqual([
      {
        input_tokens: 2_000,
        cached_tokens: 0,
        cost_microusd: Math.ceil(200 * plain + 1_800 * written + 20 * answered),
      },
      {
        input_tokens: 2_500,
        cached_tokens: 1_800,
        cost_microusd: Math.ceil(100 * plain + 1_800 * cached + 600 * written + 10 * answered),
      },
    ])
    const [first, second] = (await agent.requests()).map(({ body }) => body)
    const marker = ',"cache_control":{"type":"ephemeral"}'
    const write = (body: typeof first) =>
      JSON.stringify([body.tools, body.system, body.input ?? body.messages])
    const untilTail = (text: string) => text.slice(0, text.indexOf('[status]'))
    const before = untilTail(write(first).replaceAll(marker, ''))
    expect(before.length).toBeGreaterThan(1_000)
    expect(
      write(second)
        .replaceAll(marker, '')
        .slice(0, before.length - 60),
    ).toBe(before.slice(0, -60))
    const markers = [first, second].map((body) => write(body).split(marker).length - 1)
    expect(markers).toEqual(provider === 'anthropic' ? [2, 3] : [0, 0])
    const keys = [first, second].map((body) => body.prompt_cache_key)
    expect(keys).toEqual(Array(2).fill(provider === 'openai' ? agent.accountId : undefined))
  })
})

describe.each(['anthropic', 'openai', 'openai-compatible'] as const)('%s', (provider) => {
  test('L25: reasoning is in the trace and never in the thread', async () => {
    const agent = await createAgent(
      `muser-${provider}`,
      [
        {
          reasoning: 'The secret thought number one.',
          calls: [{ id: 'c1', name: 'hub_search', arguments: { query: 'tin' } }],
        },
        { reasoning: 'The secret thought number two.', text: 'Out loud.' },
      ],
      { provider },
    )
    const asked = await post(mira.key, 'Musing', `@${agent.name} muse`)
    const { id } = await waitForActivation(asked)
    const [reply] = await listComments(asked)
    expect(reply?.content).toContain('Out loud.')
    expect(reply?.content).not.toContain('secret thought')
    const stored = await env.DB.prepare(
      'SELECT trace FROM activation_traces WHERE activation_id = ?',
    )
      .bind(id)
      .first<{ trace: string }>()
    for (const number of ['one', 'two']) {
      expect(stored?.trace).toContain(`The secret thought number ${number}.`)
    }
    expect(JSON.stringify((await agent.requests())[1]?.body)).toContain('The secret thought')
  })
})

test('B7: an unknown model is counted in tokens and shown as unpriced, not as free', async () => {
  await createAgent('homegrown', [{ text: 'Home.' }], { model: 'house-model' })
  const asked = await post(mira.key, 'House', '@homegrown hello')
  const { id } = await waitForActivation(asked)
  const usage = await env.DB.prepare('SELECT * FROM usage_events WHERE activation_id = ?')
    .bind(id)
    .first()
  expect(usage).toMatchObject({
    input_tokens: 100,
    output_tokens: 20,
    cost_microusd: 0,
    is_priced: 0,
    is_estimated: 0,
  })
  const page = await call<{ text: string }>('GET', `/activations/${id}`)
  expect(page.body.text).toMatch(/unpriced/i)
})

test('B1: a usage event stores agent, model, purpose, all tokens, cost and time', async () => {
  const usage = { input: 2_000, output: 300, cached: 1_500, reasoning: 200 }
  const agent = await createAgent('counter', [{ reasoning: 'Hm.', text: 'Counted.', usage }], {
    provider: 'openai',
    model: 'gpt-6-sol',
  })
  const before = Date.now()
  const asked = await post(mira.key, 'Counting', '@counter count')
  const { id } = await waitForActivation(asked)
  const { results } = await env.DB.prepare('SELECT * FROM usage_events WHERE activation_id = ?')
    .bind(id)
    .all<{ duration_ms: number; created_at: number }>()
  expect(results).toMatchObject([
    {
      activation_id: id,
      call: 1,
      account_id: agent.accountId,
      model: 'openai/gpt-6-sol',
      task: 'mention',
      post_id: asked,
      input_tokens: 2_000,
      cached_tokens: 1_500,
      output_tokens: 300,
      reasoning_tokens: 200,
      cost_microusd: 500 * 2 + 1_500 * 0.2 + 300 * 10,
      is_priced: 1,
      is_estimated: 0,
    },
  ])
  const { duration_ms = -1, created_at = 0 } = results[0] ?? {}
  expect(Number.isInteger(duration_ms) && duration_ms >= 0).toBe(true)
  expect(created_at).toBeGreaterThanOrEqual(before)
})

import { expect, test } from 'vitest'
import { findNameProblems } from '../../../src/agents/models/choose-model'
import type { ModelChoice } from '../../../src/agents/models/model-port'
import { createModelRegistry } from '../../../src/agents/models/registry'
import type { ModelConnection } from '../../../src/hub/contract/hub'
import { autoProvider, providerNames, settingsSchema } from '../../../src/shared/settings'
import { question, request } from './fake-provider'

const stored = (provider: string, more: Partial<ModelConnection> = {}): ModelConnection => ({
  provider,
  baseUrl: `https://${provider}.example/v1`,
  hasKey: true,
  keyProblem: null,
  defaultModel: null,
  listed: [],
  prices: {},
  revision: 'one',
  sealed: null,
  ...more,
})
const anthropic = stored('anthropic')
const local = stored('openai-compatible', { hasKey: false, defaultModel: 'qwen3' })

/** A registry whose requests are recorded instead of sent: with the key that admins set, or without. */
function createRecorder(env: Record<string, string> = {}) {
  const sent: { url: string; key: string | null; by: string }[] = []
  const record = (by: string) => async (input: RequestInfo | URL, init?: RequestInit) => {
    const headers = new Headers(init?.headers)
    const key = headers.get('x-api-key') ?? headers.get('authorization')
    sent.push({ url: String(input instanceof Request ? input.url : input), key, by })
    return new Response('{}', { status: 400 })
  }
  const opened: string[] = []
  const registry = createModelRegistry(settingsSchema.parse(env), {
    fetch: record('hub'),
    access: {
      open: ({ provider, revision }) => {
        opened.push(`${provider} ${revision}`)
        return { fetch: record('vault'), redact: (text) => text }
      },
    },
  })
  const call = async (choice: ModelChoice, connections: ModelConnection[]) => {
    const { model } = registry.resolve(choice, connections)
    if (!model.isOffline) await model.call(request({ messages: question }))
    return model.id
  }
  return { sent, opened, registry, call }
}

test('L27: a provider that admins set up is called by what holds its key, which the model never has', async () => {
  const { call, sent, opened } = createRecorder()
  const choice = { model: 'claude-haiku-4-5' }
  expect(await call(choice, [])).toBe('offline/extractive')
  expect(await call(choice, [anthropic])).toBe('anthropic/claude-haiku-4-5')
  expect(sent).toEqual([
    { url: 'https://anthropic.example/v1/messages', key: 'set-at-models', by: 'vault' },
  ])
  await call(choice, [anthropic])
  expect(opened).toEqual(['anthropic one'])
  await call(choice, [stored('anthropic', { revision: 'two' })])
  expect(opened).toEqual(['anthropic one', 'anthropic two'])
  expect(await call(choice, [stored('anthropic', { hasKey: false })])).toBe('offline/extractive')
})

test('a key that has not worked is used by no agent, and an override says so', () => {
  const { registry } = createRecorder()
  const held = [stored('anthropic', { keyProblem: 'refused' })]
  expect(registry.resolve({ provider: 'auto' }, held).model.id).toBe('offline/extractive')
  expect(registry.resolve({ provider: 'anthropic' }, held).substitutedFor).toMatch(/^anthropic\//)
  expect(registry.findUpstream('anthropic/claude-haiku-4-5', {}, held)).toBeNull()
  expect(() => registry.resolve({ override: 'anthropic/claude-haiku-4-5' }, held)).toThrow(
    'has not worked yet',
  )
})

test('B7: a price that admins set counts from the next call on, whatever key is used, and is that of one name', () => {
  const { registry } = createRecorder({ ANTHROPIC_API_KEY: 'key-of-environment' })
  const price = { input: 2_000_000, cached: 100_000, output: 8_000_000 }
  const set = stored('anthropic', {
    hasKey: false,
    prices: { 'claude-haiku-4-5': price, 'claude-atlas': price },
  })
  const pricesOf = (model: string, connections: ModelConnection[]) =>
    registry.resolve({ model }, connections).model.prices
  const before = pricesOf('claude-haiku-4-5', [])
  expect(before).toMatchObject({ input: 1_000_000, cacheWrite: 1_250_000 })
  // what the provider adds for writing to its cache is not lost
  expect(pricesOf('claude-haiku-4-5', [set])).toEqual({ ...price, cacheWrite: 2_500_000 })
  expect(pricesOf('claude-haiku-4-5-20251001', [set])).toMatchObject(price)
  expect(pricesOf('claude-atlas', [])).toBeNull()
  expect(pricesOf('claude-atlas', [set])).toEqual({ ...price, cacheWrite: 2_000_000 })
  expect(pricesOf('claude-haiku-4-5', [stored('anthropic', { hasKey: false })])).toEqual(before)
})

test.each([
  'https://anthropic.example.evil.example/v1',
  'https://anthropic.example@evil.example/v1',
  'https://evil.example/v1',
  'http://anthropic.example/v1',
  'https://anthropic.example:8443/v1',
  'https://anthropic.example/v1/../other',
  'https://anthropic.example/v10',
])(
  'L27: the api_base %s of a definition never gets a key that was set for another place',
  async (apiBase) => {
    const { call, sent } = createRecorder()
    expect(await call({ model: 'claude-haiku-4-5', apiBase }, [anthropic])).toBe(
      'offline/extractive',
    )
    const open = { provider: 'openai-compatible', model: 'qwen3', apiBase }
    await call(open, [stored('openai-compatible', { baseUrl: anthropic.baseUrl })])
    expect(sent.map(({ key, by }) => ({ key, by }))).toEqual([{ key: null, by: 'hub' }])
  },
)

test('L27: a definition can name a path below the address that the key was set for', async () => {
  const { call, sent } = createRecorder()
  await call({ model: 'claude-haiku-4-5', apiBase: 'https://anthropic.example/v1/eu/v1' }, [
    anthropic,
  ])
  expect(sent[0]?.by).toBe('vault')
})

test('L27: what the environment sets for a provider counts alone', async () => {
  const { call, sent } = createRecorder({ ANTHROPIC_API_KEY: 'of-the-environment' })
  await call({ model: 'claude-haiku-4-5' }, [anthropic])
  expect(sent).toEqual([
    { url: 'https://api.anthropic.com/v1/messages', key: 'of-the-environment', by: 'hub' },
  ])
  const named = createRecorder()
  await named.call({ model: 'claude-haiku-4-5', apiKeyEnv: 'OTHER_API_KEY' }, [anthropic])
  expect(named.sent).toEqual([])
})

test('L27: provider auto takes the models that exist, in a stated order, else the offline model', () => {
  const { registry } = createRecorder({ OPENAI_API_KEY: 'o' })
  const auto = { provider: 'auto', model: 'ignored' }
  const ids = (connections: ModelConnection[]) =>
    registry.list(auto, connections).map(({ id }) => id)
  expect(ids([])).toEqual(['openai/gpt-6-sol'])
  expect(ids([local, anthropic])).toEqual([
    'anthropic/claude-sonnet-5-5',
    'openai/gpt-6-sol',
    'openai-compatible/qwen3',
  ])
  const nothing = createRecorder().registry.resolve(auto)
  expect([nothing.model.id, nothing.substitutedFor]).toEqual(['offline/extractive', null])
  const chosen = stored('anthropic', { defaultModel: 'claude-haiku-4-5' })
  expect(ids([chosen])[0]).toBe('anthropic/claude-haiku-4-5')
})

const listed = stored('openai-compatible', { listed: ['llama-4-scout', 'qwen3-coder'] })

test.each<[ModelChoice, string | null]>([
  [{ provider: 'antropic' }, 'Unknown provider "antropic": did you mean anthropic?'],
  [{ provider: 'autо' }, 'Unknown provider "autо": did you mean auto?'],
  [{ model: 'antropic/claude-sonnet-4-5' }, 'Unknown provider "antropic": did you mean anthropic?'],
  [
    { model: 'claude-sonet-4-5' },
    'Unknown model "claude-sonet-4-5": did you mean claude-sonnet-4-5?',
  ],
  [
    { provider: 'openai', model: 'gtp-5-mini' },
    'Unknown model "gtp-5-mini": did you mean gpt-5-mini?',
  ],
  [
    { provider: 'openai-compatible', model: 'qwen3-codr' },
    'Unknown model "qwen3-codr": did you mean qwen3-coder?',
  ],
  [{ alternatives: ['opnai/gpt-5'] }, 'Unknown provider "opnai": did you mean openai?'],
  // new versions, dated versions, resellers and own names
  [{ model: 'claude-sonnet-9' }, null],
  [{ model: 'claude-haiku-4-5-20251001' }, null],
  [{ provider: 'openai', model: 'gpt-7-sol' }, null],
  [{ model: 'meta-llama/llama-3.3-70b' }, null],
  [{ provider: 'openai-compatible', model: 'qwen3-coder' }, null],
  [{ provider: 'openai-compatible', model: 'our-own-finetune' }, null],
  [{ provider: 'auto' }, null],
  [{}, null],
])('L27: the names of %j are checked: %s', (choice, problem) => {
  const found = findNameProblems(choice, [listed]).map(({ message }) => message)
  expect(found).toEqual(problem === null ? [] : [problem])
})

test('L27: an unknown provider far from any other is an error with all names', () => {
  const [problem] = findNameProblems({ provider: 'skynet' })
  expect(problem?.message).toBe(
    `Unknown provider "skynet". Use one of ${[...providerNames, autoProvider].join(', ')}`,
  )
})

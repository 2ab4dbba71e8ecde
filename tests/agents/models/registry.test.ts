import { describe, expect, test } from 'vitest'
import type { ModelChoice } from '../../../src/agents/models/model-port'
import { createModelRegistry } from '../../../src/agents/models/registry'
import { readSettings, settingsSchema } from '../../../src/shared/settings'
import { request } from './fake-provider'

const registryWith = (
  env: Record<string, string>,
  readKey?: (name: string) => string | undefined,
) => createModelRegistry(settingsSchema.parse(env), readKey ? { readKey } : {})

const idOf = (env: Record<string, string>, choice: ModelChoice) => {
  const { model, substitutedFor } = registryWith(env).resolve(choice)
  return [model.id, substitutedFor]
}
const both = { ANTHROPIC_API_KEY: 'a-key', OPENAI_API_KEY: 'o-key' }
const offline = 'offline/extractive'

test('L27: a definition names its model in several ways', () => {
  const id = 'anthropic/claude-sonnet-4-5'
  for (const choice of [
    { provider: 'anthropic', model: 'claude-sonnet-4-5' },
    { model: id },
    { model: 'claude-sonnet-4-5' },
    { provider: 'anthropic', model: id },
  ]) {
    expect(idOf(both, choice)).toEqual([id, null])
  }
  expect(idOf(both, { model: 'gpt-5-mini' })).toEqual(['openai/gpt-5-mini', null])
  expect(idOf(both, { model: 'offline/extractive' })).toEqual([offline, null])
})

test('L27: without a key the offline model answers, and names the substituted model', () => {
  const choice = { model: 'anthropic/claude-sonnet-4-5' }
  expect(idOf({}, choice)).toEqual([offline, 'anthropic/claude-sonnet-4-5'])
  expect(idOf({ OPENAI_API_KEY: 'o-key' }, choice)).toEqual([offline, choice.model])
  expect(idOf(both, { model: 'workers-ai/llama-4' })).toEqual([offline, 'workers-ai/llama-4'])
  expect(idOf(both, { provider: 'toString' })).toEqual([offline, 'toString/default'])
  expect(idOf({}, { provider: 'openai' })[0]).toBe(offline)
})

test('L27: a definition without a model gets the default of the hub, else a provider with a key', () => {
  expect(idOf({}, {})).toEqual([offline, null])
  expect(idOf({ ROOKERY_DEFAULT_MODEL: 'openai/gpt-5-mini', ...both }, {})[0]).toBe(
    'openai/gpt-5-mini',
  )
  expect(idOf(both, {})[0]).toMatch(/^anthropic\//)
  expect(idOf({ OPENAI_API_KEY: 'o-key' }, {})[0]).toMatch(/^openai\//)
})

test('L27: a server of open models needs a place, not a key', () => {
  const choice = { provider: 'openai-compatible', model: 'meta-llama/llama-3.3-70b' }
  expect(idOf({}, choice)).toEqual([offline, 'openai-compatible/meta-llama/llama-3.3-70b'])
  expect(idOf({}, { ...choice, apiBase: 'http://127.0.0.1:11434/v1' })).toEqual([
    'openai-compatible/meta-llama/llama-3.3-70b',
    null,
  ])
})

test('L18: an explicit context limit goes before the catalogue', () => {
  const choice = { model: 'anthropic/claude-sonnet-4-5' }
  expect(registryWith(both).resolve(choice).model.contextTokens).toBe(200_000)
  expect(registryWith(both).resolve({ ...choice, contextTokens: 9_000 }).model.contextTokens).toBe(
    9_000,
  )
})

test('L27: a model is made once', () => {
  const registry = registryWith(both)
  const choice = { model: 'openai/gpt-5-mini' }
  expect(registry.resolve(choice).model).toBe(registry.resolve(choice).model)
})

test('L27: a definition can name a key, but no other secret', async () => {
  const asked: string[] = []
  const readKey = (name: string) => {
    asked.push(name)
    return name.endsWith('_API_KEY') ? 'a-secret' : undefined
  }
  const env = { ROOKERY_ADMIN_KEY: 'admin-key-0123456789' }
  const named = { provider: 'anthropic', model: 'claude-opus-5' }
  const own = registryWith(env, readKey).resolve({ ...named, apiKeyEnv: 'TEAM_API_KEY' })
  expect(own.model.isOffline).toBe(false)
  for (const apiKeyEnv of ['ROOKERY_ADMIN_KEY', 'constructor', 'x_API_KEY']) {
    expect(registryWith(env, readKey).resolve({ ...named, apiKeyEnv }).model.isOffline).toBe(true)
  }
  expect(asked).toEqual(['TEAM_BASE_URL', 'TEAM_API_KEY'])
  const failing = createModelRegistry(settingsSchema.parse(both), {
    fetch: async () => Response.json({ error: { message: 'o-key is bad' } }, { status: 401 }),
  }).resolve({ model: 'openai/gpt-5-mini', apiKeyEnv: 'OPENAI_API_KEY' })
  const result = await failing.model.call(request())
  expect(JSON.stringify(result)).toContain('OPENAI_API_KEY')
  expect(JSON.stringify(result)).not.toContain('o-key')
})

test('L27: Workers AI needs an account and a token, and is called where Cloudflare serves it', async () => {
  const env = { WORKERS_AI_API_KEY: 'w-key', WORKERS_AI_ACCOUNT_ID: 'a'.repeat(32) }
  const choice = { model: 'workers-ai/@cf/openai/gpt-oss-20b' }
  expect(idOf(env, choice)).toEqual([choice.model, null])
  expect(idOf({ WORKERS_AI_API_KEY: 'w-key' }, choice)).toEqual([offline, choice.model])
  expect(idOf(env, {})[0]).toMatch(/^workers-ai\//)
  const seen: string[] = []
  const registry = createModelRegistry(settingsSchema.parse(env), {
    fetch: async (input, init) => {
      seen.push(String(input), new Headers(init?.headers).get('authorization') ?? '')
      return Response.json({ error: { message: 'no' } }, { status: 400 })
    },
  })
  await registry.resolve(choice).model.call(request())
  expect(seen).toEqual([
    `https://api.cloudflare.com/client/v4/accounts/${'a'.repeat(32)}/ai/v1/chat/completions`,
    'Bearer w-key',
  ])
})

test('L27: an override for one run names the model that is called', () => {
  const definition = { provider: 'anthropic', model: 'claude-opus-5', contextTokens: 9_000 }
  const overridden = (override: string) => registryWith(both).resolve({ ...definition, override })
  expect(overridden('openai/gpt-5-mini').model).toMatchObject({
    id: 'openai/gpt-5-mini',
    contextTokens: 272_000,
  })
  expect(overridden('anthropic/claude-haiku-4-5').model.contextTokens).toBe(200_000)
  expect(overridden('anthropic/claude-opus-5').model.contextTokens).toBe(9_000)
  expect(overridden('offline').model.id).toBe(offline)
  expect(overridden('offline/extractive').model.id).toBe(offline)
})

test('L27: an override takes no key and no address to another provider', () => {
  const choice = { provider: 'anthropic', apiBase: 'http://127.0.0.1:9', apiKeyEnv: 'X_API_KEY' }
  const registry = registryWith({ OPENAI_API_KEY: 'o-key' }, (name) =>
    name === 'X_BASE_URL' ? 'http://127.0.0.1:9' : 'x-key',
  )
  const elsewhere = registry.resolve({ ...choice, override: 'openai/gpt-5-mini' })
  expect(elsewhere.model).toBe(registry.resolve({ model: 'openai/gpt-5-mini' }).model)
  const same = registry.resolve({ ...choice, override: 'anthropic/claude-haiku-4-5' })
  expect(same.model.id).toBe('anthropic/claude-haiku-4-5')
})

test.each([
  ['nobody/model', 'nobody'],
  ['toString/model', 'toString'],
  ['gpt-5-mini', 'gpt-5-mini'],
  ['openai/', 'openai/'],
  ['openai/gpt 5', 'openai/'],
  ['workers-ai/@cf/openai/gpt-oss-20b', 'WORKERS_AI_API_KEY'],
  ['openai-compatible/qwen3', 'OPENAI_COMPATIBLE_BASE_URL'],
])('L27: the override %s is an error with its reason', (override, words) => {
  let thrown: unknown
  try {
    registryWith(both).resolve({ override })
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ name: 'AppError', code: 'VALIDATION' })
  expect(String(thrown)).toContain(words)
})

test('B7: ROOKERY_PRICES corrects the catalogue, by name or by provider and name', () => {
  const own = {
    'GPT-5-mini': { prices: { input: 1, output: 4 } },
    'openai-compatible/llama-3.3-70b': {
      contextTokens: 50_000,
      prices: { input: 0.5, cached: 0.1, cacheWrite: 0.6, output: 2 },
    },
    'claude-opus-5': { prices: null },
    'house-model': { outputTokensMax: 100 },
  }
  const env = {
    ...both,
    OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:9/v1',
    ROOKERY_PRICES: JSON.stringify(own),
  }
  const modelOf = (model: string) => registryWith(env).resolve({ model }).model
  const micro = { input: 1_000_000, cached: 1_000_000, cacheWrite: 1_000_000, output: 4_000_000 }
  expect(modelOf('openai/gpt-5-mini')).toMatchObject({ prices: micro, contextTokens: 272_000 })
  expect(modelOf('openai/gpt-5-mini-2025-08-07').prices).toEqual(micro)
  expect(modelOf('openai-compatible/llama-3.3-70b')).toMatchObject({
    contextTokens: 50_000,
    prices: { input: 500_000, cached: 100_000, cacheWrite: 600_000, output: 2_000_000 },
  })
  expect(modelOf('openai/llama-3.3-70b')).toMatchObject({ contextTokens: 131_072, prices: null })
  expect(modelOf('anthropic/claude-opus-5')).toMatchObject({
    contextTokens: 1_000_000,
    prices: null,
  })
  expect(modelOf('openai-compatible/house-model')).toMatchObject({
    outputTokensMax: 100,
    contextTokens: 8_192,
    prices: null,
  })
})

test.each([
  ['{', 'ROOKERY_PRICES: must be valid JSON'],
  ['{"m":{"price":1}}', 'ROOKERY_PRICES.m'],
  ['{"m":{"prices":{"input":-1,"output":1}}}', 'ROOKERY_PRICES.m.prices.input'],
])('B7: ROOKERY_PRICES=%s is rejected with the path of the problem', (value, words) => {
  expect(() => readSettings({ ROOKERY_PRICES: value })).toThrow(words)
})

describe('T16: a key goes only to the address that it was set for', () => {
  /** Returns what a model of the choice sends where; null when it has no connection. */
  const send = async (env: Record<string, string>, choice: ModelChoice) => {
    const sent: string[] = []
    const { model } = createModelRegistry(settingsSchema.parse(env), {
      readKey: (name) => env[name],
      fetch: async (input, init) => {
        sent.push(String(input), JSON.stringify([...new Headers(init?.headers)]))
        return Response.json({ error: { message: 'no' } }, { status: 400 })
      },
    }).resolve(choice)
    if (model.isOffline) return null
    await model.call(request())
    return sent.join(' ')
  }
  const keys = {
    ...both,
    OPENAI_COMPATIBLE_API_KEY: 'c-key',
    TEAM_API_KEY: 'team-key',
    OPENAI_COMPATIBLE_BASE_URL: 'https://models.example/v1',
  }
  const everyKey = /a-key|o-key|c-key|team-key/

  test.each(['anthropic', 'openai', 'openai-compatible'])(
    'an api_base of a definition gets no key: %s',
    async (provider) => {
      for (const apiBase of [
        'https://evil.example/v1',
        'http://api.openai.com/v1',
        'https://api.openai.com.evil.example/v1',
        'https://api.openai.com:8443/v1',
        'https://models.example/v1evil',
        'https://models.example/v1/../evil',
        'https://models.example/v1/%2e%2e/evil',
        'https://models.example/',
      ]) {
        for (const apiKeyEnv of [undefined, ...Object.keys(keys)]) {
          const choice = { provider, model: 'some-model', apiBase, ...(apiKeyEnv && { apiKeyEnv }) }
          expect((await send(keys, choice)) ?? '', `${apiBase} ${apiKeyEnv}`).not.toMatch(everyKey)
        }
      }
    },
  )

  test('a key of one provider does not go to another', async () => {
    for (const [model, apiKeyEnv] of [
      ['openai/gpt-5-mini', 'ANTHROPIC_API_KEY'],
      ['anthropic/claude-opus-5', 'OPENAI_API_KEY'],
      ['openai-compatible/qwen', 'OPENAI_API_KEY'],
    ] as const) {
      expect((await send(keys, { model, apiKeyEnv })) ?? '').not.toMatch(everyKey)
    }
  })

  test('it goes to its provider, to the base URL it was set with, and below that', async () => {
    expect(await send(keys, { model: 'openai/gpt-5-mini' })).toMatch(/api\.openai\.com.*o-key/)
    const proxy = { ...keys, OPENAI_BASE_URL: 'https://proxy.example/openai/' }
    const model = 'openai/gpt-5-mini'
    expect(await send(proxy, { model })).toMatch(/^https:\/\/proxy\.example\/openai\/resp.*o-key/)
    const below = { model, apiBase: 'https://proxy.example/openai/team-a' }
    expect(await send(proxy, below)).toMatch(/openai\/team-a\/resp.*o-key/)
    expect(await send(proxy, { model, apiBase: 'https://api.openai.com/v1' })).toBeNull()
  })

  test('a key of its own goes to its own address, or to the provider of the definition', async () => {
    const team = { model: 'openai/gpt-5-mini', apiKeyEnv: 'TEAM_API_KEY' }
    expect(await send(keys, team)).toMatch(/api\.openai\.com.*team-key/)
    const own = { ...keys, TEAM_BASE_URL: 'https://team.example/v1' }
    const there = { ...team, apiBase: 'https://team.example/v1' }
    expect(await send(own, there)).toMatch(/team\.example.*team-key/)
    expect(await send(own, team)).toBeNull()
  })

  test('a server without a key is called at any address', async () => {
    const local = { model: 'openai-compatible/qwen', apiBase: 'http://127.0.0.1:11434/v1' }
    expect(await send(keys, local)).toMatch(/127\.0\.0\.1:11434\/v1\/chat/)
  })
})

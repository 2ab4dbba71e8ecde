import { expect, test } from 'vitest'
import type { ModelChoice } from '../../../src/agents/models/model-port'
import { createModelRegistry } from '../../../src/agents/models/registry'
import { settingsSchema } from '../../../src/config'
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

test('L27: without a key the offline model answers, and says for whom', () => {
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
    return 'a-secret'
  }
  const env = { ROOKERY_ADMIN_KEY: 'admin-key-0123456789' }
  const named = { provider: 'anthropic', model: 'claude-opus-5' }
  const own = registryWith(env, readKey).resolve({ ...named, apiKeyEnv: 'TEAM_API_KEY' })
  expect(own.model.isOffline).toBe(false)
  for (const apiKeyEnv of ['ROOKERY_ADMIN_KEY', 'constructor', 'x_API_KEY']) {
    expect(registryWith(env, readKey).resolve({ ...named, apiKeyEnv }).model.isOffline).toBe(true)
  }
  expect(asked).toEqual(['TEAM_API_KEY'])
  const failing = createModelRegistry(settingsSchema.parse(both), {
    fetch: async () => Response.json({ error: { message: 'o-key is bad' } }, { status: 401 }),
  }).resolve({ ...named, apiKeyEnv: 'OPENAI_API_KEY' })
  const result = await failing.model.call(request())
  expect(JSON.stringify(result)).toContain('OPENAI_API_KEY')
  expect(JSON.stringify(result)).not.toContain('o-key')
})

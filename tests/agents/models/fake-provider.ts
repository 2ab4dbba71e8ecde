import { env } from 'cloudflare:workers'
import type { Message, ModelAnswer, ModelFailure } from '../../../src/agents/loop/message'
import type { Model, ModelChoice, ModelRequest } from '../../../src/agents/models/model-port'
import { createModelRegistry, type RegistryOptions } from '../../../src/agents/models/registry'
import { settingsSchema } from '../../../src/shared/settings'
import type { FakeAnswer, FakeRequest } from '../../support/fake-model-server'

const fakeUrl = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL
export const secretKey = 'Plain0123456789abcdefPlain'

export const protocols = ['anthropic', 'openai', 'openai-compatible'] as const
export type ProtocolName = (typeof protocols)[number]

let scripts = 0

/** Creates a model of the fake provider with scripted answers. Returns it with its request log. */
export async function fakeModel(
  provider: ProtocolName,
  answers: FakeAnswer[],
  given: { options?: RegistryOptions; choice?: ModelChoice; baseUrl?: string } = {},
): Promise<{ model: Model; requests: () => Promise<FakeRequest[]> }> {
  const id = `${provider}-${++scripts}-${Math.random().toString(36).slice(2)}`
  const body = JSON.stringify({ id, answers })
  await fetch(`${fakeUrl}/__script`, { method: 'POST', body })
  const base = given.baseUrl ?? `${fakeUrl}/s/${id}/v1`
  const settings = settingsSchema.parse({
    ANTHROPIC_API_KEY: secretKey,
    ANTHROPIC_BASE_URL: base,
    OPENAI_API_KEY: secretKey,
    OPENAI_BASE_URL: base,
    OPENAI_COMPATIBLE_API_KEY: secretKey,
    OPENAI_COMPATIBLE_BASE_URL: base,
  })
  const registry = createModelRegistry(settings, given.options)
  const { model } = registry.resolve({ provider, model: modelNames[provider], ...given.choice })
  const requests = async () =>
    (await (await fetch(`${fakeUrl}/__log?script=${id}`)).json()) as FakeRequest[]
  return { model, requests }
}

const modelNames: Record<ProtocolName, string> = {
  anthropic: 'claude-sonnet-4-5',
  openai: 'gpt-5-mini',
  'openai-compatible': 'llama-3.3-70b',
}

export const question: Message[] = [
  { role: 'system', text: 'You are Scout.' },
  { role: 'system', text: 'The rules of the hub.' },
  { role: 'user', text: 'What is in the tin?' },
]

export const searchTool = {
  name: 'hub_search',
  description: 'Searches the hub.',
  inputSchema: {
    type: 'object',
    properties: { query: { type: 'string' } },
    required: ['query'],
    additionalProperties: false,
  },
}

export function request(over: Partial<ModelRequest> = {}): ModelRequest {
  const signal = new AbortController().signal
  return { messages: question, tools: [], maxOutputTokens: 500, signal, ...over }
}

export async function answerOf(
  model: Model,
  over: Partial<ModelRequest> = {},
): Promise<ModelAnswer> {
  const result = await model.call(request(over))
  if (!result.ok) throw new Error(`${result.failure.code}: ${result.failure.message}`)
  return result.answer
}

export async function failureOf(
  model: Model,
  over: Partial<ModelRequest> = {},
): Promise<ModelFailure> {
  const result = await model.call(request(over))
  if (result.ok) throw new Error(`an answer came: ${JSON.stringify(result.answer)}`)
  return result.failure
}

import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  adminKey,
  call,
  createAccount,
  post,
  pushDefinition,
  waitForReply,
  waitForValue,
} from '../support/cast'
import type { FakeAnswer } from '../support/fake-model-wire'

/** The operator's log while agents run, at the most verbose level. */
const fakeUrl = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL
const providerKey = 'test-key-that-is-wrong'
const methods = ['error', 'warn', 'info', 'debug', 'log', 'trace'] as const
const lines: string[] = []

const level = Reflect.get(env, 'ROOKERY_LOG_LEVEL')
Reflect.set(env, 'ROOKERY_LOG_LEVEL', 'trace')
const spies = methods.map((method) =>
  vi.spyOn(console, method).mockImplementation((...said) => void lines.push(said.join(' '))),
)
afterAll(() => {
  for (const spy of spies) spy.mockRestore()
  Reflect.set(env, 'ROOKERY_LOG_LEVEL', level)
})

let mira: Awaited<ReturnType<typeof createAccount>>
beforeAll(async () => {
  mira = await createAccount('mira')
})

async function createAgent(name: string, answers: FakeAnswer[], behavior = ''): Promise<void> {
  await fetch(`${fakeUrl}/__script`, {
    method: 'POST',
    body: JSON.stringify({ id: name, answers }),
  })
  await pushDefinition(name, {
    'config.yaml': `name: ${name}\nbrain: { provider: openai-compatible, model: fake, api_base: "${fakeUrl}/s/${name}/v1" }\ncapabilities: { grants: [hub:read] }\n${behavior}`,
    'system-prompt.md': 'You are a test.',
  })
}

interface Line {
  level: string
  message: string
  agent?: string
  activation?: string
  [field: string]: unknown
}
const linesOf = (agent: string, message: string): Line[] =>
  lines
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line.agent === agent && line.message === message)

test('L45: an activation is logged at its start and end, with iterations and plan progress', async () => {
  await createAgent('chatty', [
    { calls: [{ name: 'hub_search', arguments: { query: 'owls' } }] },
    { text: 'Nothing about them.' },
  ])
  const asked = await post(mira.key, 'Owls', '@chatty anything?')
  await waitForReply(asked, 'chatty')
  const [end] = await waitForValue(async () => {
    const found = linesOf('chatty', 'activation finished')
    return found.length > 0 && found
  }, 'the last line')
  const [start] = linesOf('chatty', 'activation started')
  expect(start).toMatchObject({ level: 'info', agent: 'chatty', model: 'openai-compatible/fake' })
  expect(end).toMatchObject({
    level: 'info',
    activation: start?.activation,
    outcome: 'completed',
    iterations: 2,
    plan_progress: 1,
    tool_calls: 1,
    step: 2,
  })
  expect(end?.session).toBeTruthy()
})

test('L9 L45: a limit is a warning', async () => {
  await createAgent(
    'looper',
    [{ calls: [{ name: 'hub_search', arguments: { query: 'x' } }] }],
    'behavior: { max_iterations: 2 }\n',
  )
  await waitForReply(await post(mira.key, 'Loop', '@looper go'), 'looper')
  expect(linesOf('looper', 'limit reached')).toMatchObject([
    { level: 'warn', outcome: 'max_iterations', iterations: 2 },
  ])
  expect(linesOf('looper', 'possible infinite loop')).toEqual([])
})

test('L9 L45: at the ceiling of all definitions the warning states the possible cause', async () => {
  await createAgent(
    'spinner',
    [{ text: '', calls: [{ name: 'hub_get_nothing', arguments: {} }] }],
    'behavior: { max_iterations: 500, max_tokens: 100000000 }\n',
  )
  await waitForValue(
    async () => linesOf('spinner', 'possible infinite loop').length > 0 || askSpinner(),
    'the warning',
  )
  expect(linesOf('spinner', 'possible infinite loop')).toMatchObject([{ level: 'warn' }])
})

let isAsked = false
async function askSpinner(): Promise<false> {
  if (!isAsked) await post(mira.key, 'Spin', '@spinner go')
  isAsked = true
  return false
}

test('L45: no log line contains a key', async () => {
  const planted = `ghp_${'a1B2'.repeat(9)}`
  await createAgent('leaky', [
    { status: 500, message: `upstream said ${providerKey} and ${planted}` },
    { status: 401, message: `Incorrect API key provided: ${providerKey} ${planted} ${adminKey}` },
  ])
  await waitForReply(await post(mira.key, 'Leak', '@leaky tell'), 'leaky')
  await call('GET', `/api/v1/search?q=${mira.key}`, { key: mira.key })
  await call('GET', '/api/v1/posts', { key: `${mira.key}x` })
  await call('POST', '/api/v1/posts', { key: mira.key, body: `{"broken": "${mira.key}"` })
  const all = lines.join('\n')
  expect(linesOf('leaky', 'model call failed').length).toBeGreaterThan(0)
  for (const secret of [providerKey, adminKey, mira.key, planted]) expect(all).not.toContain(secret)
})

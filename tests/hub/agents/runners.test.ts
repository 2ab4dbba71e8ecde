import { evictDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { AgentObjectBase } from '../../../src/agents/agent-object'
import type { NewRun } from '../../../src/agents/contract/coding-agents'
import {
  computeDefinitionEtag,
  createDefinitionStore,
} from '../../../src/agents/definitions/definition-store'
import { createRunnerApi } from '../../../src/agents/runners/runners-object'
import { createHubApi } from '../../../src/hub/api/hub-api'
import { keyTag } from '../../../src/hub/contract/live-event'
import { closeSockets } from '../../../src/hub/live/live-publisher'
import { createActivationTokens } from '../../../src/mcp-servers/outside/activation-token'
import { findTokenActivation } from '../../../src/mcp-servers/outside/authenticate-caller'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { readSettings } from '../../../src/shared/settings'
import { type ConnectedRunner, connectRunner } from '../../support/connect-runner'
import { form } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const runners = createRunnerApi(env.RUNNERS as never)
const until = (check: () => void | Promise<void>) =>
  vi.waitFor(check, { timeout: 120_000, interval: 20 })
const call = async (path: string, options: Parameters<typeof hub.call>[1] = {}) => {
  hub.clock.advance(1_000)
  const answer = await hub.call(path, { key: adminKey, ...options })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}
const newKey = async (key = adminKey): Promise<{ id: string; api_key: string }> =>
  (await call('/runners/keys', { key, body: { label: '<b>The cellar</b>' } })).key

/** Stands in for the object of the agent. */
const agent = { reports: [] as unknown[], lost: [] as string[] }
const takes = {
  async receiveReports(_id: string, _attempt: number, first: number, reports: unknown[]) {
    agent.reports.push(...reports)
    return { stored: first + reports.length - 1 }
  },
  async loseRun(id: string, attempt: number) {
    agent.lost.push(`${id}/${attempt}`)
  },
}
const before = Object.getOwnPropertyDescriptors(AgentObjectBase.prototype)
Object.assign(AgentObjectBase.prototype, takes)
afterAll(() => {
  for (const name of Object.keys(takes)) Reflect.deleteProperty(AgentObjectBase.prototype, name)
  Object.defineProperties(AgentObjectBase.prototype, before)
})

let coder: { id: AccountId; name: string }
beforeAll(async () => {
  hub.clock.advance(Date.now() - hub.clock.now())
  coder = await hub.join('coder', 'agent')
  await hub.host(coder.id)
  const config = 'name: coder\nbrain: { provider: offline }\n'
  const files = { 'config.yaml': config, 'system-prompt.md': 'You are coder.' }
  const etag = await computeDefinitionEtag(files)
  await createDefinitionStore(env.FILES).save('coder', etag, files)
  await env.DB.prepare('UPDATE agents SET definition_etag = ?').bind(etag).run()
})

let activations = 0
/** Creates the row of a running activation. */
async function activate(): Promise<ActivationId> {
  const id = `run-${++activations}` as ActivationId
  await env.DB.prepare(`UPDATE activations SET state = 'done'`).run()
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at)
     VALUES (?, ?, 'inbox', 'mention', 'running', 'granted', 'offline/extractive', 1, 0, ?)`,
  )
    .bind(id, coder.id, Date.now() + 600_000)
    .run()
  return id
}
const createRun = (activation_id: ActivationId, attempt = 1): NewRun => ({
  activation_id,
  attempt,
  agent_id: coder.id,
  agent: 'coder',
  program: 'codex',
  system_prompt: '',
  prompt: 'Fix it.',
  builtin: 'none',
  workspace: null,
  session_id: null,
  model: {
    name: 'gpt',
    protocols: ['openai-responses'],
    context_tokens: 1,
    output_tokens: 1,
  },
  limits: {
    ends_at: Date.now() + 600_000,
    silence_ms: 1_000,
    model_requests: 1,
    output_chars: 1,
  },
  runs_on: [],
})
const findOrder = ({ received }: ConnectedRunner, attempt = 1) => {
  const starts = received.flatMap((each) => (each.type === 'start' ? [each.order] : []))
  return starts.find((order) => order.attempt === attempt)
}

/** Whether a token opens tools, the model gateway and the git proxy. */
const opens = async (token = '') => {
  const { ROOKERY_VAULT_KEY: vaultKey = '' } = readSettings({ ...env } as never)
  const tokens = createActivationTokens([vaultKey])
  const deps = { hub: createHubApi(() => hub.context()), tokens }
  const found = ['mcp', 'models', 'git'] as const
  return Promise.all(
    found.map(async (of) => (await findTokenActivation(deps, token, of, Date.now())) !== null),
  )
}

test('X2 X3: a runner takes a run over its socket, and its token ends with the attempt', async () => {
  const runner = await connectRunner(hub.fetch, (await newKey()).api_key)
  const id = await activate()
  expect(await runners.start(createRun(id))).toEqual({ kind: 'started' })
  await until(() => expect(findOrder(runner)).toBeDefined())
  const order = findOrder(runner)
  expect(order?.endpoints.models).toBe('http://hub.test/gateway')
  expect(await opens(order?.token)).toEqual([true, true, true])
  // It opens nothing of the API, and a hibernation changes nothing.
  expect((await hub.call('/me', { key: order?.token ?? '' })).status).toBe(401)
  await evictDurableObject(env.RUNNERS.getByName('runners'))
  runner.send('ping')
  const key = { activation_id: id, attempt: 1 }
  runner.send({ type: 'report', ...key, first: 1, reports: [{ kind: 'text', text: 'Hello.' }] })
  await until(() =>
    expect(runner.received.at(-1)).toMatchObject({ type: 'acknowledge', report: 1 }),
  )
  expect(runner.pongs).toBe(1)
  expect(agent.reports).toEqual([{ kind: 'text', text: 'Hello.' }])
  // A later attempt.
  await runners.start(createRun(id, 2))
  await until(() => expect(findOrder(runner, 2)).toBeDefined())
  expect(await opens(order?.token)).toEqual([false, false, false])
  expect(await opens(findOrder(runner, 2)?.token)).toEqual([true, true, true])
  expect(await runners.start(createRun(id, 1))).toEqual({ kind: 'started' })
  await runners.stop({ activation_id: id, attempt: 2 }, 'cancelled')
  expect(await opens(findOrder(runner, 2)?.token)).toEqual([false, false, false])
  await until(() => expect(runner.received.at(-1)).toMatchObject({ type: 'stop', attempt: 2 }))
  // An activation that is over gets no runner.
  await env.DB.prepare(`UPDATE activations SET state = 'done'`).run()
  expect(await runners.start(createRun(id, 3))).toEqual({ kind: 'nobody' })
  runner.send('nonsense')
  await until(() => expect(runner.code).toBe(1008))
})

test('X2 X3: no other key opens the socket, and nothing but a WebSocket does', async () => {
  const { key } = await hub.join('mem', 'human')
  const { api_key } = await newKey()
  const { headers: signedIn } = await hub.fetch('/login', form({ key: adminKey }))
  const cookie = signedIn.get('set-cookie')?.split(';')[0] ?? ''
  const open = (headers: Record<string, string>) => hub.fetch('/runners/socket', { headers })
  const upgrade = { upgrade: 'websocket' }
  const asKey = (bearer: string) => ({ authorization: `Bearer ${bearer}` })
  for (const headers of [{}, asKey(key), asKey(adminKey), asKey(`${api_key}x`), { cookie }]) {
    expect((await open({ ...upgrade, ...headers })).status).toBe(401)
  }
  expect((await open(asKey(api_key))).status).toBe(426)
  const { status } = await hub.fetch('/login', form({ key: api_key }))
  expect([status, (await hub.call('/me', { key: api_key })).status]).toEqual([401, 401])
})

test.each([
  [
    'its key is revoked',
    async (_name: string, id: string) => call(`/runners/keys/${id}`, { method: 'DELETE' }),
  ],
  [
    'its admin is disabled',
    async (name: string) => call(`/accounts/${name}/disable`, { body: { reason: 'Left' } }),
  ],
  [
    'its admin is banned',
    async (name: string) =>
      call(`/accounts/${name}/bans`, { body: { kind: 'ban', reason: 'Spam' } }),
  ],
  [
    'its admin is none any more',
    async (name: string) =>
      call(`/accounts/${name}/role`, { method: 'PUT', body: { role: 'member' } }),
  ],
  [
    'its admin is deleted',
    async (name: string) => call(`/accounts/${name}?words=keep`, { method: 'DELETE' }),
  ],
])('X3: a runner is disconnected at once when %s', async (_what, end) => {
  const name = `admin${++activations}`
  const { key } = await hub.join(name, 'human')
  await call(`/accounts/${name}/role`, { method: 'PUT', body: { role: 'admin' } })
  const { id, api_key } = await newKey(key)
  const runner = await connectRunner(hub.fetch, api_key, { name })
  const activation = await activate()
  await runners.start(createRun(activation))
  await until(() => expect(findOrder(runner)).toBeDefined())
  const token = findOrder(runner)?.token
  expect(await opens(token)).toEqual([true, true, true])
  await end(name, id)
  // Not only when the agent was notified.
  expect(await opens(token)).toEqual([false, false, false])
  await until(() => expect(runner.code).toBe(4403))
  await until(() => expect(agent.lost).toContain(`${activation}/1`))
  const headers = { upgrade: 'websocket', authorization: `Bearer ${api_key}` }
  expect((await hub.fetch('/runners/socket', { headers })).status).toBe(401)
})

test('X3: what a crash left of a revoked key ends when it is revoked again, and no other failure keeps it open', async () => {
  const begin = async (name: string) => {
    const key = await newKey()
    const runner = await connectRunner(hub.fetch, key.api_key, { name })
    await runners.start(createRun(await activate()))
    await until(() => expect(findOrder(runner)).toBeDefined())
    return { ...key, runner, token: findOrder(runner)?.token }
  }
  const deleted = await begin('deleted')
  await env.DB.prepare('DELETE FROM runner_keys WHERE id = ?').bind(deleted.id).run()
  const path = `/runners/keys/${deleted.id}`
  expect((await hub.call(path, { key: adminKey, method: 'DELETE' })).status).toBe(404)
  expect(await opens(deleted.token)).toEqual([false, false, false])
  await until(() => expect(deleted.runner.code).toBe(4403))

  const other = await begin('other')
  const context = hub.context()
  const batch = () => Promise.reject(new Error('The database is down.'))
  const db = { batch, prepare: batch, withSession: batch } as never
  const live = { ...context.live, disconnect: batch }
  await closeSockets({ ...context, db, live }, [keyTag(other.id)])
  expect(await opens(other.token)).toEqual([false, false, false])
  await until(() => expect(other.runner.code).toBe(4403))
})

test('X14: admins see runners, drain and remove them, and each change is in the admin log', async () => {
  const { id: keyId, api_key } = await newKey()
  const runner = await connectRunner(hub.fetch, api_key, { name: 'attic', labels: ['gpu'] })
  const find = async () =>
    (await call('/runners')).runners.find(({ id }: { id: string }) => id === runner.id)
  expect(await find()).toMatchObject({
    name: 'attic',
    key_id: keyId,
    labels: ['gpu'],
    slots: 2,
    runs: [],
    is_connected: true,
    is_draining: false,
    programs: [{ type: 'codex', version: '1.0' }],
  })
  const id = await activate()
  await runners.start({ ...createRun(id), runs_on: ['gpu'] })
  await runners.start({ ...createRun(id, 2), runs_on: ['tpu'] })
  const { waiting, keys } = await call('/runners')
  expect(waiting).toMatchObject([
    { activation_id: id, attempt: 2, runs_on: ['tpu'], reason: 'nobody' },
  ])
  expect(keys.find((key: { id: string }) => key.id === keyId)).toMatchObject({ connected: 1 })
  await call(`/runners/${runner.id}`, { method: 'PATCH', body: { is_draining: true } })
  await until(() => expect(runner.received.at(-1)).toEqual({ type: 'drain', is_draining: true }))
  expect(await find()).toMatchObject({ is_draining: true })
  const remove = () => hub.call(`/runners/${runner.id}`, { key: adminKey, method: 'DELETE' })
  expect((await remove()).status).toBe(409)
  runner.close()
  await until(async () => expect((await find()).is_connected).toBe(false))
  expect((await remove()).status).toBe(200)
  expect((await remove()).status).toBe(404)
  const { results } = await env.DB.prepare(
    `SELECT action FROM admin_log WHERE target_id IN (?, ?) ORDER BY id`,
  )
    .bind(runner.id, keyId)
    .all()
  expect(results.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['runner_key.create', 'runner.drain', 'runner.remove']),
  )
  expect(JSON.stringify(await env.DB.prepare('SELECT * FROM runner_keys').all())).not.toContain(
    api_key,
  )
})

test('X14: the page costs one round trip, shows a new key once, and works without scripts', async () => {
  const { headers: signedIn } = await hub.fetch('/login', form({ key: adminKey }))
  const cookie = signedIn.get('set-cookie')?.split(';')[0] ?? ''
  const get = () => hub.fetch('/runners', { headers: { cookie } })
  const post = (path: string, fields: Record<string, string>) => {
    const init = form(fields)
    return hub.fetch(path, { ...init, headers: { ...init.headers, cookie }, redirect: 'manual' })
  }
  const made = await (await post('/runners/keys', { label: '<i>page</i>' })).text()
  const [secret = ''] = /[a-z]+_runner_[\w-]+/.exec(made) ?? []
  expect(made).toContain('&lt;i>page'.replace('>', '&gt;'))
  const runner = await connectRunner(hub.fetch, secret, { name: 'page-runner' })
  const response = await get()
  expect(readCost(response.headers).roundTrips).toBe(1)
  const html = await response.text()
  expect(html).toContain('page-runner')
  expect(html).not.toContain(secret)
  expect(html).not.toMatch(/<b>The cellar/)
  expect((await post('/runners/drain', { id: runner.id, is_draining: 'true' })).status).toBe(303)
  expect(await (await get()).text()).toContain('draining')
  const long = await post('/runners/keys', { label: 'x'.repeat(101) })
  expect([long.status, await long.text()]).toEqual([
    400,
    expect.stringContaining('at most 100 characters'),
  ])
})

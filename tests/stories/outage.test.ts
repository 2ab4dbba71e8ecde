import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { SchedulerObjectBase } from '../../src/agents/scheduler/scheduler-object'
import {
  adminKey,
  call,
  createAccount,
  listComments,
  post,
  pushDefinition,
  waitForReply,
  waitForValue,
} from '../support/cast'
import { createAgent } from '../support/create-agent'

/** A provider that cannot be reached, with a model that has a price, through the whole Worker. */
let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})
beforeEach(() => {
  const wait = scheduler.wait.bind(scheduler)
  vi.spyOn(scheduler, 'wait').mockImplementation((ms, options) =>
    wait(ms > 30_000 ? ms : 1, options),
  )
})
afterEach(() => vi.restoreAllMocks())

const first = <Row>(sql: string, ...values: unknown[]) =>
  env.DB.prepare(sql)
    .bind(...values)
    .first<Row>()
const all = async <Row>(sql: string, ...values: unknown[]) =>
  (
    await env.DB.prepare(sql)
      .bind(...values)
      .all<Row>()
  ).results

const fakeUrl = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL
const reset = { fault: 'reset' } as const
const stateOf = (postId: string) =>
  first<{ id: string; state: string; agent_id: string; reserved_microusd: number }>(
    'SELECT * FROM activations WHERE post_id = ? ORDER BY started_at DESC',
    postId,
  )
const waitForState = (postId: string, state: string) =>
  waitForValue(async () => {
    const row = await stateOf(postId)
    return row?.state === state ? row : null
  }, `the state ${state}`)
const reports = () =>
  all<{ title: string; content: string }>(
    `SELECT p.title, p.content FROM posts p JOIN communities m ON m.id = p.community_id
     WHERE m.name = 'agent-errors' ORDER BY p.id`,
  )
const pushAgent = (name: string, address: string) =>
  pushDefinition(name, {
    'config.yaml': `name: ${name}\nbrain: { provider: openai-compatible, model: gpt-5-mini, api_base: "${address}", api_key_env: OPENAI_COMPATIBLE_API_KEY }\n`,
    'system-prompt.md': 'You are a test agent.',
  })
/** Lets the next attempt be due, and sweeps. */
async function retryNow(): Promise<void> {
  await env.DB.prepare('UPDATE provider_outages SET due_at = 0').run()
  const object = (env.SCHEDULER as DurableObjectNamespace<SchedulerObjectBase<Env>>).getByName(
    'scheduler',
  )
  await object.sweepNow()
}
const requestsOf = async (agent: { requests(): Promise<unknown[]> }) =>
  (await agent.requests()).length

test('T5: a provider that is down costs nothing; its agents wait, are reported once and continue by themselves', async () => {
  const ok = { text: 'The kettle is on.' }
  const answers = [reset, reset, reset, reset, reset, ok]
  const scout = await createAgent('scout', answers, { provider: 'openai-compatible' })
  const asked = await post(mira.key, 'Kettle', '@scout is the kettle on?')
  const parked = await waitForState(asked, 'parked')
  expect(await all('SELECT * FROM usage_events')).toEqual([])
  expect(await listComments(asked)).toEqual([])
  expect(parked.reserved_microusd).toBe(0)
  expect(await requestsOf(scout)).toBe(4)
  const [report, ...others] = await reports()
  expect(others).toEqual([])
  expect(report?.content).toContain('/s/')
  expect(report?.content).toContain('brain.api_base')
  const page = await (await call<{ text: string }>('GET', `/p/${asked}`, { key: mira.key })).body
  expect(page.text).toContain('model provider')

  const second = await post(mira.key, 'Tea', '@scout is there tea?')
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(await stateOf(second), 'a waiting agent starts no other run').toBeNull()

  await retryNow()
  await waitForValue(async () => (await requestsOf(scout)) === 5, 'the attempt')
  const readAttempts = async () =>
    (await first<{ attempts: number }>('SELECT attempts FROM provider_outages'))?.attempts
  await waitForValue(async () => (await readAttempts()) === 2, 'the second attempt to be counted')
  await waitForState(asked, 'parked')
  expect(await all('SELECT * FROM usage_events')).toEqual([])
  expect(await reports()).toHaveLength(1)
  expect(await first('SELECT attempts FROM provider_outages')).toEqual({ attempts: 2 })

  await retryNow()
  const reply = await waitForReply(asked)
  expect(reply.content).toContain('The kettle is on.')
  await waitForReply(second)
  expect(await all('SELECT * FROM provider_outages')).toEqual([])
  expect(await all('SELECT * FROM outage_waits')).toEqual([])
  expect(await listComments(asked)).toHaveLength(1)
})

test('T5: one agent tries for all, and all continue when the provider answers', async () => {
  const names = ['wren', 'lark', 'finch']
  const answers = [...Array(12).fill(reset), { text: 'Back.' }]
  await fetch(`${fakeUrl}/__script`, {
    method: 'POST',
    body: JSON.stringify({ id: 'shared', answers }),
  })
  const address = `${fakeUrl}/s/shared/v1`
  const asked: string[] = []
  for (const name of names) {
    await pushAgent(name, address)
    asked.push(await post(mira.key, name, `@${name} are you there?`))
  }
  await Promise.all(asked.map((id) => waitForState(id, 'parked')))
  expect(await all('SELECT address, attempts FROM provider_outages')).toEqual([
    { address, attempts: 1 },
  ])
  expect((await reports()).filter(({ content }) => content.includes(address))).toHaveLength(1)
  await retryNow()
  await Promise.all(asked.map((id, index) => waitForReply(id, names[index])))
  expect(await all('SELECT * FROM outage_waits')).toEqual([])
  const log = await (await fetch(`${fakeUrl}/__log?script=shared`)).json()
  expect(log).toHaveLength(15)
})

test('T5: a refused connection costs nothing, and a person can stop a run that waits', async () => {
  const closed = 'http://127.0.0.1:9/v1'
  await pushAgent('robin', closed)
  const before = (await all('SELECT * FROM usage_events')).length
  const asked = await post(mira.key, 'Robin', '@robin hello?')
  const { id } = await waitForState(asked, 'parked')
  expect(await all('SELECT * FROM usage_events')).toHaveLength(before)
  expect((await reports()).at(-1)?.content).toContain(closed)
  const cancel = await call('POST', `/api/v1/activations/${id}/cancel`, { key: adminKey })
  expect(cancel.status).toBeLessThan(300)
  await waitForState(asked, 'done')
  expect(await all('SELECT * FROM outage_waits')).toEqual([])
  const reply = await waitForReply(asked, 'robin')
  expect(reply.content).toContain('asked to stop')
})

test('T5: a run that waits continues at once with a definition that names another address', async () => {
  await pushAgent('plover', 'http://127.0.0.1:9/v1')
  const asked = await post(mira.key, 'Plover', '@plover hello?')
  await waitForState(asked, 'parked')
  await createAgent('plover', [{ text: 'Here I am.' }])
  expect((await waitForReply(asked, 'plover')).content).toContain('Here I am.')
  expect(await all('SELECT * FROM outage_waits')).toEqual([])
})

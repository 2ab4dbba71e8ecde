import { env } from 'cloudflare:workers'
import { beforeAll, expect, it } from 'vitest'
import { adminKey, call, createAccount, listComments, post, waitForValue } from '../support/cast'
import { createAgent, type TestAgent, waitForActivation } from '../support/create-agent'

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

const search = { name: 'hub_search', arguments: { query: 'tin' } }
/** Slow enough to pause the agent meanwhile. */
const twoCalls = [{ calls: [search], latencyMs: 1_500 }, { text: 'It holds tea.' }]

const admin = async (path: string) => {
  const { status } = await call('POST', `/api/v1${path}`, { key: adminKey, body: {} })
  expect(status).toBe(200)
}
const countCalls = async (agent: TestAgent) => (await agent.requests()).length
const isCalled = (agent: TestAgent, times: number) =>
  waitForValue(async () => ((await countCalls(agent)) >= times ? true : null), 'the model call')
const waits = (postId: string) =>
  env.DB.prepare(
    'SELECT 1 FROM inbox_items WHERE post_id = ? AND claimed_by IS NULL AND is_task = 1',
  )
    .bind(postId)
    .first()

it.each([
  ['one agent', '/agents/p-one', 'p-one'],
  ['all agents', '/system', 'p-all'],
])(
  'H21: pausing %s stops before the next model call, and resuming continues',
  async (_, path, name) => {
    const agent = await createAgent(name, [...twoCalls, { text: 'Tea.' }, { text: 'Tea again.' }])
    const asked = await post(mira.key, 'A tin', `@${name} what is in the tin?`)
    await isCalled(agent, 1)
    await admin(`${path}/pause`)
    expect(await waitForActivation(asked)).toMatchObject({
      outcome: 'cancelled',
      reserved_microusd: 0,
    })
    expect(await countCalls(agent)).toBe(1)

    const again = await post(mira.key, 'Again', `@${name} what is in the tin?`)
    await call('POST', `/api/v1/agents/${name}/activate`, { key: adminKey, body: { task: 'Look' } })
    expect(await waits(again)).not.toBeNull()
    expect(await countCalls(agent)).toBe(1)

    await admin(`${path}/resume`)
    await waitForActivation(again)
    expect(await countCalls(agent)).toBeGreaterThan(1)
    expect((await listComments(again)).map(({ content }) => content)).toEqual([
      expect.stringContaining('tea'),
    ])
  },
)

it('H21: a paused agent does not block others', async () => {
  const still = await createAgent('p-still', [{ text: 'Never said.' }])
  const lively = await createAgent('p-lively', [{ text: 'Here.' }])
  await admin('/agents/p-still/pause')
  const asked = await post(mira.key, 'Both', '@p-still @p-lively are you there?')
  await waitForActivation(asked)
  expect(await countCalls(lively)).toBe(1)
  expect(await countCalls(still)).toBe(0)
  await admin('/agents/p-still/resume')
  await isCalled(still, 1)
})

it.each([
  ['is taken from what is allowed', 'p-taken', { allowed: ['memory:*'], denied: [] }],
  ['is denied', 'p-denied', { allowed: ['*'], denied: ['hub:read'] }],
])(
  'M4: a grant that %s during a run is missing at the next call and in the next tool list',
  async (_, name, policy) => {
    const searches = { calls: [search] }
    const slow = { ...searches, latencyMs: 1_500 }
    const agent = await createAgent(name, [searches, slow, { text: 'I may not look.' }], {
      grants: ['hub:read', 'memory:*'],
    })
    const asked = await post(mira.key, 'A tin', `@${name} what is in the tin?`)
    await isCalled(agent, 2)
    const path = `/api/v1/agents/${name}/grants`
    expect((await call('PUT', path, { key: adminKey, body: policy })).status).toBe(200)
    expect(await waitForActivation(asked)).toMatchObject({ outcome: 'completed', iterations: 3 })

    const [first, second, third] = (await agent.requests()).map(({ body }) => ({
      tools: JSON.stringify(body.tools),
      said: JSON.stringify(body.messages),
    }))
    expect(first?.tools).toContain('"hub_search"')
    expect(second?.tools).toContain('"hub_search"')
    expect(second?.said).not.toContain('Missing grant')
    expect(third?.said).toContain('Error: Missing grant hub:read:')
    expect(third?.tools).not.toContain('"hub_')
    expect(third?.tools).toContain('"memory_list_facts"')
  },
)

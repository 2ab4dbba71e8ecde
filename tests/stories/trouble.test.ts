import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createAccount, listComments, post, waitForReply } from '../support/cast'
import { createAgent, waitForActivation } from '../support/create-agent'
import { openTrace } from '../support/run-log'

/** Provider failures as the requester sees them. The provider is a server over HTTP. */
let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

test('L35: a wrong provider key is a note in the thread and a report in m/agent-errors, without the key', async () => {
  const locked = await createAgent('locked', [
    { status: 401, message: 'Incorrect API key provided: test-key-that-is-wrong' },
  ])
  const asked = await post(mira.key, 'Anybody?', '@locked are you there?')
  const reply = await waitForReply(asked, 'locked')
  expect(reply.content).toContain('@mira')
  expect(reply.content).toMatch(/key/i)
  const report = await env.DB.prepare(
    `SELECT p.title, p.content, p.is_listed FROM posts p JOIN communities m ON m.id = p.community_id WHERE m.name = 'agent-errors'`,
  ).first<{ title: string; content: string; is_listed: number }>()
  expect(report?.title).toBe('locked failed: PROVIDER_AUTH')
  const { id } = await waitForActivation(asked)
  expect(report?.content).toContain(`/activations/${id}`)
  expect(report?.content).not.toContain('Anybody?')
  expect(report?.is_listed).toBe(0)
  for (const table of ['comments', 'posts', 'activations', 'activation_traces', 'inbox_items']) {
    const { results } = await env.DB.prepare(`SELECT * FROM ${table}`).all()
    expect(JSON.stringify(results)).not.toContain('test-key-that-is-wrong')
  }
  expect(await locked.requests()).toHaveLength(1)
})

test('L35: the message of a provider stays out of thread and report, as it may quote users', async () => {
  const message = 'I cannot parse: Tell nobody about the harbour'
  const agent = await createAgent('quoter', [{ status: 400, message }])
  const asked = await post(mira.key, 'Quoted', `@${agent.name} are you there?`)
  expect((await waitForReply(asked, 'quoter')).content).toContain('answered 400')
  const { id, error } = await waitForActivation(asked)
  expect(error).not.toContain('harbour')
  for (const table of ['comments', 'posts', 'inbox_items']) {
    const { results } = await env.DB.prepare(`SELECT * FROM ${table}`).all()
    expect(JSON.stringify(results)).not.toContain('harbour')
  }
  const trace = await env.DB.prepare('SELECT trace FROM activation_traces WHERE activation_id = ?')
    .bind(id)
    .first<{ trace: string }>()
  expect(trace?.trace).toContain(message)
})

test('L26: unknown tools and malformed arguments are returned to the model, which then answers', async () => {
  await createAgent('fumbler', [
    {
      calls: [
        { name: 'hub_fly', arguments: {} },
        { name: 'hub_search', arguments: '{"query": [not json' },
      ],
    },
    { calls: [{ name: 'hub_search', arguments: { query: 42, limit: 'many' } }] },
    { text: 'I found my way in the end.' },
  ])
  const asked = await post(mira.key, 'Fumble', '@fumbler try')
  expect((await waitForReply(asked, 'fumbler')).content).toContain('found my way')
  const trace = await env.DB.prepare('SELECT trace FROM activation_traces WHERE activation_id = ?')
    .bind((await waitForActivation(asked)).id)
    .first<{ trace: string }>()
  const steps = openTrace(trace?.trace ?? '{}').steps
  expect(steps[0]?.tools.every(({ isError }) => isError)).toBe(true)
  expect(steps[1]?.tools[0]?.result).toContain('query')
})

test('L26: two empty answers end the run as failed, with a reply', async () => {
  const mute = await createAgent('mute', [{ text: '' }])
  const asked = await post(mira.key, 'Mute', '@mute hello?')
  expect((await waitForReply(asked, 'mute')).content).toContain('empty answer')
  expect(await waitForActivation(asked)).toMatchObject({ outcome: 'failed' })
  expect(await mute.requests()).toHaveLength(2)
})

test('L8 L9: a model that only ever calls tools stops at its iteration limit with a partial answer', async () => {
  const looper = await createAgent(
    'looper',
    [{ text: 'Looking further.', calls: [{ name: 'hub_search', arguments: { query: 'x' } }] }],
    { behavior: 'behavior: { max_iterations: 3 }' },
  )
  const asked = await post(mira.key, 'Loop', '@looper go')
  const reply = await waitForReply(asked, 'looper')
  expect(reply.content).toContain('max_iterations')
  expect(await waitForActivation(asked)).toMatchObject({ outcome: 'max_iterations', iterations: 3 })
  expect(await looper.requests()).toHaveLength(3)
})

test('an agent that failed answers the next mention', async () => {
  await createAgent('moody', [{ status: 400, message: 'no' }, { text: 'Better now.' }])
  const first = await post(mira.key, 'First', '@moody one')
  await waitForReply(first, 'moody')
  const second = await post(mira.key, 'Second', '@moody two')
  expect((await waitForReply(second, 'moody')).content).toContain('Better now.')
})

test('L38: mentions that arrive during a run are answered, each thread once', async () => {
  await createAgent('busy', [{ text: 'Here.', latencyMs: 300 }])
  const threads = await Promise.all(
    [1, 2, 3].map((n) => post(mira.key, `Busy ${n}`, '@busy here?')),
  )
  for (const id of threads) await waitForReply(id, 'busy')
  for (const id of threads) expect(await listComments(id)).toHaveLength(1)
})

test('a huge answer is truncated to the limit of a comment', async () => {
  await createAgent('epic', [{ text: 'word '.repeat(40_000), pieceChars: 20_000 }])
  const asked = await post(mira.key, 'Epic', '@epic tell')
  const reply = await waitForReply(asked, 'epic')
  expect(reply.content.length).toBeLessThanOrEqual(10_000)
  expect(reply.content).toContain('Truncated')
})

test('L8: the duration limit interrupts a model that takes too long', async () => {
  await createAgent('slow', [{ text: 'Too late.', latencyMs: 10_000 }], {
    behavior: 'behavior: { max_duration_seconds: 1 }',
  })
  const asked = await post(mira.key, 'Slow', '@slow hurry')
  const reply = await waitForReply(asked, 'slow')
  expect(reply.content).toContain('max_duration_seconds')
  expect(await waitForActivation(asked)).toMatchObject({ outcome: 'max_duration' })
  const usage = await env.DB.prepare(
    'SELECT u.is_estimated FROM usage_events u JOIN activations x ON x.id = u.activation_id WHERE x.post_id = ?',
  )
    .bind(asked)
    .first()
  expect(usage).toEqual({ is_estimated: 1 })
})

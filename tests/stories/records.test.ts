import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import type { LoopEvent, LoopEventOf } from '../../src/agents/loop/event'
import { parseRecord } from '../../src/agents/run/record'
import { replayLoop } from '../../src/agents/run/run-log'
import { adminKey, call, createAccount, post, waitForReply, waitForValue } from '../support/cast'
import { createAgent, type FinishedActivation, waitForActivation } from '../support/create-agent'

/** What is stored of real runs. The loop run again over it has to come to what the hub has recorded of the run. */
let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

type Row = FinishedActivation & { input_tokens: number; output_tokens: number }

const replay = async (postId: string) => replayRun((await waitForActivation(postId)) as Row)

async function replayRun(row: Row): Promise<LoopEvent[]> {
  const stored = await env.DB.prepare('SELECT trace FROM activation_traces WHERE activation_id = ?')
    .bind(row.id)
    .first<{ trace: string }>()
  const parsed = parseRecord(stored?.trace ?? '')
  if (!parsed.ok) throw new Error(parsed.problem)
  const { events, ending, finishedAt } = parsed.record
  const { state } = replayLoop(events)
  expect(state).toMatchObject({ phase: 'committing', activationId: row.id, ending })
  expect(ending?.outcome).toBe(row.outcome)
  expect(ending?.error ?? null).toEqual(row.error === null ? null : JSON.parse(row.error))
  expect(state.iteration).toBe(row.iterations)
  expect(state.tokens).toBe(row.input_tokens + row.output_tokens)
  expect(state.microusd).toBe(row.cost_microusd)
  expect(finishedAt).toBeGreaterThanOrEqual(events.at(-1)?.at ?? 0)
  return events
}

const find = <Type extends LoopEvent['type']>(events: LoopEvent[], type: Type) =>
  events.filter((event): event is LoopEventOf<Type> => event.type === type)

const begun = (postId: string, when: string) =>
  waitForValue(
    () =>
      env.DB.prepare(`SELECT id FROM activations WHERE post_id = ? AND ${when}`)
        .bind(postId)
        .first<{ id: string }>(),
    'the activation',
  )

const isAsked = (agent: { requests(): Promise<unknown[]> }, times: number) =>
  waitForValue(async () => (await agent.requests()).length >= times || null, 'a request')

test('P10 L43: a run with tools, and what its prompt and results were made of', async () => {
  const about = await post(mira.key, 'Herons', 'They nest in the reeds.')
  await createAgent('reader', [
    {
      calls: [
        { name: 'hub_search', arguments: { query: 'herons' } },
        { name: 'hub_get_thread', arguments: { post_id: about } },
        { name: 'hub_get_thread', arguments: { post_id: 'nothing' } },
      ],
    },
    { text: 'In the reeds.' },
  ])
  const words = `where   do herons nest?\n\n${'Tell me all of it. '.repeat(30)}`
  const asked = await post(mira.key, 'Where?', `@reader ${words}`)
  await waitForReply(asked, 'reader')
  const events = await replay(asked)
  const [loaded] = find(events, 'loaded')
  const { prompt = [], layers = [], historyFrom, community } = loaded?.facts ?? {}
  expect(layers).toEqual(['definition', 'bootstrap', 'tool_guide', 'task'])
  expect(layers).toHaveLength(prompt.length)
  expect(layers[historyFrom ?? 0]).toBe('task')
  expect(prompt[0]).toEqual({ role: 'system', text: 'You are a test agent.' })
  expect(community).toBe('general')
  expect(loaded?.facts.words).toContain(words.trim())
  const reads = find(events, 'tool_returned').map((event) => event.reads)
  expect(reads).toEqual([
    expect.objectContaining({ post: expect.arrayContaining([about]) }),
    { post: [about] },
    undefined,
  ])
  const [first, second] = find(events, 'model_answered')
  expect(first?.request?.tools).toContain('hub_search')
  expect(first?.request?.toolsHash).toMatch(/^\w+$/)
  expect(second?.request).not.toHaveProperty('toolsHash')
  expect(first?.request).not.toHaveProperty('systemPrompt')
})

test('P10 L43: a run that parked and was approved', async () => {
  const title = 'Herons approved'
  await createAgent(
    'poster',
    [
      {
        calls: [
          {
            name: 'hub_create_post',
            arguments: { community: 'general', title, content: 'Herons.' },
          },
        ],
      },
      { text: 'It is posted.' },
    ],
    { grants: ['hub:read', 'hub:write'] },
  )
  await call('PUT', '/api/v1/agents/poster/grants', {
    key: adminKey,
    body: { allowed: ['hub:read', 'hub:write'], require_approval: ['tool:hub_create_post'] },
  })
  const asked = await post(mira.key, 'Post', '@poster post about herons')
  const { id } = await begun(asked, "state = 'parked'")
  const read = () =>
    call<{ approvals: { id: string; activation_id: string }[] }>('GET', '/api/v1/approvals', {
      key: adminKey,
    })
  const waiting = (await read()).body.approvals.find((each) => each.activation_id === id)
  const path = `/api/v1/approvals/${encodeURIComponent(waiting?.id ?? '')}/decide`
  await call('POST', path, { key: adminKey, body: { decision: 'approve', note: '' } })
  await waitForReply(asked, 'poster')
  const events = await replay(asked)
  expect(find(events, 'tool_parked')).toHaveLength(1)
  expect(find(events, 'resumed')).toMatchObject([{ decisions: [{ decision: 'approved' }] }])
})

test('P10 L43: a run whose provider was busy at first', async () => {
  await createAgent('patient', [{ status: 429, retryAfterMs: '5' }, { text: 'Here I am.' }])
  const asked = await post(mira.key, 'Busy', '@patient are you there?')
  await waitForReply(asked, 'patient')
  expect(find(await replay(asked), 'model_failed')).toMatchObject([
    { failure: { code: 'PROVIDER_BUSY', isRetryable: true } },
  ])
})

test('P10 L43: a run that failed', async () => {
  await createAgent('locked', [{ status: 401, message: 'Incorrect API key provided' }])
  const asked = await post(mira.key, 'Locked', '@locked are you there?')
  await waitForReply(asked, 'locked')
  expect(find(await replay(asked), 'model_failed')).toMatchObject([
    { failure: { code: 'PROVIDER_AUTH', isRetryable: false } },
  ])
})

test('P10 L43: a run that was cancelled', async () => {
  const agent = await createAgent('slow', [{ text: 'Late.', latencyMs: 60_000 }])
  const asked = await post(mira.key, 'Slow', '@slow are you there?')
  await isAsked(agent, 1)
  const { id } = await begun(asked, "state = 'running'")
  await call('POST', `/api/v1/activations/${id}/cancel`, { key: adminKey })
  expect((await waitForActivation(asked)).outcome).toBe('cancelled')
  expect(find(await replay(asked), 'cancel_requested')).toHaveLength(1)
})

test('P10 L43: a run that a comment joined', async () => {
  const agent = await createAgent('joined', [
    { calls: [{ name: 'hub_search', arguments: { query: 'herons' } }], latencyMs: 1_000 },
    { text: 'Both.' },
  ])
  const asked = await post(mira.key, 'Joined', '@joined where do they nest?')
  await isAsked(agent, 1)
  const sent = { content: '@joined and when?' }
  await call('POST', `/api/v1/posts/${asked}/comments`, { key: mira.key, body: sent })
  await waitForReply(asked, 'joined')
  expect(find(await replay(asked), 'steered').flatMap(({ items }) => items)).toHaveLength(1)
})

test('P10 L43: a run that compacted its session', async () => {
  await createAgent('keeper', [{ text: 'In the reeds, I think.' }, { text: 'A summary.' }])
  const asked = await post(mira.key, 'Keep', '@keeper where do herons nest?')
  await waitForReply(asked, 'keeper')
  const sent = { content: '@keeper /compact' }
  await call('POST', `/api/v1/posts/${asked}/comments`, { key: mira.key, body: sent })
  const second = await waitForValue(
    () =>
      env.DB.prepare(
        "SELECT * FROM activations WHERE post_id = ? AND state = 'done' ORDER BY id LIMIT 1 OFFSET 1",
      )
        .bind(asked)
        .first<Row>(),
    'the second run',
  )
  const events = await replayRun(second)
  expect(find(events, 'compacted')).toHaveLength(1)
  const [loaded] = find(events, 'loaded')
  expect(loaded?.facts.layers).toContain('history')
  expect(loaded?.facts.recalled?.turns).toHaveLength(1)
})

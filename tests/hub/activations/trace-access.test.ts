import { beforeAll, describe, expect, test } from 'vitest'
import type { WatchRequest } from '../../../src/agents/contract/agents'
import { toOtlp } from '../../../src/agents/trace/to-otlp'
import type { ActivationId } from '../../../src/shared/ids'
import { adminKey, createTestHub, readCost } from '../create-test-hub'
import { createOffice } from './create-office'

/** Everybody who could look at a task given by hand, on a public hub and on a private one. */
const office = createOffice()
const hubs = { public: office.hub, private: createTestHub({ ROOKERY_PUBLIC: 'false' }) }
const keys: Record<string, string | null> = { stranger: null, admin: adminKey }
let id: ActivationId
let running: ActivationId
const watched: WatchRequest[] = []

const inside = [
  'PROMPT',
  'THOUGHT',
  'HALFWAY',
  'ARGUMENT',
  'RESULT',
  'GOAL',
  'TITLE',
  'REMARK',
  'QUOTE',
]
const words = [...inside, 'ANSWER']

const event = (seq: number, kind: string, type: string, more: object) => ({
  ...{ seq, activation_id: id, at: '2026-01-01T00:00:00.000Z', kind, type },
  ...more,
})
const step = (number: number, text: string, tools: object[]) => ({
  ...{ step: number, startedAt: 1_000, modelMs: 20, inputTokens: 3, outputTokens: 2 },
  ...{ costMicrousd: 30, finishReason: tools.length > 0 ? 'tool-calls' : 'stop' },
  ...{ text, reasoning: 'THOUGHT', tools },
})
const tool = { callId: 'c1', name: 'memory_recall', arguments: '{"q":"ARGUMENT"}', grant: 'g' }
const write = () =>
  JSON.stringify({
    ...{ startedAt: 1_000, finishedAt: 2_000, session: 'dm_ada' },
    prompt: [{ role: 'user', excerpt: 'PROMPT', chars: 6 }],
    steps: [step(1, 'HALFWAY', [{ ...tool, result: 'RESULT' }]), step(2, 'ANSWER', [])],
    notes: [
      { at: 5, text: 'waited for a slot' },
      { at: 6, text: 'the call failed', quote: 'QUOTE' },
    ],
    parks: [
      {
        ...{ at: 5, resumedAt: 6, tools: ['memory_recall'] },
        decisions: [{ callId: 'c1', decision: 'approved', by: 'root', note: 'REMARK' }],
      },
    ],
    plan: {
      ...{ goal: 'GOAL', progress: 0.5 },
      steps: [
        { callId: null, title: 'TITLE', status: 'pending' },
        { callId: 'c1', title: 'memory_recall', status: 'completed' },
      ],
    },
    events: [
      event(1, 'model', 'step-finish', { step: 1, text: 'HALFWAY', reasoning: 'THOUGHT' }),
      event(2, 'tool', 'tool-call', { name: 'memory_recall', arguments: 'ARGUMENT' }),
      event(3, 'tool', 'tool-result', { name: 'memory_recall', text: 'RESULT' }),
      event(4, 'plan', 'plan', { goal: 'GOAL', steps: [{ title: 'TITLE', status: 'pending' }] }),
      event(5, 'model', 'step-finish', { step: 2, text: 'ANSWER', reasoning: 'THOUGHT' }),
      event(6, 'warning', 'warning', { code: 'model_failed', text: 'failed', quote: 'QUOTE' }),
    ],
  })

beforeAll(async () => {
  const [account, requester, owner] = await Promise.all([
    office.hub.join('bob', 'human'),
    office.hub.join('ada', 'human'),
    office.hub.join('olga', 'human'),
  ])
  const agent = await office.createAgent('scout')
  const other = await office.createAgent('wren')
  Object.assign(keys, {
    ...{ account: account.key, requester: requester.key, owner: owner.key },
    ...{ agent: agent.key, otherAgent: other.key },
  })
  await office.run('UPDATE api_keys SET last_used_at = ?', office.hub.clock.now())
  await office.run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'etag', ?, 0)`,
    ...[agent.id, owner.id],
  )
  const give = () =>
    office.run(
      `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task, task)
       VALUES (?, ?, 'task', ?, 'PROMPT', 1, 1, 'manual')`,
      ...[office.newId(), agent.id, requester.id],
    )
  await give()
  id = (await office.start(agent.id)).activationId
  await office.commit(agent.id, id, { trace: write() })
  await give()
  running = (await office.start(agent.id)).activationId
  for (const hub of Object.values(hubs)) {
    const { agents } = hub.context()
    agents.toOtlp = (trace) => toOtlp(trace, { hub: 'Test', hasContent: true })
    hub.seen.readTrace = async () => write()
    hub.seen.watch = async (_agent, what) => {
      watched.push(what)
      return new Response('watched')
    }
  }
})

type Kind = keyof typeof hubs

const get = async (kind: Kind, who: string, path: string, upgrade = false) => {
  const key = keys[who]
  return hubs[kind].fetch(path, {
    redirect: 'manual',
    headers: {
      ...(key ? { authorization: `Bearer ${key}` } : {}),
      ...(upgrade ? { upgrade: 'websocket' } : {}),
    },
  })
}

/** Collects the messages of a socket until it closes. */
async function listen({ webSocket }: Response): Promise<string> {
  if (!webSocket) throw new Error('no socket')
  const heard: string[] = []
  webSocket.addEventListener('message', ({ data }) => heard.push(String(data)))
  const closed = new Promise((resolve) => webSocket.addEventListener('close', resolve))
  webSocket.accept()
  await closed
  return heard.join('\n')
}

const heldIn = (text: string): string[] => words.filter((word) => text.includes(word))

const readers = [
  { who: 'stranger', sees: [], hears: 'outline' },
  { who: 'account', sees: [], hears: 'outline' },
  { who: 'otherAgent', sees: [], hears: 'outline' },
  { who: 'requester', sees: ['ANSWER'], hears: 'thread' },
  { who: 'owner', sees: words, hears: 'full' },
  { who: 'agent', sees: words, hears: 'full' },
  { who: 'admin', sees: words, hears: 'full' },
] as const
const cases = (['public', 'private'] as const)
  .flatMap((kind) => readers.map((reader) => ({ kind, ...reader, isAll: reader.hears === 'full' })))
  .filter(({ kind, who }) => kind === 'public' || who !== 'stranger')

describe.each(cases)('M9: what $who sees inside, on a $kind hub', (each) => {
  const { kind, who, sees, hears, isAll } = each
  const read = (path: string) => get(kind, who, path)

  test.each(['done', 'running'])('M9: the activation over the API, %s', async (state) => {
    const answer = await read(`/api/v1/activations/${state === 'done' ? id : running}`)
    const text = await answer.text()
    expect(heldIn(text)).toEqual(sees)
    const { is_redacted, trace } = JSON.parse(text)
    expect(is_redacted).toBe(!isAll)
    expect(readCost(answer.headers).roundTrips).toBe(1)
    // what everybody sees
    expect(trace).toMatchObject({
      notes: [{ text: 'waited for a slot' }, { text: expect.stringMatching(/^the call failed/) }],
      steps: [
        {
          ...{ finish_reason: 'tool-calls', cost_microusd: 30, input_tokens: 3, model_ms: 20 },
          tools: [{ name: 'memory_recall', grant: 'g' }],
        },
        { finish_reason: 'stop' },
      ],
      plan: { progress: 0.5, steps: [{ status: 'pending' }, { title: 'memory_recall' }] },
    })
  })

  test.each(['done', 'running'])('M9: its events, %s', async (state) => {
    const text = await (
      await read(`/api/v1/activations/${state === 'done' ? id : running}/events`)
    ).text()
    expect(heldIn(text)).toEqual(
      isAll ? words.filter((word) => word !== 'PROMPT' && word !== 'REMARK') : [],
    )
    const { events, is_redacted } = JSON.parse(text)
    expect(is_redacted).toBe(!isAll)
    expect(events.map(({ seq }: { seq: number }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
    expect(events[1]).toMatchObject({ type: 'tool-call', name: 'memory_recall' })
  })

  test('M9 L43 H10: its spans, where the hub exports content; who wrote in private is inside', async () => {
    const text = await (await read(`/api/v1/activations/${id}/otlp`)).text()
    const visibleWords = words.filter((word) => !['GOAL', 'TITLE', 'REMARK'].includes(word))
    expect(heldIn(text)).toEqual(isAll ? visibleWords : sees)
    expect(text).toContain('execute_tool memory_recall')
    expect(text.includes('dm_ada')).toBe(isAll)
  })

  test.each(['done', 'running'])('M9: its page, %s', async (state) => {
    const answer = await read(`/activations/${state === 'done' ? id : running}`)
    const html = await answer.text()
    expect(heldIn(html)).toEqual(sees)
    const line = 'Prompts and tool results are shown only to admins'
    expect(html.includes(line)).toBe(!isAll)
    expect(html).toContain('memory.recall')
    expect(html).toContain('waited for a slot')
    if (state === 'running') expect(html).toContain(`data-view="${isAll ? 'full' : 'thread'}"`)
    expect(readCost(answer.headers).roundTrips).toBe(1)
  })

  test('M9 L22: the socket of a running activation has the view that the viewer may see', async () => {
    watched.length = 0
    await get(kind, who, `/live/activations/${running}?view=full&after=3`, true)
    expect(watched).toEqual([{ activationId: running, after: 3, view: hears }])
  })

  test('M9 L42: the socket of an ended activation replays its trace', async () => {
    watched.length = 0
    const text = await listen(await get(kind, who, `/live/activations/${id}?view=full`, true))
    expect(heldIn(text)).toEqual(
      isAll ? words.filter((word) => word !== 'PROMPT' && word !== 'REMARK') : [],
    )
    const said = text.split('\n').map((line) => JSON.parse(line))
    expect(said.map(({ type }) => type)).toEqual([
      ...['hello', 'step-finish', 'tool-call', 'tool-result', 'plan', 'step-finish'],
      ...['warning', 'over'],
    ])
    const rest = await listen(await get(kind, who, `/live/activations/${id}?after=4`, true))
    expect(rest.split('\n')).toHaveLength(4)
    expect(heldIn(rest)).toEqual([])
    expect(watched).toEqual([])
  })
})

test('M9: on a private hub a stranger reads nothing at all', async () => {
  for (const path of ['', '/events', '/otlp']) {
    expect((await get('private', 'stranger', `/api/v1/activations/${id}${path}`)).status).toBe(401)
  }
  expect((await get('private', 'stranger', `/activations/${id}`)).status).toBe(303)
  expect((await get('private', 'stranger', `/live/activations/${id}`, true)).status).toBe(401)
})

test('M9: who wrote another version of the definition is not who owns this run', async () => {
  const late = await office.hub.join('late', 'human')
  keys.late = late.key
  await office.run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at)
     SELECT agent_id, 2, 'etag2', ?, 0 FROM activations WHERE id = ?`,
    ...[late.id, id],
  )
  const text = await (await get('public', 'late', `/api/v1/activations/${id}`)).text()
  expect(heldIn(text)).toEqual([])
})

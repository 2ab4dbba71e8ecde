import { beforeAll, describe, expect, test } from 'vitest'
import type { WatchRequest } from '../../../src/agents/contract/agents'
import { toOtlp } from '../../../src/agents/run/otlp'
import { adminAccountId } from '../../../src/hub/schema/accounts'
import type { ActivationId } from '../../../src/shared/ids'
import { sha256 } from '../../../src/shared/sha256'
import { toStoredLog, withOwnAccount } from '../../support/run-log'
import { adminKey, createTestHub, readCost } from '../create-test-hub'
import { createOffice } from './create-office'
import { privateEvents, words } from './private-events'

/** Everybody who could look at a task given by hand, on a public hub and on a private one. */
const office = createOffice()
const hubs = { public: office.hub, private: createTestHub({ ROOKERY_PUBLIC: 'false' }) }
const keys: Record<string, string | null> = { stranger: null, admin: adminKey }
let id: ActivationId
let running: ActivationId
const watched: WatchRequest[] = []

const write = (isOver = true) => toStoredLog(privateEvents(id, isOver))

beforeAll(async () => {
  const [account, requester, owner] = await Promise.all([
    office.hub.join('bob', 'human'),
    office.hub.join('ada', 'human'),
    office.hub.join('olga', 'human'),
  ])
  const opener = await office.hub.join('otto', 'human')
  await office.run(`UPDATE accounts SET role = 'admin' WHERE id = ?`, opener.id)
  keys.opener = opener.key
  await office.run(
    `INSERT INTO admin_openings (id, account_id, owner_id, reason, created_at, expires_at)
     VALUES ('o', ?, ?, 'A complaint', 0, 9000000000000000)`,
    opener.id,
    requester.id,
  )
  const agent = await office.createAgent('scout')
  const other = await office.createAgent('wren')
  Object.assign(keys, {
    account: account.key,
    requester: requester.key,
    owner: owner.key,
    agent: agent.key,
    otherAgent: other.key,
  })
  await office.run('UPDATE api_keys SET last_used_at = ?', office.hub.clock.now())
  await office.run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'etag', ?, 0)`,
    agent.id,
    owner.id,
  )
  const give = () =>
    office.run(
      `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task, task)
       VALUES (?, ?, 'task', ?, 'PROMPT', 1, 1, 'manual')`,
      office.newId(),
      agent.id,
      requester.id,
    )
  await give()
  id = (await office.start(agent.id)).activationId
  await office.commit(agent.id, id, { trace: write() })
  await give()
  running = (await office.start(agent.id)).activationId
  for (const hub of Object.values(hubs)) {
    const { agents } = hub.context()
    agents.toOtlp = (trace) => toOtlp(trace, { hub: 'Test', hasContent: true })
    hub.seen.readRunLog = async () => write(false)
    hub.seen.readPatch = async (_agent, run, attempt) => `+<b>PATCH ${run} ${attempt}</b>`
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

/** By which the socket of somebody is closed when their account or key ends. */
async function tagsOf(who: string): Promise<string[]> {
  const key = await office.first<{ id: string; account_id: string }>(
    'SELECT id, account_id FROM api_keys WHERE hash = ?',
    await sha256(keys[who] ?? ''),
  )
  return key ? [`account ${key.account_id}`, `key ${key.id}`] : [`account ${adminAccountId}`]
}

const heldIn = (text: string): string[] => words.filter((word) => text.includes(word))

const readers = [
  { who: 'stranger', sees: [], hears: 'outline' },
  { who: 'account', sees: [], hears: 'outline' },
  { who: 'otherAgent', sees: [], hears: 'outline' },
  { who: 'requester', sees: ['ANSWER'], hears: 'thread' },
  { who: 'owner', sees: words, hears: 'full' },
  { who: 'agent', sees: words, hears: 'full' },
  { who: 'admin', sees: [], hears: 'outline' },
  // The admin has opened what is private to the requester.
  { who: 'opener', sees: words, hears: 'full' },
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
      notes: [
        { text: 'Waited to start: capacity.' },
        { text: expect.stringMatching(/^The model call failed/) },
      ],
      steps: [
        {
          finish_reason: 'tool-calls',
          cost_microusd: 30,
          input_tokens: 3,
          model_ms: 20,
          tools: [{ name: 'memory_recall', grant: 'g' }, { name: 'memory_update_plan' }],
        },
        { finish_reason: 'stop' },
      ],
      plan: {
        progress: 0,
        steps: [{ status: state === 'done' ? 'not_done' : 'pending' }, { title: 'memory_recall' }],
      },
    })
  })

  test.each(['done', 'running'])('M9: its events, %s', async (state) => {
    const text = await (
      await read(`/api/v1/activations/${state === 'done' ? id : running}/events`)
    ).text()
    expect(heldIn(text)).toEqual(
      isAll ? words.filter((word) => word !== 'PROMPT' && word !== 'REMARK') : sees,
    )
    const { events: told, is_redacted } = JSON.parse(text)
    expect(is_redacted).toBe(!isAll)
    expect(told.map(({ seq }: { seq: number }) => seq)).toEqual(
      told.map((_: unknown, index: number) => index + 1),
    )
    expect(told).toContainEqual(
      expect.objectContaining({ type: 'tool-call', name: 'memory_recall' }),
    )
  })

  test('M9 L43 H10: its spans, where the hub exports content; who wrote in private is inside', async () => {
    const text = await (await read(`/api/v1/activations/${id}/otlp`)).text()
    const visibleWords = words.filter((word) => word !== 'REMARK')
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
    expect(html).toContain('Waited to start')
    const patch = `+&lt;b&gt;PATCH ${state === 'done' ? id : running} 1&lt;/b&gt;`
    for (const word of ['CHANGED.md', 'rookery/scout', patch]) {
      expect(html.includes(word), word).toBe(isAll)
    }
    if (state === 'running') expect(html).toContain(`data-view="${isAll ? 'full' : 'thread'}"`)
    expect(readCost(answer.headers).roundTrips).toBe(1)
  })

  test('M9 L22: the socket of a running activation has the view that the viewer may see', async () => {
    watched.length = 0
    await get(kind, who, `/live/activations/${running}?view=full&after=3`, true)
    const tags =
      who === 'stranger' ? [expect.stringMatching(/^address 10\.0\.\d+\.\d+$/)] : await tagsOf(who)
    const until = who === 'opener' ? { until: expect.any(Number) } : {}
    expect(watched).toEqual([{ activationId: running, after: 3, view: hears, tags, ...until }])
  })

  test('M9 L42: the socket of an ended activation replays its trace', async () => {
    watched.length = 0
    const text = await listen(await get(kind, who, `/live/activations/${id}?view=full`, true))
    expect(heldIn(text)).toEqual(
      isAll ? words.filter((word) => word !== 'PROMPT' && word !== 'REMARK') : [],
    )
    const said = text.split('\n').map((line) => JSON.parse(line))
    const types = said.map(({ type }) => type)
    expect(types.slice(0, 2)).toEqual(['hello', 'woken'])
    expect(types.slice(-2)).toEqual(['response', 'over'])
    expect(types).toContain('tool-result')
    const rest = await listen(await get(kind, who, `/live/activations/${id}?after=4`, true))
    expect(rest.split('\n')).toHaveLength(types.length - 4)
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
    late.id,
    id,
  )
  const text = await (await get('public', 'late', `/api/v1/activations/${id}`)).text()
  expect(heldIn(text)).toEqual([])
})

/** Everything of a run that a viewer reads, and the view that the socket of the running one has. */
async function readAll(who: string): Promise<{ words: string[]; view: string | undefined }> {
  const paths = [id, running].flatMap((each) => [
    ...['', '/events', '/otlp'].map((end) => `/api/v1/activations/${each}${end}`),
    `/activations/${each}`,
  ])
  const lists = ['/runs?q=PROMPT', '/runs.csv?q=PROMPT', '/api/v1/activations?q=PROMPT']
  const texts = await Promise.all(
    [...paths, ...lists].map(async (path) => (await get('public', who, path)).text()),
  )
  texts.push(await listen(await get('public', who, `/live/activations/${id}?view=full`, true)))
  watched.length = 0
  await get('public', who, `/live/activations/${running}?view=full`, true)
  return {
    words: heldIn(texts.join('\n').replaceAll('q=PROMPT', '').replaceAll('"PROMPT"', '')),
    view: watched[0]?.view,
  }
}

test('C6 T21: what a connected account returned is read by nobody who did not ask, before it is opened', async () => {
  const post = await office.post(keys.requester ?? '', 'What is in my account?')
  await office.run(
    `UPDATE activations SET task = 'mention', post_id = ?1, community_id = (SELECT community_id FROM posts WHERE id = ?1)
     WHERE id IN (?2, ?3)`,
    post,
    id,
    running,
  )
  await office.run(`UPDATE inbox_items SET type = 'mention', task = NULL WHERE task = 'manual'`)
  for (const who of ['owner', 'agent', 'admin', 'opener']) {
    expect(await readAll(who), who).toEqual({ words, view: 'full' })
  }
  for (const each of [id, running]) await office.hubApi.markOwnAccount(each)
  for (const who of ['stranger', 'account', 'otherAgent', 'owner', 'agent', 'admin']) {
    expect(await readAll(who), who).toEqual({ words: [], view: 'outline' })
  }
  expect(await readAll('requester')).toEqual({ words: [], view: 'thread' })
  expect(await readAll('opener')).toEqual({ words, view: 'full' })
  expect(watched[0]?.knowsOwnAccount).toBe(true)
})

test('C6 T21: a log that is newer than the decision about it is empty for everybody', async () => {
  await office.run('UPDATE activations SET uses_own_account = 0 WHERE id = ?', running)
  const stored = withOwnAccount(write(false))
  office.hub.seen.readRunLog = async () => stored
  const text = await (await get('public', 'admin', `/api/v1/activations/${running}`)).text()
  expect(heldIn(text)).toEqual([])
  expect(text).toContain('memory_recall')
})

import { env } from 'cloudflare:workers'
import { beforeAll, expect, test, vi } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import { call, pushDefinition, scoutFiles } from '../../support/cast'
import { createBrowser, signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const minute = 60_000
let ada: Awaited<ReturnType<typeof hub.join>>
const ids = new Map<string, string>()

const run = (sql: string, ...values: unknown[]) =>
  env.DB.prepare(sql)
    .bind(...values)
    .run()

/** An agent that runs here and was active so many minutes ago. */
async function createAgent(
  name: string,
  minutesAgo: number | null,
  intervalMinutes: number | null = 15,
) {
  const { id } = await hub.join(name)
  await hub.host(id)
  ids.set(name, id)
  const at = minutesAgo === null ? null : hub.clock.now() - minutesAgo * minute
  await run('UPDATE accounts SET last_activated_at = ? WHERE id = ?', at, id)
  if (intervalMinutes !== null) {
    await run(
      `INSERT INTO explorers (account_id, weight, interval_ms, explored_at, updated_at)
       VALUES (?, 2, ?, ?, 0)`,
      id,
      intervalMinutes * minute,
      at ?? 0,
    )
  }
}

const read = async (query = '') => (await hub.call(`/system/scheduler${query}`)).body
const agentOf = async (name: string) => (await read(`?name=${name}`)).agents[0]

beforeAll(async () => {
  hub.clock.advance(10 * 60 * minute)
  // Makes the windows of budgets.
  await createHubApi(() => hub.context()).sweep(hub.clock.now())
  ada = await hub.join('ada', 'human')
  await createAgent('stale', 50)
  await createAgent('newest', null)
  await createAgent('fresh', 5)
  await createAgent('failing', 20)
  await run('UPDATE agents SET consecutive_failures = 2 WHERE account_id = ?', ids.get('failing'))
  await createAgent('halted', 60)
  await run('UPDATE agents SET is_paused = 1 WHERE account_id = ?', ids.get('halted'))
  await createAgent('called', 70, null)
  await createAgent('poor', 90)
  await run(
    `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, created_at, updated_at)
     VALUES ('poor', 'agent', ?, 'month', 100, 0, 0)`,
    ids.get('poor'),
  )
  await run(`INSERT INTO budget_windows VALUES ('poor', 0, ?, 95, 0)`, hub.clock.now() + minute)
  await createAgent('busy', 2)
  await run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at, reserved_microusd)
     VALUES ('lease-1', ?1, 'exploration', 'exploration', 'running', 'granted', 'offline/extractive', 1, ?2, ?3, 500)`,
    ids.get('busy'),
    hub.clock.now() - 30_000,
    hub.clock.now() + 4 * minute,
  )
})

test('S11: agents come by staleness, the never-run first, each with its reason and time', async () => {
  const { agents } = await read()
  expect(agents.map(({ name }: { name: string }) => name)).toEqual(
    'newest poor called halted stale failing fresh busy'.split(' '),
  )
  const reasons = agents.map(({ reason }: { reason: string }) => reason)
  expect(reasons).toEqual(
    'next budget not_enabled paused next back_off interval running'.split(' '),
  )
  expect(await agentOf('fresh')).toMatchObject({
    weight: 2,
    interval_ms: 15 * minute,
    staleness_ms: 5 * minute,
    next_eligible_at: new Date(hub.clock.now() + 10 * minute).toISOString(),
    says: 'Explores every 15\u00a0min: next in 10\u00a0min, at 10:10\u00a0UTC.',
  })
  expect(await agentOf('newest')).toMatchObject({ staleness_ms: null, last_activated_at: null })
  expect(await agentOf('called')).toMatchObject({ weight: null, next_eligible_at: null })
})

test('S11: slots and leases: who holds one, since when, and how long it may', async () => {
  const { slots, leases } = await read()
  expect(slots).toEqual({
    capacity: 10,
    kept_for_exploration: 2,
    running: 1,
    running_exploration: 1,
  })
  expect(leases).toMatchObject([
    {
      activation_id: 'lease-1',
      agent: { name: 'busy' },
      class: 'exploration',
      reserved_microusd: 500,
    },
  ])
})

test('S11: the queue is oldest first, with waiting time and reason; a message names no sender', async () => {
  const { body } = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'Hi', content: '@busy @halted well?' },
  })
  hub.clock.advance(40_000)
  await run(
    `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task)
     VALUES ('dm-1', ?, 'dm', ?, 'secret words', ?, 1)`,
    ids.get('fresh'),
    ada.id,
    hub.clock.now() - 1_000,
  )
  const { queue } = await read()
  expect(queue.waiting).toBe(3)
  const nameOf = (account: unknown) => (account as { name: string } | null)?.name ?? null
  const said = queue.tasks.map((task: Record<string, unknown>) => [
    nameOf(task.agent),
    task.task,
    nameOf(task.from),
    task.post_id,
    task.waiting_ms,
    task.reason,
  ])
  expect(said.toSorted()).toEqual([
    ['busy', 'mention', 'ada', body.post.id, 40_000, 'at_work'],
    ['fresh', 'dm', null, null, 1_000, 'starting'],
    ['halted', 'mention', 'ada', body.post.id, 40_000, 'paused'],
  ])
  expect(said.at(-1)[0]).toBe('fresh')
  const html = await createBrowser(hub).read('/scheduler')
  expect(html).toContain('busy is running; an agent has one run at a time.')
  expect(html).not.toContain('secret words')
  expect((await agentOf('fresh')).reason).toBe('interval')
})

test.each([
  ['state=paused', ['halted']],
  ['state=failing', ['failing']],
  ['state=running', ['busy']],
  ['state=off', ['called']],
  ['state=waiting', ['halted', 'fresh', 'busy']],
  ['name=FA', ['failing']],
  ['name=%25', []],
])('S11: agents are found by %s', async (query, names) => {
  const { agents } = await read(`?${query}`)
  expect(agents.map(({ name }: { name: string }) => name)).toEqual(names)
})

test('S11: page and API are one round trip each, whoever looks', async () => {
  const admin = await signIn(hub)
  await admin.get('/docs')
  for (const browser of [admin, createBrowser(hub)]) {
    const response = await browser.get('/scheduler?state=all')
    expect(response.status).toBe(200)
    expect(readCost(response.headers).roundTrips).toBe(1)
  }
  const { headers } = await hub.call('/system/scheduler')
  expect(readCost(headers).roundTrips).toBe(1)
})

test('S11: without a response of the scheduler only the reasons are missing', async () => {
  const { explain } = hub.seen
  hub.seen.explain = () => {
    throw new Error('gone')
  }
  const board = await read()
  expect(board).toMatchObject({ scheduler: null, slots: { running: 1, capacity: null } })
  expect(board.agents[0]).toMatchObject({ name: 'newest', reason: null })
  const html = await createBrowser(hub).read('/scheduler')
  expect(html).toContain('The scheduler is not responding')
  expect(html).toContain('halted')
  hub.seen.explain = explain
})

test('S11 B10: the agents come as CSV too, with the filter of the page that links it', async () => {
  const browser = createBrowser(hub)
  expect(await browser.read('/scheduler?name=f')).toContain('href="/scheduler.csv?name=f"')
  const { clock } = hub
  const isoOf = (ms: number) => new Date(ms).toISOString()
  const failing = await agentOf('failing')
  const lines = (await browser.read('/scheduler.csv?name=f')).split('\r\n')
  const head = 'agent,quiet_ms,last_activated_at,interval_ms,weight,state,reason,says'
  expect(lines[0]).toBe(`${head},next_eligible_at`)
  expect(lines.slice(1, -1).map((line) => line.split(',')[0])).toEqual(['failing', 'fresh'])
  const start = `failing,${failing.staleness_ms},${isoOf(clock.now() - failing.staleness_ms)},`
  expect(lines[1]).toContain(`${start}900000,2,backing off,back_off,"Failed twice, so the backoff`)
  expect(lines[1]).toMatch(new RegExp(`,${failing.next_eligible_at}$`))
  expect(lines[1]).not.toContain('\u00a0')
  const all = (await browser.read('/scheduler.csv')).split('\r\n')
  expect(all[1]).toMatch(/^newest,,,900000,2,next,next,/)
  expect(all).toContainEqual(expect.stringMatching(/^called,\d+,[^,]+,,,on mention,not_enabled,/))
  expect((await browser.get('/scheduler.csv')).headers.get('content-type')).toContain('text/csv')
})

test('H21: an admin pauses and resumes all agents on the page; others cannot', async () => {
  const admin = await signIn(hub)
  expect(await admin.read('/scheduler')).toContain('Pause all agents')
  expect((await admin.send('/scheduler/pause', {})).status).toBe(303)
  const html = await admin.read('/scheduler')
  expect(html).toContain('Resume all agents')
  expect(html).toContain('All agents are paused')
  expect((await agentOf('stale')).reason).toBe('hub_paused')
  const other = await signIn(hub, ada.key)
  expect(await other.read('/scheduler')).not.toContain('<button type="submit" class="btn go">')
  expect((await other.send('/scheduler/resume', {})).status).toBe(403)
  expect((await createBrowser(hub).send('/scheduler/resume', {})).status).not.toBe(200)
  expect((await read()).is_paused).toBe(true)
  expect((await admin.send('/scheduler/resume', {})).status).toBe(303)
  expect((await read()).is_paused).toBe(false)
})

test('S11: the real scheduler answers too, and what it says comes from its own index', async () => {
  await pushDefinition('scout', {
    ...scoutFiles(),
    'config.yaml': `${scoutFiles()['config.yaml']}behavior:\n  discovery:\n    keywords: [tail]\n`,
  })
  await env.SCHEDULER.getByName('scheduler').sweepNow()
  const readScout = async () => {
    const path = '/api/v1/system/scheduler?name=scout'
    return (await call<{ agents: { reason: string }[] }>('GET', path, { key: adminKey })).body
  }
  // the agent answers the offer after its definition has woken it
  await vi.waitFor(async () => expect((await readScout()).agents[0]?.reason).not.toBe('running'), {
    timeout: 30_000,
    interval: 500,
  })
  expect(await readScout()).toMatchObject({
    scheduler: { mode: 'hybrid', last_sweep_at: expect.any(String) },
    slots: { capacity: 50, kept_for_exploration: 10 },
    agents: [
      { name: 'scout', reason: expect.stringMatching(/^(next|nothing_new|interval|no_slot)$/) },
    ],
  })
})

test('S11: a page among 10,000 agents reads about as much as among ten', async () => {
  const readRows = async () => readCost((await hub.call('/system/scheduler?limit=50')).headers)
  await run(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
     INSERT INTO accounts (id, name, kind, last_activated_at, created_at)
     SELECT 'many-' || i, 'many-' || i, 'agent', ?1 - i, 0 FROM n`,
    hub.clock.now(),
  )
  await run(
    `INSERT INTO agents (account_id, definition_version, definition_etag, model, updated_at)
     SELECT id, 1, 'etag', 'offline/extractive', 0 FROM accounts WHERE id LIKE 'many-%'`,
  )
  await run(
    `INSERT INTO explorers (account_id, weight, interval_ms, updated_at)
     SELECT id, 1, 900000, 0 FROM accounts WHERE id LIKE 'many-%'`,
  )
  const { rowsRead, roundTrips } = await readRows()
  expect(roundTrips).toBe(1)
  expect(rowsRead).toBeLessThan(2_500)
  const seen = new Set<string>()
  let cursor = ''
  for (let place = 0; place < 3; place++) {
    const board = await read(`?limit=200&cursor=${cursor}`)
    for (const { id } of board.agents) seen.add(id)
    cursor = board.next_cursor
    expect(board.has_more).toBe(cursor !== null)
  }
  expect(seen.size).toBe(600)
})

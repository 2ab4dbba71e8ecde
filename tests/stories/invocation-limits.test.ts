import { createScheduledController } from 'cloudflare:test'
import { env, exports } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import worker from '../../src/worker'
import {
  call,
  createAccount,
  post,
  pushDefinition,
  scoutFiles,
  waitForReply,
  waitForValue,
} from '../support/cast'
import { createAgent, waitForActivation } from '../support/create-agent'
import type { FakeCall } from '../support/fake-model-wire'
import {
  freePlan,
  type Invocation,
  isWithin,
  paidPlan,
  runInvocation,
} from '../support/platform-invocation'
import { runWorkerAsDeployed } from '../support/platform-worker'

/** All invocations of this file, in the Worker and in its objects. docs/scale.md states their numbers. */
const invocations = runWorkerAsDeployed(paidPlan)

let mira: Awaited<ReturnType<typeof createAccount>>
let census: string

beforeAll(async () => {
  mira = await createAccount('mira')
  census = await post(mira.key, 'Pelican census', 'In spring 412 pelicans were on the lagoon.')
})

type Counts = Omit<Invocation, 'name'>
const counts = (subrequests: number, queries: number, fetches = 0): Counts => ({
  subrequests,
  queries,
  fetches,
})
const nothing = counts(0, 0)
/** A sweep that finds no work. One of its statements is sent at times only. */
const sweep = counts(1, 31)
/** What an agent sends that finds no task. */
const check = counts(1, 13)
/** What may happen at any time: a sweep that finds work, such as an agent that a busy machine has not woken yet. */
const anytime: Record<string, Counts> = {
  'SchedulerObject.alarm': counts(freePlan.subrequestsMax, freePlan.queriesMax),
}

async function isQuiet(): Promise<boolean> {
  const before = JSON.stringify(invocations)
  const open = await env.DB.prepare(
    `SELECT (SELECT count(*) FROM activations WHERE state <> 'done')
       + (SELECT count(*) FROM inbox_items WHERE is_task = 1 AND read_at IS NULL) AS n`,
  ).first<number>('n')
  await scheduler.wait(300)
  return open === 0 && JSON.stringify(invocations) === before
}

/** Returns the invocations of an action, and those that followed from it. */
async function measure(action: () => Promise<unknown>): Promise<Invocation[]> {
  await waitForValue(isQuiet, 'the end of what came before')
  const first = invocations.length
  await action()
  await waitForValue(isQuiet, 'the end of what follows')
  return invocations.slice(first)
}

const exceeds = (of: Counts, ceiling: Counts): boolean =>
  of.subrequests > ceiling.subrequests ||
  of.queries > ceiling.queries ||
  of.fetches > ceiling.fetches

/** Expects counts of at most a ceiling; shows them when they are not. */
const expectAtMost = (of: Counts, ceiling: Counts): void =>
  expect(exceeds(of, ceiling) ? of : ceiling).toEqual(ceiling)

/** Expects invocations of these names, and that no others send anything. */
function expectWithin(found: Invocation[], ceilings: Record<string, Counts>): void {
  const all = { ...anytime, ...ceilings }
  const beyond = found.filter((each) => exceeds(each, all[each.name] ?? nothing))
  expect(beyond, JSON.stringify(beyond)).toEqual([])
  expect(found.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(ceilings)))
}

const isOfAgent = ({ name }: Invocation): boolean => name.startsWith('AgentObject.')

/** Adds up what the events of agents sent: among how many a run is divided depends on the machine. */
const sumOfAgents = (found: Invocation[]): Counts =>
  found
    .filter(isOfAgent)
    .reduce(
      (sum, each) =>
        counts(
          sum.subrequests + each.subrequests,
          sum.queries + each.queries,
          sum.fetches + each.fetches,
        ),
      nothing,
    )

const signIn = async (): Promise<string> => {
  const origin = 'http://hub.test'
  const answer = await exports.default.fetch(`${origin}/login`, {
    method: 'POST',
    headers: { origin, 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ key: mira.key, next: '/' }),
    redirect: 'manual',
  })
  expect(answer.status).toBe(303)
  return answer.headers.get('set-cookie')?.split(';')[0] ?? ''
}

/** Asks an agent whose model makes these tool calls, then answers. Returns the invocations. */
async function measureRun(name: string, steps: FakeCall[][]): Promise<Invocation[]> {
  const answers = [...steps.map((calls) => ({ calls })), { text: 'There were 412.' }]
  const grants = ['hub:read', 'memory:read', 'memory:write', 'workspace:read', 'workspace:write']
  await createAgent(name, answers, { grants })
  const found = await measure(async () => {
    const { outcome } = await waitForActivation(
      await post(mira.key, 'Census', `@${name} how many?`),
    )
    expect(outcome).toBe('completed')
  })
  return found.filter(isOfAgent)
}

const search = (index: number): FakeCall => ({
  name: 'hub_search',
  arguments: { query: `pelicans ${index}` },
})

test('a page costs at most three subrequests and 26 statements', async () => {
  const found = await measure(async () => {
    const cookie = await signIn()
    for (const path of ['/', `/p/${census}`, '/search?q=pelicans']) {
      expect((await call('GET', path, { headers: { cookie } })).status).toBe(200)
      expect((await call('GET', path)).status).toBe(200)
    }
  })
  expectWithin(found, {
    'POST /login': counts(2, 3),
    'GET /': counts(3, 11),
    'GET /p/:id': counts(3, 26),
    'GET /search': counts(2, 6),
  })
})

test('a definition, and a post or comment that mentions an agent, cost at most eleven subrequests', async () => {
  const found = await measure(async () => {
    await pushDefinition('scout', scoutFiles())
    const asked = await post(mira.key, 'Hello', '@scout hi')
    await waitForReply(asked)
    const body = { content: '@scout hi again' }
    await call('POST', `/api/v1/posts/${asked}/comments`, { key: mira.key, body })
  })
  expectWithin(
    found.filter((each) => !isOfAgent(each)),
    {
      'PUT /api/v1/agents/scout/definition': counts(11, 20),
      'POST /api/v1/posts': counts(6, 12),
      'POST /api/v1/posts/:id/comments': counts(6, 14),
    },
  )
})

test('a run without tools fits into one invocation of the free plan', async () => {
  const found = await measureRun('owl', [])
  expectAtMost(sumOfAgents(found), counts(11, 39, 1))
})

test('a run with two tool calls needs more statements than one invocation of the free plan has', async () => {
  const one = sumOfAgents(await measureRun('crow', [[search(1)]]))
  expectAtMost(one, counts(17, 50, 2))
  const two = sumOfAgents(await measureRun('daw', [[search(1), search(2)]]))
  expectAtMost(two, counts(20, 54, 2))
  expect(two.queries).toBeGreaterThan(freePlan.queriesMax)
})

test('a run that searches, reads, remembers a fact and writes a file costs 33 subrequests', async () => {
  const read = { name: 'hub_get_thread', arguments: { post_id: census } }
  const fact = { text: 'In spring there were 412 pelicans.', source: '@mira' }
  const remember = { name: 'memory_remember_fact', arguments: fact }
  const file = { path: 'census.md', content: '412' }
  const write = { name: 'workspace_write_file', arguments: file }
  const found = await measureRun('gull', [
    [search(1), read],
    [remember, write],
  ])
  expectAtMost(sumOfAgents(found), counts(33, 67, 3))
})

test('each event of a run with 80 tool calls stays within what 20 effects send', async () => {
  const steps = Array.from({ length: 5 }, (_, step) =>
    Array.from({ length: 16 }, (_, index) => search(16 * step + index)),
  )
  const found = await measureRun('tern', steps)
  expect(found.filter((each) => exceeds(each, counts(63, 87, 2)))).toEqual([])
  expect(sumOfAgents(found).subrequests).toBeGreaterThan(3 * 80)
})

test('an exploration needs more statements than one invocation of the free plan has', async () => {
  await env.DB.prepare(
    `INSERT INTO posts (id, community_id, author_id, title, content, created_at)
     SELECT ?1, m.id, ?2, 'Lagoon', 'How many pelicans were on the lagoon in spring?', ?3 FROM communities m WHERE m.name = 'general'`,
  )
    .bind(crypto.randomUUID(), mira.id, Date.now() - 20 * 60_000)
    .run()
  const config = `name: rook\nbrain: { provider: offline }\ncapabilities: { grants: [hub:read, hub:write] }
interests: { keywords: [pelicans] }\nbehavior: { discovery: { enabled: true, min_confidence: 0.5 } }\n`
  const found = await measure(async () => {
    await pushDefinition('rook', { 'config.yaml': config, 'system-prompt.md': 'You are rook.' })
    const sql = `SELECT 1 FROM activations WHERE task = 'exploration' AND state = 'done'`
    await waitForValue(() => env.DB.prepare(sql).first(), 'the exploration')
  })
  const ofAgents = sumOfAgents(found)
  expectAtMost(ofAgents, counts(20 + check.subrequests, 85 + check.queries))
  expect(ofAgents.queries - check.queries).toBeGreaterThan(freePlan.queriesMax)
})

test('a sweep is one batch, and the cron trigger one call', async () => {
  const found = await measure(async () => {
    await env.SCHEDULER.getByName('scheduler').sweepNow()
    await worker.scheduled(createScheduledController(), env as Env)
  })
  // An agent may have its turn to explore meanwhile.
  expectWithin(
    found.filter((each) => !isOfAgent(each)),
    { 'SchedulerObject.sweepNow': sweep, scheduled: counts(1, 0) },
  )
})

test('only runs send more than the free plan allows', () => {
  const beyond = invocations.filter((each) => !isWithin(each, freePlan))
  expect(beyond.filter((each) => !isOfAgent(each))).toEqual([])
  expect(invocations.filter(({ fetches }) => fetches > 3)).toEqual([])
})

test('a request to the internet is a subrequest, and one too many is refused', async () => {
  const url = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL
  const send = async (times: number) => {
    for (let sent = 0; sent < times; sent++) await (await fetch(`${url}/v1/models`)).text()
  }
  await runInvocation(() => send(50), freePlan)
  await expect(runInvocation(() => send(51), freePlan)).rejects.toThrow('Too many subrequests.')
})

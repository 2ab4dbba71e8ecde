import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { buildWorker } from '../../scripts/build-worker.mjs'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { type FakeModelServer, startFakeModelServer } from '../support/fake-model-server.ts'
import { openLine } from './coding/coding-hub.ts'
import { expectReview, recordBranch, sendReview } from './coding/send-review.ts'
import { isAlive } from './runner/start-runner.ts'
import { startHub } from './start-hub.ts'

/** Hub, runners and a program together; only the program's thoughts and the provider are scripted. */
const providerKey = 'the-key-that-only-the-hub-has'
const patience = { timeout: 120_000, interval: 100 }
const folder = mkdtempSync(join(tmpdir(), 'rookery-coding-'))
const programFolder = join(folder, 'program')
const runners: { process: ChildProcess; log: string }[] = []
let hub: Hub
/** Leads runners to the hub, which has another port after a restart. */
let line: Awaited<ReturnType<typeof openLine>>
let provider: FakeModelServer
let runnerKey: string

async function api<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${hub.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}

/** Reads a page as an admin who has signed in. */
async function readPage(path: string): Promise<string> {
  const login = await fetch(`${hub.url}/login`, {
    method: 'POST',
    headers: { origin: hub.url },
    body: new URLSearchParams({ key: hub.adminKey }),
    redirect: 'manual',
  })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  return (await fetch(`${hub.url}${path}`, { headers: { cookie, accept: 'text/html' } })).text()
}

async function select<Row>(sql: string): Promise<Row[]> {
  const db = await hub.openDatabase()
  return (await db.prepare(sql).all<Row>()).results
}

/** Starts the runner's program as a process. */
function startRunner(name: string) {
  const path = fileURLToPath(new URL('../support/runner-process.ts', import.meta.url))
  const programs = [{ type: 'claude-code', version: '1.2.3', folder: programFolder }]
  const options = {
    hub: line.url,
    key: runnerKey,
    name,
    labels: ['linux'],
    slots: 2,
    once: false,
    folder: join(folder, name),
    programs,
    hasSandbox: false,
    version: '0.1.0',
    retryMs: 100,
  }
  const child = spawn(process.execPath, [path, JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
  })
  const runner = { process: child, log: '' }
  child.stderr.on('data', (data) => {
    runner.log += data
  })
  runners.push(runner)
  return runner
}

interface RunnerAnswer {
  runners: {
    name: string
    is_connected: boolean
    runs: { agent: { name: string }; attempt: number }[]
  }[]
}

const waitForRunner = (name: string) =>
  vi.waitFor(async () => {
    const { runners } = await api<RunnerAnswer>('GET', '/runners')
    expect(runners.find((each) => each.name === name)?.is_connected).toBe(true)
  }, patience)

/** Asks the agent for something. Returns the post. */
async function ask(title: string, acts: string): Promise<string> {
  const text = { community: 'general', title, content: `@coder Please. Do: ${acts}.` }
  return (await api<{ post: { id: string } }>('POST', '/posts', text)).post.id
}

interface Run {
  id: string
  state: string
  outcome: string | null
  run_attempt: number | null
  cost: number
}

const findRuns = (postId: string): Promise<Run[]> =>
  select(`SELECT id, state, outcome, run_attempt, cost_microusd AS cost FROM activations
    WHERE post_id = '${postId}' ORDER BY id`)

/** Waits until the one run of a post is done. */
const waitForEnd = (postId: string): Promise<Run> =>
  vi.waitFor(async () => {
    const runs = await findRuns(postId)
    expect(runs).toMatchObject([{ state: 'done' }])
    return runs[0] as Run
  }, patience)

/** Returns the process that the hanging program of a post has started on the first runner. */
const findChild = (postId: string): Promise<number> =>
  vi.waitFor(async () => {
    const [run] = await findRuns(postId)
    const path = join(folder, 'first/runs', `${run?.id}-1`, 'reports.ndjson')
    const child = Number(/child (\d+)/.exec(readFileSync(path, 'utf8'))?.[1])
    expect(child).toBeGreaterThan(0)
    return child
  }, patience)

const readReplies = (postId: string) =>
  select<{ content: string }>(`SELECT content FROM comments WHERE post_id = '${postId}'`)
const readCharges = (id: string) =>
  select<{ cost: number }>(
    `SELECT cost_microusd AS cost FROM usage_events WHERE activation_id = '${id}'`,
  )

const readEvents = async (id: string) =>
  (await api<{ events: { type: string }[] }>('GET', `/activations/${id}/events`)).events

async function start(env: Record<string, string>): Promise<void> {
  hub = await startHub({
    stateDir: join(folder, 'hub'),
    bundlePath: await buildWorker(),
    env: {
      ROOKERY_LOG_LEVEL: 'warn',
      ANTHROPIC_API_KEY: providerKey,
      ANTHROPIC_BASE_URL: `${provider.url}/v1`,
      ...env,
    },
  })
}

beforeAll(async () => {
  const adapter = join(programFolder, 'node_modules/@agentclientprotocol/claude-agent-acp/dist')
  mkdirSync(adapter, { recursive: true })
  const program = fileURLToPath(new URL('./runner/fake-program.mjs', import.meta.url))
  copyFileSync(program, join(adapter, 'index.js'))
  provider = await startFakeModelServer({ answers: [{ text: 'Look at the printer.' }] })
  await start({})
  line = await openLine(() => Number(new URL(hub.url).port))
  const { key } = await api<{ key: { api_key: string } }>('POST', '/runners/keys', {
    label: 'Cellar',
  })
  runnerKey = key.api_key
  startRunner('first')
  const config = [
    'name: coder',
    'type: claude-code',
    'brain: { provider: anthropic, model: claude-haiku-4-5 }',
    'capabilities: { grants: [hub:read, hub:write] }',
  ].join('\n')
  const files = { 'config.yaml': config, 'system-prompt.md': 'You fix things.' }
  await api('PUT', '/agents/coder/definition', { files })
  await waitForRunner('first')
})

afterAll(async () => {
  for (const { process: child } of runners) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const isGone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await isGone
  }
  line.close()
  await hub.stop()
  await provider.close()
  rmSync(folder, { recursive: true, force: true })
})

test('X1 X3 X4 X8: a task for a coding agent has one reply, that of its program, and is charged once', async () => {
  const postId = await ask('Printer', 'search')
  const run = await waitForEnd(postId)
  expect(run.outcome).toBe('completed')
  expect(await readReplies(postId)).toEqual([{ content: '@admin The printer is on fire.' }])
  const events = await readEvents(run.id)
  expect(events.filter(({ type }) => /usage|tool/.test(type))).toMatchObject([
    { type: 'usage', input_tokens: 100, output_tokens: 20, cost_microusd: 200, is_priced: true },
    { type: 'tool-call', name: 'hub_search' },
    { type: 'tool-result', name: 'hub_search', is_error: false },
  ])
  expect(provider.requests).toHaveLength(1)
  expect(await readCharges(run.id)).toEqual([{ cost: 200 }])
  expect(run.cost).toBe(200)
  expect(await api('GET', '/budgets/audit')).toMatchObject({ is_consistent: true })

  // The provider sees the hub's key and no token; the runner's machine sees neither key nor token.
  const { headers, body } = provider.requests[0] ?? { headers: {}, body: null }
  expect(headers).toMatchObject({ 'x-api-key': providerKey })
  expect(headers).not.toHaveProperty('authorization')
  expect(body).toMatchObject({ model: 'claude-haiku-4-5' })
  const files = readdirSync(join(folder, 'first'), { recursive: true, withFileTypes: true })
  const texts = files
    .filter((each) => each.isFile())
    .map((each) => readFileSync(join(each.parentPath, each.name), 'utf8'))
  expect(texts.length).toBeGreaterThan(0)
  expect([...texts, runners[0]?.log].join()).not.toContain(providerKey)
})

test('X9: a cancelled run ends its program with all it started', async () => {
  const postId = await ask('Scanner', 'hang')
  const child = await findChild(postId)
  const [run] = await findRuns(postId)
  const { runners: listed } = await api<RunnerAnswer>('GET', '/runners')
  expect(listed).toMatchObject([
    { name: 'first', runs: [{ agent: { name: 'coder' }, attempt: 1 }] },
  ])
  expect(isAlive(child)).toBe(true)
  const page = await readPage('/runners')
  expect(page).toContain(`/activations/${run?.id}`)
  await api('POST', `/activations/${run?.id}/cancel`)
  expect((await waitForEnd(postId)).outcome).toBe('cancelled')
  await vi.waitFor(async () => {
    expect(isAlive(child)).toBe(false)
    expect(await api('GET', '/runners')).toMatchObject({ runners: [{ runs: [] }], waiting: [] })
  }, patience)
  expect(await readCharges(run?.id ?? '')).toEqual([{ cost: 200 }])
})

test('X1 X9 X13: when a machine dies another takes over, with one reply and every request charged once', async () => {
  const before = provider.requests.length
  const fast = { text: 'Look at the printer.' }
  const slow = { text: 'word '.repeat(1_000), pieceMs: 100 }
  provider.setScript('', { answers: [fast, slow, fast] })
  const postId = await ask('Copier', 'hangonce search')
  const child = await findChild(postId)
  await vi.waitFor(() => expect(provider.inFlight()).toBe(1), patience)
  runners[0]?.process.kill('SIGKILL')
  startRunner('second')
  await waitForRunner('second')
  expect(isAlive(child)).toBe(true)
  // Its service starts it again: it kills what was left, and says what was lost.
  startRunner('first')
  const run = await waitForEnd(postId)
  expect(run).toMatchObject({ outcome: 'completed', run_attempt: 2 })
  await vi.waitFor(() => {
    expect(isAlive(child)).toBe(false)
    // where the session is, or elsewhere
    const logs = runners.slice(1).map(({ log }) => log)
    expect(logs.join()).toContain('claude-code started')
  }, patience)
  expect(await readReplies(postId)).toEqual([{ content: '@admin The printer is on fire.' }])
  // What was being written when the machine died is charged by an estimate.
  expect(provider.requests).toHaveLength(before + 3)
  const charges = (await readCharges(run.id)).map(({ cost }) => cost)
  expect(charges).toHaveLength(3)
  expect(charges.filter((cost) => cost === 200)).toHaveLength(2)
  expect(run.cost).toBe(charges.reduce((sum, cost) => sum + cost, 0))
  expect(await api('GET', '/budgets/audit')).toMatchObject({ is_consistent: true })
})

const countPublished = async () =>
  (await select("SELECT 1 FROM posts WHERE title = 'Nine herons'")).length

/** Approves what the run of a post asks for, in a state of the run. */
async function approve(postId: string, state: string): Promise<void> {
  const id = await vi.waitFor(async () => {
    const [run] = await findRuns(postId)
    const { approvals } = await api<{ approvals: { id: string; run_id: string }[] }>(
      'GET',
      '/approvals',
    )
    expect([run?.state, approvals[0]?.run_id]).toEqual([state, run?.id])
    return approvals[0]?.id ?? ''
  }, patience)
  await api('POST', `/approvals/${encodeURIComponent(id)}/decide`, {
    decision: 'approve',
    note: '',
  })
}

test('X6 X15: an approval in time, one after the run has parked, a further comment and a review each go on in the session, and no call is made twice', async () => {
  const quick = await ask('Quick', 'publish')
  await approve(quick, 'running')
  expect(await waitForEnd(quick)).toMatchObject({ outcome: 'completed', run_attempt: 1 })
  expect(await countPublished()).toBe(1)
  // A wait that a machine may be too busy to end in time becomes one that is over at once.
  await hub.stop()
  await start({ ROOKERY_APPROVAL_WAIT_SECONDS: '0' })
  const late = await ask('Late', 'publish')
  await vi.waitFor(async () => {
    expect(await findRuns(late)).toMatchObject([{ state: 'parked' }])
    const { runners: listed } = await api<RunnerAnswer>('GET', '/runners')
    expect(listed.flatMap(({ runs }) => runs)).toEqual([])
  }, patience)
  expect(await countPublished()).toBe(1)
  await approve(late, 'parked')
  const run = await waitForEnd(late)
  expect(run).toMatchObject({ outcome: 'completed', run_attempt: 2 })
  for (const postId of [quick, late]) {
    expect(await readReplies(postId)).toEqual([{ content: '@admin Published.' }])
  }
  expect(await countPublished()).toBe(2)
  expect(await api('GET', '/budgets/audit')).toMatchObject({ is_consistent: true })
  expect(await readPage(`/activations/${run.id}`)).toContain('Waited for approval')
  const continues = async (at: number) => {
    const isDone = async () => expect((await findRuns(quick))[at]?.outcome).toBe('completed')
    await vi.waitFor(isDone, patience)
    const page = await readPage(`/activations/${(await findRuns(quick))[at]?.id}`)
    expect(page).toContain('with its earlier session')
  }
  await api('POST', `/posts/${quick}/comments`, { content: '@coder And once more. Do: search.' })
  await continues(1)
  await sendReview(hub, 'coder', await recordBranch(hub, quick), 'Once more. Do: search.')
  await continues(2)
  expectReview(await readReplies(quick))
})

import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { HubClient } from '../../client/index.ts'
import type { Agents } from '../../scripts/hub-runtime.mjs'
import { readRunningHub } from '../../scripts/local-state.mjs'
import { copyMigratedData } from './migrated-data.ts'
import { isAlive, runScript, until } from './run-script'
import { startHub } from './start-hub.ts'

const folder = mkdtempSync(join(tmpdir(), 'rookery-ready-'))
const taken = join(folder, 'taken')
const fresh = join(folder, 'fresh')
const children: ChildProcess[] = []

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  for (const each of [taken, fresh]) {
    const workerd = readRunningHub(each)?.workerdPid
    if (workerd !== undefined && isAlive(workerd)) process.kill(workerd, 'SIGKILL')
  }
  rmSync(folder, { recursive: true, force: true })
})

const run = (stateDir: string, env: Record<string, string> = {}) => {
  const started = runScript('start.mjs', [], { PORT: '0', ROOKERY_STATE_DIR: stateDir, ...env })
  children.push(started.child)
  return started
}

/** Returns the environment of a launcher that sends no definition before `open` is called. */
function holdDefinitions() {
  const gate = join(folder, 'gate')
  const script = join(folder, 'hold.mjs')
  writeFileSync(
    script,
    `import { existsSync } from 'node:fs'
     const send = globalThis.fetch
     globalThis.fetch = async (request, init) => {
       while (request.method === 'PUT' && !existsSync(${JSON.stringify(gate)})) {
         await new Promise((resolve) => setTimeout(resolve, 10))
       }
       return send(request, init)
     }`,
  )
  return {
    env: { NODE_OPTIONS: `--import=${pathToFileURL(script)}` },
    open: () => writeFileSync(gate, ''),
  }
}

/** Status of `/readyz` and how many folders of agents failed; null while nothing answers. */
async function readReadiness(url: string) {
  const answer = await fetch(`${url}/readyz`).catch(() => null)
  if (answer === null) return null
  const { agents } = (await answer.json()) as { agents: Agents }
  return { status: answer.status, agents }
}

const openClient = (stateDir: string) => {
  const key = readFileSync(join(stateDir, 'admin-key'), 'utf8').trim()
  return new HubClient({ url: readRunningHub(stateDir)?.url ?? '', key })
}

test('H20: /readyz answers 200 only when a mention wakes the agents of npm start', async () => {
  const { env, open } = holdDefinitions()
  await copyMigratedData(fresh)
  const started = run(fresh, env)
  await until(() => (readRunningHub(fresh)?.url ?? '') !== '')
  const { url = '', workerdPid = 0 } = readRunningHub(fresh) ?? {}
  const loading = { status: 503, agents: { state: 'loading', failed: 0 } }
  await expect.poll(() => readReadiness(url)).toEqual(loading)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  expect(started.output()).not.toMatch(/Try +@scout/)

  open()
  await expect.poll(async () => (await readReadiness(url))?.status).toBe(200)
  // The post goes out at once: whether the lines for people were printed does not matter.
  const client = openClient(fresh)
  const body = { community: 'general', title: 'First', content: '@scout are you there?' }
  const { post } = await client.call('POST /posts', { body })
  const query = { post_id: post.id }
  await expect
    .poll(async () => (await client.call('GET /answers', { query })).state)
    .toBe('answered')
  await until(() => /Stop +Ctrl-C/.test(started.output()))
  expect(started.output()).toMatch(/Agents +[1-9]\d* ready\n/)

  process.kill(workerdPid, 'SIGKILL')
  await until(() => readRunningHub(fresh)?.workerdPid !== workerdPid)
  const ready = { status: 200, agents: { state: 'loaded', failed: 0 } }
  await expect.poll(() => readReadiness(url)).toEqual(ready)
  started.child.kill('SIGINT')
  expect(await started.ended).toBe(0)
})

test('H20: a folder that is refused is reported, and the hub gets ready with the other agents', async () => {
  let agents: Agents = { state: 'loading', failed: 0 }
  const hub = await startHub({ stateDir: taken, readAgents: () => agents })
  expect(await readReadiness(hub.url)).toEqual({ status: 503, agents })
  const waiting = await fetch(`${hub.url}/readyz`)
  expect(waiting.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  agents = { state: 'loaded', failed: 0 }
  expect(await readReadiness(hub.url)).toEqual({ status: 200, agents })

  const admin = new HubClient({ url: hub.url, key: hub.adminKey })
  const { account: wilma } = await admin.call('POST /accounts', {
    body: { name: 'wilma', kind: 'human' as const },
  })
  const files = { 'config.yaml': 'name: scout\n', 'system-prompt.md': 'You are mine.' }
  await new HubClient({ url: hub.url, key: wilma.api_key }).call('PUT /agents/:name/definition', {
    params: { name: 'scout' },
    body: { files },
  })
  await hub.stop()

  const started = run(taken)
  await until(() => /Stop +Ctrl-C/.test(started.output()))
  expect(started.output()).toContain('agents/scout is not loaded:')
  expect(started.output()).toMatch(/Agents +[1-9]\d* ready; not loaded: scout /)
  expect(await readReadiness(readRunningHub(taken)?.url ?? '')).toEqual({
    status: 200,
    agents: { state: 'loaded', failed: 1 },
  })
  started.child.kill('SIGINT')
  expect(await started.ended).toBe(0)
})

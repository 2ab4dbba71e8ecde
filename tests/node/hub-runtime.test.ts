import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { HubClient } from '../../client/index.ts'
import { buildWorker } from '../../scripts/build-worker.mjs'
import { type Hub, startHub as startNewHub } from '../../scripts/hub-runtime.mjs'
import { root } from '../../scripts/local-state.mjs'
import { growth } from '../../scripts/miniflare.mjs'
import { seedAgents } from '../../scripts/seed-agents.mjs'
import { watchClock } from '../../scripts/watch-clock.mjs'
import { runScript } from './run-script'
import { startHub } from './start-hub.ts'

const folder = mkdtempSync(join(tmpdir(), 'rookery-runtime-'))
const stateDir = (name: string) => join(folder, name)
const answers = (hub: Hub) =>
  fetch(`${hub.url}/healthz`).then(
    ({ status }) => status === 200,
    () => false,
  )

/** Files below a directory that others on this machine can read. */
const findOpen = (directory: string): string[] =>
  readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    if ((statSync(path).mode & 0o077) === 0) return []
    return entry.isDirectory() ? findOpen(path) : [path]
  })

let bundlePath = ''
beforeAll(async () => {
  bundlePath = await buildWorker()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the script of the Worker takes one byte a character in memory', () => {
  const script = readFileSync(join(bundlePath, 'worker/worker.js'), 'utf8')
  // One character above U+00FF, and V8 keeps the whole script with two bytes each. esbuild escapes them in
  // strings, but not in regular expressions.
  expect(script.match(/.{0,40}[\u0100-\uffff].{0,40}/g)).toBeNull()
})

test('Miniflare still has the step in which the configuration grows, which the launcher makes larger', () => {
  const path = createRequire(import.meta.url).resolve('miniflare')
  expect(readFileSync(path, 'utf8').split(growth.from)).toHaveLength(2)
})

test('L36: a clock that is set back is noticed once; one that goes on, is set ahead, or steps back a little is none', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date', 'performance'] })
  try {
    const onSetBack = vi.fn()
    const end = watchClock(onSetBack)
    const passAfter = (jumpMs: number) => {
      vi.setSystemTime(Date.now() + jumpMs)
      vi.advanceTimersByTime(10_000)
      return onSetBack.mock.calls.length
    }
    expect([0, 3_600_000, -2_000, -3_600_000, 0, -86_400_000].map(passAfter)).toEqual([
      0, 0, 0, 1, 1, 2,
    ])
    end()
    expect(passAfter(-3_600_000)).toBe(2)
  } finally {
    vi.useRealTimers()
  }
})

describe('the hub as a part of a test', () => {
  test('L36: it starts again when the clock was set back, at the same address', async () => {
    const hub = await startHub({ stateDir: stateDir('clock'), bundlePath })
    const { url, workerdPid } = hub
    const { now } = Date
    const shown = vi.spyOn(Date, 'now')
    try {
      const waits = vi.spyOn(console, 'error').mockImplementation(() => {})
      shown.mockImplementation(() => now() - 3_600_000)
      await expect.poll(() => hub.workerdPid).not.toBe(workerdPid)
      await expect.poll(() => answers(hub)).toBe(true)
      expect(hub.url).toBe(url)
      expect(waits.mock.calls).toEqual([['The clock was set back, so the hub starts again.']])
    } finally {
      vi.restoreAllMocks()
      await hub.stop()
    }
  })

  test('two hubs in one process: killing one leaves the other', async () => {
    const first = await startHub({ stateDir: stateDir('first'), bundlePath })
    const second = await startHub({ stateDir: stateDir('second'), bundlePath })
    expect(first.workerdPid).not.toBe(second.workerdPid)
    await first.kill()
    expect([await answers(first), await answers(second)]).toEqual([false, true])

    const again = await startHub({ stateDir: stateDir('first'), bundlePath })
    expect(again.adminKey).toBe(first.adminKey)
    await again.stop()
    await second.stop()
    expect([await answers(again), await answers(second)]).toEqual([false, false])
  })

  test('L36: a hub that says that it is not well ends the start with what it says', async () => {
    const ill = join(folder, 'ill')
    mkdirSync(join(ill, 'worker'), { recursive: true })
    copyFileSync(join(bundlePath, 'local.json'), join(ill, 'local.json'))
    const classes = readFileSync(join(root, 'wrangler.toml'), 'utf8').matchAll(
      /^class_name = "(\w+)"$/gm,
    )
    const lines = [...classes].map(([, name]) => `export class ${name} {}`)
    const answer = "export default { fetch: () => new Response('It hurts', { status: 500 }) }"
    writeFileSync(join(ill, 'worker/worker.js'), [...lines, answer].join('\n'))
    const starting = startHub({ stateDir: stateDir('ill'), bundlePath: ill })
    await expect(starting).rejects.toThrow('/healthz answers 500: It hurts.')
  })

  test('T19: it listens on this machine only, and there on one address', async () => {
    const hub = await startHub({ stateDir: stateDir('listening'), bundlePath })
    const { port } = new URL(hub.url)
    const others = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
      .map(({ address }) => address)
    for (const address of ['127.0.0.2', ...others]) {
      const asked = fetch(`http://${address}:${port}/healthz`, {
        signal: AbortSignal.timeout(2_000),
      })
      await expect(asked, address).rejects.toThrow()
    }
    await hub.stop()
  })

  test('settings reach the Worker, and only those that were given', async () => {
    const env = { ROOKERY_PUBLIC: 'false', ROOKERY_ADMIN_KEY: 'given_key_0123456789' }
    const hub = await startHub({ stateDir: stateDir('private'), bundlePath, env })
    expect(hub.adminKey).toBe(env.ROOKERY_ADMIN_KEY)
    expect((await fetch(`${hub.url}/api/v1/posts`)).status).toBe(401)
    const headers = { authorization: `Bearer ${hub.adminKey}` }
    expect((await fetch(`${hub.url}/api/v1/posts`, { headers })).status).toBe(200)
    await hub.stop()
  })

  test('H10: what a hub keeps is for its owner only, also in a directory that anybody may read', async () => {
    const shared = stateDir('shared')
    mkdirSync(join(shared, 'data'), { recursive: true })
    const before = [shared, join(shared, 'data')]
    for (const directory of before) chmodSync(directory, 0o755)
    const hub = await startNewHub({ stateDir: shared, bundlePath })
    const openFiles = findOpen(shared)
    await hub.stop()
    expect(openFiles).toEqual([])
    // what else the directory holds may be somebody else's to read
    expect(statSync(shared).mode & 0o777).toBe(0o755)
  })

  test('an unchanged Worker is not built again', async () => {
    expect(await buildWorker()).toBe(bundlePath)
  })
})

test("a folder with the name of a member's agent replaces it neither at a start nor with --force", async () => {
  const directory = stateDir('seeded')
  const hub = await startHub({ stateDir: directory, bundlePath })
  const admin = new HubClient({ url: hub.url, key: hub.adminKey })
  const person = { name: 'wilma', kind: 'human' as const }
  const { account: wilma } = await admin.call('POST /accounts', { body: person })
  const member = new HubClient({ url: hub.url, key: wilma.api_key })
  const params = { name: 'scout' }
  const files = { 'config.yaml': 'name: scout\n', 'system-prompt.md': 'You are mine.' }
  await member.call('PUT /agents/:name/definition', { params, body: { files } })
  const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  vi.stubEnv('ROOKERY_STATE_DIR', directory)
  expect(await seedAgents(admin, hub.url)).toEqual({ loaded: ['archivist'], failed: ['scout'] })
  expect(errors.mock.calls.join('\n')).toMatch(/agents\/scout is not loaded[\s\S]*@wilma/)
  errors.mockRestore()
  vi.unstubAllEnvs()
  const args = ['push', join(root, 'agents', 'scout'), '--force']
  const forced = runScript('agents.mjs', args, { ROOKERY_STATE_DIR: directory })
  const code = await forced.ended
  expect(forced.output()).toContain('belongs to @wilma')
  expect(forced.output()).not.toContain('with --force')
  const found = await admin.call('GET /agents/:name/definition', { params })
  expect([code, found.definition.version, found.files]).toEqual([1, 1, files])
  await hub.stop()
})

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { readRunningHub, root } from '../../scripts/local-state.mjs'
import { copyMigratedData } from './migrated-data.ts'
import { isAlive, plainEnv, runScript, until } from './run-script'

const folder = mkdtempSync(join(tmpdir(), 'rookery-faults-'))
const stateDir = join(folder, 'state')
const children: ChildProcess[] = []

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  for (const each of [stateDir, join(folder, 'killed')]) {
    const workerd = readRunningHub(each)?.workerdPid
    if (workerd !== undefined && isAlive(workerd)) process.kill(workerd, 'SIGKILL')
  }
  rmSync(folder, { recursive: true, force: true })
})

const run = (state: string, env: Record<string, string> = {}) => {
  const started = runScript('start.mjs', [], { PORT: '0', ROOKERY_STATE_DIR: state, ...env })
  children.push(started.child)
  return started
}

/** Posts as the admin of the hub that runs on a state directory. */
const post = (state: string, title: string) =>
  fetch(`${readRunningHub(state)?.url}/api/v1/posts`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${readFileSync(join(state, 'admin-key'), 'utf8').trim()}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ community: 'general', title, content: 'x'.repeat(20_000) }),
  })

async function untilHealthy(url: string): Promise<void> {
  while ((await fetch(`${url}/healthz`).catch(() => null))?.status !== 200) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('an orderly stop closes live connections with 1001, and a kill of npm is one', async () => {
  await copyMigratedData(stateDir)
  // As npm does it: a shell between npm and the script, which outlives npm.
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: { ...plainEnv, PORT: '0', ROOKERY_STATE_DIR: stateDir },
    stdio: 'ignore',
  })
  children.push(npm)
  await until(() => (readRunningHub(stateDir)?.url ?? '') !== '')
  const hub = readRunningHub(stateDir)
  if (!hub) throw new Error('The hub did not write itself down')
  await untilHealthy(hub.url)
  const made = await post(stateDir, 'Watched')
  const { id } = (await made.json()).post
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/live/posts/${id}`)
  const closed = new Promise<number>((resolve) => {
    socket.addEventListener('close', ({ code }) => resolve(code))
  })
  await new Promise((resolve) => socket.addEventListener('message', resolve, { once: true }))
  npm.kill('SIGKILL')
  expect(await closed).toBe(1001)
  await until(() => !isAlive(hub.pid) && !isAlive(hub.workerdPid))
  expect(readRunningHub(stateDir)).toBeNull()
})

test('a runtime that is killed while it starts ends the start with a sentence', async () => {
  // From within the launcher: from here it could come when the hub has started.
  const killer = join(folder, 'kill.mjs')
  writeFileSync(
    killer,
    `import { subscribe } from 'node:diagnostics_channel'
     subscribe('child_process', ({ process: child }) => {
       const isRuntime = () => child.spawnfile.includes('workerd')
       const kill = () => process.kill(child.pid, 'SIGKILL')
       // when it has read what it is to run
       child.once('spawn', () => isRuntime() && child.stdin.once('finish', kill))
     })`,
  )
  const started = run(join(folder, 'killed'), { NODE_OPTIONS: `--import=${pathToFileURL(killer)}` })
  expect(await started.ended).toBe(1)
  expect(started.output()).toContain('was ended by SIGKILL while it started')
  expect(started.output()).not.toContain('    at ')
})

/** A file system of a few MB that really gets full; only root can make one. */
function mountSmallDisk(place: string): boolean {
  mkdirSync(place)
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=40m', 'tmpfs', place])
  return status === 0
}

test('on a full disk a write answers 507 and nothing is lost; the hub and its launcher say so', async (context) => {
  const disk = join(folder, 'disk')
  if (process.platform !== 'linux' || !mountSmallDisk(disk)) return context.skip()
  try {
    const state = join(disk, 'state')
    await copyMigratedData(state)
    const hub = run(state)
    await until(() => /Stop +Ctrl-C/.test(hub.output()))
    await until(() => hub.output().includes('MB are free'))
    const url = readRunningHub(state)?.url ?? ''
    expect((await post(state, 'before')).status).toBe(201)
    const fill = join(disk, 'fill')
    spawnSync('dd', ['if=/dev/zero', `of=${fill}`, 'bs=4k'])
    const refused = await post(state, 'while it is full')
    expect([refused.status, (await refused.json()).code]).toEqual([507, 'STORAGE_FULL'])
    const readiness = await fetch(`${url}/readyz`)
    expect([readiness.status, (await readiness.json()).disk.state]).toEqual([503, 'full'])
    expect(await (await fetch(url)).text()).toContain('The storage of this hub is full')
    expect((await fetch(`${url}/healthz`)).status).toBe(200)

    rmSync(fill)
    expect((await post(state, 'after')).status).toBe(201)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    const { posts } = await (await fetch(`${url}/api/v1/posts?sort=new`)).json()
    const titles = posts.map(({ title }: { title: string }) => title)
    expect(titles).toEqual(['after', 'before', 'Welcome: how to use this hub'])
    hub.child.kill('SIGINT')
    expect(await hub.ended).toBe(0)

    spawnSync('dd', ['if=/dev/zero', `of=${fill}`, 'bs=4k'])
    const second = run(state)
    expect(await second.ended).toBe(1)
    expect(second.output()).toMatch(/^The disk of [^\n]* is full\.[^\n]*\n$/)
  } finally {
    spawnSync('umount', ['-l', disk])
  }
})

import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readRunningHub, root } from '../../scripts/local-state.mjs'
import { describeLogLine } from '../../scripts/print-log.mjs'
import { copyMigratedData } from './migrated-data.ts'
import { isAlive, type Run, runScript, until } from './run-script'

const folder = mkdtempSync(join(tmpdir(), 'rookery-start-'))
const stateDir = join(folder, 'state')
const children: ChildProcess[] = []
const adminKey = () => readFileSync(join(stateDir, 'admin-key'), 'utf8').trim()

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  for (const each of [stateDir, join(folder, 'shared'), join(folder, 'migrating')]) {
    const workerd = readRunningHub(each)?.workerdPid
    if (workerd !== undefined && isAlive(workerd)) process.kill(workerd, 'SIGKILL')
  }
  rmSync(folder, { recursive: true, force: true })
})

const run = (script: string, args: string[] = [], env: Record<string, string> = {}) => {
  const started = runScript(script, args, { PORT: '0', ROOKERY_STATE_DIR: stateDir, ...env })
  children.push(started.child)
  return started
}

async function start(env: Record<string, string> = {}) {
  const started = run('start.mjs', [], env)
  const ended = started.ended.then((code) => {
    throw new Error(`It ended with ${code}: ${started.output()}`)
  })
  ended.catch(() => {})
  await Promise.race([ended, until(() => /Stop +Ctrl-C/.test(started.output()))])
  const hub = readRunningHub(stateDir)
  if (hub === null) throw new Error('The hub did not write itself down')
  return { ...started, ...hub }
}

const api = async (url: string, method: string, path: string, body?: object) => {
  const answer = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey()}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  return { status: answer.status, body: await answer.json() }
}

describe('npm start', () => {
  let postId = ''
  let hub: Awaited<ReturnType<typeof start>>

  test('the first start serves, and says where, how to sign in and what to try', async () => {
    hub = await start()
    expect((await fetch(`${hub.url}/healthz`)).status).toBe(200)
    expect((await fetch(hub.url)).status).toBe(200)
    expect(hub.output()).toContain(hub.url.replace('127.0.0.1', 'localhost'))
    expect(hub.output()).toMatch(/Try +@scout /)
    // Whoever runs this may have a server of models.
    expect(hub.output()).toMatch(/Models +(the built-in offline model|on this machine: )/)

    const { body } = await api(hub.url, 'GET', '/accounts?kind=agent')
    expect(body.accounts.map((agent: { name: string }) => agent.name)).toContain('scout')
    const made = await api(hub.url, 'POST', '/posts', {
      community: 'general',
      title: 'Kept over a restart',
      content: 'Is it?',
    })
    expect(made.status).toBe(201)
    postId = made.body.post.id

    hub.child.kill('SIGINT')
    expect(await hub.ended).toBe(0)
  })

  describe('a second time', () => {
    let before = ''
    beforeAll(async () => {
      before = adminKey()
      hub = await start()
    })

    test('it keeps all data', async () => {
      const { status, body } = await api(hub.url, 'GET', `/posts/${postId}`)
      expect(status).toBe(200)
      expect(body.post.title).toBe('Kept over a restart')
    })

    test('the admin key is kept for its owner only, and never printed', () => {
      expect(statSync(join(stateDir, 'admin-key')).mode & 0o777).toBe(0o600)
      expect(statSync(join(stateDir, 'vault-key')).mode & 0o777).toBe(0o600)
      expect(adminKey()).toBe(before)
      expect(hub.output()).not.toContain(before)
    })

    test('T9: the sign-in link makes a browser the admin with one click', async () => {
      const link = /Sign in +(\S+)/.exec(hub.output())?.[1] ?? ''
      const opened = await fetch(link, { redirect: 'manual' })
      expect([opened.status, opened.headers.get('set-cookie')]).toEqual([200, null])
      const { origin, searchParams } = new URL(link)
      const answer = await fetch(`${origin}/login/link`, {
        method: 'POST',
        headers: { origin },
        body: new URLSearchParams({ token: searchParams.get('token') ?? '' }),
        redirect: 'manual',
      })
      const cookie = answer.headers.get('set-cookie') ?? ''
      expect(cookie).toMatch(/HttpOnly/i)
      const session = cookie.split(';')[0] ?? ''
      const me = await fetch(`${hub.url}/api/v1/me`, { headers: { cookie: session } })
      expect(me.status).toBe(200)
    })

    test('Ctrl-C ends every process it started', async () => {
      expect(isAlive(hub.workerdPid)).toBe(true)
      hub.child.kill('SIGINT')
      expect(await hub.ended).toBe(0)
      expect(isAlive(hub.workerdPid)).toBe(false)
      expect(readRunningHub(stateDir)).toBeNull()
    })
  })

  test('a start after the launcher was killed ends the runtime that was left and goes on', async () => {
    const killed = await start()
    killed.child.kill('SIGKILL')
    await killed.ended
    hub = await start()
    expect(isAlive(killed.workerdPid)).toBe(false)
    expect((await api(hub.url, 'GET', `/posts/${postId}`)).status).toBe(200)

    const second = run('start.mjs')
    expect(await second.ended).toBe(1)
    expect(second.output()).toContain('A hub already runs on this data')
  })

  test('a runtime that crashes is started again, with the data, and ends with the hub', async () => {
    process.kill(hub.workerdPid, 'SIGKILL')
    await until(() => readRunningHub(stateDir)?.workerdPid !== hub.workerdPid)
    expect((await api(hub.url, 'GET', `/posts/${postId}`)).status).toBe(200)
    const again = readRunningHub(stateDir)?.workerdPid ?? 0
    hub.child.kill('SIGTERM')
    expect(await hub.ended).toBe(0)
    expect(isAlive(again)).toBe(false)
  })
})

describe('two starts at the same moment', () => {
  const shared = join(folder, 'shared')

  async function startTwice() {
    const both = [1, 2].map(() => run('start.mjs', [], { ROOKERY_STATE_DIR: shared }))
    const isUp = (each: { output: () => string }) => /Stop +Ctrl-C/.test(each.output())
    const isOver = (each: { output: () => string; child: ChildProcess }) =>
      isUp(each) || each.child.exitCode !== null
    await until(() => both.every(isOver))
    const [hub, refused] = isUp(both[0] as Run) ? both : both.toReversed()
    if (!hub || !refused) throw new Error('There are two')
    expect(hub.output()).toMatch(/Stop +Ctrl-C/)
    expect(await refused.ended).toBe(1)
    expect(refused.output()).toMatch(
      new RegExp(`^A hub already runs on this data: [^\\n]*process ${hub.child.pid}[^\\n]*\\n$`),
    )
    return hub
  }

  test('on no data yet: one serves, the other says so', async () => {
    const hub = await startTwice()
    hub.child.kill('SIGKILL')
    await hub.ended
  })

  test('on the data of a hub that was killed: one serves, the other says so', async () => {
    const hub = await startTwice()
    hub.child.kill('SIGINT')
    expect(await hub.ended).toBe(0)
    expect(readdirSync(shared).filter((name) => name.startsWith('lock'))).toEqual([])
  })
})

test('a start after the launcher was killed while it migrated ends that runtime and goes on', async () => {
  const state = join(folder, 'migrating')
  const env = { ROOKERY_STATE_DIR: state }
  const killed = run('start.mjs', [], env)
  await until(() => readRunningHub(state) !== null)
  killed.child.kill('SIGKILL')
  await killed.ended
  const left = readRunningHub(state)
  // the runtime may outlive its launcher or notice; either way it must not stay on these files

  const next = run('start.mjs', [], env)
  await until(() => /Stop +Ctrl-C/.test(next.output()))
  if (!left) throw new Error('nothing was left behind')
  expect(isAlive(left.workerdPid)).toBe(false)
  next.child.kill('SIGINT')
  expect(await next.ended).toBe(0)
})

test.each([
  ['NOSENTRY SQLite alarm overdue, running despite AlarmManager mismatch; drift = 3000ms', null],
  ['workerd/io/worker.c++:1: error: NOSENTRY output lock broke', null],
  ['Error: a fault of ours', 'Error: a fault of ours'],
  [
    '{"at":"2026-01-01T00:00:00.000Z","message":"NOSENTRY"}',
    '{"at":"2026-01-01T00:00:00.000Z","message":"NOSENTRY"}',
  ],
])('of what the runtime writes, notes for its operators are not shown: %s', (line, shown) => {
  expect(describeLogLine(line, false)).toBe(shown)
})

test('a terminal shows time, level and a sentence; where a program reads, a line stays JSON', () => {
  const line = JSON.stringify({
    at: '2026-01-01T00:00:00.000Z',
    level: 'warn',
    message: 'model call failed',
    agent: 'scout',
    activation: '01a2',
    step: 1,
    code: 'NETWORK',
    is_retryable: true,
  })
  expect(describeLogLine(line, false)).toBe(line)
  expect(describeLogLine(line, true)).toMatch(
    /^ {2}\d\d:\d\d:\d\d {2}warn: scout: model call failed {2}code=NETWORK$/,
  )
  const info = line.replace('"warn"', '"info"')
  expect(describeLogLine(info, true)).toMatch(/^ {2}[\d:]{8} {2}scout: model call failed/)
  expect(describeLogLine('{"at":', true)).toBe('{"at":')
})

describe('what a person can mend is one sentence', () => {
  test('a directory for data that is a file, is below a file, cannot be made or written', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    for (const place of [file, join(file, 'below'), join(folder, 'x'.repeat(300)), '/proc']) {
      const hub = run('start.mjs', [], { ROOKERY_STATE_DIR: place })
      expect(await hub.ended).toBe(1)
      expect(hub.output()).toMatch(/^Data cannot be kept in [^\n]*ROOKERY_STATE_DIR\.\n$/)
      expect(hub.output()).toContain(place)
    }
  })

  test.each([
    ['ROOKERY_DEFAULT_MODEL', 'nonsense'],
    ['ROOKERY_DEFAULT_MODEL', 'nobody/model'],
    ['ROOKERY_JUDGE_MODEL', 'offline'],
    ['ANTHROPIC_BASE_URL', 'api.example.org'],
    ['OPENAI_BASE_URL', 'ftp://api.example.org'],
    ['OPENAI_COMPATIBLE_BASE_URL', 'http://'],
  ])('%s=%s', async (name, value) => {
    const hub = run('start.mjs', [], { ROOKERY_STATE_DIR: join(folder, 'other'), [name]: value })
    expect(await hub.ended).toBe(1)
    expect(hub.output()).toMatch(new RegExp(`^Invalid settings: ${name}: must be [^\\n]+\\n$`))
  })

  test('a misspelt setting is named with the one that was meant, and its value is not', async () => {
    const hub = run('start.mjs', [], {
      ROOKERY_PUBLISH: 'value-of-a-typo',
      ROOKERY_URL: 'http://127.0.0.1:9',
      PORT: '0',
      ROOKERY_STATE_DIR: join(folder, 'file'),
    })
    await hub.ended
    const warnings = hub.output().match(/^.*did you mean.*$/gm)
    expect(warnings).toEqual([expect.stringMatching(/^ROOKERY_PUBLISH .* ROOKERY_PUBLIC\?$/)])
    expect(hub.output()).not.toContain('value-of-a-typo')
  })

  test('a port in use', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const other = join(folder, 'other')
    await copyMigratedData(other)
    const hub = run('start.mjs', [], { PORT: String(port), ROOKERY_STATE_DIR: other })
    expect(await hub.ended).toBe(1)
    expect(hub.output()).toContain(`Port ${port} is in use.`)
    expect(hub.output()).not.toContain('    at ')
    const [, proposed] = /PORT=(\d+) npm start/.exec(hub.output()) ?? []
    const next = createServer().listen(Number(proposed), '127.0.0.1')
    await new Promise((resolve) => next.once('listening', resolve))
    expect(Number(proposed)).not.toBe(port)
    next.close()
    server.close()
  })

  test('a port that is none, and a setting with a wrong value', async () => {
    const env = { ROOKERY_STATE_DIR: join(folder, 'other') }
    const port = run('start.mjs', [], { ...env, PORT: 'http' })
    expect(await port.ended).toBe(1)
    expect(port.output()).toContain('PORT is "http"')
    const prefix = run('start.mjs', [], { ...env, ROOKERY_KEY_PREFIX: 'no underscore' })
    expect(await prefix.ended).toBe(1)
    expect(prefix.output()).toContain('ROOKERY_KEY_PREFIX')
  })

  test('an import without a hub, of no file, of no JSON', async () => {
    const env = { ROOKERY_ADMIN_KEY: 'a_key_of_nobody_123', ROOKERY_URL: 'http://127.0.0.1:9' }
    const broken = join(folder, 'broken.json')
    writeFileSync(broken, '{ "posts": [')
    const good = join(folder, 'good.json')
    writeFileSync(good, '[{}]')
    for (const [file, sentence] of [
      [join(folder, 'none.json'), 'no such file'],
      [broken, 'is no JSON'],
      [good, 'No hub answers at http://127.0.0.1:9'],
    ] as const) {
      const command = run('import.mjs', [file], env)
      expect(await command.ended).toBe(1)
      expect(command.output()).toContain(sentence)
    }
  })
})

/** Returns the scripts that a module loads before any of its own lines run. */
function listStaticImports(path: string, found = new Set<string>()): Set<string> {
  if (found.has(path)) return found
  found.add(path)
  const imports = readFileSync(path, 'utf8').matchAll(/^(?:import|export|\}).* from '(\.[^']+)'$/gm)
  for (const [, specifier = ''] of imports) listStaticImports(join(dirname(path), specifier), found)
  return found
}

test('the start asks for the cache of compiled scripts before it loads TypeScript, whose compiler it needs no more then', () => {
  const script = join(root, 'scripts/start.mjs')
  expect(readFileSync(script, 'utf8')).toMatch(/^module\.enableCompileCache/m)
  const loaded = [...listStaticImports(script)]
  expect(loaded).toContain(join(root, 'scripts/local-state.mjs'))
  expect(loaded.filter((path) => path.endsWith('.ts'))).toEqual([])
})

import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { HubMessage, RunOrder } from '../../../src/shared/runner-protocol.ts'
import { openRunnerSocket } from '../../support/open-runner-socket.ts'
import { findSandboxProblem, giveToRunner } from '../../support/start-runner-process.ts'
import { type CodingHub, startCodingHub, until } from './coding-hub.ts'
import { startForge } from './forge.ts'
import { playPullRequests } from './pull-requests.ts'
import { asBearer, closed, opened, tryEveryRoute, useToken } from './use-token.ts'

/** A program that does all it can on a runner, and a runner that does all it can with a run's token. */
const execute = promisify(execFile)
const grants = ['hub:read', 'git:forge:read', 'git:forge:write:acme/tools']
const mark = `rookery-daemon-${process.pid}`
const sandboxProblem = findSandboxProblem()
/** So long that an approval comes in time; a test that wants one to be late sets it to none. */
let approvalWait = '900'
let hub: CodingHub
let service: Awaited<ReturnType<typeof startForge>>

interface AuditEntry {
  tool: string
  decision: string
  activation_id: string | null
}
const readAudit = async (activationId: string, tool: string): Promise<string[]> => {
  const { entries } = await hub.api<{ entries: AuditEntry[] }>('GET', '/audit?limit=100')
  return entries.flatMap((entry) =>
    entry.tool === tool && entry.activation_id === activationId ? [entry.decision] : [],
  )
}

beforeAll(async () => {
  hub = await startCodingHub(() => ({ ROOKERY_APPROVAL_WAIT_SECONDS: approvalWait }))
  service = await startForge(hub)
  const lines = [
    'workspace: { repository: "forge:acme/tools" }',
    `capabilities: { builtin: shell, grants: [${[...grants, 'hub:write'].join(', ')}] }`,
  ]
  for (const name of ['coder', 'victim']) {
    await hub.pushAgent(name, name === 'victim' ? [...lines, 'runs_on: [hostile]'] : lines)
    await hub.api('PUT', `/agents/${name}/grants`, { allowed: grants })
  }
})
afterAll(async () => {
  service.close()
  await hub.close()
})

const findMarked = () =>
  readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(mark)
    } catch {
      return false
    }
  })

// bubblewrap, socat and ripgrep, and a machine that allows namespaces.
test.skipIf(sandboxProblem !== null)(
  'X3 X9 X10: a hostile program reaches nothing of the hub, the machine and other runs, and nothing of it is left',
  async () => {
    const runner = hub.startRunner('one', { hasSandbox: true })
    await hub.waitForRunner('one')
    // A relay of another run, as far as the program can see.
    const other = createServer((_request, response) => response.end('another run'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.2', resolve))
    const { port } = other.address() as AddressInfo
    const state = join(hub.folder, 'one')
    const secrets = ['places/another', 'repositories/another', 'runs/another'].map((path) => {
      mkdirSync(join(state, path), { recursive: true })
      writeFileSync(join(state, path, 'secret'), 'of another run')
      return join(state, path, 'secret')
    })
    giveToRunner(state)
    const written = [
      join(tmpdir(), mark),
      `/etc/${mark}`,
      join(state, mark),
      join(hub.adapter, mark),
    ]
    const hosts = [hub.line.url, hub.url(), service.url, hub.provider.url].map(
      (url) => new URL(url),
    )
    const tries = {
      mark,
      paths: [
        '/api/v1/me',
        '/api/v1/runners',
        '/v1/../api/v1/me',
        '/runners/socket',
        '/git/forge/acme/tools/info/refs?service=git-upload-pack',
        '/v1/%2e%2e/%2e%2e/metrics',
        '//api/v1/me',
        '/mcp/../api/v1/audit',
        '/healthz',
        '/',
      ],
      urls: [
        ...hosts.map(({ origin }) => `${origin}/healthz`),
        'http://169.254.169.254/latest/',
        `http://127.0.0.2:${port}/`,
        'https://example.com/',
      ],
      addresses: [...hosts.map(({ host }) => host), `127.0.0.2:${port}`, '169.254.169.254:80'],
      read: [...secrets, homedir(), '/etc/shadow', fileURLToPath(import.meta.url)],
      write: written,
      pids: [process.pid, runner.process.pid],
      tool: 'hub_create_post',
      toolArguments: { community: 'general', title: 'Hostile', content: 'Hostile' },
    }
    writeFileSync(join(hub.adapter, 'tries.json'), JSON.stringify(tries))
    const source = fileURLToPath(new URL('../../support/hostile-program.mjs', import.meta.url))
    copyFileSync(source, join(hub.adapter, 'attack.mjs'))

    const postId = await hub.ask('coder', 'beside attack')
    const run = await until('the attack to end', async () => {
      const [found] = await hub.findRuns(postId)
      return found?.state === 'done' ? found : null
    })
    other.close()
    const [reply] = await hub.readReplies(postId)
    const lines = reply?.content.split('\n') ?? []
    // Where nothing is visible it may write, and nobody sees it.
    expect(lines.filter((line) => /reached (?!write)/.test(line))).toEqual([])
    expect(lines.length, reply?.content).toBeGreaterThan(35)
    expect(run.outcome).toBe('completed')
    expect(written.filter((path) => existsSync(path))).toEqual([])
    expect(findMarked()).toEqual([])
    expect(await readAudit(run.id, 'hub_create_post')).toEqual(['denied'])
    const models = hub.provider.requests.map(({ body }) => body.model)
    expect(new Set(models)).toEqual(new Set(['claude-haiku-4-5']))
  },
)

test('X3 X11: a runner that uses a token for more than its run is refused everywhere, and seen in the audit', async () => {
  const own = await hub.newRunnerKey()
  const hello = {
    name: 'hostile',
    labels: ['hostile'],
    programs: [{ type: 'claude-code', version: '1' }],
  }
  const socket = await openRunnerSocket(hub.url(), own.api_key, hello)
  const orders: RunOrder[] = []
  let code = 0
  socket.addEventListener('message', ({ data }) => {
    const message: HubMessage = JSON.parse(String(data))
    if (message.type === 'start') orders.push(message.order)
  })
  socket.addEventListener('close', (event) => {
    code = event.code
  })
  const take = async (acts: string): Promise<RunOrder> => {
    const before = orders.length
    await hub.ask('victim', acts)
    return until('an order', () => orders[before] ?? null)
  }
  const order = await take('nothing')
  expect(await useToken(hub, order.token)).toEqual(opened)
  expect(await tryEveryRoute(hub, order.token)).toEqual([])
  expect(await useToken(hub, own.api_key)).toEqual(closed)

  // Tools without a grant, other repositories, `main`.
  const call = {
    name: 'hub_create_post',
    arguments: { community: 'general', title: 'x', content: 'x' },
  }
  await fetch(order.endpoints.mcp, {
    method: 'POST',
    headers: {
      ...asBearer(order.token),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: call }),
  })
  expect(await readAudit(order.activation_id, 'hub_create_post')).toEqual(['denied'])
  const push = async (repository: string, ref: string): Promise<string> => {
    const env = {
      PATH: process.env.PATH,
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `http.${order.endpoints.git}.extraHeader`,
      GIT_CONFIG_VALUE_0: `Authorization: Bearer ${order.token}`,
    }
    const args = ['push', `${order.endpoints.git}/${repository}`, `main:refs/heads/${ref}`]
    return execute('git', args, { cwd: service.bare, env }).then(
      () => 'pushed',
      (error: { stderr: string }) => error.stderr,
    )
  }
  expect(await push('forge/acme/tools', 'other')).toContain('refused: refs/heads/other')
  expect(await push('forge/acme/other', 'rookery/x')).toContain('Missing grant')
  expect(await push('github/acme/tools', 'rookery/x')).toContain('Missing grant')
  expect(await push('forge/acme/tools', 'rookery/x')).toBe('pushed')
  expect(await readAudit(order.activation_id, 'git_push')).toEqual(
    expect.arrayContaining(['invalid', 'allowed']),
  )
  expect(await readAudit(order.activation_id, 'git_begin_push')).toContain('denied')
  // X15: what was pushed, and nothing else, belongs to the thread of the run.
  expect(await hub.select('SELECT repository, branch FROM pushed_branches')).toEqual([
    { repository: 'forge/acme/tools', branch: 'rookery/x' },
  ])

  // Reports about a run that it does not have are ignored, also with the number of a later attempt.
  const postId = await hub.ask('coder', 'hang')
  const others = await until(
    'the run of another runner',
    async () => (await hub.findRuns(postId))[0] ?? null,
  )
  const end = { kind: 'ended', end: 'end_turn', detail: null, is_success: true, answer: 'Hostile' }
  const reports = [{ ...end, session_id: null, changes: null }]
  for (const attempt of [1, 2]) {
    const of = { activation_id: others.id, attempt }
    socket.send(JSON.stringify({ type: 'report', ...of, first: 1, reports }))
  }

  // After the end of the run, and after the key was revoked.
  await hub.api('POST', `/activations/${order.activation_id}/cancel`)
  await until('the end', async () =>
    (await useToken(hub, order.token)).mcp === closed.mcp ? true : null,
  )
  expect(await useToken(hub, order.token)).toEqual(closed)
  expect(await hub.readReplies(postId)).toEqual([])
  const next = await take('nothing')
  const { token } = next
  expect(await useToken(hub, token)).toEqual(opened)
  const changed = `${token.slice(0, -3)}${token.endsWith('AAA') ? 'BBB' : 'AAA'}`
  expect(await useToken(hub, changed)).toEqual(closed)
  await hub.api('DELETE', `/runners/keys/${own.id}`)
  expect(await useToken(hub, token)).toEqual(closed)
  await until('the socket to close', () => (code === 4403 ? true : null))
  await hub.api('POST', `/activations/${others.id}/cancel`)
})

test.skipIf(sandboxProblem !== null)(
  'X6 X11 X15: a pull request waits for an approver, is opened once and linked, and a review of it continues its branch',
  async () => {
    if (!hub.runners.has('one')) hub.startRunner('one', { hasSandbox: true })
    await hub.waitForRunner('one')
    await playPullRequests(hub, service, () => {
      approvalWait = '0'
      return hub.killHub()
    })
  },
)

import type { ChildProcess } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { InstalledProgram } from '../../../runner/programs.ts'
import { buildWorker } from '../../../scripts/build-worker.mjs'
import type { Hub } from '../../../scripts/hub-runtime.mjs'
import type { ProgramType } from '../../../src/shared/runner-protocol.ts'
import { startFakeModelServer } from '../../support/fake-model-server.ts'
import {
  endProcess,
  giveToRunner,
  openFolder,
  startRunnerProcess,
} from '../../support/start-runner-process.ts'
import { startHub } from '../start-hub.ts'

/** The key of the model provider, which no machine of a runner may see. */
const providerKey = 'the-key-that-only-the-hub-has'

/** Says where a request comes from. */
export const addressHeader = 'x-test-address'

export interface RunnerProcess {
  process: ChildProcess
  log: string
}

interface Run {
  id: string
  state: string
  outcome: string | null
  run_attempt: number | null
  cost: number
}

export type CodingHub = Awaited<ReturnType<typeof startCodingHub>>

/** Waits until a value is there. @throws with what it waited for */
export async function until<Value>(
  what: string,
  read: () => Promise<Value | null> | Value | null,
  timeoutMs = 180_000,
): Promise<Value> {
  for (const end = Date.now() + timeoutMs; Date.now() < end; ) {
    const value = await read()
    if (value !== null) return value
    await wait(100)
  }
  throw new Error(`Waited ${timeoutMs} ms for ${what}`)
}

/** What a runner has, if not only the scripted program. */
export interface RunnerChoices {
  hasSandbox?: boolean
  labels?: string[]
  programs?: InstalledProgram[]
}

/**
 * Starts a hub with a provider, and runners as processes with the scripted program on request. Runners reach the hub
 * through a line that can be cut; the hub can be killed and started again behind it.
 *
 * @param toEnv returns further settings of the hub from the provider's address
 */
export async function startCodingHub(
  toEnv: (providerUrl: string, key: string) => Record<string, string> = () => ({}),
) {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-coding-'))
  openFolder(folder)
  const programFolder = join(folder, 'program')
  const adapter = join(programFolder, 'node_modules/@agentclientprotocol/claude-agent-acp/dist')
  mkdirSync(adapter, { recursive: true })
  const program = fileURLToPath(new URL('../runner/fake-program.mjs', import.meta.url))
  copyFileSync(program, join(adapter, 'index.js'))
  const bundlePath = await buildWorker()
  const provider = await startFakeModelServer({ answers: [{ text: 'Look at the printer.' }] })
  const start = (): Promise<Hub> =>
    startHub({
      stateDir: join(folder, 'hub'),
      bundlePath,
      leaveSignals: true,
      env: {
        ROOKERY_LOG_LEVEL: 'error',
        ROOKERY_ALLOW_PRIVATE_SERVICES: 'true',
        // Many requests from addresses of their own meet no limit by address.
        ROOKERY_CLIENT_ADDRESS_HEADER: addressHeader,
        ANTHROPIC_API_KEY: providerKey,
        ANTHROPIC_BASE_URL: `${provider.url}/v1`,
        ...toEnv(provider.url, providerKey),
      },
    })
  let hub = await start()
  const line = await openLine(() => Number(new URL(hub.url).port))
  const runners = new Map<string, RunnerProcess>()

  async function request(method: string, path: string, body?: unknown, key = hub.adminKey) {
    return fetch(`${hub.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }
  async function api<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await request(method, path, body)
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
  const newRunnerKey = async (): Promise<{ id: string; api_key: string }> =>
    (await api<{ key: { id: string; api_key: string } }>('POST', '/runners/keys', {})).key
  const { api_key: runnerKey } = await newRunnerKey()

  return {
    folder,
    adapter,
    programFolder,
    provider,
    line,
    request,
    api,
    readPage,
    select,
    newRunnerKey,
    runnerKey,
    /** Those that were not killed, by their names. */
    runners,
    /** Its own address; runners use that of the line. */
    url: () => hub.url,
    adminKey: () => hub.adminKey,
    openDatabase: () => hub.openDatabase(),
    async killHub(): Promise<void> {
      await hub.kill()
      hub = await start()
    },
    startRunner(name: string, choices: RunnerChoices = {}) {
      const state = join(folder, name)
      mkdirSync(state, { recursive: true })
      for (const each of [state, programFolder]) giveToRunner(each)
      const child = startRunnerProcess({
        hub: line.url,
        key: runnerKey,
        name,
        labels: [],
        slots: 4,
        once: false,
        retryMs: 100,
        folder: state,
        hasSandbox: false,
        version: '0.1.0',
        programs: [{ type: 'claude-code', version: '1.2.3', folder: programFolder }],
        ...choices,
      })
      const runner: RunnerProcess = { process: child, log: '' }
      child.stderr?.on('data', (data) => {
        runner.log += data
      })
      runners.set(name, runner)
      return runner
    },
    async killRunner(name: string): Promise<void> {
      const runner = runners.get(name)
      if (runner) await endProcess(runner.process, 'SIGKILL')
      runners.delete(name)
    },
    /** The last lines that the runners wrote. */
    readLogs: () => [...runners.values()].map(({ log }) => log.slice(-4_000)).join('\n'),
    waitForRunner: (name: string) =>
      until(`runner ${name}`, async () => {
        const answer = await api<{ runners: { name: string; is_connected: boolean }[] }>(
          'GET',
          '/runners',
        )
        return answer.runners.some((each) => each.name === name && each.is_connected) || null
      }),
    pushAgent: (
      name: string,
      lines: readonly string[],
      type: ProgramType = 'claude-code',
      [provider, model] = ['anthropic', 'claude-haiku-4-5'],
    ) => {
      const config = [
        `name: ${name}`,
        `type: ${type}`,
        `brain: { provider: ${provider}, model: "${model}" }`,
        ...lines,
      ].join('\n')
      const files = { 'config.yaml': config, 'system-prompt.md': 'You fix things.' }
      return api('PUT', `/agents/${name}/definition`, { files })
    },
    /** Asks an agent for something. Returns the post. */
    async ask(agent: string, acts: string): Promise<string> {
      const text = { community: 'general', title: acts, content: `@${agent} Please. Do: ${acts}.` }
      return (await api<{ post: { id: string } }>('POST', '/posts', text)).post.id
    },
    findRuns: (postId: string): Promise<Run[]> =>
      select(`SELECT id, state, outcome, run_attempt, cost_microusd AS cost FROM activations
        WHERE post_id = '${postId}'`),
    readReplies: (postId: string) =>
      select<{ content: string }>(`SELECT content FROM comments WHERE post_id = '${postId}'`),
    readCharges: (id: string) =>
      select<{ cost: number }>(
        `SELECT cost_microusd AS cost FROM usage_events WHERE activation_id = '${id}'`,
      ),
    async close(): Promise<void> {
      for (const { process: child } of runners.values()) await endProcess(child)
      line.close()
      await hub.stop()
      await provider.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Opens a port that passes connections on to another one, and can cut them. */
export async function openLine(findPort: () => number) {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(findPort(), '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    close() {
      server.close()
      cut()
    },
  }
}

/** Returns the processes that runs have started below a folder, those that have ended excepted. */
export function listProgramProcesses(folder: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8')
      const isOurs = environment.includes('ROOKERY_RUN=') && environment.includes(folder)
      return isOurs && !/\) Z /.test(readFileSync(`/proc/${name}/stat`, 'utf8'))
        ? [Number(name)]
        : []
    } catch {
      return []
    }
  })
}

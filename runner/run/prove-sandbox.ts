import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import {
  type AddressInfo,
  createServer as createSocketServer,
  type Server as SocketServer,
} from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { killGroup, toMarker } from './processes.ts'
import { relayHost } from './relay.ts'
import { hasSandboxPackage, startInSandbox } from './sandbox.ts'
import type { Bait } from './sandbox-probe.ts'

const probe = fileURLToPath(new URL('./sandbox-probe.ts', import.meta.url))
const patienceMs = 60_000

/**
 * Tries the sandbox: a program inside looks for bait that lies outside, in every way that the sandbox is relied on to
 * close. Returns null when it holds, else everything that did not.
 */
export async function findSandboxProblem(): Promise<string | null> {
  if (!hasSandboxPackage()) return 'the package of the sandbox is not installed'
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'rookery-sandbox-')))
  const bait = await layBait(base)
  try {
    const problems = await runProbe(base, bait.facts)
    const written = bait.facts.written.filter((path) => existsSync(path))
    if (written.length > 0) problems.push(`can write outside of its folder (${written.join(', ')})`)
    return problems.length === 0 ? null : describe(problems)
  } catch (error) {
    return `the sandbox does not start: ${(error as Error).message}`
  } finally {
    bait.remove()
    rmSync(base, { recursive: true, force: true })
  }
}

/** The kernel allows its own root too much for a sandbox to hold. */
const describe = (problems: string[]): string => {
  const found = `inside the sandbox a program ${problems.join(', ')}`
  return process.geteuid?.() === 0 ? `${found}. Start the runner as a user other than root` : found
}

/** Puts outside of the sandbox what a program must not reach, as the machine has it. */
async function layBait(base: string) {
  const mark = `bait-${randomBytes(12).toString('hex')}`
  const folder = join(base, 'inside')
  mkdirSync(folder)
  const secrets = [base, homedir()].map((path) => join(path, `.${mark}`)).filter(canWrite)
  const [relay, other] = await Promise.all([answerHttp(), answerHttp()])
  const sockets = [join(base, 'socket'), ...(process.platform === 'linux' ? [`\0${mark}`] : [])]
  const listeners = await Promise.all(sockets.map(listenAt))
  const stranger = spawn('sh', ['-c', 'sleep 120', mark], { env: { BAIT: mark }, stdio: 'ignore' })
  stranger.on('error', () => undefined)
  const writable = [
    base,
    tmpdir(),
    homedir(),
    join('/tmp', 'claude'),
    '/etc',
    '/var/tmp',
    '/dev/shm',
  ]
  const written = writable.map((path) => join(path, mark))
  const facts: Bait = {
    folder,
    secrets,
    written,
    mark,
    sockets,
    relay: urlOf(relay),
    other: urlOf(other),
  }
  return {
    facts,
    remove() {
      stranger.kill('SIGKILL')
      for (const server of [relay, other]) server.closeAllConnections()
      for (const server of [relay, other, ...listeners]) server.close()
      for (const path of [...secrets, ...written]) rmSync(path, { force: true })
    },
  }
}

function canWrite(path: string): boolean {
  try {
    writeFileSync(path, 'bait', { mode: 0o600 })
    return true
  } catch {
    return false
  }
}

const urlOf = (server: Server): string =>
  `http://${relayHost}:${(server.address() as AddressInfo).port}`

async function answerHttp(): Promise<Server> {
  const server = createServer((_request, response) => response.end('bait'))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, relayHost, resolve)
  })
  return server
}

async function listenAt(path: string): Promise<SocketServer> {
  const server = createSocketServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  return server
}

/** Runs the probe as a program of a run is started. @throws when it cannot be started, with the reason */
async function runProbe(base: string, bait: Bait): Promise<string[]> {
  const { folder, relay } = bait
  const child = startInSandbox(
    [process.execPath, probe, JSON.stringify(bait)],
    {
      folder,
      home: folder,
      temp: folder,
      cwd: folder,
      readable: [probe],
      relay: new URL(relay).host,
    },
    { env: { PATH: '/usr/local/bin:/usr/bin:/bin' }, settingsFile: join(base, 'settings.json') },
  )
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (data: Buffer) => {
      output[name] = `${output[name]}${data}`.slice(-20_000)
    })
  }
  child.stdin.on('error', () => undefined)
  const timer = setTimeout(() => void killGroup(child.pid, toMarker(base)), patienceMs)
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null))
    child.once('close', resolve)
  })
  clearTimeout(timer)
  const problems = parse(output.stdout)
  if (code === 0 && problems) return problems
  const said = output.stderr.trim().replaceAll(/\s+/g, ' ').slice(-500)
  throw new Error(said || `its test ended with ${code ?? 'a signal'}`)
}

function parse(text: string): string[] | null {
  try {
    const found: unknown = JSON.parse(text)
    return Array.isArray(found) ? found.map(String) : null
  } catch {
    return null
  }
}

// Started by `rookery runner`. Takes its key from the environment alone.
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { homedir, hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { RefusedError } from './hub/connection.ts'
import { installPrograms } from './install.ts'
import { createLog } from './log.ts'
import { findPrograms } from './programs.ts'
import { findSandboxProblem } from './run/prove-sandbox.ts'
import { Runner } from './serve.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    hub: { type: 'string' },
    name: { type: 'string' },
    labels: { type: 'string' },
    slots: { type: 'string' },
    folder: { type: 'string' },
    once: { type: 'boolean' },
  },
})

const print = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

process.exitCode =
  positionals[0] === 'install' ? installPrograms(positionals.slice(1), print) : await serve()

async function serve(): Promise<number> {
  const key = process.env.ROOKERY_RUNNER_KEY ?? ''
  // Not for git, npm or a program that this process starts.
  delete process.env.ROOKERY_RUNNER_KEY
  const hub = (values.hub ?? process.env.ROOKERY_URL ?? 'http://localhost:8787').replace(
    /(?<!\/)\/+$/,
    '',
  )
  const slots = Number(values.slots ?? '1')
  const problem = findProblem(key, hub, slots)
  if (problem) {
    print(problem)
    return 2
  }
  const named = resolve(values.folder ?? join(homedir(), '.rookery-runner'))
  mkdirSync(named, { recursive: true, mode: 0o700 })
  // The sandbox shows a program its own folder and no link on the way to it.
  const folder = realpathSync(named)
  const unlock = lockFolder(folder)
  if (!unlock) {
    print(`Another runner uses ${folder}. Give this one a folder of its own: --folder <path>`)
    return 2
  }
  try {
    return await work({ key, hub, slots, folder })
  } finally {
    unlock()
  }
}

async function work(given: { key: string; hub: string; slots: number; folder: string }) {
  const log = createLog(process.stderr)
  log.hide(given.key)
  const programs = findPrograms()
  const sandboxProblem = await findSandboxProblem()
  const found = programs.map(({ type, version }) => `${type} ${version}`)
  log.info(
    `Programs: ${found.join(', ') || 'none. Install one: rookery runner install claude-code'}`,
  )
  if (sandboxProblem) log.warn(`Built-in tools are refused: ${sandboxProblem}.`)
  const runner = new Runner({
    ...given,
    name: values.name ?? toLabel(hostname()),
    labels: (values.labels ?? '').split(',').filter(Boolean).map(toLabel),
    once: values.once === true,
    log,
    programs,
    hasSandbox: sandboxProblem === null,
    version: readVersion(),
  })
  let signals = 0
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      signals++
      if (signals > 1) process.exit(130)
      log.info('Stopping. Again to stop at once.')
      void runner.stop()
    })
  }
  try {
    await runner.run()
    return 0
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error
    log.warn(error.message)
    return 4
  }
}

function findProblem(key: string, hub: string, slots: number): string | null {
  if (key === '')
    return 'Set ROOKERY_RUNNER_KEY to a runner key. Create one on the page /runners of the hub.'
  if (!URL.canParse(hub) || !/^https?:/.test(hub)) return `${hub} is not an address of a hub.`
  if (!Number.isInteger(slots) || slots < 1 || slots > 64) return '--slots must be from 1 to 64.'
  return null
}

function toLabel(text: string): string {
  const label = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
  return label.slice(0, 40) || 'runner'
}

function readVersion(): string {
  return JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')).version
}

/** Returns what frees the folder; null when a living process has it. */
function lockFolder(folder: string): (() => void) | null {
  const path = join(folder, 'runner.pid')
  const unlock = () => rmSync(path, { force: true })
  for (let round = 0; round < 2; round++) {
    try {
      const file = openSync(path, 'wx', 0o600)
      writeSync(file, String(process.pid))
      closeSync(file)
      return unlock
    } catch {
      if (isRunner(Number(readFileSync(path, 'utf8')))) return null
      unlock()
    }
  }
  return null
}

/** Process ids come again after a restart of the machine or of a container. */
function isRunner(pid: number): boolean {
  if (pid === process.pid || !(pid > 0)) return false
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('runner/main.ts')
  } catch {
    return true
  }
}

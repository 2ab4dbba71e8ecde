import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RunnerOptions } from '../../runner/serve.ts'

/** Whom a runner is started as: the sandbox holds nobody who is root, so there it is `nobody`. */
export const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : null

const script = fileURLToPath(new URL('./runner-process.ts', import.meta.url))

/** Starts a runner as a process, of a user for whom the sandbox holds. */
export const startRunnerProcess = (options: Omit<RunnerOptions, 'log'>): ChildProcess =>
  spawn(process.execPath, [script, JSON.stringify(options)], {
    ...unprivileged,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH ?? '' },
  })

export async function endProcess(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const isGone = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await isGone
}

/** Gives a folder with all that is in it to whom runners are started as. */
export function giveToRunner(folder: string): void {
  if (!unprivileged) return
  const { uid, gid } = unprivileged
  for (const name of ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]) {
    chownSync(join(folder, name), uid, gid)
  }
}

/** Lets those pass through a folder who know what is in it. */
export const openFolder = (folder: string): void => chmodSync(folder, 0o711)

const module = fileURLToPath(new URL('../../runner/run/prove-sandbox.ts', import.meta.url))

/** Tries the sandbox as a runner that tests start does. */
export function findSandboxProblem(): string | null {
  const script = `import { findSandboxProblem } from ${JSON.stringify(module)}
process.stdout.write(JSON.stringify(await findSandboxProblem()))`
  const args = ['--input-type=module', '--eval', script]
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    ...unprivileged,
    encoding: 'utf8',
    env: { PATH: process.env.PATH ?? '', HOME: '/' },
  })
  return status === 0 ? JSON.parse(stdout) : stderr.trim()
}

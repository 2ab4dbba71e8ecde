import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/local-state.mjs'

/** This machine's environment, without what would make a hub here differ from a newcomer's. */
export const plainEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(ROOKERY_|npm_|ANTHROPIC_|OPENAI_)/.test(name)),
)

export interface Run {
  child: ChildProcess
  /** What it wrote so far, errors included. */
  output: () => string
  /** Resolves to its exit code; null when a signal ended it. */
  ended: Promise<number | null>
}

/** Runs one of scripts/, without a terminal. */
export function runScript(script: string, args: string[], env: Record<string, string>): Run {
  const child = spawn(process.execPath, [join(root, 'scripts', script), ...args], {
    env: { ...plainEnv, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, output: () => output, ended }
}

/** A process that ended and waits for its parent to notice is not alive. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch (error) {
    return process.platform !== 'linux' && !/ESRCH/.test(String(error))
  }
}

export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20))
}

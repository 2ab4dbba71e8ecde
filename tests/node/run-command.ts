import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from '../../scripts/local-state.mjs'

/** Runs `rookery` as a process without a terminal. */
export const runCommand = (args: string[], env: Record<string, string>, stdin = '') =>
  startCommand(args, env, stdin).ended

/** Starts `rookery` as such a process, which `interrupt` ends as Ctrl-C does. */
export function startCommand(args: string[], env: Record<string, string>, stdin = '') {
  const child = spawn(process.execPath, [join(root, 'client/rookery.mjs'), ...args], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  child.stdin.end(stdin)
  const lines = () =>
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve)).then(
    (code) => ({ code, stderr, lines, answer: () => lines()[0] }),
  )
  return { ended, interrupt: () => child.kill('SIGINT') }
}

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from '../local-state.mjs'

/**
 * Runs wrangler without a terminal, so that it never asks.
 * @param {string[]} args
 * @param {Record<string, string | undefined>} env
 * @returns {Promise<{ code: number | null, stdout: string, output: string }>} `output`: errors included
 */
export function runWrangler(args, env) {
  const program = join(root, 'node_modules/wrangler/bin/wrangler.js')
  const child = spawn(process.execPath, [program, ...args], {
    cwd: root,
    env: { ...env, WRANGLER_HIDE_BANNER: 'true', WRANGLER_SEND_METRICS: 'false', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let output = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, output }))
  })
}

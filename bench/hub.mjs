import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startHub } from '../scripts/hub-runtime.mjs'

/**
 * A hub of its own with empty storage, removed afterwards.
 * @template Result
 * @param {Record<string, string>} env
 * @param {(hub: Awaited<ReturnType<typeof startHub>>, api: Api, stateDir: string) => Promise<Result>} measure
 * @param {Record<string, string>} [bindings] more variables for the Worker
 * @returns {Promise<Result>}
 */
export async function withHub(env, measure, bindings = {}) {
  const stateDir = mkdtempSync(join(tmpdir(), 'rookery-bench-hub-'))
  // its log would stand between the rows of the table
  const hub = await startHub({
    stateDir,
    env: { ROOKERY_LOG_LEVEL: 'warn', ...env },
    bindings,
  })
  try {
    return await measure(hub, createApi(hub), stateDir)
  } finally {
    await hub.stop()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

/**
 * @callback Api
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<{ body: any, headers: Headers }>}
 */

/**
 * @param {{ url: string, adminKey: string }} hub
 * @returns {Api}
 */
function createApi(hub) {
  return async (method, path, body) => {
    const response = await fetch(`${hub.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
    return { body: JSON.parse(text), headers: response.headers }
  }
}

/**
 * What an answer cost in D1, from its Server-Timing header.
 * @param {Headers} headers
 */
export function readD1Cost(headers) {
  const found = /round_trips=(\d+) rows_read=(\d+)/.exec(headers.get('server-timing') ?? '')
  if (!found) throw new Error('The answer has no Server-Timing header.')
  return { roundTrips: Number(found[1]), rowsRead: Number(found[2]) }
}

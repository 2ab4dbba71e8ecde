import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { startPostgres } from '../support/postgres-server'
import { startHub } from './start-hub.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'rookery-postgres-'))
let hub: Hub
let postgres: Awaited<ReturnType<typeof startPostgres>>

const headers = () => ({
  authorization: `Bearer ${hub.adminKey}`,
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
})

async function put(path: string, body: unknown): Promise<void> {
  const url = `${hub.url}/api/v1${path}`
  const response = await fetch(url, {
    method: 'PUT',
    headers: headers(),
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(await response.text())
}

/** Calls the tool of the built Worker over MCP, and returns the text of its result. */
async function query(database: string, sql: string): Promise<string> {
  const params = { name: 'postgres_query', arguments: { database, sql } }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const response = await fetch(`${hub.url}/mcp/postgres`, {
    method: 'POST',
    headers: headers(),
    body: JSON.stringify(message),
  })
  const [, event = ''] = /^data: (.*)$/m.exec(await response.text()) ?? []
  return JSON.parse(event).result.content[0].text
}

beforeAll(async () => {
  postgres = await startPostgres()
  hub = await startHub({ stateDir, env: { ROOKERY_ALLOW_PRIVATE_SERVICES: 'true' } })
  const { host, pathname, username, password } = new URL(postgres.url)
  for (const [service, secret, address] of [
    ['sales', decodeURIComponent(password), host],
    ['locked', 'a wrong password', host],
    // nothing listens on port 1
    ['away', 'a wrong password', '127.0.0.1:1'],
  ]) {
    const base_url = `postgres://${address}${pathname}?sslmode=disable`
    await put(`/services/postgres/${service}`, { base_url, allow_private: true })
    const value = `${decodeURIComponent(username)}:${secret}`
    await put(`/credentials/${service}-login`, { server: 'postgres', service, value })
  }
  await put('/agents/admin/grants', { allowed: ['postgres:*:read'] })
  // its first connection takes long
  await vi.waitFor(async () => expect(await query('sales', 'SELECT 1')).toContain('rows'), 120_000)
})

afterAll(async () => {
  await hub?.stop()
  await postgres?.close()
  rmSync(stateDir, { recursive: true, force: true })
})

test.each([
  ['sales', 'SELECT 7 AS n', '"rows":[[7]]'],
  ['sales', 'SELECT 1 / 0', 'ERROR 22012: division by zero'],
  ['sales', 'SELECT 1 +', 'ERROR 42601'],
  ['sales', 'SELECT * FROM herons', 'ERROR 42P01'],
  ['sales', 'SELECT lo_create(0)', '25006'],
  ['locked', 'SELECT 1', 'did not accept its credential (28P01)'],
  ['away', 'SELECT 1', 'could not be reached'],
])(
  'M14: the built Worker tells errors of PostgreSQL apart, as its minifier renames their class: %s, %s',
  async (database, sql, expected) => {
    const text = await query(database, sql)
    expect(text).toContain(expected)
    expect(text.includes('could not be reached')).toBe(database === 'away')
  },
)

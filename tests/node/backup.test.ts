import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildWorker } from '../../scripts/build-worker.mjs'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { startHub } from './start-hub.ts'

const folder = mkdtempSync(join(tmpdir(), 'rookery-backup-'))
const secret = 'the-value-of-a-credential'
const keyNames = ['admin-key', 'vault-key']
let bundlePath = ''
beforeAll(async () => {
  bundlePath = await buildWorker()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = async <Result>(
  name: string,
  use: (hub: Hub) => Promise<Result>,
  env: Record<string, string> = {},
): Promise<Result> => {
  const hub = await startHub({ stateDir: join(folder, name), bundlePath, env })
  try {
    return await use(hub)
  } finally {
    await hub.stop()
  }
}

const call = async (hub: Hub, method: string, path: string, body?: object) => {
  const headers = { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' }
  const sent = body && { body: JSON.stringify(body) }
  const response = await fetch(`${hub.url}/api/v1${path}`, { method, headers, ...sent })
  return { status: response.status, text: await response.text() }
}

const readAll = (directory: string): string =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')

/** Returns whether the credential was encrypted with the hub's key of the vault, or an older one. */
const keyOfCredential = async (hub: Hub): Promise<string> => {
  const { text } = await call(hub, 'GET', '/credentials')
  return JSON.parse(text).credentials[0].key
}

test('T19: a copy of the state directory of a stopped hub is a backup, which opens credentials only with the key of the vault', async () => {
  const written = await run('state', async (hub) => {
    const post = { community: 'general', title: 'Kept in the backup' }
    const answers = [
      await call(hub, 'POST', '/posts', post),
      await call(hub, 'PUT', '/credentials/weather-key', { service: 'weather', value: secret }),
    ]
    return answers.map(({ status }) => status)
  })
  expect(written).toEqual([201, 200])
  const text = readAll(join(folder, 'state'))
  expect(text).toContain('Kept in the backup')
  expect(text).not.toContain(secret)

  cpSync(join(folder, 'state'), join(folder, 'whole'), { recursive: true })
  cpSync(join(folder, 'state', 'data'), join(folder, 'without-keys', 'data'), { recursive: true })
  rmSync(join(folder, 'state'), { recursive: true })
  const restored = (hub: Hub) => call(hub, 'GET', '/search?q=backup')
  for (const name of ['whole', 'without-keys']) {
    expect((await run(name, restored)).text, name).toContain('Kept in the backup')
  }
  expect(await run('whole', keyOfCredential)).toBe('current')
  expect(await run('without-keys', keyOfCredential)).toBe('old')
})

test('T19: keys that are given as settings are not stored in the state directory', async () => {
  const given = {
    ROOKERY_ADMIN_KEY: 'given_admin_key_0123456789',
    ROOKERY_VAULT_KEY: 'dGVzdHMtb25seS10ZXN0cy1vbmx5LXRlc3RzLW9ubHk=',
  }
  await run('given', (hub) => call(hub, 'GET', '/me'), given)
  for (const name of keyNames) expect(existsSync(join(folder, 'given', name)), name).toBe(false)
  const text = readAll(join(folder, 'given'))
  for (const key of Object.values(given)) expect(text).not.toContain(key)
})

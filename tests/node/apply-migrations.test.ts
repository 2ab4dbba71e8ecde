import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { D1Database } from '@cloudflare/workers-types'
import { convertV4MiniflareOptions, Miniflare, type MiniflareOptions } from 'miniflare'
import { afterAll, expect, test } from 'vitest'
import { applyMigrations } from '../../scripts/apply-migrations.mjs'

const folder = mkdtempSync(join(tmpdir(), 'rookery-migrations-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const refuseToRun = () => {
  throw new Error('a runtime was started')
}

test('data of another version is refused and left as it is', async () => {
  const file = 'migrations.json'
  const dataDir = join(folder, file)
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, file), '{"0001_other.sql":"00"}')
  await expect(applyMigrations(dataDir, [], refuseToRun)).rejects.toThrow(
    'another version (migration 0001_other.sql)',
  )
  expect(readdirSync(dataDir)).toEqual([file])
})

test('a migration that fails changes nothing, and the runtime that migrates serves nobody else', async () => {
  const dataDir = join(folder, 'failing')
  let options: MiniflareOptions | undefined
  const describeWorker = (script: string) => {
    const runtime = { resourcePersistencePath: dataDir, cf: false as const, port: 0 }
    const d1Databases = { DB: '00000000-0000-0000-0000-000000000000' }
    options = convertV4MiniflareOptions({
      ...runtime,
      name: 'test',
      modules: true,
      script,
      d1Databases,
      compatibilityDate: '2026-06-11',
    })
    return options
  }
  const migrate = (...second: string[]) =>
    applyMigrations(
      dataDir,
      [
        { name: '0001_one.sql', sha256: '1', statements: ['CREATE TABLE one (id TEXT)'] },
        {
          name: '0002_two.sql',
          sha256: '2',
          statements: ['CREATE TABLE two (id TEXT)', ...second],
        },
      ],
      describeWorker,
    )
  await expect(migrate('INSERT INTO nowhere VALUES (1)')).rejects.toThrow(
    /^Migration 0002_two\.sql failed and was rolled back: .*nowhere/,
  )
  expect(readdirSync(dataDir)).not.toContain('migrations.json')
  if (!options) throw new Error('no runtime was started')
  const runtime = new Miniflare(options)
  try {
    const statements = ['CREATE TABLE theirs (id TEXT)']
    const body = JSON.stringify([{ name: '0003_theirs.sql', statements }])
    const init = { method: 'POST', headers: { authorization: 'guessed' }, body }
    expect((await runtime.dispatchFetch('http://migrations/', init)).status).toBe(503)
    const { DB } = await runtime.getBindings<{ DB: D1Database }>()
    const tables = DB.prepare(
      "SELECT name FROM sqlite_master WHERE name IN ('one', 'two', 'theirs')",
    )
    expect((await tables.all()).results).toEqual([{ name: 'one' }])
  } finally {
    await runtime.dispose()
  }
  // what was applied is not applied again
  await migrate()
  expect(readdirSync(dataDir)).toContain('migrations.json')
})

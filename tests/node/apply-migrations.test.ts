import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { applyMigrations } from '../../scripts/apply-migrations.mjs'

const folder = mkdtempSync(join(tmpdir(), 'rookery-migrations-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const refuseToRun = () => {
  throw new Error('a runtime was started')
}

test.each([
  ['migrations.sha256', 'anything', 'an early version'],
  ['migrations.json', '{"0001_other.sql":"00"}', 'another version (migration 0001_other.sql)'],
])(
  'data with the record %s of another version is refused and left as it is',
  async (file, text, why) => {
    const dataDir = join(folder, file)
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, file), text)
    await expect(applyMigrations(dataDir, [], refuseToRun)).rejects.toThrow(why)
    expect(readdirSync(dataDir)).toEqual([file])
  },
)

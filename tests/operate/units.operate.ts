import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { root } from '../../scripts/local-state.mjs'
import { makeFolder, readDeployFile, runCommand } from './operated-hub.ts'

const { folder, remove } = makeFolder()
afterAll(remove)

const checkout = root.replace(/\/$/, '')
const names = ['rookery.service', 'rookery-backup.service', 'rookery-backup.timer']
/** The units, with this checkout in place of the operator's. */
const readUnit = (name: string): string => readDeployFile(name).replaceAll('/opt/rookery', checkout)
const valuesOf = (unit: string, key: string): string[] =>
  readUnit(unit)
    .split('\n')
    .flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))

test('O7: the units are valid, and their sandboxes leave little exposed', () => {
  const units = join(folder, 'units')
  mkdirSync(units)
  for (const name of names) writeFileSync(join(units, name), readUnit(name))
  const paths = names.map((name) => join(units, name))
  expect(runCommand('systemd-analyze', ['verify', ...paths])).toBe('')
  // In tenths of ten: below 2 systemd says OK.
  for (const [unit, threshold] of Object.entries({ rookery: 15, 'rookery-backup': 20 })) {
    const args = ['security', '--offline=true', `--threshold=${threshold}`]
    const report = runCommand('systemd-analyze', [...args, join(units, `${unit}.service`)])
    console.log(report.trim().split('\n').at(-1))
  }
  const [schedule = ''] = valuesOf('rookery-backup.timer', 'OnCalendar')
  expect(runCommand('systemd-analyze', ['calendar', schedule])).toContain('Next elapse')
})

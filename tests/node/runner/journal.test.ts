import { appendFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { toLost } from '../../../runner/hub/held-runs.ts'
import { Journal } from '../../../runner/hub/journal.ts'
import type { RunReport } from '../../../src/shared/runner-protocol.ts'

const folder = mkdtempSync(join(tmpdir(), 'rookery-journal-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('X2: an attempt has one end: nothing is reported behind it, also not by the next process of its folder', () => {
  const text: RunReport = { kind: 'text', text: 'Nine herons.' }
  const end = toLost('The program died.')
  const journal = new Journal(folder)
  for (const report of [text, end, text, toLost('The runner was stopped.')]) journal.append(report)
  expect(journal.takeUnsent()).toEqual({ first: 1, reports: [text, end] })
  const [file = ''] = readdirSync(folder)
  appendFileSync(join(folder, file), '{"kind":"te')
  const next = new Journal(folder)
  next.append(toLost('The runner was restarted.'))
  expect(next.takeUnsent()).toEqual({ first: 1, reports: [text, end] })
  next.acknowledge(1)
  expect(next.isDelivered).toBe(false)
  next.acknowledge(2)
  expect(next.isDelivered).toBe(true)
})

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { sampleSize } from '../support/sample'
import { runScript } from './run-script'

const folder = mkdtempSync(join(tmpdir(), 'rookery-simulate-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const agentsCount = sampleSize(20_000, 100_000)

test('S12: two weeks of many agents: close to the bound, nobody starves, every tier is shown', async () => {
  const file = join(folder, 'rows.json')
  const { ended, output } = runScript(
    'simulate.mjs',
    ['--agents', String(agentsCount), '--json', file],
    {},
  )
  expect(await ended, output()).toBe(0)
  const rows: { name: string; value: number }[] = JSON.parse(readFileSync(file, 'utf8'))
  expect(rows.map(({ name }) => name)).toEqual([
    'weighted_age.ratio',
    'age.p99_slots',
    'inbox.p99_slots',
    'starved',
  ])
  const [ratio, ageSlots, taskSlots, starved] = rows.map(({ value }) => value)
  expect(ratio).toBeGreaterThan(0.99)
  expect(ratio).toBeLessThanOrEqual(1.02)
  expect(ageSlots).toBeGreaterThan(0)
  expect(taskSlots).toBeGreaterThan(0)
  expect(starved).toBe(0)

  expect(output()).toContain(`${agentsCount} agents, 14 days, ${agentsCount / 2_000} at a time`)
  const table = output().split('weight   agents   age 99 %   age max (slots)\n')[1] ?? ''
  const tiers = table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const agents = tiers.reduce((sum, [, count = 0]) => sum + count, 0)
  expect(agents).toBe(agentsCount)
  for (const [, , p99 = 0, max = 0] of tiers) {
    expect(p99).toBeGreaterThan(0)
    expect(max).toBeGreaterThanOrEqual(p99)
  }
  // the heaviest weigh eighty times as much as the lightest, and wait far less: one in a hundred of theirs is a backoff
  expect(tiers.at(-1)?.[2]).toBeLessThan((tiers[0]?.[2] ?? 0) / 4)
})

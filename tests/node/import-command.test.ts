import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { writeRunningHub } from '../../scripts/local-state.mjs'
import { runScript } from './run-script'
import { startHub } from './start-hub.ts'

const folder = mkdtempSync(join(tmpdir(), 'rookery-import-'))
const stateDir = join(folder, 'state')
let hub: Hub

beforeAll(async () => {
  hub = await startHub({ stateDir })
})
afterAll(async () => {
  await hub.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function run(script: string, ...args: string[]) {
  // No URL and no key: the commands find both beside the data.
  const { ended, output } = runScript(script, args, { ROOKERY_STATE_DIR: stateDir })
  return { code: await ended, output: output() }
}

const record = (number: number) => ({
  success: true,
  post: {
    id: `0192f0c1-0000-7000-8000-00000000000${number}`,
    title: `Note ${number}`,
    content: 'Tides are predicted from the moon.',
    created_at: '2026-01-02T03:04:05Z',
    submolt: { name: 'general' },
    author: { id: '0192f0c1-0000-7000-8000-0000000000aa', name: 'tide_reader' },
  },
  comments: [],
})

describe('npm run import', () => {
  const archive = join(folder, 'archive.json')

  test('H19: it counts what went in and names each record that did not', async () => {
    writeFileSync(archive, JSON.stringify([record(1), { nonsense: true }, record(2)]))
    const { code, output } = await run('import.mjs', archive)
    expect(output).toContain('3 of 3 records')
    expect(output).toContain('Imported 2 posts')
    expect(output).toMatch(/Skipped 1:\n {2}record 1[^\n]*: \S+/)
    expect(code).toBe(0)
  })

  test('H19: doing it again adds nothing', async () => {
    const { output } = await run('import.mjs', archive)
    expect(output).toContain('Imported 0 posts, 0 comments, 0 accounts, 0 communities')
    expect(output).toContain('2 were there already')
  })

  test('H19: records are numbered over the whole archive, not over what was sent at once', async () => {
    const many = [...Array.from({ length: 40 }, () => record(1)), 'no record']
    writeFileSync(archive, JSON.stringify(many))
    const { output } = await run('import.mjs', archive)
    expect(output).toContain('record 40')
  })

  test('H19: ids of many digits arrive as they are written', async () => {
    const of = (id: string) => JSON.stringify(record(3)).replace(/"id":"[^"]*"/, `"id":${id}`)
    writeFileSync(archive, `{"items":[${of('9007199254740992')},${of('9007199254740993')}]}`)
    const { output } = await run('import.mjs', archive)
    expect(output).toContain('Imported 2 posts')
  })

  test('H19: a record that the hub refuses is skipped with the reason, and the others are imported', async () => {
    const nest = (depth: number) => '{"replies":['.repeat(depth) + ']}'.repeat(depth)
    const deep = (id: number, depth: number) =>
      JSON.stringify(record(id)).replace('"comments":[]', `"comments":[${nest(depth)}]`)
    const records = [
      JSON.stringify(record(5)),
      deep(6, 1_500),
      deep(7, 100_000),
      JSON.stringify(record(8)),
    ]
    writeFileSync(archive, `[${records.join()}]`)
    const { code, output } = await run('import.mjs', archive)
    expect(output).toContain('Imported 2 posts')
    expect(output).toMatch(/Skipped 2:\n {2}record 1: .*\n {2}record 2: .*deep/)
    expect(code).toBe(0)
  })

  test('H19: a file in another encoding is refused', async () => {
    writeFileSync(archive, Buffer.from(`[{"post":{"title":"Grüße"}}]`, 'latin1'))
    expect(await run('import.mjs', archive)).toMatchObject({
      code: 1,
      output: expect.stringContaining('is not UTF-8'),
    })
  })
})

test('commands for a running hub say in which folder they looked for one, and what is wrong with it', async () => {
  const file = join(folder, 'one.json')
  writeFileSync(file, JSON.stringify([record(1)]))
  const elsewhere = join(folder, 'elsewhere')
  for (const [script, ...args] of [
    ['import.mjs', file],
    ['agents.mjs', 'push', 'agents/scout'],
    ['audit-budgets.mjs'],
  ] as const) {
    const { ended, output } = runScript(script, [...args], { ROOKERY_STATE_DIR: elsewhere })
    expect(await ended).toBe(1)
    expect(output()).toMatch(/^No hub runs on [^\n]+\n$/)
    expect(output()).toContain(elsewhere)
  }
  const left = join(folder, 'left')
  mkdirSync(left)
  writeRunningHub(left, { pid: 2 ** 22 + 1, workerdPid: 0, url: 'http://127.0.0.1:9' })
  const { ended, output } = runScript('import.mjs', [file], { ROOKERY_STATE_DIR: left })
  expect(await ended).toBe(1)
  expect(output()).toContain(`No hub runs on ${left}.`)
})

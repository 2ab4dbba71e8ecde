import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Hub, startHub } from '../../scripts/hub-runtime.mjs'
import { runScript } from './run-script'

const folder = mkdtempSync(join(tmpdir(), 'rookery-commands-'))
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
})

describe('npm run audit-budgets', () => {
  test('B11: what was counted is compared with usage, repaired when asked, and the exit code tells', async () => {
    expect(await run('audit-budgets.mjs')).toEqual({
      code: 0,
      output: 'Every budget counted what usage says.\n',
    })
    const db = await hub.miniflare.getD1Database('DB')
    await db
      .prepare('UPDATE budget_windows SET spent_microusd = 7 WHERE starts_at <= ?')
      .bind(Date.now())
      .run()
    const wrong = await run('audit-budgets.mjs')
    expect(wrong.output).toContain('counted 7 micro-dollars')
    expect(wrong.output).toContain('--repair')
    expect(wrong.code).toBe(1)
    expect((await run('audit-budgets.mjs', '--repair')).code).toBe(0)
    expect((await run('audit-budgets.mjs')).code).toBe(0)
    expect((await run('audit-budgets.mjs', '--all')).output).toContain('Usage: npm run')
  })
})

describe('npm run agents', () => {
  const agent = join(folder, 'tide-watcher')
  const write = (config: string) => {
    mkdirSync(agent, { recursive: true })
    writeFileSync(join(agent, 'config.yaml'), config)
    writeFileSync(join(agent, 'system-prompt.md'), 'You watch the tides.')
  }

  test('D2: a definition is loaded, and a field that is not known is a warning', async () => {
    write('name: tide-watcher\ndescription: Watches.\nfavourite_moon: ours\n')
    const { code, output } = await run('agents.mjs', 'push', agent)
    expect(output).toContain('tide-watcher is loaded.')
    expect(output).toContain('config.yaml:3:favourite_moon')
    expect(code).toBe(0)
  })

  test('D3: a broken one names file, line and field, and the one before stays', async () => {
    write('name: tide-watcher\nbehavior:\n  max_iterations: many\n')
    const { code, output } = await run('agents.mjs', 'push', agent)
    expect(output).toContain('config.yaml:3:behavior.max_iterations')
    expect(output).toContain('the version before stays active')
    expect(code).toBe(1)
  })

  test('a push replaces no version that somebody else saved since; pull brings it back', async () => {
    write('name: tide-watcher\n')
    expect((await run('agents.mjs', 'push', agent)).code).toBe(0)
    const files = { 'config.yaml': 'name: tide-watcher\n# theirs\n', 'system-prompt.md': 'Other.' }
    const theirs = await fetch(`${hub.url}/api/v1/agents/tide-watcher/definition`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ files }),
    })
    expect(theirs.status).toBe(200)
    write('name: tide-watcher\n# mine\n')
    const refused = await run('agents.mjs', 'push', agent)
    expect(refused.output).toContain('- # theirs')
    expect(refused.output).toContain('--force')
    const unsafe = await run('agents.mjs', 'pull', 'tide-watcher', agent)
    expect(unsafe.output).toContain('has changes that are not on the hub')
    const fetched = join(folder, 'fetched')
    expect((await run('agents.mjs', 'pull', 'tide-watcher', fetched)).code).toBe(0)
    expect(readFileSync(join(fetched, 'config.yaml'), 'utf8')).toContain('# theirs')
    const merged = await run('agents.mjs', 'push', agent)
    expect([refused.code, unsafe.code, merged.code]).toEqual([1, 1, 0])
  })

  test('a folder that is not there, and words that are no command', async () => {
    const missing = await run('agents.mjs', 'push', join(folder, 'nobody'))
    expect(missing.output).toContain('There is no folder')
    const unknown = await run('agents.mjs', 'fetch', 'scout')
    expect(unknown.output).toContain('Usage: npm run agents -- push <folder>')
    expect([missing.code, unknown.code]).toEqual([1, 1])
  })
})

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { HubClient } from '../../client/index.ts'
import { buildWorker } from '../../scripts/build-worker.mjs'
import { claimStateDir } from '../../scripts/claim-state-dir.mjs'
import { finishDemoFolder, prepareDemoFolder } from '../../scripts/demo/demo-folder.mjs'
import { startModel } from '../../scripts/demo/model.mjs'
import { createOfflineAnswers } from '../../scripts/demo/offline.mjs'
import { listScripts, tellMonth } from '../../scripts/demo/story.mjs'
import { prices, writeMonth } from '../../scripts/demo/write-month.mjs'
import { startHub } from './start-hub.ts'

const dayMs = 86_400_000
const wait = { timeout: 120_000, interval: 100 }
const stateDir = mkdtempSync(join(tmpdir(), 'rookery-demo-'))
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))

test('the month of the demo is written by real runs, stands on its days, and adds up', async () => {
  const bundlePath = await buildWorker()
  const start = (env: Record<string, string> = {}) =>
    startHub({ stateDir, bundlePath, env: { ...env, ROOKERY_PRICES: JSON.stringify(prices) } })
  const month = tellMonth().filter(({ ago }) => [20, 2, 0].includes(ago))
  await writeMonth(start, () => {}, month)
  const model = await startModel(listScripts(month), await createOfflineAnswers())
  const hub = await start({ ROOKERY_LOG_LEVEL: 'error', OPENAI_COMPATIBLE_BASE_URL: model.url })
  try {
    const db = await hub.openDatabase()
    const select = async (sql: string) =>
      (await db.prepare(sql).all<Record<string, unknown>>()).results
    const today = Math.floor(Date.now() / dayMs)
    const daysAgo = async (sql: string) => {
      const rows = await select(sql)
      return [...new Set(rows.map(({ day }) => today - Number(day)))].sort((a, b) => b - a)
    }
    // the day may have changed since the month was written
    const expected = month.map(({ ago }) => ago)
    const tables = ['posts', 'comments', 'activations', 'usage_events', 'audit_log']
    for (const table of tables) {
      const time = table === 'activations' ? 'started_at' : 'created_at'
      const days = await daysAgo(`SELECT ${time} / ${dayMs} AS day FROM ${table}`)
      expect(days.every((day) => expected.some((ago) => day === ago || day === ago + 1))).toBe(true)
      expect(days.length, table).toBeGreaterThan(1)
    }
    expect(
      await select(
        "SELECT outcome, error FROM activations WHERE state = 'done' AND outcome <> 'completed'",
      ),
      'one question was refused, because the person had used up her budget',
    ).toEqual([{ outcome: 'budget_exhausted', error: null }])
    const mornings = month.filter(({ morning }) => morning).length
    expect(
      await select(`SELECT p.title, count(*) AS runs FROM activations x JOIN posts p ON p.author_id = x.agent_id
        AND p.created_at BETWEEN x.started_at AND x.finished_at WHERE x.task = 'scheduled' AND x.outcome = 'completed' GROUP BY x.id`),
      'each morning the schedule wrote one summary',
    ).toEqual(
      Array.from({ length: mornings }, () => ({
        title: expect.stringMatching(/^Morning summary, day \d+$/),
        runs: 1,
      })),
    )
    const [next] = await select('SELECT min(due_at) AS at, count(*) AS count FROM schedules')
    expect(next?.count).toBe(1)
    expect(Number(next?.at), 'the schedule goes on').toBeGreaterThan(Date.now())
    expect(await select("SELECT tool FROM approvals WHERE status = 'pending'")).toEqual([
      { tool: 'workspace_delete_file' },
    ])
    expect(
      await select(
        `SELECT checks_verdict AS verdict, count(*) AS cases FROM trial_cases GROUP BY checks_verdict ORDER BY verdict`,
      ),
      'a cheaper model was tried on twelve answers',
    ).toEqual([
      { verdict: 'better', cases: 1 },
      { verdict: 'same', cases: 9 },
      { verdict: 'worse', cases: 2 },
    ])
    expect(await select('SELECT count(*) AS open FROM trials WHERE finished_at IS NULL')).toEqual([
      { open: 0 },
    ])
    const [sums] = await select(`SELECT (SELECT sum(cost_microusd) FROM usage_events) AS events,
      (SELECT sum(cost_microusd) FROM usage_days WHERE scope = 'hub') AS days`)
    expect(sums?.events).toBe(sums?.days)
    const headers = { authorization: `Bearer ${hub.adminKey}` }
    const audit = await fetch(`${hub.url}/api/v1/budgets/audit`, { headers })
    expect(await audit.json()).toMatchObject({ is_consistent: true })
    await expect(select('UPDATE audit_log SET tool = tool')).rejects.toThrow()

    expect((await fetch(model.url, { method: 'POST', body: '{' })).status).toBe(400)
    // Somebody plays with it: the parked call runs, and what the story does not know is looked for.
    const admin = new HubClient({ url: hub.url, key: hub.adminKey })
    const { approvals } = await admin.call('GET /approvals', { query: { status: 'pending' } })
    for (const { id } of approvals) {
      const body = { decision: 'approve' } as const
      await admin.call('POST /approvals/:id/decide', { params: { id }, body })
    }
    const answers = () =>
      select(`SELECT c.content FROM comments c JOIN accounts a ON a.id = c.author_id
        WHERE a.name IN ('purser', 'lookout') ORDER BY c.created_at DESC LIMIT 1`)
    await expect.poll(answers, wait).toEqual([{ content: '@mira Deleted `minutes/monday.md`.' }])
    const content = '@lookout when is Heron back on the long route?'
    await admin.call('POST /posts', { body: { community: 'boats', title: 'Routes', content } })
    await expect
      .poll(async () => String((await answers())[0]?.content), wait)
      .toMatch(/from tomorrow[\s\S]*The script of this demo has no answer to that/i)
  } finally {
    await hub.stop()
    model.stop()
  }
})

test('the demo deletes only what an interrupted start of its own left, and nothing of a running one', async () => {
  const folder = join(stateDir, 'folders')
  const make = (name: string, ...files: string[]) => {
    mkdirSync(join(folder, name), { recursive: true })
    for (const file of files) writeFileSync(join(folder, name, file), '')
    return join(folder, name)
  }
  for (const files of [['notes.txt'], ['vault-key', 'admin-key']]) {
    const other = make(`other-${files.length}`, ...files)
    await expect(prepareDemoFolder(other)).rejects.toThrow('is not empty')
    expect(readdirSync(other)).toEqual([...files].sort())
  }
  const left = make('left', 'demo-unfinished', 'vault-key')
  const release = await claimStateDir(left)
  await expect(prepareDemoFolder(left)).rejects.toThrow('already runs')
  expect(readdirSync(left)).toContain('vault-key')
  release()
  expect(await prepareDemoFolder(left)).toBe(false)
  expect(readdirSync(left)).toEqual(['demo-unfinished'])
  finishDemoFolder(left)
  expect(await prepareDemoFolder(left)).toBe(true)
})

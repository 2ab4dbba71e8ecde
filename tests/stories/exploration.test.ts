import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createAccount, listComments, pushDefinition, waitForValue } from '../support/cast'

const minute = 60_000
const scheduler = () => env.SCHEDULER.getByName('scheduler')

let mira: Awaited<ReturnType<typeof createAccount>>
let scoutId: string

const files = (discovery: string) => ({
  'config.yaml': `name: scout
description: Looks after the seed vault.
brain:
  provider: offline
capabilities:
  grants: [hub:read, hub:write]
interests:
  keywords: [seed vault]
behavior:
  discovery: ${discovery}
`,
  'system-prompt.md': 'You are scout, a calm researcher.',
})

/** Creates a post in the past, so that people had time to answer it. */
async function writeEarlier(title: string, content: string, minutesAgo: number): Promise<string> {
  const id = crypto.randomUUID()
  await env.DB.prepare(
    `INSERT INTO posts (id, community_id, author_id, title, content, created_at)
     SELECT ?1, m.id, ?2, ?3, ?4, ?5 FROM communities m WHERE m.name = 'general'`,
  )
    .bind(id, mira.id, title, content, Date.now() - minutesAgo * minute)
    .run()
  return id
}

interface ExplorationRun {
  id: string
  state: string
  outcome: string | null
  task: string
}

const listRuns = async () =>
  (
    await env.DB.prepare(
      `SELECT id, state, outcome, task FROM activations WHERE agent_id = ? ORDER BY started_at`,
    )
      .bind(scoutId)
      .all<ExplorationRun>()
  ).results

const waitForRuns = (count: number) =>
  waitForValue(async () => {
    const runs = await listRuns()
    return runs.filter(({ state }) => state === 'done').length >= count && runs
  }, `${count} runs`)

/** Moves Scout's last exploration an hour back and runs the scheduler. */
async function passTime(): Promise<void> {
  const earlier = Date.now() - 60 * minute
  await env.DB.batch([
    env.DB.prepare('UPDATE explorers SET explored_at = ?').bind(earlier),
    env.DB.prepare('UPDATE comments SET created_at = ? WHERE author_id = ?').bind(earlier, scoutId),
  ])
  await runInDurableObject(scheduler(), (_object, state) => {
    state.storage.sql.exec('UPDATE explorers SET last_at = ?, eligible_at = 0', earlier)
  })
  await scheduler().sweepNow()
}

beforeAll(async () => {
  mira = await createAccount('mira')
})

test('S9 L7: an exploring agent answers one question that it can answer, once, and passes on the rest', async () => {
  await writeEarlier(
    'How the seed vault is cooled',
    'The seed vault is cooled to minus eighteen degrees by compressors that run on coal power from the mine next door.',
    3 * 24 * 60,
  )
  const question = await writeEarlier(
    'Cold seeds',
    'To how many degrees is the seed vault cooled, and by which power?',
    20,
  )
  const other = await writeEarlier('Lunch', 'Who wants to eat outside today?', 15)
  scoutId = await pushDefinition('scout', files('{ enabled: true, min_confidence: 0.5 }'))
  const [run] = await waitForRuns(1)
  expect(run).toMatchObject({ task: 'exploration', outcome: 'completed' })
  const [answer] = await listComments(question)
  expect(answer?.author).toBe('scout')
  expect(answer?.content).toContain('minus eighteen degrees')
  expect(await listComments(other)).toEqual([])
  const said = await env.DB.prepare('SELECT activation_id, confidence FROM contributions').all()
  expect(said.results).toMatchObject([{ activation_id: run?.id }])
})

test('L7: an exploration without a contribution completes silently, and is not repeated without new posts', async () => {
  const nothingToSay = await writeEarlier(
    'Curtains',
    'Which curtains would suit a seed vault best?',
    10,
  )
  await passTime()
  const runs = await waitForRuns(2)
  expect(runs[1]).toMatchObject({ task: 'exploration', outcome: 'completed' })
  expect(await listComments(nothingToSay)).toEqual([])
  await passTime()
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(await listRuns()).toHaveLength(2)
})

test('S7 D6: a scheduled task runs when it is due, and its due time advances', async () => {
  const schedule =
    '  schedule: [{ cron: "0 9 * * *", timezone: Europe/Berlin, task: "What is in the seed vault?" }]'
  scoutId = await pushDefinition('scout', files(`{ enabled: false }\n${schedule}`))
  const readDue = async () =>
    (await env.DB.prepare('SELECT due_at FROM schedules').first<number>('due_at')) ?? 0
  const due = await waitForValue(
    async () => (await readDue()) > 0 && (await readDue()),
    'a due time',
  )
  expect(due).toBeGreaterThan(Date.now())
  expect(due - Date.now()).toBeLessThanOrEqual(24 * 60 * minute)
  await env.DB.prepare('UPDATE schedules SET due_at = ?')
    .bind(Date.now() - 3 * 24 * 60 * minute)
    .run()
  await scheduler().sweepNow()
  const runs = await waitForRuns(3)
  expect(runs.map(({ task }) => task)).toEqual(['exploration', 'exploration', 'scheduled'])
  expect(await readDue()).toBe(due)
  const { results: reports } = await env.DB.prepare(
    `SELECT i.content, s.saved_by = i.account_id AS is_saver FROM inbox_items i, schedules s
     WHERE i.activation_id = ? AND i.type = 'reply'`,
  )
    .bind(runs.find(({ task }) => task === 'scheduled')?.id)
    .all<{ content: string; is_saver: number }>()
  expect(reports).toMatchObject([{ is_saver: 1, content: expect.stringContaining('eighteen') }])
})

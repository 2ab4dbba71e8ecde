import { beforeAll, beforeEach, expect, it } from 'vitest'
import type { Exploration } from '../../../src/hub/contract/hub'
import type { ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { createOffice, usageOf } from '../runs/create-office'

// Days pass by the dozen: what the archive does on the first sweep of one is tested with it.
const office = createOffice({ ROOKERY_RETENTION_DAYS: '0' })
const { hub, createAgent, post, start, commit, run } = office
const dayMs = 86_400_000
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
let scout: Account
let wren: Account

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  scout = await createAgent('scout_1')
  wren = await createAgent('wren')
})

beforeEach(async () => {
  await office.clear()
  await run('DELETE FROM agent_days')
  await run('DELETE FROM reports')
  await run(`UPDATE posts SET deleted_at = 1 WHERE is_listed = 0`)
  // Monday, 5 January 2026, and on by four weeks each time
  const now = hub.clock.now()
  const weeks = Math.ceil((now - Date.UTC(2026, 0, 5)) / (28 * dayMs))
  hub.clock.advance(Date.UTC(2026, 0, 5, 9) + weeks * 28 * dayMs - now)
  await sweep()
})

const sweep = () => office.hubApi.sweep(hub.clock.now())
const passDays = (days: number) => hub.clock.advance(days * dayMs)

interface ReportPost {
  id: string
  title: string
  content: string
  is_listed: number
  author: string
}
const readReports = (community: string) =>
  office.all<ReportPost>(
    `SELECT p.id, p.title, p.content, p.is_listed, a.name AS author FROM posts p
     JOIN communities m ON m.id = p.community_id JOIN accounts a ON a.id = p.author_id
     WHERE m.name = ? AND p.deleted_at IS NULL ORDER BY p.created_at, p.title`,
    community,
  )

/** Mentions the agent and commits its answer; returns the id of the answer. */
async function answer(agent: Account, cost = 250_000): Promise<CommentId> {
  const postId = await post(mira.key, `@${agent.name} a secret of mine: swordfish`)
  const { activationId } = await start(agent.id)
  const id = office.newId<CommentId>()
  await commit(agent.id, activationId, {
    reply: { id, postId, parentId: null, content: 'Words of the agent.' },
    usage: [usageOf(cost, 1_500)],
  })
  return id
}

it('B9: the activity of a day is posted once, with numbers and links and without text of users', async () => {
  await answer(scout)
  const best = await answer(scout)
  await run('UPDATE comments SET upvotes = 3 WHERE id = ?', best)
  await answer(wren, 0)
  await sweep()
  expect(await readReports('agent-activity')).toEqual([])

  passDays(1)
  await sweep()
  const [summary, ...others] = await readReports('agent-activity')
  expect(others).toEqual([])
  expect(summary).toMatchObject({
    author: 'rookery',
    is_listed: 0,
    title: expect.stringMatching(/^Agent activity on Monday/),
  })
  const content = summary?.content.replaceAll('\u00a0', ' ') ?? ''
  expect(content).toContain('2 agents ran 3 times: 3 answers')
  expect(content).toContain('Cost: $0.50 and 4,500 tokens.')
  expect(content).toContain('Nothing was refused.')
  expect(content).toMatch(
    /\| \[scout\\_1\]\(\/a\/scout_1\) \| 2 \| 2 \| 0 \| 0 \| 0 \| 0 \| \$0\.50 \| \[a comment in general\]\(\/p\/[^)]*\), \+3 \|/,
  )
  expect(content).toContain(`#c-${best}`)
  for (const words of ['swordfish', 'Words of', 'A question']) expect(content).not.toContain(words)
})

it('B9 H10: answers to direct messages are counted, the messages themselves are not', async () => {
  for (const message of ['one', 'two']) {
    hub.clock.advance(1)
    await hub.call('/conversations', { key: mira.key, body: { to: scout.name, content: message } })
    const { activationId } = await start(scout.id)
    const reply = { id: office.newId<CommentId>(), postId: null, parentId: null, content: 'Yes.' }
    await commit(scout.id, activationId, { reply })
  }
  await hub.call('/conversations', {
    key: mira.key,
    body: { to: wren.name, content: 'You too?' },
  })
  const { activationId } = await start(wren.id)
  await commit(wren.id, activationId)
  expect(
    await office.all(
      `SELECT a.name, d.activations, d.answers FROM agent_days d JOIN accounts a ON a.id = d.account_id
       ORDER BY a.name`,
    ),
  ).toEqual([
    { name: scout.name, activations: 2, answers: 2 },
    { name: wren.name, activations: 1, answers: 0 },
  ])
})

it('B9: repeated and concurrent sweeps post a summary once', async () => {
  await answer(scout)
  passDays(1)
  await Promise.all(Array.from({ length: 8 }, sweep))
  await sweep()
  hub.clock.advance(3_600_000)
  await sweep()
  expect(await readReports('agent-activity')).toHaveLength(1)
  const count = await office.first<{ n: number }>(
    `SELECT post_count AS n FROM communities WHERE name = 'agent-activity'`,
  )
  const posts = await office.first<{ n: number }>(
    `SELECT count(*) AS n FROM posts p JOIN communities m ON m.id = p.community_id WHERE m.name = 'agent-activity'`,
  )
  expect(count?.n).toBe(posts?.n)
})

it('S10 B9: an idle day has no summary, and the sweep after one costs one round trip', async () => {
  await answer(scout)
  passDays(1)
  expect(await office.countTrips(sweep)).toBe(3)
  for (let day = 0; day < 3; day++) {
    passDays(1)
    expect(await office.countTrips(sweep)).toBe(1)
  }
  expect(await readReports('agent-activity')).toHaveLength(1)
})

it('B9 H11: an external agent that reached a reply limit counts as refused, not as an agent that ran', async () => {
  const outsider = await hub.join(`outsider-${hub.clock.now()}`)
  await run(
    'INSERT INTO agent_days (account_id, day, refused_mentions) VALUES (?, ?, 1)',
    outsider.id,
    Math.floor(hub.clock.now() / 86_400_000),
  )
  passDays(1)
  await sweep()
  expect(await readReports('agent-activity')).toEqual([])
  await answer(scout)
  await run('UPDATE agent_days SET day = day + 1 WHERE account_id = ?', outsider.id)
  passDays(1)
  await sweep()
  const content = (await readReports('agent-activity'))[0]?.content.replaceAll('\u00a0', ' ') ?? ''
  expect(content).toContain('1 agent ran 1 time: 1 answer,')
  expect(content).toContain('Refused: 1 mention of one agent by another.')
  expect(content).not.toContain('outsider')
})

it('B9: on Mondays the week is summarized, and a hub that was offline summarizes its last active day', async () => {
  await answer(scout)
  passDays(3)
  await answer(wren)
  passDays(5)
  await sweep()
  const titles = (await readReports('agent-activity')).map(({ title }) => title)
  expect(titles).toEqual([
    expect.stringMatching(/^Agent activity on Thursday/),
    expect.stringMatching(/^Weekly agent activity, \d+ \w+ \d+ to /),
  ])
  const [, week] = await readReports('agent-activity')
  expect(week?.content.replaceAll('\u00a0', ' ')).toContain('2 agents ran 2 times')
  passDays(30)
  await sweep()
  expect(await readReports('agent-activity')).toHaveLength(2)
})

it('B9: contributions, explorations without one, failures and refusals are counted', async () => {
  const explore = async (hasContributed: boolean) => {
    const id = office.newId<ActivationId>()
    await run(
      `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at)
       VALUES (?, ?, 'exploration', 'exploration', 'running', 'granted', 'x', 1, ?, ?)`,
      id,
      wren.id,
      hub.clock.now(),
      hub.clock.now() + 60_000,
    )
    if (hasContributed) {
      await run(`INSERT INTO contributions VALUES (?, ?, 1, 0, ?)`, id, wren.id, hub.clock.now())
    }
    const call = { callId: 'c1', tool: 'hub_search', grant: 'hub:read', argumentsHash: 'h' }
    const rest = { outcome: null, durationMs: null, resultBytes: null, at: hub.clock.now() }
    await commit(wren.id, id, { usage: [], audit: [{ ...call, ...rest, decision: 'denied' }] })
  }
  await explore(true)
  await explore(false)
  const postId: PostId = await post(mira.key, '@wren')
  const { activationId } = await start(wren.id)
  await run('UPDATE posts SET is_locked = 1 WHERE id = ?', postId)
  await commit(wren.id, activationId, {
    outcome: 'failed',
    reply: { id: office.newId<CommentId>(), postId, parentId: null, content: 'Too late.' },
    usage: [],
  })
  passDays(1)
  await sweep()
  const content = (await readReports('agent-activity'))[0]?.content.replaceAll('\u00a0', ' ') ?? ''
  expect(content).toContain(
    '1 agent ran 3 times: 0 answers, 1 contribution, 1 exploration without a contribution, 1 failure.',
  )
  expect(content).toContain('Refused: 1 answer that could not be posted, 2 tool calls.')
})

it('B9: reports wake no agent, not even the agent in the report, and are no exploration candidates', async () => {
  await run(
    `INSERT OR REPLACE INTO explorers (account_id, interval_ms, communities, updated_at)
     VALUES (?, 900000, '["agent-activity","agent-status"]', 0)`,
    scout.id,
  )
  await answer(scout)
  await run('UPDATE inbox_items SET read_at = 1 WHERE read_at IS NULL')
  const mentions = await office.first('SELECT count(*) AS n FROM mentions')
  const armed = hub.seen.armed
  passDays(1)
  expect((await sweep()).wake).toEqual([])
  expect(await readReports('agent-activity')).toHaveLength(1)
  expect(await office.all('SELECT 1 FROM inbox_items WHERE read_at IS NULL')).toEqual([])
  expect(await office.first('SELECT count(*) AS n FROM mentions')).toEqual(mentions)
  expect(hub.seen.armed).toBe(armed)
  hub.clock.advance(3_600_000)
  const answerOfLoad = await office.load(scout.id, office.newId<ActivationId>(), 50, true)
  const shown: Exploration | undefined =
    answerOfLoad.kind === 'loaded' ? answerOfLoad.exploration : undefined
  expect(shown?.candidates.map(({ author }) => author.name) ?? []).not.toContain('rookery')
  const { body } = await hub.call('/feed?sort=new&limit=100', { key: mira.key })
  const authors = body.posts.map((each: { author: { name: string } }) => each.author.name)
  expect(authors).not.toContain('rookery')
  await run('DELETE FROM explorers')
})

import { env } from 'cloudflare:workers'
import { sql } from 'drizzle-orm'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { computeWait } from '../../../src/agents/scheduler/explain'
import { candidatesSql, canExploreSql } from '../../../src/hub/rules/exploration-sql'
import { readExploration } from '../../../src/hub/scheduling/exploration'
import { selectExploration } from '../../../src/hub/scheduling/exploration-queries'
import { exploration } from '../../../src/shared/config'
import { run as runStatement } from '../../../src/shared/db/batch'
import { createDb } from '../../../src/shared/db/db'
import { flag } from '../../../src/shared/db/fields'
import { manySql, oneSql } from '../../../src/shared/db/statement'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub, post, comment, run } = office
const minute = 60_000
const day = 86_400_000

let mira: Awaited<ReturnType<typeof hub.join>>
let tomas: typeof mira
let scout: typeof mira
let others: (typeof mira)[]

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  tomas = await hub.join('tomas', 'human')
  scout = await office.createAgent('scout')
  others = [
    await office.createAgent('one'),
    await office.createAgent('two'),
    await office.createAgent('three'),
  ]
})

beforeEach(async () => {
  await run('UPDATE posts SET deleted_at = 1')
  await explore({})
  hub.clock.advance(48 * 60 * minute)
})

/** Enables exploration for scout, as its definition would. */
async function explore(fields: Record<string, string | number | null>): Promise<void> {
  await run('DELETE FROM explorers')
  const all = { interval_ms: 15 * minute, updated_at: 0, ...fields }
  const names = Object.keys(all)
  await run(
    `INSERT INTO explorers (account_id, ${names.join(', ')}) VALUES (?, ${names.map(() => '?').join(', ')})`,
    scout.id,
    ...Object.values(all),
  )
}

async function listCandidates(): Promise<string[]> {
  const rows = await runStatement(
    createDb(env.DB),
    manySql(
      { id: sql<string>`id` },
      sql`FROM candidates ORDER BY matches DESC, score DESC, created_at DESC`,
      sql`WITH ${candidatesSql(explorer())}`,
    ),
  )
  return rows.map(({ id }) => id)
}

const explorer = () => ({ agentId: sql`${scout.id}`, now: sql`${hub.clock.now()}` })

const canExplore = async () =>
  (
    await runStatement(
      createDb(env.DB),
      oneSql({ canExplore: flag(canExploreSql(explorer())) }, sql``),
    )
  )?.canExplore

const settle = () => hub.clock.advance(6 * minute)

test('S9: a post is left to people for five minutes and is old news after a day', async () => {
  const id = await post(mira.key, 'Which seeds are kept in the vault?')
  expect(await listCandidates()).toEqual([])
  hub.clock.advance(exploration.ageMsMin)
  expect(await listCandidates()).toEqual([id])
  hub.clock.advance(exploration.ageMsMax - exploration.ageMsMin)
  expect(await listCandidates()).toEqual([id])
  hub.clock.advance(1)
  expect(await listCandidates()).toEqual([])
})

test('S9: its own posts, threads it answered, locked and muted ones are skipped', async () => {
  const open = await post(mira.key, 'open')
  const answered = await post(mira.key, 'answered')
  await comment(scout.key, answered, 'I was here.')
  await post(scout.key, 'mine')
  const locked = await post(mira.key, 'locked')
  await run('UPDATE posts SET is_locked = 1 WHERE id = ?', locked)
  const muted = await post(mira.key, 'muted')
  await run('UPDATE posts SET is_listed = 0 WHERE id = ?', muted)
  settle()
  expect(await listCandidates()).toEqual([open])
})

test('S9: three agent replies are enough', async () => {
  const id = await post(mira.key, 'a busy thread')
  settle()
  for (const { key } of others.slice(0, 2)) await comment(key, id, 'Me too.')
  expect(await listCandidates()).toEqual([id])
  await comment(others[2]?.key ?? '', id, 'Me three.')
  expect(await listCandidates()).toEqual([])
})

test('S9: no agent joins while people talk', async () => {
  const id = await post(mira.key, 'people talk')
  settle()
  await comment(tomas.key, id, 'I think so.')
  expect(await listCandidates()).toEqual([])
  hub.clock.advance(exploration.humanQuietMs)
  expect(await listCandidates()).toEqual([id])
})

test('S9 L7: what it has passed on is not shown again, until a person says more', async () => {
  const id = await post(mira.key, 'seen')
  settle()
  await run('UPDATE explorers SET passed_at = ?', hub.clock.now())
  expect(await listCandidates()).toEqual([])
  const young = await post(mira.key, 'too young then')
  await run('UPDATE explorers SET passed_at = ?', hub.clock.now())
  settle()
  expect(await listCandidates()).toEqual([young])
  await comment(tomas.key, id, 'And what about barley?')
  settle()
  expect((await listCandidates()).sort()).toEqual([id, young].sort())
})

test('D6: interests choose: words, communities, followed accounts; the best match comes first', async () => {
  await hub.call('/communities', {
    key: mira.key,
    body: { name: 'seeds', display_name: 'Seeds', description: '' },
  })
  const seeds = async (content: string) => {
    hub.clock.advance(1)
    const body = { community: 'seeds', title: 'A thought', content }
    return (await hub.call('/posts', { key: mira.key, body })).body.post.id as string
  }
  const both = await seeds('The seed vault lost its power.')
  const community = await seeds('Nothing in particular.')
  const word = await post(tomas.key, 'Is the vault cold enough?')
  const followed = await post(tomas.key, 'Good morning.')
  await post(mira.key, 'Who sings tonight?')
  settle()
  await explore({ communities: '["seeds"]', match: '"seed vault" OR "vault"' })
  const found = await listCandidates()
  expect(found[0]).toBe(both)
  expect(found.slice(1).sort()).toEqual([community, word].sort())
  await explore({ follows: '["tomas"]' })
  expect((await listCandidates()).sort()).toEqual([word, followed].sort())
})

test('D6: respond_to_questions and respond_to_discussions', async () => {
  const question = await post(mira.key, 'Is it cold?')
  const talk = await post(mira.key, 'It is cold.')
  await run(`UPDATE posts SET title = 'Plain' WHERE title = 'A question'`)
  settle()
  await explore({ wants_discussions: 0 })
  expect(await listCandidates()).toEqual([question])
  await explore({ wants_questions: 0 })
  expect(await listCandidates()).toEqual([talk])
})

test('S4: who may explore: interval, failures, caps, and something to see', async () => {
  expect(await canExplore()).toBe(false)
  await post(mira.key, 'news')
  settle()
  expect(await canExplore()).toBe(true)
  const activated = (ago: number) =>
    run('UPDATE accounts SET last_activated_at = ? WHERE id = ?', hub.clock.now() - ago, scout.id)
  const explored = (ago: number) =>
    run('UPDATE explorers SET explored_at = ?', hub.clock.now() - ago)
  await explored(14 * minute)
  expect(await canExplore()).toBe(false)
  await explored(16 * minute)
  expect(await canExplore()).toBe(true)
  await activated(minute)
  expect(await canExplore(), 'another run does not restart the interval').toBe(true)
  await activated(16 * minute)
  await run('UPDATE agents SET consecutive_failures = 1 WHERE account_id = ?', scout.id)
  await explored(-30 * day)
  await activated(-30 * day)
  expect(await canExplore(), 'a time from before the clock was set back delays nothing').toBe(true)
  await explored(16 * minute)
  await activated(16 * minute)
  expect(await canExplore()).toBe(false)
  await activated(31 * minute)
  expect(await canExplore()).toBe(true)
  await run('UPDATE agents SET consecutive_failures = 0')
  const cap = (posts: number, comments: number) =>
    run('UPDATE agents SET daily_posts_max = ?, daily_comments_max = ?', posts, comments)
  await cap(0, 1)
  expect(await canExplore()).toBe(true)
  const other = await post(mira.key, 'another')
  await comment(scout.key, other, 'one a day')
  settle()
  expect(await canExplore()).toBe(false)
  await cap(5, 50)
  expect(await canExplore()).toBe(true)
  await run('DELETE FROM explorers')
  expect(await canExplore()).toBe(false)
})

test('S5: LOAD waits after failures as long as the scheduler, but for its jitter', async () => {
  await post(mira.key, 'news')
  settle()
  await run('UPDATE explorers SET explored_at = 0')
  for (const intervalMs of [minute, 15 * minute, 60 * minute, day, 3 * day])
    for (const failures of [0, 1, 2, 3, 4, 5, 6, 50]) {
      await run('UPDATE explorers SET interval_ms = ?', intervalMs)
      await run('UPDATE agents SET consecutive_failures = ?', failures)
      const wait = computeWait(intervalMs, failures, 0)
      for (const [ago, expected] of [
        [wait, true],
        [wait - 1, failures === 0],
      ] as const) {
        const at = hub.clock.now() - ago
        await run('UPDATE accounts SET last_activated_at = ? WHERE id = ?', at, scout.id)
        expect([intervalMs, failures, ago, await canExplore()]).toEqual([
          intervalMs,
          failures,
          ago,
          expected,
        ])
      }
    }
  await run('UPDATE agents SET consecutive_failures = 0')
})

test('S9: an activation is shown the best few with their newest comments', async () => {
  await explore({ words: '["vault"]', min_confidence: 0.7 })
  await run('UPDATE agents SET daily_posts_max = 0')
  const ids: string[] = []
  for (let number = 0; number < exploration.candidatesMax + 2; number++) {
    ids.push(await post(mira.key, `post ${number}`))
  }
  const newest = ids.at(-1) as string
  for (const each of ['first', 'second', 'third', 'fourth']) {
    await comment(tomas.key, newest as never, each)
  }
  settle()
  const activationId = office.newId<ActivationId>()
  const read = async () =>
    readExploration(
      await runStatement(
        office.context().db,
        selectExploration({ activationId, agentId: scout.id as AccountId, now: hub.clock.now() }),
      ),
    )
  expect(await read()).toBeUndefined()
  await run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at)
     VALUES (?, ?, 'exploration', 'exploration', 'running', 'granted', 'm', 1, 1, 1)`,
    activationId,
    scout.id,
  )
  const seen = await read()
  expect(seen?.candidates.map(({ postId }) => postId)).toEqual(
    ids.reverse().slice(0, exploration.candidatesMax),
  )
  expect(seen?.candidates[0]).toMatchObject({
    community: 'general',
    author: { name: 'mira', kind: 'human' },
    isQuestion: false,
    commentCount: 4,
    comments: [{ content: 'second' }, { content: 'third' }, { content: 'fourth' }],
  })
  expect(seen).toMatchObject({
    interests: ['vault'],
    minConfidence: 0.7,
    canPost: false,
    canComment: true,
  })

  await run('UPDATE activations SET started_at = 77 WHERE id = ?', activationId)
  await office.commit(scout.id as AccountId, activationId)
  expect(await office.first('SELECT passed_at FROM explorers')).toEqual({ passed_at: 77 })
})

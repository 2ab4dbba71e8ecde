import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { type Browser, signIn } from '../../web/open-pages'
import { createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
let browser: Browser

/** Inserts accounts `crowd-<from>` to `crowd-<to - 1>`. */
const insertAccounts = (from: number, to: number) =>
  env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - 1)
     INSERT INTO accounts (id, name, kind, created_at)
     SELECT printf('00000000-0000-7000-a000-%012d', i), 'crowd-' || i, 'human', 0 FROM n`,
  )
    .bind(from, to)
    .run()

beforeAll(async () => {
  const ada = await hub.join('ada', 'human')
  browser = await signIn(hub, ada.key)
  const scout = await hub.join('scout')
  await hub.host(scout.id)
  await insertAccounts(0, 2_000)
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19999)
     INSERT INTO posts (id, community_id, author_id, title, hot_rank, upvotes, created_at)
     SELECT printf('00000000-0000-7000-9000-%012d', i),
            (SELECT id FROM communities WHERE name = 'general'),
            printf('00000000-0000-7000-a000-%012d', i % 2000), 'Post ' || i, i % 97, i % 7, 1000 * i
     FROM n`,
  ).run()
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999)
     INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at)
     SELECT 'done-' || i, ?1, 'inbox', 'mention', 'done', 'granted', 'offline/extractive', 1, i, i FROM n`,
  )
    .bind(scout.id)
    .run()
  // The use of a key is stored once an hour; that is not part of a page.
  await env.DB.prepare('UPDATE api_keys SET last_used_at = ?').bind(hub.clock.now()).run()
})

const feeds = ['/', '/m/general'].flatMap((path) =>
  ['hot', 'new', 'top'].map((sort) => `${path}?sort=${sort}`),
)
const pages = [...feeds, '/a/crowd-7']

const costOf = async (path: string) => readCost((await browser.get(path)).headers)

test('H7: a page of posts reads the rows that it shows, however many accounts, posts and runs there are', async () => {
  const costs = new Map<string, { roundTrips: number; rowsRead: number }>()
  for (const path of pages) {
    const cost = await costOf(path)
    expect(cost.roundTrips, path).toBe(1)
    expect(cost.rowsRead, path).toBeLessThanOrEqual(132)
    costs.set(path, cost)
  }
  await insertAccounts(2_000, 4_000)
  for (const path of pages) expect(await costOf(path), path).toEqual(costs.get(path))
})

/**
 * The next page of `top` reads the tied rows of the page before it once more, for its key is an expression,
 * and 30 rows of the viewer and the header, however large the hub: whether the account waits for a claim or is
 * banned, in each statement that needs the viewer, whether it moderates, whether calls wait for its approval, whether a
 * community is closed, whether it is an admin, who sees the first steps, and, on a hub without a model's key in its
 * settings, whether a provider was set up, and the budget of replays beside that of the hub.
 */
const nextMax = (path: string) => (path.endsWith('sort=top') ? 157 : 133)

test.each(feeds)('H7: the next page of %s reads no more', async (path) => {
  const next = /href="([^"]*cursor=[^"]*)" rel="next"/.exec(await browser.read(path))?.[1]
  expect(next).toBeDefined()
  const cost = await costOf(next?.replaceAll('&amp;', '&') ?? '')
  expect(cost.rowsRead).toBeLessThanOrEqual(nextMax(path))
})

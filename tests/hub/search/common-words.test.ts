import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createConversationApi } from '../../../src/hub/api/hub-api'
import { createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>
let bo: typeof ada

/** More than `limits.search.candidatesMax`, so that a word of all posts is common. */
const POSTS = 12_000

/** Inserts posts: all have "harbor" in their text; every 600th has it in its title, every 100th has "lantern". */
const insertPosts = () =>
  env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${POSTS})
     INSERT INTO posts (id, community_id, author_id, title, content, created_at)
     SELECT 'post-' || i, (SELECT id FROM communities WHERE name = iif(i % 50 = 7, 'agent-status', 'general')),
       iif(i % 1000 = 13, ?2, ?1), iif(i % 600 = 0, 'Harbor ', 'Log ') || i,
       'The harbor was quiet' || iif(i % 100 = 0, ' and the lantern was lit', ''), i
     FROM n`,
  )
    .bind(ada.id, bo.id)
    .run()

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  bo = await hub.join('bo', 'human')
  await insertPosts()
})

async function search(query: string, key: string | null = null) {
  const { body, headers } = await hub.call(`/search?${query}`, { key })
  const ids: string[] = body.results.map(({ id }: { id: string }) => id)
  return { ...body, ids, cost: readCost(headers) }
}

const ROWS_MAX = 2_500

test('H8: common words find matches in the title, then the newest, and the answer says so; the rows read are bounded', async () => {
  const { ids, sorted_by, cost, next_cursor } = await search('q=harbor&type=posts')
  expect(ids).toHaveLength(20)
  expect(ids.slice(0, 2)).toEqual(['post-12000', 'post-11400'])
  expect(sorted_by).toBe('newest')
  expect(cost.roundTrips).toBe(1)
  expect(cost.rowsRead).toBeLessThan(ROWS_MAX)
  const next = await search(`q=harbor&type=posts&cursor=${next_cursor}`)
  expect(next.ids.slice(0, 2)).toEqual(['post-11999', 'post-11998'])
  const page = await (await hub.fetch('/search?q=harbor')).text()
  expect(page).toContain('post-12000')
  expect(page).toContain('All of these words are common')
})

test('H8: one rare word is enough to rank, and reads the rows of its matches only', async () => {
  const { ids, results, sorted_by, cost } = await search('q=harbor+lantern&type=posts&limit=10')
  expect(sorted_by).toBe('relevance')
  expect(ids).toContain('post-6600')
  expect(results[0].snippet).toMatch(/\u2068harbor\u2069.*\u2068lantern\u2069/)
  expect(cost.rowsRead).toBeLessThan(500)
})

test('H8: a community or an author chooses the documents that common words rank', async () => {
  const inCommunity = await search('q=harbor&community=agent-status&limit=50')
  expect(inCommunity.sorted_by).toBe('relevance')
  expect(inCommunity.ids).toHaveLength(50)
  expect(inCommunity.ids.every((id: string) => Number(id.slice(5)) % 50 === 7)).toBe(true)
  expect(inCommunity.cost.rowsRead).toBeLessThan(1_000)
  const ofBo = await search('q=harbor&author=BO')
  expect(ofBo.ids).toHaveLength(12)
  expect((await search('q=harbor&author=nobody')).ids).toEqual([])
  expect((await search('q=harbor&type=accounts')).ids).toEqual([])
})

test('H8: agents search any of the words; the rare ones choose, and only common ones are not ranked', async () => {
  const context = hub.context()
  const actor = {
    accountId: bo.id,
    name: 'bo',
    kind: 'agent',
    postId: null,
    activationId: null,
    idempotencyKey: null,
  } as const
  const ask = (text: string) =>
    createConversationApi(() => context).search(actor, { text, match: 'any', limit: 5 })
  const ranked = await ask('was the lantern in the harbor lit')
  expect(ranked.every(({ id }) => Number(id.slice(5)) % 100 === 0)).toBe(true)
  expect(ranked[0]?.isNewest).toBeUndefined()
  const common = await ask('harbor quiet')
  expect(common[0]).toMatchObject({ isNewest: true, id: 'post-12000' })
  expect(context.db.cost.rowsRead).toBeLessThan(3 * ROWS_MAX)
})

test('T21: common words find nothing in a private community for those who are not listed', async () => {
  const { body } = await hub.call('/communities', {
    key: ada.key,
    body: { name: 'cellar', visibility: 'private' },
  })
  expect(body.community.name).toBe('cellar')
  await hub.call('/posts', {
    key: ada.key,
    body: { community: 'cellar', title: 'Harbor plans', content: 'The harbor, in private.' },
  })
  expect((await search('q=harbor&type=posts', ada.key)).results[0].title).toBe('Harbor plans')
  await env.DB.prepare(
    `INSERT INTO posts (id, community_id, author_id, title, content, created_at)
     SELECT 'private-' || id, (SELECT id FROM communities WHERE name = 'cellar'), author_id, 'Harbor plans', content, 20000
     FROM posts WHERE id LIKE 'post-%' LIMIT 300`,
  ).run()
  for (const key of [bo.key, null]) {
    const titles = (await search('q=harbor&limit=50', key)).results.map(
      ({ title }: { title: string }) => title,
    )
    expect(titles).toHaveLength(50)
    expect(titles).not.toContain('Harbor plans')
    expect((await search('q=harbor&community=cellar', key)).ids).toEqual([])
  }
})

test('H8: the index keeps no copy of the texts, and follows edits and deletions', async () => {
  const { title, body } = (await env.DB.prepare(
    'SELECT title, body FROM search_index WHERE rowid = 4',
  ).first<{ title: string | null; body: string | null }>()) ?? { title: 'none' }
  expect([title, body]).toEqual([null, null])
  const frequency = async () => (await search('q=lantern&limit=50')).ids.length
  await env.DB.prepare("DELETE FROM comments WHERE post_id = 'post-100'").run()
  await env.DB.prepare(
    "UPDATE posts SET deleted_at = 1 WHERE seq % 200 = 0 AND id LIKE 'post-%'",
  ).run()
  expect(await frequency()).toBe(50)
  await env.DB.prepare(
    "UPDATE posts SET content = 'dark' WHERE id LIKE 'post-%' AND seq > 200",
  ).run()
  expect(await frequency()).toBe(1)
})

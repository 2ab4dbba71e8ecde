import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
     INSERT INTO posts (id, community_id, author_id, title, content, hot_rank, upvotes, created_at)
     SELECT printf('00000000-0000-7000-9000-%012d', i),
            (SELECT id FROM communities WHERE name = 'general'), ?1, 'Post ' || i, 'Words', i % 97, i % 7, 1000 * (i / 3)
     FROM n`,
  )
    .bind(ada.id)
    .run()
  await env.DB.prepare('UPDATE api_keys SET last_used_at = ?').bind(hub.clock.now()).run()
})

test.each(['new', 'hot', 'top'])(
  'H7: a page of %s costs one round trip, the viewer included, and rows of a page',
  async (sort) => {
    for (const path of [
      `/feed?sort=${sort}`,
      `/posts?sort=${sort}&community=general`,
      `/communities/general/feed?sort=${sort}`,
      `/posts?sort=new&author=ada`,
    ]) {
      const page = await hub.call(path, { key: ada.key })
      expect(page.body.posts).toHaveLength(25)
      const cost = readCost(page.headers)
      expect(cost.roundTrips).toBe(1)
      expect(cost.rowsRead).toBeLessThanOrEqual(100)
      const next = await hub.call(`${path}&cursor=${page.body.next_cursor}`, { key: ada.key })
      // Two of these rows say whether the viewer is banned, one whether a claim of the account waits.
      expect(readCost(next.headers).rowsRead).toBeLessThanOrEqual(112)
    }
  },
)

test.each(['new', 'hot', 'top'])('H7: the cursor of %s visits every post once', async (sort) => {
  const ids: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: { body: { posts: { id: string }[]; next_cursor: string | null } } = await hub.call(
      `/feed?sort=${sort}&limit=100&cursor=${cursor}`,
    )
    ids.push(...page.body.posts.map(({ id }) => id))
    cursor = page.body.next_cursor
  }
  expect(ids).toHaveLength(1000)
  expect(new Set(ids).size).toBe(1000)
})

test('H7: limit and offset work too', async () => {
  const all = await hub.call('/feed?sort=new&limit=6')
  const part = await hub.call('/feed?sort=new&limit=3&offset=3')
  expect(part.body.posts).toEqual(all.body.posts.slice(3))
})

test('H7: posts of a muted community stay out of the feed and in their community', async () => {
  await hub.call('/communities', { key: ada.key, body: { name: 'muted' } })
  await env.DB.prepare(`UPDATE communities SET is_muted = 1 WHERE name = 'muted'`).run()
  const { body } = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'm/muted', title: 'Quiet' },
  })
  const feed = await hub.call('/feed?sort=new&limit=5')
  expect(feed.body.posts.map(({ title }: { title: string }) => title)).not.toContain('Quiet')
  const own = await hub.call('/communities/muted/feed')
  expect(own.body.posts[0].id).toBe(body.post.id)
})

test('H7: of two posts with equal votes the newer is hotter', async () => {
  const older = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'Older' },
  })
  hub.clock.advance(60_000)
  const younger = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'Younger' },
  })
  const { body } = await hub.call('/feed?sort=hot&limit=2')
  expect(body.posts.map(({ id }: { id: string }) => id)).toEqual([
    younger.body.post.id,
    older.body.post.id,
  ])
})

test.each([
  'limit=0',
  'limit=101',
  'limit=x',
  'sort=best',
  'cursor=%%%',
  'cursor=abc',
  'offset=-1',
])('H7: %s returns 400 with the field', async (query) => {
  const { status, body } = await hub.call(`/feed?${query}`)
  expect(status).toBe(400)
  expect(body).toMatchObject({ success: false, code: 'VALIDATION' })
  expect(body.details[0].path).toBe(`query.${query.split('=')[0]}`)
})

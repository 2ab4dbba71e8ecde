import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
type Account = Awaited<ReturnType<typeof hub.join>>
let ada: Account
let bea: Account
let tom: Account

const set = (method: string, path: string, key: string, headers: Record<string, string> = {}) =>
  hub.call(path, { method, key, headers })
const postIn = async (community: string, title: string, author: Account) => {
  const body = { community, title, content: 'Words' }
  const made = await hub.call('/posts', { key: author.key, body })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body.post.id as string
}
const titles = async (path: string, key: string) => {
  const { body, status } = await hub.call(path, { key })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.posts.map(({ title }: { title: string }) => title)
}

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  bea = await hub.join('bea', 'human')
  tom = await hub.join('tom', 'human')
  for (const [name, visibility] of [
    ['garden', 'public'],
    ['kitchen', 'public'],
    ['cellar', 'private'],
  ]) {
    await hub.call('/communities', { key: bea.key, body: { name, visibility } })
  }
})

describe('H7: following and subscribing', () => {
  test('H6: each counts once, says what it did, and an idempotency key gives the first answer again', async () => {
    const subscribe = '/communities/garden/subscription'
    const all = await Promise.all(Array.from({ length: 8 }, () => set('PUT', subscribe, ada.key)))
    expect(all.filter(({ body }) => body.has_changed)).toHaveLength(1)
    expect(all.filter(({ body }) => body.is_subscribed && !body.has_changed)).toHaveLength(7)
    const shown = await hub.call('/communities/garden', { key: ada.key })
    expect(shown.body).toMatchObject({ is_subscribed: true, community: { subscriber_count: 1 } })
    expect((await hub.call('/communities/garden', { key: tom.key })).body.is_subscribed).toBe(false)

    const follow = '/accounts/Bea/follow'
    const key = { 'idempotency-key': 'follow-1' }
    const first = await set('PUT', follow, ada.key, key)
    expect(first.body).toMatchObject({
      is_following: true,
      has_changed: true,
      account: { name: 'bea' },
    })
    const again = await set('PUT', follow, ada.key, key)
    expect([again.body, again.headers.get('idempotent-replay')]).toEqual([first.body, 'true'])
    expect((await set('PUT', follow, ada.key)).body.has_changed).toBe(false)
    const profile = await hub.call('/accounts/bea', { key: ada.key })
    expect(profile.body.account).toMatchObject({
      follower_count: 1,
      following_count: 0,
      is_following: true,
    })
    expect(readCost(profile.headers).roundTrips).toBe(1)

    expect((await set('DELETE', follow, ada.key)).body.has_changed).toBe(true)
    expect((await set('DELETE', follow, ada.key)).body.has_changed).toBe(false)
    expect((await set('PUT', follow, ada.key)).body.has_changed).toBe(true)
    expect((await hub.call('/accounts/bea')).body.account).toMatchObject({
      follower_count: 1,
      is_following: false,
    })
    const inbox = await hub.call('/inbox', { key: bea.key })
    const seen = inbox.body.items.filter(({ type }: { type: string }) => type === 'follow')
    expect(seen).toEqual([
      expect.objectContaining({ from: expect.objectContaining({ name: 'ada' }) }),
    ])
    expect(hub.seen.woken).toEqual([])

    expect((await set('PUT', '/accounts/ada/follow', ada.key)).status).toBe(400)
    expect((await set('PUT', '/accounts/nobody/follow', ada.key)).status).toBe(404)
    expect((await set('PUT', '/communities/cellar/subscription', ada.key)).status).toBe(404)
  })

  test('H7: the own feed has what one follows, in every order, page by page, in one round trip', async () => {
    for (let index = 0; index < 6; index++) {
      hub.clock.advance(1000)
      await postIn('garden', `plant ${index}`, tom)
      await postIn('kitchen', `dish ${index}`, tom)
      await postIn('kitchen', `by bea ${index}`, bea)
    }
    const expected = Array.from({ length: 6 }, (_, index) => [`plant ${index}`, `by bea ${index}`])
    for (const sort of ['new', 'hot', 'top', 'rising']) {
      const path = `/feed?filter=following&sort=${sort}`
      const all = await titles(path, ada.key)
      expect([...all].sort(), sort).toEqual(expected.flat().sort())
      const found: string[] = []
      let cursor = ''
      do {
        const page = await hub.call(`${path}&limit=5&cursor=${cursor}`, { key: ada.key })
        expect(readCost(page.headers).roundTrips).toBe(1)
        found.push(...page.body.posts.map(({ title }: { title: string }) => title))
        cursor = page.body.next_cursor ?? ''
      } while (cursor !== '')
      expect(found, sort).toEqual(all)
      expect(await titles(`${path}&limit=3&offset=3`, ada.key)).toEqual(all.slice(3, 6))
    }
    expect(await titles('/feed?filter=following', tom.key)).toEqual([])
    expect(await titles('/feed?filter=all', tom.key)).toHaveLength(18)
    expect((await hub.call('/feed?filter=following')).status).toBe(401)
    expect((await hub.call('/feed?filter=mine', { key: ada.key })).status).toBe(400)
  })

  test('T21: a subscription shows nothing of a community that one reads no longer, and still ends', async () => {
    await hub.call('/communities/cellar/members/tom', { method: 'PUT', key: bea.key, body: {} })
    expect((await set('PUT', '/communities/cellar/subscription', tom.key)).body.is_subscribed).toBe(
      true,
    )
    await postIn('cellar', 'a secret', bea)
    expect(await titles('/feed?filter=following', tom.key)).toEqual(['a secret'])
    await hub.call('/communities/cellar/members/tom', { method: 'DELETE', key: bea.key })
    expect(await titles('/feed?filter=following', tom.key)).toEqual([])
    expect((await hub.call('/home', { key: tom.key })).body.posts_from_accounts_you_follow).toEqual(
      {
        posts: [],
      },
    )
    expect(
      (await set('DELETE', '/communities/cellar/subscription', tom.key)).body.has_changed,
    ).toBe(true)
    expect((await set('DELETE', '/communities/cellar/subscription', tom.key)).status).toBe(404)
  })

  test('H7: GET /home says in one round trip what is new and what to do next', async () => {
    const mine = await postIn('garden', 'mine', ada)
    for (const author of [bea, tom]) {
      await hub.call(`/posts/${mine}/comments`, { key: author.key, body: { content: 'Nice.' } })
    }
    const { body, headers } = await hub.call('/home', { key: ada.key })
    expect(readCost(headers).roundTrips).toBe(1)
    expect(body).toMatchObject({
      your_account: { name: 'ada', karma: 0, unread_notification_count: 2 },
      activity_on_your_posts: [
        {
          post_id: mine,
          post_title: 'mine',
          community: { name: 'garden' },
          new_notification_count: 2,
        },
      ],
      your_direct_messages: { pending_request_count: 0, unread_message_count: 0 },
    })
    expect(body.posts_from_accounts_you_follow.posts).toHaveLength(10)
    expect(body.what_to_do_next[0]).toContain(`/posts/${mine}/comments`)
    expect((await hub.call('/home')).status).toBe(401)
  })

  test('H7: a subscription limit is exact, and a deleted account follows and counts no more', async () => {
    await env.DB.prepare(
      `INSERT INTO accounts (id, name, kind, created_at)
       SELECT 'x-' || value, 'crowd-' || value, 'human', 0 FROM json_each(?1)`,
    )
      .bind(JSON.stringify(Array.from({ length: 200 }, (_, index) => index)))
      .run()
    await env.DB.prepare(
      `INSERT INTO follows (account_id, followed_id, created_at) SELECT ?1, id, 0 FROM accounts WHERE id LIKE 'x-%' LIMIT 199`,
    )
      .bind(tom.id)
      .run()
    await hub.join('wren')
    const two = await Promise.all(
      ['ada', 'bea'].map((name) => set('PUT', `/accounts/${name}/follow`, tom.key)),
    )
    expect(two.filter(({ body }) => body.is_following)).toHaveLength(1)
    const refused = two.find(({ status }) => status !== 200)
    expect([refused?.status, refused?.body.code]).toEqual([409, 'CONFLICT'])
    const third = await set('PUT', '/accounts/wren/follow', tom.key)
    expect(third.body.error).toBe('You follow 200 accounts.')
    await set('PUT', '/communities/garden/subscription', tom.key)
    const counts = () =>
      env.DB.prepare(
        `SELECT (SELECT subscriber_count FROM communities WHERE name = 'garden') AS subscribers,
         (SELECT sum(follower_count) FROM accounts WHERE name IN ('ada', 'bea')) AS followers`,
      ).first()
    expect(await counts()).toEqual({ subscribers: 2, followers: 2 })
    const gone = await hub.call('/accounts/tom?words=remove', { method: 'DELETE', key: adminKey })
    expect(gone.status, JSON.stringify(gone.body)).toBeLessThan(300)
    expect(await counts()).toEqual({ subscribers: 1, followers: 1 })
    const left = await env.DB.prepare('SELECT count(*) AS n FROM follows WHERE account_id = ?1')
      .bind(tom.id)
      .first()
    expect(left).toEqual({ n: 0 })
  })
})

describe('H7: the order "rising"', () => {
  test('H7: ranks what is young and answered first, pages by number, and reads a bounded number of rows', async () => {
    const community = `(SELECT id FROM communities WHERE name = 'kitchen')`
    hub.clock.advance(72 * 3_600_000)
    const now = hub.clock.now()
    await env.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
       INSERT INTO posts (id, community_id, author_id, title, upvotes, comment_count, hot_rank, created_at)
       SELECT printf('00000000-0000-7000-9000-%012d', i), ${community}, ?1, 'old ' || i, 50, 0, 0, ?2 - 86400000 - i FROM n`,
    )
      .bind(bea.id, now)
      .run()
    const young = await postIn('kitchen', 'young', bea)
    await hub.call(`/posts/${young}/vote`, { key: ada.key, method: 'PUT', body: { value: 1 } })
    await env.DB.prepare('UPDATE api_keys SET last_used_at = ?').bind(hub.clock.now()).run()
    for (const path of ['/feed?', '/posts?community=kitchen&', '/communities/kitchen/feed?']) {
      const page = await hub.call(`${path}sort=rising`, { key: ada.key })
      expect(page.body.posts[0].title, path).toBe('young')
      const { rowsRead, roundTrips } = readCost(page.headers)
      expect([roundTrips, rowsRead < 1_000], `${path} ${rowsRead}`).toEqual([1, true])
      const next = await hub.call(`${path}sort=rising&cursor=${page.body.next_cursor}`)
      const both = [...page.body.posts, ...next.body.posts].map(({ id }) => id)
      expect(new Set(both).size).toBe(50)
    }
    const own = await hub.call('/feed?filter=following&sort=new&limit=25', { key: ada.key })
    expect(own.body.posts).toHaveLength(25)
    expect(readCost(own.headers).rowsRead).toBeLessThan(400)
  })
})

import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { createPost } from '../../../src/hub/posts/actions'
import { createTestHub } from '../create-test-hub'
import { markWatched } from '../live/mark-watched'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>
let bob: typeof ada
let scout: typeof ada
let wren: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  bob = await hub.join('bob', 'human')
  scout = await hub.join('scout')
  wren = await hub.join('wren')
  await hub.host(scout.id)
  await hub.host(wren.id)
})

beforeEach(() => {
  hub.clock.advance(1000)
  Object.assign(hub.seen, {
    woken: [],
    armed: 0,
    disarmed: [],
    published: [],
    wake: async () => {},
  })
})

const post = async (key: string, content: string, headers = {}) => {
  const answer = await hub.call('/posts', {
    key,
    body: { community: 'general', title: 'A question', content },
    headers,
  })
  return answer.body.post?.id as string
}
const comment = async (key: string, postId: string, content: string, parentId?: string) => {
  const answer = await hub.call(`/posts/${postId}/comments`, {
    key,
    body: { content, parent_id: parentId ?? null },
  })
  return answer.body.comment?.id as string
}
const items = async (postId: string) => {
  const { results } = await env.DB.prepare(
    'SELECT account_id AS account, type, is_task AS isTask, comment_id AS commentId FROM inbox_items WHERE post_id = ? ORDER BY rowid',
  )
    .bind(postId)
    .all()
  return results
}

test('H5: a mention in a post is a task for a hosted agent, which is woken once', async () => {
  const id = await post(ada.key, 'Hello @Scout, and @scout again, and @bob')
  expect(await items(id)).toEqual([
    { account: scout.id, type: 'mention', isTask: 1, commentId: null },
    { account: bob.id, type: 'mention', isTask: 0, commentId: null },
  ])
  expect(hub.seen.woken).toEqual([scout.id])
  expect(hub.seen.armed).toBe(1)
  expect(hub.seen.disarmed).toEqual([1])
})

test('H5: whoever writes is answered before an agent starts to work', async () => {
  const author = { accountId: ada.id, name: ada.name, kind: 'human' as const, activationId: null }
  const actor = { ...author, idempotencyKey: null, postId: null }
  const text = { community: 'general', title: 'A question', content: '@scout?' }
  await createPost(hub.context(), actor, text)
  await Promise.resolve()
  expect(hub.seen.woken).toEqual([])
  await expect.poll(() => hub.seen.disarmed).toEqual([1])
  expect(hub.seen.woken).toEqual([scout.id])
})

test('H5: the sweep stays armed when a wake-up got lost', async () => {
  hub.seen.wake = async () => {
    throw new Error('the machine died')
  }
  await post(ada.key, '@scout?')
  expect(hub.seen.armed).toBe(1)
  expect(hub.seen.disarmed).toEqual([])
})

test('H5: a message that can wake no agent does not arm the sweep', async () => {
  const id = await post(ada.key, 'Nobody in particular')
  await comment(bob.key, id, 'Me neither')
  expect(hub.seen.armed).toBe(0)
  expect(await items(id)).toMatchObject([{ account: ada.id, type: 'comment', isTask: 0 }])
})

test('H5: a person who answers an agent gives it a task; an agent who answers does not (H11)', async () => {
  const id = await post(scout.key, 'I found something')
  const first = await comment(ada.key, id, 'Tell me more')
  await comment(wren.key, id, 'Nice find')
  const own = await comment(scout.key, id, 'More', first)
  await comment(bob.key, id, 'And then?', own)
  expect((await items(id)).map(({ account, type, isTask }) => [account, type, isTask])).toEqual([
    [scout.id, 'reply', 1],
    [scout.id, 'comment', 0],
    [ada.id, 'reply', 0],
    [scout.id, 'reply', 1],
  ])
  expect(hub.seen.woken).toEqual([scout.id, scout.id])
})

test('H5: an agent that mentions another gives it a task, and itself none', async () => {
  const id = await post(wren.key, '@scout @wren look')
  expect(await items(id)).toMatchObject([{ account: scout.id, type: 'mention', isTask: 1 }])
})

test('H5: a reply that also mentions the author notifies once, as a mention', async () => {
  const id = await post(ada.key, 'Question')
  await comment(bob.key, id, '@ada here')
  expect(await items(id)).toMatchObject([{ account: ada.id, type: 'mention' }])
})

test('H4: of many names the first ten accounts are notified', async () => {
  const known = await Promise.all(Array.from({ length: 12 }, (_, i) => hub.join(`flock-${i}`)))
  const names = known.map(({ name }) => `@nobody-${name} @${name}`).join(' ')
  const id = await post(ada.key, names)
  expect((await items(id)).map(({ account }) => account)).toEqual(
    known.slice(0, 10).map((account) => account.id),
  )
})

test('H6: the same key gives the first answer again and sends no second notification', async () => {
  const headers = { 'idempotency-key': 'once-1' }
  const body = { community: 'general', title: 'Once', content: '@scout' }
  const [one, two] = [
    await hub.call('/posts', { key: ada.key, body, headers }),
    await hub.call('/posts', { key: ada.key, body, headers }),
  ]
  expect(one.status).toBe(201)
  expect(two.status).toBe(201)
  expect(two.body).toEqual(one.body)
  expect(two.headers.get('idempotent-replay')).toBe('true')
  expect(await items(one.body.post.id)).toHaveLength(1)
  const other = await hub.call('/posts', {
    key: ada.key,
    body: { ...body, title: 'Other' },
    headers,
  })
  expect(other).toMatchObject({ status: 409, body: { code: 'IDEMPOTENCY_CONFLICT' } })
  const stranger = await hub.call('/posts', { key: bob.key, body, headers })
  expect(stranger.status).toBe(201)
})

test.each([
  ['locked', 'UPDATE posts SET is_locked = 1 WHERE id = ?'],
  ['gone', 'UPDATE posts SET deleted_at = 1 WHERE id = ?'],
])('H6: the same key answers a comment again when the thread is %s', async (what, sql) => {
  const id = await post(ada.key, 'A thread')
  const headers = { 'idempotency-key': `comment-${what}` }
  const send = (content: string) =>
    hub.call(`/posts/${id}/comments`, { key: bob.key, body: { content }, headers })
  const first = await send('Here')
  await env.DB.prepare(sql).bind(id).run()
  const again = await send('Here')
  expect([again.status, again.body]).toEqual([201, first.body])
  expect(again.headers.get('idempotent-replay')).toBe('true')
  expect((await send('There')).body.code).toBe('IDEMPOTENCY_CONFLICT')
})

test('H6: twenty of the same at once write one post', async () => {
  const headers = { 'idempotency-key': 'once-20' }
  const body = { community: 'general', title: 'At once' }
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => hub.call('/posts', { key: ada.key, body, headers })),
  )
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([201]))
  expect(new Set(answers.map((answer) => answer.body.post.id)).size).toBe(1)
})

test('H5: watchers of a thread receive a new comment', async () => {
  const id = await post(ada.key, 'Live')
  await markWatched(id)
  const commentId = await comment(bob.key, id, 'Here')
  expect(hub.seen.published).toContainEqual({
    topic: `post:${id}`,
    event: { type: 'comment', id: commentId, post_id: id },
  })
})

test('H5: the inbox lists, counts and marks read, and keeps the open tasks of an agent', async () => {
  const id = await post(ada.key, '@bob @scout')
  const mine = await hub.call('/inbox?unread=true', { key: bob.key })
  expect(mine.body.items[0]).toMatchObject({
    type: 'mention',
    post_id: id,
    from: { id: ada.id, name: 'ada', kind: 'human' },
    is_read: false,
  })
  const count = await hub.call('/inbox/count', { key: bob.key })
  expect(count.body.unread_count).toBe(mine.body.unread_count)
  await hub.call('/inbox/read', { key: bob.key, body: { post_id: id } })
  await hub.call('/inbox/read', { key: scout.key, body: { all: true } })
  const after = await hub.call('/inbox/count', { key: bob.key })
  expect(after.body.unread_count).toBe(mine.body.unread_count - 1)
  const tasks = await env.DB.prepare(
    'SELECT count(*) AS n FROM inbox_items WHERE account_id = ? AND is_task = 1 AND read_at IS NULL',
  )
    .bind(scout.id)
    .first('n')
  expect(tasks).toBeGreaterThan(0)
  expect(await hub.call('/inbox')).toMatchObject({ status: 401 })
})

import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { computeHotRank } from '../../../src/hub/rules/hot-rank'
import { signIn } from '../../web/open-pages'
import { createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
let people = 0
type Person = Awaited<ReturnType<typeof hub.join>>
let ada: Person
let bob: Person
let postId: string
let commentId: string

beforeEach(async () => {
  ada = await hub.join(`ada${++people}`, 'human')
  bob = await hub.join(`bob${people}`, 'agent')
  const posted = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'Vote on me' },
  })
  postId = posted.body.post.id
  const said = await hub.call(`/posts/${postId}/comments`, {
    key: ada.key,
    body: { content: 'And on me.' },
  })
  commentId = said.body.comment.id
})

const vote = (path: string, person: Person, value: unknown, headers = {}) =>
  hub.call(`${path}/vote`, { method: 'PUT', key: person.key, body: { value }, headers })
const karmaOf = async ({ id }: Person): Promise<number | null> =>
  env.DB.prepare('SELECT karma FROM accounts WHERE id = ?').bind(id).first<number>('karma')
const votesOf = async (path: string) => {
  const { body } = await hub.call(path)
  const { upvotes, downvotes, score } = body.post ?? body.comment
  return [upvotes, downvotes, score]
}
const itemsOf = async (person: Person) => {
  const { body } = await hub.call('/inbox?unread=true', { key: person.key })
  return body.items.filter((item: { type: string }) => item.type === 'vote')
}

test('H6: a vote is set, changed and removed', async () => {
  for (const path of [`/posts/${postId}`, `/comments/${commentId}`]) {
    const karma = (await karmaOf(ada)) ?? 0
    const answers = [
      await vote(`${path}`, bob, 1),
      await vote(`${path}`, bob, 1),
      await vote(`${path}`, bob, -1),
      await vote(`${path}`, bob, 0),
      await vote(`${path}`, bob, -1),
    ]
    expect(answers.map(({ status, body: { vote } }) => [status, vote.value, vote.score])).toEqual([
      [200, 1, 1],
      [200, 1, 1],
      [200, -1, -1],
      [200, 0, 0],
      [200, -1, -1],
    ])
    expect(await votesOf(path)).toEqual([0, 1, -1])
    expect(await karmaOf(ada)).toBe(karma - 1)
  }
})

test('H6: 20 concurrent identical votes change karma by one', async () => {
  const karma = (await karmaOf(ada)) ?? 0
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => vote(`/posts/${postId}`, bob, 1)),
  )
  expect(new Set(answers.map(({ body }) => body.vote.value))).toEqual(new Set([1]))
  expect(await karmaOf(ada)).toBe(karma + 1)
  expect(await votesOf(`/posts/${postId}`)).toEqual([1, 0, 1])
  await Promise.all(Array.from({ length: 20 }, () => vote(`/posts/${postId}`, bob, -1)))
  expect(await karmaOf(ada)).toBe(karma - 1)
})

test('H1: votes of people and agents have the same weight', async () => {
  const cleo = await hub.join(`cleo${people}`, 'human')
  await vote(`/posts/${postId}`, bob, 1)
  await vote(`/posts/${postId}`, cleo, 1)
  expect(await votesOf(`/posts/${postId}`)).toEqual([2, 0, 2])
})

test('H6: the same Idempotency-Key returns the first answer again; with another vote it is a conflict', async () => {
  const key = { 'idempotency-key': `votes-${people}` }
  const first = await vote(`/posts/${postId}`, bob, 1, key)
  await vote(`/posts/${postId}`, bob, 0)
  const again = await vote(`/posts/${postId}`, bob, 1, key)
  expect(again.headers.get('idempotent-replay')).toBe('true')
  expect(again.body).toEqual(first.body)
  expect(await votesOf(`/posts/${postId}`)).toEqual([0, 0, 0])
  expect((await vote(`/posts/${postId}`, bob, -1, key)).status).toBe(409)
})

test('H6: the same key answers a vote again after its post was deleted', async () => {
  const key = { 'idempotency-key': `gone-${people}` }
  const first = await vote(`/posts/${postId}`, bob, 1, key)
  await hub.call(`/posts/${postId}`, { method: 'DELETE', key: ada.key })
  const again = await vote(`/posts/${postId}`, bob, 1, key)
  expect([again.status, again.body]).toEqual([200, first.body])
  expect((await vote(`/posts/${postId}`, bob, -1, key)).status).toBe(409)
})

test('H6: a vote on one’s own post, on an unknown post or with another value is refused', async () => {
  expect((await vote(`/posts/${postId}`, ada, 1)).status).toBe(400)
  expect((await vote(`/comments/${commentId}`, ada, -1)).status).toBe(400)
  expect((await vote('/posts/nothing', bob, 1)).status).toBe(404)
  expect((await vote('/comments/nothing', bob, 1)).status).toBe(404)
  for (const value of [2, 0.5, '1', null]) {
    expect((await vote(`/posts/${postId}`, bob, value)).status).toBe(400)
  }
  expect(
    (await hub.call(`/posts/${postId}/vote`, { method: 'PUT', body: { value: 1 } })).status,
  ).toBe(401)
  await hub.call(`/posts/${postId}`, { method: 'DELETE', key: ada.key })
  expect((await vote(`/posts/${postId}`, bob, 1)).status).toBe(404)
  expect((await vote(`/comments/${commentId}`, bob, 1)).status).toBe(404)
  expect(await karmaOf(ada)).toBe(0)
})

test('H7: a vote moves the post in hot, as the formula defines', async () => {
  const others = await Promise.all(
    Array.from({ length: 11 }, (_, index) => hub.join(`fan${people}-${index}`)),
  )
  const { createdAt } = (await env.DB.prepare(
    'SELECT created_at AS createdAt FROM posts WHERE id = ?',
  )
    .bind(postId)
    .first<{ createdAt: number }>()) ?? { createdAt: 0 }
  const rank = () =>
    env.DB.prepare('SELECT hot_rank FROM posts WHERE id = ?').bind(postId).first<number>('hot_rank')
  for (const [index, person] of others.entries()) {
    await vote(`/posts/${postId}`, person, 1)
    expect(await rank()).toBeCloseTo(computeHotRank(index + 1, createdAt), 9)
  }
  for (const person of others) await vote(`/posts/${postId}`, person, -1)
  expect(await rank()).toBeCloseTo(computeHotRank(-11, createdAt), 9)
})

test('H5: votes on one post are one inbox item until it is read, without the names of voters', async () => {
  const cleo = await hub.join(`cleo${people}`)
  await vote(`/posts/${postId}`, bob, 1)
  await vote(`/posts/${postId}`, bob, 1)
  await vote(`/posts/${postId}`, cleo, -1)
  await vote(`/comments/${commentId}`, cleo, 1)
  const items = await itemsOf(ada)
  expect(items).toHaveLength(2)
  const ofPost = items.find((item: { comment_id: string | null }) => item.comment_id === null)
  expect(ofPost).toMatchObject({
    post_id: postId,
    from: null,
    content: 'Score 0: 1 up, 1 down',
  })
  await hub.call('/inbox/read', { key: ada.key, body: { all: true } })
  await vote(`/posts/${postId}`, cleo, 0)
  expect(await itemsOf(ada)).toEqual([])
  await vote(`/posts/${postId}`, cleo, 1)
  expect(await itemsOf(ada)).toHaveLength(1)
})

test('H6: the buttons of a page work without a script, show the own vote and redirect back', async () => {
  const browser = await signIn(hub, bob.key)
  const press = (fields: Record<string, string>) => browser.send(`/p/${postId}/vote`, fields)
  expect(await browser.read(`/p/${postId}`)).toContain('aria-pressed="false"')
  const next = `/p/${postId}#c-${commentId}`
  const pressed = await press({ value: '1', comment_id: commentId, next })
  expect([pressed.status, pressed.headers.get('location')]).toEqual([303, next])
  await press({ value: '1', next: '/' })
  for (const path of [`/p/${postId}`, '/?sort=new', '/m/general?sort=new', `/a/${ada.name}`]) {
    const page = await browser.get(path)
    expect(await page.text()).toMatch(/name="value" value="0" aria-pressed="true"/)
    expect(readCost(page.headers).roundTrips).toBe(1)
  }
  expect(await votesOf(`/comments/${commentId}`)).toEqual([1, 0, 1])
  await press({ value: '0', next: '/' })
  expect(await votesOf(`/posts/${postId}`)).toEqual([0, 0, 0])
  expect((await press({ value: '7' })).status).toBe(400)
  const away = await press({ value: '1', next: '//evil.example/' })
  expect(away.headers.get('location')).toBe('/')
})

test('H6: a viewer who may not vote sees the score without buttons', async () => {
  const own = await signIn(hub, ada.key)
  for (const html of [
    await own.read(`/p/${postId}`),
    await (await hub.fetch(`/p/${postId}`)).text(),
  ]) {
    expect(html).toContain('class="points"')
    expect(html).not.toContain('aria-pressed')
  }
})

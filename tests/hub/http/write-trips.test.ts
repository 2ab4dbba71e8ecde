import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createConversationApi } from '../../../src/hub/api/hub-api'
import type { PostId } from '../../../src/shared/ids'
import { form, signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
type Person = Awaited<ReturnType<typeof hub.join>>
let ada: Person
let bob: Person
let scout: Person
let postId: string
let commentId: string
let secretId: string

const post = async (content: string, community = 'general', key = ada.key) =>
  hub.call('/posts', { key, body: { community, title: 'Herons', content } })
const comment = (key: string, body: object, id = postId) =>
  hub.call(`/posts/${id}/comments`, { key, body })

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  bob = await hub.join('bob', 'human')
  scout = await hub.join('scout')
  await hub.host(scout.id)
  postId = (await post('What do they eat?')).body.post.id
  commentId = (await comment(ada.key, { content: 'Fish.' })).body.comment.id
  const cellar = { name: 'cellar', visibility: 'private' }
  await hub.call('/communities', { key: ada.key, body: cellar })
  secretId = (await post('Not for all', 'cellar')).body.post.id
})

/** One of every frequent write, as bob sends it. */
const writes = (): Record<string, { path: string; body?: object; method?: string }> => ({
  post: { path: '/posts', body: { community: 'general', title: 'A heron' } },
  comment: { path: `/posts/${postId}/comments`, body: { content: 'Frogs.' } },
  reply: {
    path: `/posts/${postId}/comments`,
    body: { content: 'And frogs.', parent_id: commentId },
  },
  'vote on a post': { path: `/posts/${postId}/vote`, method: 'PUT', body: { value: 1 } },
  'vote on a comment': {
    path: `/comments/${commentId}/vote`,
    method: 'PUT',
    body: { value: -1 },
  },
  follow: { path: '/accounts/ada/follow', method: 'PUT' },
  unfollow: { path: '/accounts/ada/follow', method: 'DELETE' },
  subscribe: { path: '/communities/general/subscription', method: 'PUT' },
  unsubscribe: { path: '/communities/general/subscription', method: 'DELETE' },
  message: { path: '/conversations', body: { to: 'ada', content: 'Hello' } },
})

const countRows = async (): Promise<unknown> =>
  env.DB.prepare(
    `SELECT (SELECT count(*) FROM posts) AS posts, (SELECT count(*) FROM comments) AS comments,
      (SELECT count(*) FROM votes) AS votes, (SELECT count(*) FROM follows) AS follows,
      (SELECT count(*) FROM subscriptions) AS subscriptions, (SELECT count(*) FROM direct_messages) AS messages`,
  ).first()

describe('a write is two round trips: its caller with what it reads, and what it writes', () => {
  // The use of a key is stored once an hour, after the answer.
  beforeAll(() => hub.call('/me', { key: bob.key }))

  test('through the API', async () => {
    const trips: Record<string, number> = {}
    for (const [name, { path, ...sent }] of Object.entries(writes())) {
      const answer = await hub.call(path, { key: bob.key, ...sent })
      expect(answer.status, name).toBeLessThan(300)
      trips[name] = readCost(answer.headers).roundTrips
    }
    expect(trips).toEqual(Object.fromEntries(Object.keys(trips).map((name) => [name, 2])))
    expect(Object.keys(trips)).toHaveLength(10)
  })

  test('with an Idempotency-Key, for what stores its answer with what it writes', async () => {
    for (const name of ['post', 'comment', 'vote on a post']) {
      const { path, ...sent } = writes()[name] ?? { path: '' }
      const headers = { 'idempotency-key': `two-trips ${name}` }
      const answer = await hub.call(path, { key: bob.key, ...sent, headers })
      expect([answer.status < 300, readCost(answer.headers).roundTrips], name).toEqual([true, 2])
    }
  })

  test('through the forms of pages', async () => {
    const browser = await signIn(hub, bob.key)
    await browser.get('/settings')
    const forms: [string, Record<string, string>][] = [
      ['/posts-new', { community: 'general', title: 'A heron', content: '' }],
      [`/p/${postId}/comments`, { content: 'Newts.', parent_id: commentId }],
      [`/p/${postId}/vote`, { value: '-1', next: '/' }],
      ['/a/ada/follow', { on: 'yes' }],
      ['/m/general/subscribe', { on: 'yes' }],
    ]
    for (const [path, fields] of forms) {
      const response = await browser.send(path, fields)
      expect([response.status, readCost(response.headers).roundTrips], path).toEqual([303, 2])
    }
  })

  test('of a tool, whose caller is known', async () => {
    const context = hub.context()
    const api = createConversationApi(() => context)
    const actor = {
      accountId: scout.id,
      name: scout.name,
      kind: 'agent' as const,
      activationId: null,
      idempotencyKey: null,
      postId: null,
    }
    await api.createComment(actor, { postId: postId as PostId, parentId: null, content: 'Eels.' })
    expect(context.db.cost.roundTrips).toBe(2)
    await api.vote(actor, { kind: 'post', id: postId }, 1)
    expect(context.db.cost.roundTrips).toBe(4)
  })

  test('a writer stays the author that the API and the database name', async () => {
    await env.DB.prepare(`UPDATE accounts SET display_name = 'Bob B.' WHERE id = ?`)
      .bind(bob.id)
      .run()
    const posted = await post('By bob', 'general', bob.key)
    const { id } = posted.body.post
    expect(posted.body.post).toEqual((await hub.call(`/posts/${id}`)).body.post)
    expect(posted.body.post.author).toMatchObject({ name: 'bob', display_name: 'Bob B.' })
    const said = await comment(bob.key, { content: 'Also by bob' }, id)
    const stored = await hub.call(`/comments/${said.body.comment.id}`)
    expect(said.body.comment).toEqual(stored.body.comment)
  })
})

describe('what a write reads is told to nobody who may not send it', () => {
  interface Refused {
    key: string | null
    headers?: Record<string, string>
    code: string
    trips: number
  }
  const callers: Record<string, () => Promise<Refused>> = {
    'without a key': async () => ({ key: null, code: 'UNAUTHORIZED', trips: 0 }),
    'with a wrong key': async () => ({ key: 'rk_wrong', code: 'UNAUTHORIZED', trips: 1 }),
    'from another site': async () => {
      const { cookie } = await signIn(hub, ada.key)
      const headers = { cookie, 'sec-fetch-site': 'cross-site' }
      return { key: null, headers, code: 'FORBIDDEN', trips: 0 }
    },
    'with a key that only reads': async () => {
      const { key } = await hub.join('eve', 'human')
      await env.DB.prepare(
        `UPDATE api_keys SET scopes = '["read"]' WHERE account_id = (SELECT id FROM accounts WHERE name = 'eve')`,
      ).run()
      return { key, code: 'FORBIDDEN', trips: 1 }
    },
    banned: async () => restrict('fay', 'ban', 'BANNED'),
    muted: async () => restrict('gil', 'mute', 'MUTED'),
    disabled: async () => {
      const { key, id } = await hub.join('hal', 'human')
      await env.DB.prepare('UPDATE accounts SET disabled_at = 1 WHERE id = ?').bind(id).run()
      return { key, code: 'ACCOUNT_DISABLED', trips: 1 }
    },
    unclaimed: async () => {
      const { key, id } = await hub.join('ivy')
      await env.DB.prepare(
        `INSERT INTO claims (account_id, hash, created_at, expires_at) VALUES (?, 'x', 0, ?)`,
      )
        .bind(id, hub.clock.now() + 1e9)
        .run()
      return { key, code: 'PENDING_CLAIM', trips: 1 }
    },
  }

  async function restrict(name: string, kind: 'ban' | 'mute', code: string): Promise<Refused> {
    const { key } = await hub.join(name, 'human')
    const body = { kind, reason: 'Spam' }
    expect((await hub.call(`/accounts/${name}/bans`, { key: adminKey, body })).status).toBe(201)
    return { key, code, trips: 1 }
  }

  /** Writes where something is found, where it is private, where nothing is, and with a wrong body. */
  const attempts = (): [string, unknown][] => [
    ...['general', 'cellar', 'nowhere'].map((community): [string, unknown] => [
      '/posts',
      { community, title: 'x' },
    ]),
    ...[postId, secretId, 'none'].map((id): [string, unknown] => [
      `/posts/${id}/comments`,
      { content: 'x' },
    ]),
    ['/posts', { community: 'general' }],
    ['/posts', '{"community"'],
    ['/conversations', { to: 'ada', content: 'x' }],
    ['/accounts/ada/follow', undefined],
  ]

  test.each(Object.keys(callers))('a caller %s', async (name) => {
    const {
      key,
      headers = {},
      code,
      trips,
    } = (await callers[name]?.()) ?? {
      key: null,
      code: '',
      trips: 0,
    }
    const before = await countRows()
    const answers = []
    for (const [path, body] of attempts()) {
      const method = path.endsWith('/follow') ? 'PUT' : 'POST'
      const sent = await hub.call(path, { method, key, body, headers })
      answers.push({ code: sent.body.code, text: sent.body.error })
      expect(readCost(sent.headers).roundTrips, path).toBe(trips)
    }
    expect(new Set(answers.map((each) => each.code))).toEqual(new Set([code]))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await countRows()).toEqual(before)
  })

  test('a private community is not found by who may write, but does not read it', async () => {
    expect((await post('x', 'cellar', bob.key)).body.code).toBe('NOT_FOUND')
    expect((await comment(bob.key, { content: 'x' }, secretId)).body.code).toBe('NOT_FOUND')
    const upvote = { key: bob.key, method: 'PUT', body: { value: 1 } }
    expect((await hub.call(`/posts/${secretId}/vote`, upvote)).body.code).toBe('NOT_FOUND')
    const browser = await signIn(hub, bob.key)
    const sent = await browser.send(`/p/${secretId}/vote`, { value: '1', next: '/' })
    expect(sent.status).toBe(404)
    expect((await post('x', 'cellar')).status).toBe(201)
  })

  test('a form of another site reads nothing', async () => {
    const { cookie } = await signIn(hub, bob.key)
    const init = form({ value: '1', next: '/' })
    const headers = { ...init.headers, cookie, 'sec-fetch-site': 'cross-site', origin: 'http://x' }
    const before = await countRows()
    const response = await hub.fetch(`/p/${postId}/vote`, { ...init, headers })
    expect(response.status).toBe(403)
    expect(await countRows()).toEqual(before)
  })
})

describe('calls of objects', () => {
  const { seen } = hub
  /** Sends a write and counts what it called of the scheduler, and what it published. */
  const count = async (send: () => Promise<{ status: number }>) => {
    Object.assign(seen, { armed: 0, disarmed: [], news: [], published: [], woken: [] })
    expect((await send()).status).toBe(201)
    // The news of a post that wakes travels with what disarms the sweep.
    const announced = seen.disarmed.length > 0 ? 0 : seen.news.length
    return {
      scheduler: seen.armed + seen.disarmed.length + announced,
      news: seen.news.length,
      live: seen.published.length,
      woken: seen.woken.length,
    }
  }

  beforeEach(() => env.DB.prepare('DELETE FROM explorers').run())
  const explore = () =>
    env.DB.prepare(
      'INSERT INTO explorers (account_id, interval_ms, updated_at) VALUES (?, 1000, 0)',
    )
      .bind(scout.id)
      .run()

  test('a hub on which no agent explores calls the scheduler for wake-ups alone', async () => {
    expect(await count(() => post('Plain'))).toEqual({ scheduler: 0, news: 0, live: 0, woken: 0 })
    const said = await count(() => comment(bob.key, { content: 'Plain' }))
    expect(said).toEqual({ scheduler: 0, news: 0, live: 0, woken: 0 })
    const asked = await count(() => post('@scout, why?'))
    expect(asked).toEqual({ scheduler: 2, news: 0, live: 0, woken: 1 })
  })

  test('where agents explore, news is announced once, with what disarms the sweep if there is one', async () => {
    await explore()
    expect(await count(() => post('Plain'))).toEqual({ scheduler: 1, news: 1, live: 0, woken: 0 })
    const asked = await count(() => post('@scout, why?'))
    expect(asked).toEqual({ scheduler: 2, news: 1, live: 0, woken: 1 })
    const said = await count(() => comment(bob.key, { content: 'Plain' }))
    expect(said).toEqual({ scheduler: 1, news: 1, live: 0, woken: 0 })
  })

  test('a comment of an agent, or in a thread that is too old to explore, is no news', async () => {
    await explore()
    const byAgent = await count(() => comment(scout.key, { content: 'Plain' }))
    expect(byAgent).toMatchObject({ scheduler: 0, news: 0 })
    hub.clock.advance(86_400_000)
    const old = await count(() => comment(bob.key, { content: 'Later' }))
    expect(old).toMatchObject({ scheduler: 0, news: 0 })
  })
})

import { expect, test } from 'vitest'
import { HubClient, HubError, waitForInbox } from '../../../client/index'
import { createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const mira = await hub.join('mira', 'human')

/** Creates a client of the hub whose connection fails as often as `failures` says, after the hub acted. */
function connect(key: string | null, failures: (Response | Error)[] = []) {
  const sent: Request[] = []
  const client = new HubClient({
    url: 'http://hub.test/',
    key,
    fetch: async (request) => {
      sent.push(request.clone())
      const response = await hub.request(request.url, request)
      const failure = failures.shift()
      if (failure instanceof Error) throw failure
      return failure ?? response
    },
  })
  return { client, sent }
}

const body = { community: 'general', title: 'A title' }

test('H6: a call whose answer was lost is sent again and acts once', async () => {
  const busy = { success: false, error: 'Busy.', code: 'UNAVAILABLE', hint: null }
  const { client, sent } = connect(mira.key, [
    new TypeError('The connection was lost.'),
    Response.json(busy, { status: 503, headers: { 'Retry-After': '0' } }),
  ])
  const { post } = await client.call('POST /posts', { body })
  const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
  expect(keys).toEqual([keys[0], keys[0], keys[0]])
  const { posts } = await client.call('GET /posts', { query: { author: 'mira' } })
  expect(posts.map(({ id }) => id)).toEqual([post.id])
  // A change without a key could undo what somebody else has changed since.
  const changing = connect(mira.key, [new TypeError('The connection was lost.')])
  const changed = { params: { id: post.id }, body: { title: 'Another title' } }
  await expect(changing.client.call('PATCH /posts/:id', changed)).rejects.toMatchObject({
    code: 'UNREACHABLE',
    status: 0,
  })
  expect(changing.sent).toHaveLength(1)
})

test('an error is a value with code, hint and details, and what cannot succeed is sent once', async () => {
  const { client, sent } = connect('rookery_wrong')
  const refused = await client.try('GET /me')
  expect(refused).toMatchObject({ ok: false, error: { code: 'UNAUTHORIZED', status: 401 } })
  expect(sent).toHaveLength(1)
  const invalid = await connect(mira.key).client.try('POST /posts', {
    body: { ...body, title: 'a'.repeat(301) },
  })
  if (invalid.ok) throw new Error('A title that is too long is accepted.')
  expect(invalid.error.details[0]?.path).toContain('title')
  const html = connect(null, [new Response('<h1>Hello</h1>', { status: 200 })])
  await expect(html.client.call('GET /posts')).rejects.toMatchObject({ code: 'BAD_ANSWER' })
  const limited = { success: false, error: 'Wait.', code: 'RATE_LIMITED', hint: null }
  const headers = { 'Retry-After': '60' }
  const slow = connect(null, [Response.json(limited, { status: 429, headers })])
  const error = await slow.client.call('GET /posts').catch((thrown) => thrown)
  expect(error).toBeInstanceOf(HubError)
  expect([error.retryAfterMs, error.isRetryable, slow.sent.length]).toEqual([60_000, true, 1])
})

test('H7: a list iterates over all pages, each of them read once', async () => {
  const { client, sent } = connect(mira.key)
  for (let number = 0; number < 5; number++) {
    await client.call('POST /posts', { body: { ...body, title: `Page ${number}` } })
  }
  sent.length = 0
  const titles: string[] = []
  const query = { sort: 'new' as const, limit: 2, author: 'mira' }
  for await (const post of client.list('GET /posts', 'posts', { query })) titles.push(post.title)
  expect(titles).toHaveLength(6)
  expect(new Set(titles).size).toBe(6)
  expect(sent).toHaveLength(3)
})

test('H5: waiting for the inbox ends with the first one, or when the time is up', async () => {
  const lena = await hub.join('lena', 'human')
  const waiting = connect(lena.key)
  expect(await waitForInbox(waiting.client, { timeoutMs: 0 })).toEqual([])
  const found = waitForInbox(waiting.client, { timeoutMs: 20_000 })
  const asking = { ...body, title: 'Lena?', content: '@lena are you there?' }
  await connect(mira.key).client.call('POST /posts', { body: asking })
  expect(await found).toEqual([
    expect.objectContaining({ type: 'mention', is_read: false, post_title: 'Lena?' }),
  ])
  expect(waiting.sent).toHaveLength(2)
  const { headers } = await hub.call('/inbox', { key: lena.key })
  expect(readCost(headers).roundTrips).toBe(1)
})

test('H5: how far an answer is is read in one round trip, by the account that asked alone', async () => {
  const nora = await hub.join('nora', 'human')
  const { client } = connect(mira.key)
  const asking = { ...body, title: 'Nora?', content: '@nora where is the key?' }
  const { post } = await client.call('POST /posts', { body: asking })
  const query = { post_id: post.id, account: 'Nora' }
  expect(await client.call('GET /answers', { query })).toMatchObject({
    account: { name: 'nora', kind: 'human' },
    state: 'waiting',
  })
  hub.clock.advance(1000)
  const answering = { params: { id: post.id }, body: { content: 'On the hook.' } }
  await connect(nora.key).client.call('POST /posts/:id/comments', answering)
  expect(await client.call('GET /answers', { query })).toMatchObject({
    state: 'answered',
    answer: { content: 'On the hook.' },
  })
  // A first comment that is gone hides no later one.
  const second = { params: { id: post.id }, body: { content: 'In the drawer.' } }
  const [first] = (await hub.call(`/posts/${post.id}/comments`)).body.comments
  await hub.call(`/comments/${first.id}`, { method: 'DELETE', key: nora.key })
  expect(await client.call('GET /answers', { query })).toMatchObject({ state: 'waiting' })
  hub.clock.advance(1000)
  await connect(nora.key).client.call('POST /posts/:id/comments', second)
  expect(await client.call('GET /answers', { query })).toMatchObject({
    answer: { content: 'In the drawer.' },
  })
  const { headers } = await hub.call(`/answers?post_id=${post.id}`, { key: mira.key })
  expect(readCost(headers).roundTrips).toBe(1)
  const foreign = await connect(nora.key).client.try('GET /answers', { query })
  expect(foreign).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } })
})

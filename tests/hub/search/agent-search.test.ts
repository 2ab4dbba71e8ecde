import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createConversationApi } from '../../../src/hub/api/hub-api'
import { createTestHub } from '../create-test-hub'

const hub = createTestHub()
const question = 'what did we decide about the greenhouse heating?'
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada
let visitor: typeof ada
let sourceId: string
let askedId: string

const post = async (key: string, title: string, content: string): Promise<string> =>
  (await hub.call('/posts', { key, body: { community: 'general', title, content } })).body.post.id

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await hub.join('scout')
  visitor = await hub.join('visitor')
  await hub.host(scout.id)
  sourceId = await post(
    ada.key,
    'Minutes of March',
    `We talked for long. ${'The beds, the paths and the tools came first. '.repeat(20)}In the end the greenhouse heating stays at eight degrees.`,
  )
  askedId = await post(ada.key, 'Greenhouse heating', `@scout ${question}`)
  // Inserted directly: sixty comments exceed a person's hourly limit.
  for (let copy = 0; copy < 60; copy++) {
    const id = `copy-${copy}`
    await env.DB.batch([
      env.DB.prepare(
        'INSERT INTO comments (id, post_id, author_id, content, created_at) VALUES (?, ?, ?, ?, 0)',
      ).bind(id, askedId, ada.id, `@scout ${question}`),
      env.DB.prepare(
        'INSERT INTO mentions (post_id, comment_id, account_id, created_at) VALUES (?, ?, ?, 0)',
      ).bind(askedId, id, scout.id),
    ])
  }
  await env.DB.prepare(
    'INSERT INTO comments (id, post_id, author_id, content, created_at) VALUES (?, ?, ?, ?, 0)',
  )
    .bind('own', askedId, scout.id, 'Greenhouse heating: I decide nothing about the heating.')
    .run()
})

const actorOf = ({ id, name }: typeof ada, kind: 'agent' | 'human') =>
  ({ accountId: id, name, kind, activationId: null, idempotencyKey: null, postId: null }) as const
const searchAs = (actor: ReturnType<typeof actorOf>, text: string, context = hub.context) =>
  createConversationApi(context).search(actor, {
    text,
    types: ['post', 'comment'],
    match: 'any',
    limit: 20,
  })

test('H8: sixty copies of a question to an agent do not displace the post that answers it', async () => {
  const hits = await searchAs(actorOf(scout, 'agent'), question)
  expect(hits[0]?.id).toBe(sourceId)
  expect(hits).toHaveLength(20)
  expect(hits.slice(1).every(({ postId }) => postId === askedId)).toBe(true)
})

test('H8: questions to agents are still found when nothing else fits', async () => {
  const hits = await searchAs(actorOf(scout, 'agent'), 'decide')
  expect(hits.map(({ postId }) => postId)).toContain(askedId)
})

test('H8: an agent’s own answers come last for it, and are a source for another agent', async () => {
  const rankOfOwn = async (who: typeof ada) =>
    (await searchAs(actorOf(who, 'agent'), 'greenhouse heating nothing')).findIndex(
      ({ id }) => id === 'own',
    )
  expect(await rankOfOwn(visitor)).toBe(0)
  expect(await rankOfOwn(scout)).not.toBe(0)
})

test('H8: people get the best match first, whether or not it mentions an agent', async () => {
  const hits = await searchAs(actorOf(ada, 'human'), question)
  expect(hits[0]?.id).not.toBe(sourceId)
})

test('H7: an agent’s search is one round trip and reads a few rows a match', async () => {
  const context = hub.context()
  await searchAs(actorOf(scout, 'agent'), question, () => context)
  expect(context.db.cost.roundTrips).toBe(1)
  // beside the matches: the frequency of each word and what it needs, in which each word is a row
  expect(context.db.cost.rowsRead).toBeLessThan(63 * 12 + 100)
})

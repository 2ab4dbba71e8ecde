import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { sampleSize } from '../../support/sample'
import { type Answer, adminKey, readCost } from '../create-test-hub'
import {
  clock,
  createPlaces,
  histories,
  hub,
  joinReaders,
  type Name,
  read,
  readers,
  type Step,
  send,
  take,
  toTime,
  type World,
} from './generate-history'

beforeAll(joinReaders)

// biome-ignore lint/suspicious/noExplicitAny: answers are compared as they are
type Json = any

interface Snapshot {
  at: string
  who: Name | null
  path: string
  answer: Answer
}

const listPathsOf = (world: World) => [
  ...world.places.map((name) => `/posts?sort=new&limit=50&community=${name}`),
  '/posts?sort=new&limit=50&author=bea',
  '/feed?sort=new&limit=50',
]

const threadPathsOf = ({ posts }: World) =>
  posts.flatMap(({ id }) => [`/posts/${id}`, `/posts/${id}/comments?sort=old&limit=100`])

/** Takes what readers are shown now; after many posts only the latest, to keep a history short. */
async function look(world: World): Promise<Snapshot[]> {
  const at = toTime(clock.now())
  const seen: Snapshot[] = []
  const threads = { ...world, posts: world.posts.slice(-4) }
  for (const who of readers) {
    for (const path of [...listPathsOf(world), ...threadPathsOf(threads)]) {
      seen.push({ at, who, path, answer: await read(who, path) })
    }
  }
  return seen
}

const current = new Set(['upvotes', 'downvotes', 'score', 'comment_count'])

/** An answer without the fields that have their present values. */
const strip = (value: Json): Json =>
  Array.isArray(value)
    ? value.map(strip)
    : value !== null && typeof value === 'object'
      ? Object.fromEntries(
          Object.entries(value)
            .filter(([name]) => !current.has(name))
            .map(([name, each]) => [name, strip(each)]),
        )
      : value

function hidePost(then: Json, today: Json): Json {
  if (today.removal_reason === null) return then
  const hidden = { title: '[removed]', content: '', url: null }
  return { ...then, ...hidden, removal_reason: then.removal_reason ?? today.removal_reason }
}

const flatten = (comments: Json[]): Json[] =>
  comments.flatMap((each) => [each, ...flatten(each.replies)])

/** What is left of comments without those that are gone today. */
function hideComments(then: Json[], today: Map<string, Json>): Json[] {
  return then.flatMap((comment) => {
    const now = today.get(comment.id)
    const replies = hideComments(comment.replies, today)
    const shown = { ...comment, replies }
    const hidden = { author: null, activation_id: null, is_deleted: true }
    if (!now || (now.is_deleted && now.removal_reason === null)) {
      const gone = { ...shown, ...hidden, content: '[deleted]', removal_reason: null }
      return replies.length > 0 ? [gone] : []
    }
    if (!now.is_deleted || comment.is_deleted) return [shown]
    return [{ ...shown, ...hidden, content: '[removed]', removal_reason: now.removal_reason }]
  })
}

type ReadToday = (who: Name | null, path: string) => Promise<Answer>

/** Reads each answer of today once. */
function createReader(): ReadToday {
  const answers = new Map<string, Promise<Answer>>()
  return (who, path) => {
    const known = answers.get(`${who} ${path}`) ?? read(who, path)
    answers.set(`${who} ${path}`, known)
    return known
  }
}

/** What a snapshot has to be today. Null: nothing of it may be read. */
async function expectToday({ who, path, answer }: Snapshot, readToday: ReadToday): Promise<Json> {
  if (answer.status !== 200) return null
  const { posts, post, comments } = answer.body
  if (posts) {
    const shown: Json[] = []
    for (const each of posts) {
      const { status, body } = await readToday(who, `/posts/${each.id}`)
      if (status === 200 && body.post.removal_reason === null) shown.push(each)
    }
    return { posts: shown }
  }
  const today = await readToday(who, path)
  if (today.status !== 200) return null
  if (post) return { post: hidePost(post, today.body.post) }
  const found = new Map(flatten(today.body.comments).map((each: Json) => [each.id, each]))
  return { comments: hideComments(comments, found) }
}

/** Compares, and answers whether the answer differs from that of today. */
async function compare(snapshot: Snapshot, readToday: ReadToday): Promise<boolean> {
  const { who, path, at } = snapshot
  const expected = strip(await expectToday(snapshot, readToday))
  const { status, body } = await read(who, path, at)
  const given = strip(body)
  const context = `${who} ${path} at ${at}`
  if (expected === null) {
    expect({ status }, context).toEqual({ status: 404 })
    return false
  }
  expect({ status }, context).toEqual({ status: 200 })
  expect(body.as_of.at, context).toBe(at)
  if (!expected.posts) expect(given, context).toMatchObject(expected)
  if (expected.comments) expect(given.comments, context).toEqual(expected.comments)
  // A page that lost posts has older ones behind them.
  else if (expected.posts) {
    const isWhole = !snapshot.answer.body.has_more
    const posts = isWhole ? given.posts : given.posts.slice(0, expected.posts.length)
    expect(posts, context).toEqual(expected.posts)
  }
  const now = await readToday(who, path)
  return JSON.stringify(strip(now.body)) !== JSON.stringify({ ...given, as_of: undefined })
}

/** Each change that an earlier answer has to undo, between three looks. */
const example: Step[] = (
  [
    ['join', 1, 2],
    ['post', 0, 0],
    ['post', 1, 1],
    ['post', 1, 2],
    ['comment', 2, 0],
    ['comment', 1, 3],
    ['post', 0, 1],
    ['removeComment', 0, 1],
    ['removePost', 0, 2],
    ['lock', 0, 0],
    ['pin', 0, 1],
    ['look', 0, 0],
    ['restoreComment', 0, 1],
    ['restorePost', 0, 2],
    ['unlock', 0, 0],
    ['unpin', 0, 1],
    ['editPost', 0, 0],
    ['editComment', 0, 0],
    ['role', 0, 1],
    ['leave', 1, 2],
    ['look', 0, 0],
    ['join', 1, 2],
    ['visibility', 2, 1],
    ['look', 0, 0],
    ['deleteComment', 0, 1],
    ['removeComment', 0, 0],
    ['removePost', 0, 1],
  ] as const
).map(([what, by, of]) => ({ what, by, of }))

test('an answer as of a time is the answer of that time, without what the reader may not read today', async () => {
  let different = 0
  const property = fc.asyncProperty(histories, async (steps) => {
    const world: World = { places: await createPlaces(), posts: [], comments: [] }
    const snapshots: Snapshot[] = []
    let looks = 0
    for (const step of steps) {
      clock.advance(10_000)
      if (step.what === 'look' && looks++ < 3) snapshots.push(...(await look(world)))
      else await take(step, world)
    }
    clock.advance(10_000)
    const readToday = createReader()
    for (const snapshot of snapshots) if (await compare(snapshot, readToday)) different++
  })
  await fc.assert(property, {
    numRuns: sampleSize(3, 201),
    seed: 37,
    endOnFailure: true,
    examples: [[example]],
  })
  expect(different).toBeGreaterThan(50)
}, 3_600_000)

async function writeThread() {
  clock.advance(10_000)
  const body = { community: 'general', title: 'First title', content: 'First' }
  const { id } = (await send('ada', '/posts', body)).body.post
  const comment = await send('bea', `/posts/${id}/comments`, { content: 'First reply' })
  return { id, commentId: comment.body.comment.id, at: clock.now() }
}

test('a thread and its page of the feed are read as they were, in one round trip, and say so', async () => {
  const { id, commentId, at } = await writeThread()
  clock.advance(10_000)
  await send('ada', `/posts/${id}`, { title: 'Second title', content: 'Second' }, 'PATCH')
  await send('bea', `/comments/${commentId}`, { content: 'Second reply' }, 'PATCH')
  await send('bea', `/posts/${id}/comments`, { content: 'Later' })
  const thread = await read('cleo', `/posts/${id}?include_comments=true`, toTime(at))
  expect(thread.body).toMatchObject({
    post: { title: 'First title', content: 'First', edited_at: null },
    comments: [{ content: 'First reply', edited_at: null }],
    as_of: { at: toTime(at) },
  })
  expect(thread.body.comments).toHaveLength(1)
  expect(readCost(thread.headers).roundTrips).toBe(1)
  const feed = await read('cleo', '/feed', toTime(at))
  expect(feed.body.posts[0]).toMatchObject({ id, title: 'First title' })
  expect(readCost(feed.headers).roundTrips).toBe(1)
  expect((await read('cleo', `/posts/${id}`, toTime(at - 10_000))).status).toBe(404)
  expect((await read('cleo', `/posts/${id}`)).body).not.toHaveProperty('as_of')
})

test('pages of a list as of a time follow each other', async () => {
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.unshift((await writeThread()).id)
  const at = toTime(clock.now())
  await writeThread()
  const first = await read('ada', '/posts?community=general&limit=2', at)
  expect(first.body.posts.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2))
  const rest = `/posts?community=general&limit=3&cursor=${first.body.next_cursor}`
  const { body } = await read('ada', rest, at)
  expect(body.posts.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2, 5))
})

test('an earlier text that was not kept is not replaced by another', async () => {
  const { commentId, id } = await writeThread()
  const times: number[] = []
  for (let n = 1; n <= 56; n++) {
    clock.advance(1_000)
    times.push(clock.now())
    await send('bea', `/comments/${commentId}`, { content: `Edit ${n}` }, 'PATCH')
  }
  const contentAt = async (at = 0) =>
    (await read('ada', `/posts/${id}/comments`, toTime(at))).body.comments[0].content
  expect(await contentAt(times[1])).toBe('[version not kept]')
  expect(await contentAt(times[40])).toBe('Edit 41')
  expect(await contentAt((times[0] ?? 0) - 1)).toBe('First reply')
})

test('a time in the future, no time, another order and what you followed are refused', async () => {
  const { id } = await writeThread()
  const later = toTime(clock.now() + 1)
  const at = toTime(clock.now())
  for (const [path, time] of [
    [`/posts/${id}`, later],
    [`/posts/${id}/comments`, later],
    ['/posts?sort=new', later],
    [`/posts/${id}`, 'yesterday'],
    ['/posts?sort=hot', at],
    ['/feed?sort=top', at],
    ['/feed?sort=new&filter=following', at],
  ] as const) {
    const { status, body } = await read('ada', path, time)
    expect({ path, status, code: body.code }).toEqual({ path, status: 400, code: 'VALIDATION' })
  }
})

test('a deleted account takes along where it was a member and which role it had', async () => {
  const dan = await hub.join('dan', 'human')
  const [, , place] = await createPlaces()
  const path = `/communities/${place}/members/dan`
  await send('ada', path, { role: 'member' }, 'PUT')
  await send('ada', path, {}, 'DELETE')
  await send('admin', '/accounts/dan/role', { role: 'guest' }, 'PUT')
  const count = () =>
    env.DB.prepare('SELECT count(*) AS n FROM past_access WHERE owner_id = ?1 OR account_id = ?1')
      .bind(dan.id)
      .first<number>('n')
  expect(await count()).toBe(2)
  await hub.call('/accounts/dan?words=remove', { key: adminKey, method: 'DELETE' })
  expect(await count()).toBe(0)
})

test('P2: a search as of a time finds nothing newer, and shows what the texts said', async () => {
  const { id, commentId, at } = await writeThread()
  clock.advance(10_000)
  const word = `heron${clock.now()}`
  await send('ada', `/posts/${id}`, { title: 'Second title', content: word }, 'PATCH')
  await send('bea', `/comments/${commentId}`, { content: word }, 'PATCH')
  await send('bea', `/posts/${id}/comments`, { content: word })
  const search = async (time?: number, more = '') => {
    const path = `/search?q=${word}&counts=true${more}`
    return (await read('cleo', path, time === undefined ? time : toTime(time))).body
  }
  const found = await search(at)
  // Words are found in the texts of today.
  expect(found.results).toMatchObject([
    { id: commentId, title: 'First title', content: 'First reply', snippet: 'First reply' },
    { id, title: 'First title', content: 'First', snippet: 'First' },
  ])
  expect(found.counts).toMatchObject({ post: 1, comment: 1, account: 0, community: 0 })
  expect(found.as_of).toMatchObject({ at: toTime(at) })
  expect((await search()).results).toHaveLength(3)
  expect(await search()).not.toHaveProperty('as_of')
  expect((await search(at, '&type=account')).results).toEqual([])
  // A suggestion would be of the words of today.
  const missed = await read('cleo', `/search?q=${word.replace('heron', 'heorn')}`, toTime(at))
  expect(missed.body).toMatchObject({ results: [], did_you_mean: null })
  expect((await search(at - 10_000)).results).toEqual([])
  await send('admin', `/comments/${commentId}/remove`, { reason: 'Spam.' })
  expect((await search(at)).results).toMatchObject([{ id }])
  expect((await read('cleo', `/search?q=a`, toTime(clock.now() + 1))).status).toBe(400)
})

test('P2: a common word is found as of a time, although all of its newest texts are newer', async () => {
  const { id, at } = await writeThread()
  clock.advance(10_000)
  const old = (await send('bea', `/posts/${id}/comments`, { content: 'stork' })).body.comment.id
  const then = clock.now()
  clock.advance(10_000)
  const { author_id: author } = (await env.DB.prepare('SELECT author_id FROM posts WHERE id = ?')
    .bind(id)
    .first<{ author_id: string }>()) ?? { author_id: '' }
  const ids = Array.from({ length: 5_001 }, () => clock.newId())
  await env.DB.prepare(
    `INSERT INTO comments (id, post_id, author_id, content, created_at)
     SELECT value, ?2, ?3, 'stork', ?4 FROM json_each(?1)`,
  )
    .bind(JSON.stringify(ids), id, author, clock.now())
    .run()
  const search = async (time?: number) =>
    (await read('ada', '/search?q=stork', time === undefined ? time : toTime(time))).body
  expect(await search()).toMatchObject({ sorted_by: 'newest', has_more: true })
  const found = await search(then)
  expect(found.results).toMatchObject([{ id: old, content: 'stork' }])
  expect(found).toMatchObject({ sorted_by: 'newest', has_more: false })
  expect((await search(at)).results).toEqual([])
})

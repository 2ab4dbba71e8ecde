import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { accountName } from '../../../src/hub/accounts/actions'
import { listNames } from '../../../src/hub/operations/import-actions'
import { sampleSize } from '../../support/sample'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const uuid = (n: number) => `aaaaaaaa-0000-4000-8000-${String(n).padStart(12, '0')}`
const send = (body: unknown) => hub.call('/import', { key: adminKey, body })

/** Returns the post that an import made of one with this id. */
async function readPost(uuid: string) {
  const id = await env.DB.prepare(
    "SELECT id FROM imported_records WHERE kind = 'post' AND source = '' AND key = ?",
  )
    .bind(uuid)
    .first('id')
  return (await hub.call(`/posts/${id}?include_comments=true`)).body
}

const older = {
  success: true,
  post: {
    id: uuid(1),
    title: 'Über den Winter',
    content: 'Hello @ada, the bees are fine 🐝',
    url: null,
    upvotes: 12,
    downvotes: 2,
    created_at: '2025-01-31T01:34:02.703333+00:00',
    submolt: { id: 'x', name: 'Bee Keeping', display_name: 'Bee Keeping' },
    author: { id: uuid(101), name: 'Müller_Bot 9', karma: 7, owner: { secret: true } },
  },
  comments: [
    {
      id: uuid(11),
      content: 'First',
      parent_id: null,
      upvotes: 1,
      downvotes: 0,
      created_at: '2025-01-31T02:00:00Z',
      author: { id: uuid(102), name: 'ada' },
      replies: [
        {
          id: uuid(12),
          content: 'Nested',
          created_at: '2025-01-31T03:00:00Z',
          author: null,
          author_id: uuid(103),
          replies: null,
        },
      ],
    },
    { id: uuid(13), content: 'By parent_id', parent_id: uuid(11), author: { name: 'ADA' } },
    {
      id: uuid(14),
      content: null,
      author: { id: uuid(102), name: 'ada' },
      replies: [{ id: uuid(15), content: 'Below a deleted one', author: 'ada' }],
    },
    {
      id: uuid(16),
      content: 5,
      replies: [{ id: uuid(17), content: 'Below a broken one', author: 'ada' }],
    },
  ],
  context: { tip: 'ignored' },
}
const newer = {
  post: {
    id: uuid(2),
    title: null,
    content: 'No title here but many words that say what it is about in the end',
    type: 'text',
    author_id: uuid(101),
    author: { id: uuid(101), name: 'Müller_Bot 9', followerCount: 3 },
    submolt: { name: 'general' },
    score: 3,
    upvotes: 3,
    labels: { pinned: [] },
    created_at: '2025-07-18T03:48:03.890Z',
  },
  comments: null,
}
const broken = [
  { post: { id: uuid(3), title: 5 } },
  'nothing',
  null,
  {},
  { post: { id: uuid(4), title: null, content: null } },
  { post: { id: uuid(5), title: 'Gone', is_deleted: true } },
]

test('H19: an archive with both field sets is imported; invalid records are listed and skipped', async () => {
  await hub.join('ada', 'human')
  const { status, body } = await send([older, ...broken, newer])
  expect(status).toBe(200)
  expect(body.imported).toEqual({ posts: 2, comments: 6, accounts: 3, communities: 1 })
  expect(body.skipped.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(body.skipped[0]).toMatchObject({
    id: uuid(16),
    reason: expect.stringContaining('content'),
  })
  expect(body.skipped[1]).toMatchObject({ reason: expect.stringContaining('title') })
  expect(body.skipped.find(({ index }: { index: number }) => index === 5)).toMatchObject({
    id: uuid(4),
    reason: expect.stringContaining('neither a title nor content'),
  })
})

test('H19: times and votes are kept; names are converted to valid names', async () => {
  const body = await readPost(uuid(1))
  expect(body.post).toMatchObject({
    title: 'Über den Winter',
    community: { name: 'bee-keeping', display_name: 'Bee Keeping' },
    author: { name: 'muller_bot-9', display_name: 'Müller_Bot 9', kind: 'agent' },
    score: 10,
    comment_count: 5,
    created_at: '2025-01-31T01:34:02.703Z',
  })
  const tree = (list: { content: string; replies: never[] }[]): unknown[] =>
    list.map(({ content, replies }) => [content, ...tree(replies)])
  expect(tree(body.comments)).toEqual(
    expect.arrayContaining([
      ['First', ['By parent_id'], ['Nested']],
      ['[deleted]', ['Below a deleted one']],
      ['Below a broken one'],
    ]),
  )
  const untitled = await readPost(uuid(2))
  expect(untitled.post.title).toBe('No title here but many words that say what it is about')
})

test('H19: a taken name gets a suffix; the same author stays one account', async () => {
  const { results } = await env.DB.prepare(
    'SELECT name, display_name AS shown FROM accounts WHERE is_imported = 1 ORDER BY name',
  ).all()
  expect(results).toEqual([
    // With an id, by name alone, and in capitals.
    { name: 'ada-000102', shown: 'ada' },
    { name: 'agent-000103', shown: 'agent-000103' },
    { name: 'muller_bot-9', shown: 'Müller_Bot 9' },
  ])
})

test('H19: importing again adds nothing; a record with new comments adds only those', async () => {
  const again = await send({ items: [older, newer] })
  expect(again.body.imported).toEqual({ posts: 0, comments: 0, accounts: 0, communities: 0 })
  expect(again.body.unchanged).toBe(2)
  const grown = {
    ...newer,
    comments: [{ id: uuid(21), content: 'Later', author: { id: uuid(101), name: 'Müller_Bot 9' } }],
  }
  const more = await send([older, grown])
  expect(more.body).toMatchObject({
    imported: { posts: 0, comments: 1, accounts: 0 },
    unchanged: 1,
  })
  expect((await readPost(uuid(2))).post.comment_count).toBe(1)
})

test('H5: imported text notifies and wakes nobody, and is found by search', async () => {
  const items = await env.DB.prepare('SELECT count(*) AS n FROM inbox_items').first('n')
  expect(items).toBe(0)
  expect(hub.seen.woken).toEqual([])
  const { body } = await hub.call('/search?q=bees&type=posts')
  expect(body.results).toMatchObject([
    { title: 'Über den Winter', community: { name: 'bee-keeping' } },
  ])
})

test('H19: records without UUIDs get the same ids every time', async () => {
  const record = {
    post: {
      id: 4711,
      title: 'Numbered',
      content: 'x',
      author: 'someone',
      community: 'm/Odd Names!',
    },
    comments: [{ content: 'no id', author: null }],
  }
  expect((await send([record])).body.imported).toMatchObject({
    posts: 1,
    comments: 1,
    accounts: 2,
    communities: 1,
  })
  expect((await send([record, record])).body).toMatchObject({
    imported: { posts: 0, comments: 0, accounts: 0, communities: 0 },
    unchanged: 2,
  })
})

test('H19: comments nested deeper than the maximum depth are kept at that depth', async () => {
  let comment: object = { id: uuid(999), content: 'deepest', author: 'someone' }
  for (let i = 0; i < 400; i++)
    comment = { id: uuid(1000 + i), content: `level ${i}`, author: 'someone', replies: [comment] }
  const { body } = await send([
    { post: { id: uuid(7), title: 'Deep', author: 'someone' }, comments: [comment] },
  ])
  expect(body.imported.comments).toBe(401)
  const deepest = await env.DB.prepare('SELECT max(depth) AS depth FROM comments').first('depth')
  expect(deepest).toBe(10)
})

test('H19: only admins can import; other bodies than an archive are refused', async () => {
  const { key } = await hub.join('pleb')
  expect((await hub.call('/import', { key, body: [] })).status).toBe(403)
  expect((await send({ nothing: 1 })).status).toBe(400)
  expect((await send('[')).status).toBe(400)
})

test('H19: 600 records are imported in several batches', async () => {
  const many = Array.from({ length: 600 }, (_, i) => ({
    post: {
      id: uuid(5000 + i),
      title: `Bulk ${i}`,
      content: 'x'.repeat(2_000),
      author: { id: uuid(200), name: 'bulky' },
    },
  }))
  const { body } = await send(many)
  expect(body.imported).toMatchObject({ posts: 600, accounts: 1 })
  expect((await send(many)).body.unchanged).toBe(600)
})

test('H19: any array returns a report', async () => {
  const json = fc.jsonValue({ maxDepth: 4 })
  const odd = fc.record(
    {
      post: fc.record(
        {
          id: fc.oneof(fc.string(), fc.integer(), fc.constant(null)),
          title: fc.oneof(fc.string(), json),
          content: fc.oneof(fc.string(), json),
          author: json,
          created_at: fc.oneof(fc.string(), fc.constant('2025-01-01')),
        },
        { requiredKeys: [] },
      ),
      comments: fc.oneof(
        fc.array(
          fc.record({
            id: fc.string(),
            content: fc.string(),
            author: fc.oneof(fc.string(), fc.constant(null)),
            replies: json,
          }),
        ),
        json,
      ),
    },
    { requiredKeys: ['post'] },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(odd, json), { maxLength: 5 }), async (records) => {
      const { status, body } = await send(records)
      expect(status, JSON.stringify([records, body])).toBe(200)
    }),
    { numRuns: sampleSize(25, 100) },
  )
})

test('names of a source are always converted to names that can be registered and mentioned', () => {
  const id = '0192f0c1-0000-7000-8000-0000000000aa'
  const names = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[-_ a-zA]{0,40}$/))
  fc.assert(
    fc.property(names, (name) => {
      for (const each of listNames({ key: id, name })) {
        expect(accountName.safeParse(each).success, each).toBe(true)
      }
    }),
  )
})

test('T11: a record of a community in which only the hub posts is skipped with the reason', async () => {
  const record = {
    ...older,
    post: { ...older.post, id: uuid(900), submolt: { name: 'Agent-Errors' } },
    comments: [],
  }
  const { body } = await send([record])
  expect(body.imported.posts).toBe(0)
  expect(body.skipped).toEqual([
    { index: 0, id: uuid(900), reason: expect.stringContaining('Only the hub itself posts') },
  ])
  expect((await readPost(uuid(900))).post).toBeUndefined()
})

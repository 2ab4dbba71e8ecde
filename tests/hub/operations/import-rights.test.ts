import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { adminAccountId, systemAccountId } from '../../../src/hub/schema/accounts'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const send = (records: unknown, source = '') =>
  hub.call(`/import${source && `?source=${source}`}`, { key: adminKey, body: records })
const query = async <Row>(sql: string, ...values: unknown[]) =>
  (
    await env.DB.prepare(sql)
      .bind(...values)
      .all<Row>()
  ).results

let mira: { id: string; key: string }
let secret: string

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  await hub.call('/communities', {
    key: mira.key,
    body: { name: 'secret', visibility: 'private' },
  })
  const body = { community: 'secret', title: 'Private words', content: 'Between us' }
  secret = (await hub.call('/posts', { key: mira.key, body })).body.post.id
})

test('T14: ids of accounts of this hub in an archive make nobody here an author', async () => {
  const others = [adminAccountId, systemAccountId, mira.id, mira.id.toUpperCase()]
  const comments = others.map((id, at) => ({
    id: `as-${at}`,
    content: `As number ${at}`,
    ...(at % 2 === 0 ? { author: { id, name: 'mira' } } : { author_id: id, author: null }),
  }))
  const post = { id: 'as', title: 'As others', author: { id: adminAccountId, name: 'admin' } }
  const { body } = await send([{ post, comments }])
  expect(body.imported).toMatchObject({ posts: 1, comments: 4, accounts: 3 })
  const writers = await query<{ id: string; isImported: number; name: string }>(
    `SELECT DISTINCT a.id, a.name, a.is_imported AS isImported FROM accounts a WHERE a.id IN (
       SELECT author_id FROM posts WHERE title = 'As others'
       UNION SELECT author_id FROM comments WHERE content LIKE 'As number%')`,
  )
  expect(writers).toHaveLength(3)
  for (const { id, isImported, name } of writers) {
    expect(isImported).toBe(1)
    expect(others).not.toContain(id)
    expect(['mira', 'admin', 'rookery']).not.toContain(name)
  }
})

test('T14: the id of a post of this hub adds nothing to its thread', async () => {
  const readable = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Open words' },
  })
  const open: string = readable.body.post.id
  const records = [secret, open].map((id, at) => ({
    post: { id, title: `Of another hub ${at}`, author: 'eve' },
    comments: [{ id: `slip-${at}`, content: 'Slipped in', author: 'eve' }],
  }))
  expect((await send(records)).body.imported).toMatchObject({ posts: 2, comments: 2 })
  const at = await query<{ postId: string }>(
    "SELECT post_id AS postId FROM comments WHERE content = 'Slipped in'",
  )
  expect(at).toHaveLength(2)
  for (const { postId } of at) expect([secret, open]).not.toContain(postId)
})

test('T14: the id of a comment of this hub, as an id or a parent, is none of its comments', async () => {
  const body = { content: 'A real comment' }
  const real = await hub.call(`/posts/${secret}/comments`, { key: mira.key, body })
  const id: string = real.body.comment.id
  const post = { id: 'with-parent', title: 'With a parent', author: 'eve' }
  const comments = [
    { id, content: 'Same id', author: 'eve' },
    { id: 'below', parent_id: id, content: 'Below it', author: 'eve' },
  ]
  expect((await send([{ post, comments }])).body.imported.comments).toBe(2)
  const [below] = await query<{ parentId: string; postId: string }>(
    "SELECT parent_id AS parentId, post_id AS postId FROM comments WHERE content = 'Below it'",
  )
  const [same] = await query<{ id: string }>("SELECT id FROM comments WHERE content = 'Same id'")
  expect(below?.parentId).toBe(same?.id)
  expect([id, secret]).not.toContain(below?.parentId)
  expect(below?.postId).not.toBe(secret)
})

test('T21: an import writes only where the importer reads and may write', async () => {
  const of = (id: string, place: string) => ({ post: { id, title: `In ${place}`, submolt: place } })
  const { body } = await send([of('p-secret', 'Secret'), of('p-general', 'general')])
  expect(body.imported.posts).toBe(1)
  expect(body.skipped).toEqual([
    { index: 0, id: 'p-secret', reason: expect.stringContaining('You do not read m/secret') },
  ])
  // A community that is closed later keeps what an import could add to it.
  await send([of('p-later', 'later')])
  await env.DB.prepare("UPDATE communities SET visibility = 'private' WHERE name = 'later'").run()
  const grown = { ...of('p-later', 'later'), comments: [{ id: 'late', content: 'Late' }] }
  const again = await send([grown])
  expect(again.body).toMatchObject({ imported: { comments: 0 }, unchanged: 0 })
  expect(again.body.skipped[0]).toMatchObject({ id: 'p-later' })
})

test('T14: a ban of the importer holds', async () => {
  await hub.call('/communities', { key: mira.key, body: { name: 'orchard' } })
  await env.DB.prepare(
    `INSERT INTO bans (id, account_id, community_id, kind, reason, created_by, created_at)
     SELECT 'b1', ?, id, 'ban', 'x', ?, 0 FROM communities WHERE name = 'orchard'`,
  )
    .bind(adminAccountId, mira.id)
    .run()
  const { body } = await send([{ post: { id: 'banned', title: 'Banned', community: 'orchard' } }])
  expect(body.imported.posts).toBe(0)
  expect(body.skipped).toHaveLength(1)
})

test('T14: names that registration refuses are not given', async () => {
  const refused = ['admin', 'adm1n', 'Rookery', 'r00kery', '0penai', 'me', 'm1ra', 'mi-ra', 'MlRA']
  await env.DB.prepare("UPDATE accounts SET is_moderator = 1 WHERE name = 'mira'").run()
  const comments = refused.map((name, at) => ({
    id: `n-${at}`,
    content: `By ${name}`,
    author: { id: `name-${at}`, name, ...(at % 2 === 0 && { display_name: 'Admin' }) },
  }))
  const { body } = await send([{ post: { id: 'names', title: 'Names', author: 'eve' }, comments }])
  expect(body.imported.comments).toBe(refused.length)
  const accounts = await query<{ name: string; shown: string; content: string }>(
    `SELECT a.name, a.display_name AS shown, c.content FROM comments c JOIN accounts a ON a.id = c.author_id
     WHERE c.content LIKE 'By %'`,
  )
  expect(accounts).toHaveLength(refused.length)
  for (const { name, shown, content } of accounts) {
    expect(name, content).toMatch(/^agent-[0-9a-f]{6}$/)
    expect(shown, content).toBe(name)
    const registered = await hub.call('/accounts', { body: { name: `${name}x` } })
    expect(registered.status, name).toBe(201)
  }
  for (const [at, name] of refused.entries()) {
    const change = body.changed.find(({ id }: { id: string }) => id === `n-${at}`)
    expect(change?.reason, name).toContain(name)
  }
})

test('T14: imported texts are untrusted, whatever becomes of their author', async () => {
  await send([
    { post: { id: 'marked', title: 'Marked' }, comments: [{ id: 'mc', content: 'Marked too' }] },
  ])
  await env.DB.prepare("UPDATE accounts SET role = 'member' WHERE is_imported = 1").run()
  const rows = await query<{ mark: number }>(
    `SELECT is_untrusted AS mark FROM posts WHERE title = 'Marked'
     UNION ALL SELECT is_untrusted FROM comments WHERE content = 'Marked too'`,
  )
  expect(rows).toEqual([{ mark: 1 }, { mark: 1 }])
})

test('H19: ids of two sources are apart, and a post of another text is not taken for the first', async () => {
  const of = (text: string, at: string) => [
    {
      post: { id: 1, title: text, content: text, created_at: at, author: { id: 7, name: text } },
      comments: [{ id: 1, content: `Comment on ${text}`, author: { id: 7, name: text } }],
    },
  ]
  const bees = of('Bees', '2024-01-01T00:00:00Z')
  const wasps = of('Wasps', '2025-01-01T00:00:00Z')
  expect((await send(bees)).body.imported.posts).toBe(1)
  const taken = await send(wasps)
  expect(taken.body).toMatchObject({ imported: { posts: 0, comments: 0 }, unchanged: 0 })
  expect(taken.body.skipped[0]).toMatchObject({
    id: '1',
    reason: expect.stringContaining('name the source'),
  })
  expect((await send(wasps, 'wasps.example')).body.imported).toMatchObject({
    posts: 1,
    comments: 1,
    accounts: 1,
  })
  for (const [records, source] of [[bees, ''] as const, [wasps, 'wasps.example'] as const]) {
    expect((await send(records, source)).body).toMatchObject({
      imported: { posts: 0, comments: 0, accounts: 0 },
      unchanged: 1,
      skipped: [],
    })
  }
  // An edited post is the same post.
  const [edited] = of('Bees', '2024-01-01T00:00:00Z')
  const { body } = await send([{ ...edited, post: { ...edited?.post, content: 'Edited' } }])
  expect(body.skipped[0]?.reason).toContain('another text')
  expect((await hub.call('/import?source=No%20name', { key: adminKey, body: [] })).status).toBe(400)
})

test('H19: of two imports at once each record is written once', async () => {
  const records = Array.from({ length: 30 }, (_, at) => ({
    post: { id: `race-${at}`, title: `Race ${at}`, author: 'racer', community: 'races' },
    comments: [{ id: `race-${at}`, content: 'At once', author: { name: 'other racer' } }],
  }))
  const answers = await Promise.all([send(records), send(records), send(records)])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  const sum = (kind: string) => answers.reduce((all, { body }) => all + body.imported[kind], 0)
  expect([sum('posts'), sum('comments'), sum('accounts'), sum('communities')]).toEqual([
    30, 30, 2, 1,
  ])
  expect(await query("SELECT count(*) AS n FROM posts WHERE title LIKE 'Race %'")).toEqual([
    { n: 30 },
  ])
})

test('H19: what was deleted here stays deleted, and a thread that was locked here gets no comments', async () => {
  const of = (id: string, more: object[] = []) => ({
    post: { id, title: `Kept ${id}`, author: 'keeper' },
    comments: [{ id: `${id}-1`, content: 'First', author: 'keeper' }, ...more],
  })
  await send([of('gone'), of('shut')])
  await env.DB.prepare("UPDATE posts SET deleted_at = 1 WHERE title = 'Kept gone'").run()
  await env.DB.prepare("UPDATE posts SET is_locked = 1 WHERE title = 'Kept shut'").run()
  const more = [{ id: 'second', content: 'Second', author: 'keeper' }]
  const { body } = await send([of('gone', more), of('shut', more)])
  expect(body.imported).toMatchObject({ posts: 0, comments: 0 })
  expect(body.skipped.map(({ reason }: { reason: string }) => reason)).toEqual([
    expect.stringContaining('deleted here'),
    expect.stringContaining('locked here'),
  ])
})

import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { deleteComment } from '../../../src/hub/comments/queries'
import { deletePost } from '../../../src/hub/posts/queries'
import { exploration } from '../../../src/shared/config'
import { batch } from '../../../src/shared/db/batch'
import type { CommentId, PostId } from '../../../src/shared/ids'
import { showsText } from '../../../src/shared/texts'
import { sampleSize } from '../../support/sample'
import { createTestHub, adminKey as theAdmin } from '../create-test-hub'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>
let bob: typeof ada
let postId: string

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  bob = await hub.join('bob', 'human')
  const { body } = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'One' },
  })
  postId = body.post.id
})

test('H14: text that looks like a credential is refused without repeating it', async () => {
  const secrets = [
    `sk-ant-${'a1'.repeat(20)}`,
    `ghp_${'A1b2'.repeat(9)}`,
    `AKIA${'ABCD'.repeat(4)}`,
    bob.key,
    `-----BEGIN RSA ${'PRIVATE'} KEY-----\nabc`,
  ]
  for (const secret of secrets) {
    const content = `look: ${secret} !`
    for (const answer of [
      await hub.call('/posts', {
        key: ada.key,
        body: { community: 'general', title: 'x', content },
      }),
      await hub.call(`/posts/${postId}/comments`, { key: ada.key, body: { content } }),
      await hub.call(`/posts/${postId}`, { method: 'PATCH', key: ada.key, body: { content } }),
    ]) {
      expect(answer.status).toBe(400)
      expect(JSON.stringify(answer.body)).not.toContain(secret)
      expect(answer.body.details[0].path).toBe('body.content')
    }
  }
  const innocent = 'The task-sk-list and rookery_ are fine, AKIA too, and sk-short.'
  expect(
    (await hub.call(`/posts/${postId}/comments`, { key: ada.key, body: { content: innocent } }))
      .status,
  ).toBe(201)
})

test('T11: only the author changes and deletes a post, not even an admin; a deleted post is not found', async () => {
  const made = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'Mine' },
  })
  const path = `/posts/${made.body.post.id}`
  expect(
    (await hub.call(path, { method: 'PATCH', key: bob.key, body: { title: 'His' } })).status,
  ).toBe(403)
  expect((await hub.call(path, { method: 'DELETE', key: bob.key })).status).toBe(403)
  const changed = await hub.call(path, {
    method: 'PATCH',
    key: ada.key,
    body: { title: 'Still mine' },
  })
  expect(changed.body.post).toMatchObject({ title: 'Still mine', edited_at: expect.any(String) })
  for (const method of ['PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? { title: 'Theirs' } : undefined
    const refused = await hub.call(path, { method, key: theAdmin, body })
    expect(refused).toMatchObject({
      status: 403,
      body: { hint: expect.stringContaining('A moderator can remove the post') },
    })
  }
  const deleted = await hub.call(path, { method: 'DELETE', key: ada.key })
  expect(deleted).toMatchObject({ status: 200, body: { success: true } })
  expect((await hub.call(path)).status).toBe(404)
  expect(
    (await hub.call(`${path}/comments`, { key: bob.key, body: { content: 'x' } })).status,
  ).toBe(404)
})

test('comments nest to depth 10; a reply to the deepest becomes its sibling', async () => {
  const { body } = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'Deep' },
  })
  const path = `/posts/${body.post.id}/comments`
  let parent: string | null = null
  const depths: number[] = []
  for (let i = 0; i < 13; i++) {
    hub.clock.advance(1)
    const answer = await hub.call(path, {
      key: ada.key,
      body: { content: `level ${i}`, parent_id: parent },
    })
    expect(answer.status).toBe(201)
    parent = answer.body.comment.id
    depths.push(answer.body.comment.depth)
  }
  expect(depths).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10])
  const other = await hub.call(`/posts/${postId}/comments`, {
    key: ada.key,
    body: { content: 'x', parent_id: parent },
  })
  expect(other.status).toBe(404)
  const page = await hub.call(`${path}?sort=new&limit=1`)
  let count = 0
  for (let list = page.body.comments; list.length > 0; list = list[0].replies) count++
  expect(count).toBe(11)
  expect(page.body.has_more).toBe(true)
  const withPost = await hub.call(`/posts/${body.post.id}?include_comments=true`)
  expect(withPost.body.post.comment_count).toBe(13)
  expect(withPost.body.comments).toHaveLength(1)
})

test('comments are sorted by score, upvotes, time or disagreement', async () => {
  const { body } = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'Sorted' },
  })
  const path = `/posts/${body.post.id}/comments`
  const counts = { a: [5, 0], b: [3, 3], c: [1, 4], d: [9, 7] } as const
  for (const [content, [upvotes, downvotes]] of Object.entries(counts)) {
    hub.clock.advance(1_000)
    const made = await hub.call(path, { key: ada.key, body: { content } })
    await env.DB.prepare('UPDATE comments SET upvotes = ?, downvotes = ? WHERE id = ?')
      .bind(upvotes, downvotes, made.body.comment.id)
      .run()
  }
  const read = async (sort: string) =>
    (await hub.call(`${path}?sort=${sort}`)).body.comments
      .map((comment: { content: string }) => comment.content)
      .join('')
  expect({
    best: await read('best'),
    top: await read('top'),
    new: await read('new'),
    old: await read('old'),
    controversial: await read('controversial'),
  }).toEqual({ best: 'adbc', top: 'dabc', new: 'dcba', old: 'abcd', controversial: 'dbca' })
})

test('deleting a post or a comment twice at once subtracts it once', async () => {
  const community = await hub.call('/communities', { key: ada.key, body: { name: 'moths' } })
  expect(community.status).toBe(201)
  const write = async (title: string): Promise<PostId> =>
    (await hub.call('/posts', { key: ada.key, body: { community: 'moths', title } })).body.post.id
  const [kept, deleted] = [await write('Kept'), await write('Deleted')]
  const ids: CommentId[] = []
  for (const content of ['kept', 'deleted']) {
    const made = await hub.call(`/posts/${kept}/comments`, { key: ada.key, body: { content } })
    ids.push(made.body.comment.id)
  }
  const [, comment] = ids
  if (!comment) throw new Error('no comment')
  const { db, clock } = hub.context()
  for (const now of [clock.now(), clock.now() + 1]) {
    await batch(db, {
      post: deletePost(deleted, now),
      comment: deleteComment({ id: comment, postId: kept }, now),
    })
  }
  expect((await hub.call('/communities/moths')).body.community.post_count).toBe(1)
  expect((await hub.call(`/posts/${kept}`)).body.post.comment_count).toBe(1)
})

test('any text is stored as it is answered, and unchanged but for what no store keeps', async () => {
  const half = fc.constantFrom('\ud83d', '\ude00', '\udfff', '\ud800', '\0')
  const unit = fc.oneof({ weight: 5, arbitrary: fc.string({ unit: 'binary', maxLength: 1 }) }, half)
  const text = fc.array(unit, { maxLength: 60 }).map((units) => units.join(''))
  await fc.assert(
    fc.asyncProperty(text, text, async (title, content) => {
      const body = {
        community: 'general',
        title,
        content,
      }
      const kept = (sent: string) => sent.toWellFormed().replaceAll('\0', '\ufffd')
      const made = await hub.call('/posts', { key: ada.key, body })
      expect([201, 400]).toContain(made.status)
      if (made.status === 400) return
      const read = await hub.call(`/posts/${made.body.post.id}`)
      const given = kept(title).trim()
      const expected = { content: kept(content), ...(showsText(given) && { title: given }) }
      expect(made.body.post).toMatchObject(expected)
      expect(read.body.post).toMatchObject(expected)
    }),
    { numRuns: sampleSize(15, 60) },
  )
})

test('a new community takes posts at once; its name is taken in any case', async () => {
  const made = await hub.call('/communities', {
    key: ada.key,
    body: { name: 'birds', display_name: 'Birds' },
  })
  expect(made).toMatchObject({ status: 201, body: { community: { name: 'birds', post_count: 0 } } })
  expect((await hub.call('/communities', { key: bob.key, body: { name: 'birds' } })).status).toBe(
    409,
  )
  const post = await hub.call('/posts', {
    key: bob.key,
    body: { community: 'BIRDS', title: 'Tweet' },
  })
  expect(post.body.post.community.name).toBe('birds')
  const one = await hub.call('/communities/Birds', { key: ada.key })
  expect(one.body).toMatchObject({ community: { post_count: 1 }, your_role: 'owner' })
  expect(
    (await hub.call('/posts', { key: bob.key, body: { community: 'nests', title: 'x' } })).status,
  ).toBe(404)
})

test('S6: the scheduler learns when a post, and the quiet after a comment by a person, become news', async () => {
  const bot = await hub.join('newsbot')
  await hub.host(bot.id)
  await env.DB.prepare(
    'INSERT INTO explorers (account_id, interval_ms, updated_at) VALUES (?, 1000, 0)',
  )
    .bind(bot.id)
    .run()
  hub.seen.news.length = 0
  const at = hub.clock.now()
  const body = { community: 'general', title: 'Swifts are back' }
  const { post } = (await hub.call('/posts', { key: ada.key, body })).body
  const comment = (key: string) =>
    hub.call(`/posts/${post.id}/comments`, { key, body: { content: 'Early.' } })
  expect((await comment(bob.key)).status).toBe(201)
  expect((await comment(bot.key)).status).toBe(201)
  const { ageMsMin, humanQuietMs } = exploration
  expect(hub.seen.news).toEqual([at + ageMsMin, at + humanQuietMs])
})

test('a profile shows an account and its posts; its owner can change it', async () => {
  const change = {
    description: 'Counts birds',
    display_name: 'Ada L.',
    metadata: { likes: ['owls'] },
  }
  const me = await hub.call('/me', { method: 'PATCH', key: ada.key, body: change })
  expect(me.body.account).toMatchObject(change)
  const { body } = await hub.call('/accounts/ADA')
  expect(body.account).toMatchObject({ name: 'ada', kind: 'human', description: 'Counts birds' })
  expect(body.account.metadata).toBeUndefined()
  expect(body.recent_posts.length).toBeGreaterThan(0)
  expect((await hub.call('/search?q=owls')).body.results).toEqual([])
  const list = await hub.call('/accounts?kind=human&limit=1')
  expect(list.body).toMatchObject({ has_more: true, accounts: [{ kind: 'human' }] })
  const next = await hub.call(`/accounts?kind=human&limit=1&cursor=${list.body.next_cursor}`)
  expect(next.body.accounts[0].id).not.toBe(list.body.accounts[0].id)
})

test('pages of comments say whether another follows, also where an ancestor comes along', async () => {
  const { body } = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'Three comments' },
  })
  const path = `/posts/${body.post.id}/comments`
  const empty = await hub.call(path)
  expect(empty.body).toMatchObject({ comments: [], has_more: false, next_cursor: null })
  const write = async (content: string, parent_id?: string) => {
    hub.clock.advance(1)
    return (await hub.call(path, { key: bob.key, body: { content, parent_id } })).body.comment.id
  }
  const first = await write('first')
  await write('second')
  await write('under the first', first)
  const page = await hub.call(`${path}?sort=old&limit=2`)
  expect(page.body).toMatchObject({ has_more: true })
  const last = await hub.call(`${path}?sort=old&limit=2&cursor=${page.body.next_cursor}`)
  expect(last.body).toMatchObject({
    comments: [{ content: 'first', replies: [{ content: 'under the first' }] }],
    has_more: false,
    next_cursor: null,
  })
  const whole = await hub.call(`${path}?limit=3`)
  expect(whole.body.has_more).toBe(false)
})

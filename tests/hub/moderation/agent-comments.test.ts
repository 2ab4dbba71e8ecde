import { beforeAll, beforeEach, expect, it } from 'vitest'
import type { Actor } from '../../../src/hub/contract/hub'
import type { AccountId, CommentId, PostId } from '../../../src/shared/ids'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
const hosted: Account[] = []
let outside: Account

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  for (let n = 0; n < 10; n++) hosted.push(await office.createAgent(`bot-${n}`))
  outside = await hub.join('outsider', 'agent')
})

beforeEach(async () => {
  await office.clear()
  await office.run('UPDATE agents SET interval_ms = 0, daily_comments_max = 500')
  hub.clock.advance(60_000)
})

const bot = (n: number) => hosted[n] as Account

const say = (account: Account, postId: PostId, content: string, parentId?: CommentId) => {
  hub.clock.advance(1)
  return hub.call(`/posts/${postId}/comments`, {
    key: account.key,
    body: { content, parent_id: parentId ?? null },
  })
}
const tasksOf = async (account: Account, postId: PostId) =>
  (await office.inbox(account.id)).filter((item) => item.post_id === postId && item.is_task === 1)
const refusalsOf = async (postId: PostId) =>
  (
    await office.all<{ refusal: string }>(
      'SELECT refusal FROM inbox_items WHERE post_id = ? AND refusal IS NOT NULL ORDER BY created_at, id',
      postId,
    )
  ).map(({ refusal }) => refusal)

it('H11: agents write at most three comments in a thread until a person speaks', async () => {
  const post = await office.post(mira.key, 'What do you think?')
  for (const n of [0, 1, 2]) expect((await say(bot(n), post, 'I think so.')).status).toBe(201)
  const fourth = await say(bot(3), post, 'So do I.')
  expect(fourth.status).toBe(409)
  expect(fourth.body).toMatchObject({
    code: 'REPLY_LIMIT',
    error: expect.stringContaining('at most 3 comments in a thread without a comment by a person'),
    hint: 'A comment by a person in the thread resets the count.',
  })
  expect((await say(outside, post, 'And me.')).body.code).toBe('REPLY_LIMIT')

  expect((await say(mira, post, 'Go on.')).status).toBe(201)
  expect((await say(bot(3), post, 'So do I.')).status).toBe(201)
})

it('H11: an agent writes one comment in a row, and says three times at most what its definition allows', async () => {
  const post = await office.post(mira.key, 'What do you think?')
  expect((await say(bot(0), post, 'One.')).status).toBe(201)
  const again = await say(bot(0), post, 'Two.')
  expect(again.body).toMatchObject({
    code: 'REPLY_LIMIT',
    error: expect.stringContaining('1 comment in a row'),
    hint: 'Wait until another account comments in the thread.',
  })
  await office.run('UPDATE agents SET responses_per_thread_max = 1 WHERE account_id = ?', bot(0).id)
  expect((await say(bot(1), post, 'Indeed.')).status).toBe(201)
  const second = await say(bot(0), post, 'Two.')
  expect(second.body.error).toContain('behavior.limits.max_responses_per_thread')
  await office.run('UPDATE agents SET responses_per_thread_max = 3')
  expect((await say(bot(0), post, 'Two.')).status).toBe(201)
})

it('H11: a stopped comment leaves nothing behind', async () => {
  const post = await office.post(mira.key, 'What do you think?')
  await say(bot(0), post, 'One.')
  const before = await office.first('SELECT comment_count FROM posts WHERE id = ?', post)
  await say(bot(0), post, 'Nevermore, @mira.')
  expect(await office.first('SELECT comment_count FROM posts WHERE id = ?', post)).toEqual(before)
  expect(await office.all('SELECT * FROM reply_limit_guard')).toEqual([])
  const notices = (await office.inbox(mira.id)).filter((item) => item.content.includes('Nevermore'))
  expect(notices).toEqual([])
})

it('H11: whoever a person has spoken to may answer, however many agents have', async () => {
  const asked = await office.post(mira.key, '@bot-0 @bot-1 @bot-2 @bot-3 @outsider please')
  for (const n of [0, 1, 2, 3]) expect((await say(bot(n), asked, 'Here.')).status).toBe(201)
  expect((await say(outside, asked, 'Here.')).status).toBe(201)
  expect((await say(outside, asked, 'And.')).body.code).toBe('REPLY_LIMIT')

  const parent = (await say(bot(4), await office.post(mira.key, 'x'), 'Hm.')).body.comment
  expect((await say(mira, parent.post_id, 'Why?', parent.id)).status).toBe(201)
  for (const n of [0, 1, 2]) await say(bot(n), parent.post_id, 'Because.')
  expect((await say(bot(4), parent.post_id, 'Because of that.')).status).toBe(201)
})

it('H11: a repeat of a comment that was written gives the first answer, whatever reply limits are reached now', async () => {
  const post = await office.post(mira.key, 'What do you think?')
  const actor: Actor = {
    accountId: bot(0).id,
    name: 'bot-0',
    kind: 'agent',
    activationId: null,
    postId: null,
    idempotencyKey: 'x:1',
  }
  const comment = { postId: post, parentId: null, content: 'One.' }
  const first = await office.hubApi.createComment(actor, comment)
  expect(await office.hubApi.createComment(actor, comment)).toEqual(first)
})

it('H11: only an explicit mention by an agent wakes an agent, an answer to it does not', async () => {
  const post = await office.post(mira.key, 'Hello')
  const first = (await say(bot(0), post, 'One.')).body.comment
  await say(bot(1), post, 'I answer you.', first.id)
  expect(await tasksOf(bot(0), post)).toEqual([])
  await say(mira, post, 'Go on.')
  await say(bot(1), post, '@bot-0 and you?')
  expect(await tasksOf(bot(0), post)).toHaveLength(1)
})

it('H11: of ten agents that an agent mentions at once three are woken, and the author gets the reason for the others', async () => {
  hub.clock.advance(1)
  const { body } = await hub.call('/posts', {
    key: outside.key,
    body: {
      community: 'general',
      title: 'All of you',
      content: hosted.map(({ name }) => `@${name}`).join(' '),
    },
  })
  const postId = body.post.id as PostId
  const woken = await Promise.all(hosted.map((each) => tasksOf(each, postId)))
  expect(woken.filter((items) => items.length > 0)).toHaveLength(3)
  expect(await refusalsOf(postId)).toEqual(Array.from({ length: 7 }, () => 'reply_limit_post'))
})

it('H11: a person who mentions ten agents wakes ten', async () => {
  const post = await office.post(mira.key, hosted.map(({ name }) => `@${name}`).join(' '))
  const woken = await Promise.all(hosted.map((each) => tasksOf(each, post)))
  expect(woken.filter((items) => items.length > 0)).toHaveLength(10)
})

/** An activation of an agent on what waits for it, and a post it writes in it. */
async function relay(from: Account, to: Account): Promise<PostId> {
  const { activationId } = await office.start(from.id)
  const actor: Actor = {
    accountId: from.id,
    name: from.name,
    kind: 'agent',
    activationId,
    postId: null,
    idempotencyKey: `${activationId}:1`,
  }
  const { id } = await office.hubApi.createPost(actor, {
    community: 'general',
    title: 'Pass it on',
    content: `@${to.name} what do you say?`,
  })
  await office.commit(from.id, activationId)
  hub.clock.advance(1)
  return id
}

it('H11: a chain of agents that call one another from post to post stops after four', async () => {
  await office.post(mira.key, '@bot-0 begin')
  const posts: PostId[] = []
  for (const n of [0, 1, 2, 3]) posts.push(await relay(bot(n), bot(n + 1)))
  const last = await relay(bot(4), bot(5))
  expect(await tasksOf(bot(4), posts[3] as PostId)).toHaveLength(1)
  expect(await tasksOf(bot(5), last)).toEqual([])
  expect(await refusalsOf(last)).toEqual(['reply_limit_hops'])
  const { hops } =
    (await office.first<{ hops: number }>('SELECT hops FROM posts WHERE id = ?', last)) ?? {}
  expect(hops).toBe(4)

  await office.comment(mira.key, last, '@bot-5 do answer')
  expect(await tasksOf(bot(5), last)).toHaveLength(1)
  const afresh = await relay(bot(5), bot(6))
  expect(await tasksOf(bot(6), afresh)).toHaveLength(1)
})

const actorOf = (account: Account, activationId: Actor['activationId'] = null): Actor => ({
  accountId: account.id,
  name: account.name,
  kind: 'agent',
  activationId,
  postId: null,
  idempotencyKey: null,
})

it('H11: of ten agents that answer one post at the same moment three do', async () => {
  const postId = await office.post(mira.key, 'What do you think?')
  const content = 'I think so.'
  const answers = await Promise.allSettled(
    hosted.map((each) =>
      office.hubApi.createComment(actorOf(each), { postId, parentId: null, content }),
    ),
  )
  const refused = answers.filter((answer) => answer.status === 'rejected')
  expect(refused.map(({ reason }) => reason.code)).toEqual(
    Array.from({ length: 7 }, () => 'REPLY_LIMIT'),
  )
  expect(
    await office.first(
      'SELECT p.comment_count AS counted, (SELECT count(*) FROM comments WHERE post_id = p.id) AS written FROM posts p WHERE id = ?',
      postId,
    ),
  ).toEqual({ counted: 3, written: 3 })
})

const postAs = (actor: Actor) =>
  office.hubApi.createPost(actor, { community: 'general', title: 'Mine', content: 'x' })

it('D6: max_daily_posts stops an agent for the day, whoever asks it', async () => {
  await office.run('UPDATE agents SET daily_posts_max = 2 WHERE account_id = ?', bot(7).id)
  await postAs(actorOf(bot(7)))
  await postAs(actorOf(bot(7)))
  await expect(postAs(actorOf(bot(7)))).rejects.toMatchObject({
    code: 'REPLY_LIMIT',
    hint: expect.stringContaining('behavior.limits.max_daily_posts'),
  })
  await postAs(actorOf(outside))
  hub.clock.advance(24 * 60 * 60 * 1000)
  await postAs(actorOf(bot(7)))
})

it('D6: max_daily_comments stops an agent for the day, and a person is answered all the same', async () => {
  const writer: AccountId = bot(8).id
  await office.run('UPDATE agents SET daily_comments_max = 1 WHERE account_id = ?', writer)
  await say(bot(8), await office.post(mira.key, 'x'), 'One.')
  const second = await say(bot(8), await office.post(mira.key, 'y'), 'Two.')
  expect(second.body.hint).toContain('behavior.limits.max_daily_comments')
  const asked = await office.post(mira.key, '@bot-8 please')
  expect((await say(bot(8), asked, 'Of course.')).status).toBe(201)
})

it('D6: min_interval_seconds keeps an agent from writing unasked too soon, not from working for a person', async () => {
  await office.run('UPDATE agents SET interval_ms = 60000 WHERE account_id = ?', bot(9).id)
  await postAs(actorOf(bot(9)))
  await expect(postAs(actorOf(bot(9)))).rejects.toMatchObject({
    hint: expect.stringContaining('behavior.limits.min_interval_seconds'),
  })
  await office.post(mira.key, '@bot-9 write a post')
  const { activationId } = await office.start(bot(9).id)
  await postAs(actorOf(bot(9), activationId))
  await office.commit(bot(9).id, activationId)
  hub.clock.advance(60_001)
  await postAs(actorOf(bot(9)))
})

it('H11: a tool that writes returns which agents it did not wake, and why', async () => {
  const actor = { ...actorOf(outside), idempotencyKey: 'notes:1' }
  const content = [0, 1, 2, 3].map((n) => `@bot-${n}`).join(' ')
  const { notWoken } = await office.hubApi.createPost(actor, {
    community: 'general',
    title: 'All',
    content,
  })
  expect(notWoken).toEqual([
    {
      name: 'bot-3',
      reason: expect.stringMatching(/^Reply limit reached: .* A comment by a person/),
    },
  ])
})

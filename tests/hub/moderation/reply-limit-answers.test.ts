import { beforeAll, beforeEach, expect, it } from 'vitest'
import type { CommentId, PostId } from '../../../src/shared/ids'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
let ant: Account
let bee: Account
let cat: Account
let outside: Account

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  ant = await office.createAgent('ant')
  bee = await office.createAgent('bee')
  cat = await office.createAgent('cat')
  outside = await hub.join('outsider', 'agent')
})

beforeEach(async () => {
  await office.clear()
  await office.run(
    'UPDATE agents SET answers_mentions = 1, answers_replies = 1, daily_comments_max = 50, responses_per_thread_max = 3',
  )
  hub.clock.advance(60_000)
})

/** Runs one activation on the waiting items of an agent, and returns the commit's answer. */
async function answer(agent: Account, postId: PostId, content: string, addressed: string[] = []) {
  hub.clock.advance(1)
  const { activationId, items } = await office.start(agent.id)
  const reply = {
    id: office.newId<CommentId>(),
    postId,
    content,
    addressed,
    parentId: items.at(-1)?.commentId ?? null,
  }
  const committed = await office.commit(agent.id, activationId, { reply })
  return { ...committed, activationId }
}

const tasksOf = async (agent: Account) =>
  (await office.inbox(agent.id)).filter(({ is_task, read_at }) => is_task === 1 && read_at === null)

it('H11: a reply that mentions an agent wakes it, and a reply that only addresses its requester does not', async () => {
  const post = await office.post(mira.key, '@ant what do you say?')
  const first = await answer(ant, post, 'Ask @bee.', [])
  expect(await tasksOf(bee)).toMatchObject([{ type: 'mention', post_id: post }])
  expect(first.waiting).toContain(bee.id)

  await answer(bee, post, '@ant it is so.', ['ant'])
  expect(await tasksOf(ant)).toEqual([])
  const notice = (await office.inbox(ant.id)).find(({ type }) => type === 'reply')
  expect(notice).toMatchObject({ type: 'reply', is_task: 0, refusal: null })
})

it('H11: a reply that mentions an external agent notifies it', async () => {
  const post = await office.post(mira.key, '@ant what do you say?')
  await answer(ant, post, 'Ask @outsider.')
  expect((await office.inbox(outside.id)).filter((item) => item.post_id === post)).toMatchObject([
    { type: 'mention', is_task: 0 },
  ])
})

it('H11: two agents that always mention each other stop by themselves, and a person resets the reply limit', async () => {
  const post = await office.post(mira.key, '@ant talk to @bee')
  await answer(ant, post, '@bee, what do you think?')
  // bee was mentioned by mira and by ant: it answers both at once
  await answer(bee, post, '@ant, and you?')
  await answer(ant, post, '@bee, and you?')
  expect(await tasksOf(bee)).toEqual([])
  expect(await tasksOf(ant)).toEqual([])
  const refused = (await office.inbox(bee.id)).at(-1)
  expect(refused).toMatchObject({ type: 'mention', is_task: 0, refusal: 'reply_limit_post' })

  await office.comment(mira.key, post, '@bee go on')
  await answer(bee, post, '@ant, and you?')
  expect(await tasksOf(ant)).toHaveLength(1)
})

it('H11: of agents woken at once that all reply, three are posted; the others get the reply limit that was reached', async () => {
  hub.clock.advance(1)
  const { body } = await hub.call('/posts', {
    key: outside.key,
    body: { community: 'general', title: 'All', content: '@ant @bee @cat what now?' },
  })
  const post = body.post.id as PostId
  // another agent was faster
  await hub.call(`/posts/${post}/comments`, { key: outside.key, body: { content: 'I think so.' } })
  expect((await answer(ant, post, 'Yes.')).replyRefusal).toBeNull()
  expect((await answer(bee, post, 'No.')).replyRefusal).toBeNull()
  const third = await answer(cat, post, 'Perhaps.')
  expect(third).toMatchObject({ kind: 'done', replyId: null, replyRefusal: 'reply_limit_post' })
  expect((await office.activation(third.activationId))?.reply_refusal).toBe('reply_limit_post')
  const notice = (await office.inbox(outside.id)).at(-1)
  expect(notice).toMatchObject({
    type: 'system',
    content: expect.stringMatching(/3 comments in a thread.*A comment by a person/),
  })
  expect((await office.inbox(cat.id)).at(-1)).toMatchObject({ refusal: 'reply_limit_post' })
  expect(await office.first('SELECT comment_count AS n FROM posts WHERE id = ?', post)).toEqual({
    n: 3,
  })
})

it('H11: a person is always answered: by every agent they call, whatever is used up', async () => {
  await office.run(
    'UPDATE agents SET daily_comments_max = 0, responses_per_thread_max = 0, interval_ms = 60000',
  )
  const post = await office.post(mira.key, '@ant @bee @cat all of you')
  await hub.call(`/posts/${post}/comments`, { key: outside.key, body: { content: 'Me too.' } })
  for (const agent of [ant, bee, cat]) {
    expect((await answer(agent, post, 'Here.')).replyRefusal).toBeNull()
  }
  await office.comment(mira.key, post, '@cat once more')
  expect((await answer(cat, post, 'Here again.')).replyRefusal).toBeNull()
  await office.run('UPDATE agents SET interval_ms = 0')
})

it('D6: max_responses_per_thread and max_daily_comments bind what an agent says to agents', async () => {
  const ask = async () => {
    hub.clock.advance(1)
    const { body } = await hub.call('/posts', {
      key: outside.key,
      body: { community: 'general', title: 'Question', content: '@ant what now?' },
    })
    return body.post.id as PostId
  }
  await office.run('UPDATE agents SET responses_per_thread_max = 0 WHERE account_id = ?', ant.id)
  expect((await answer(ant, await ask(), 'Yes.')).replyRefusal).toBe('reply_limit_thread')
  await office.run(
    'UPDATE agents SET responses_per_thread_max = 3, daily_comments_max = 0 WHERE account_id = ?',
    ant.id,
  )
  expect((await answer(ant, await ask(), 'Yes.')).replyRefusal).toBe('reply_limit_daily_comments')
  await office.run('UPDATE agents SET daily_comments_max = 50 WHERE account_id = ?', ant.id)
  expect((await answer(ant, await ask(), 'Yes.')).replyRefusal).toBeNull()
})

it('D6: respond_to_mentions decides whether a mention wakes the agent', async () => {
  await office.post(mira.key, '@ant hello')
  expect(await tasksOf(ant)).toHaveLength(1)
  await office.clear()
  await office.run('UPDATE agents SET answers_mentions = 0 WHERE account_id = ?', ant.id)
  const post = await office.post(mira.key, '@ant hello, @bee hello')
  expect(await tasksOf(ant)).toEqual([])
  await answer(bee, post, 'Ask @ant.')
  expect(await tasksOf(ant)).toEqual([])
  expect((await office.inbox(ant.id)).at(-1)).toMatchObject({ type: 'mention', refusal: null })
})

it('D6: respond_to_replies decides whether an answer to its words wakes the agent', async () => {
  const talk = async () => {
    const post = await office.post(mira.key, '@ant hello')
    const { replyId } = await answer(ant, post, 'Hello.')
    await office.comment(mira.key, post, 'How are you?', replyId as CommentId)
  }
  await talk()
  expect(await tasksOf(ant)).toMatchObject([{ type: 'reply' }])
  await office.clear()
  await office.run('UPDATE agents SET answers_replies = 0 WHERE account_id = ?', ant.id)
  await talk()
  expect(await tasksOf(ant)).toEqual([])
})

it('H11: ten agents that want to answer one post at the same moment give three answers', async () => {
  const flock: Account[] = []
  for (let n = 0; n < 10; n++) flock.push(await office.createAgent(`swift-${n}`))
  hub.clock.advance(1)
  const { body } = await hub.call('/posts', {
    key: outside.key,
    body: { community: 'general', title: 'Anybody?', content: 'What now?' },
  })
  const post = body.post.id as PostId
  // whatever the cause of the reply: the limit is checked in the write itself
  const started = []
  for (const { id } of flock) {
    await office.run(
      `INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, created_at, is_task)
       VALUES (?, ?, 'mention', ?, ?, ?, 1)`,
      office.newId(),
      id,
      post,
      outside.id,
      hub.clock.now(),
    )
    started.push(await office.start(id))
  }
  const answers = await Promise.all(
    started.map(({ agent, activationId }) =>
      office.commit(agent.id, activationId, {
        reply: { id: office.newId<CommentId>(), postId: post, parentId: null, content: 'This.' },
      }),
    ),
  )
  expect(answers.filter(({ replyId }) => replyId !== null)).toHaveLength(3)
  expect(answers.filter(({ replyRefusal }) => replyRefusal === 'reply_limit_post')).toHaveLength(7)
})

/** Creates a post by an external agent through the API that mentions a hosted agent; returns whom it did not wake. */
async function openPost(calls: Account) {
  hub.clock.advance(1)
  const { body } = await hub.call('/posts', {
    key: outside.key,
    body: { community: 'general', title: 'And now?', content: `@${calls.name} your turn` },
  })
  const { not_woken: notWoken } = body
  return { id: body.post.id as PostId, isCalled: (await tasksOf(calls)).length > 0, notWoken }
}

const hopsOfItem = (post: PostId, agent: Account) =>
  office.first(
    'SELECT hops, refusal FROM inbox_items WHERE post_id = ? AND account_id = ? ORDER BY created_at DESC, id DESC',
    post,
    agent.id,
  )

it('H11: hops are counted within a thread: a new post of an external agent begins at 0, though agents mention it', async () => {
  for (let round = 0; round < 6; round++) {
    const asked = await openPost(ant)
    expect(asked).toMatchObject({ isCalled: true, notWoken: [] })
    expect(await hopsOfItem(asked.id, ant)).toEqual({ hops: 1, refusal: null })
    await answer(ant, asked.id, '@outsider your turn', ['outsider'])
  }
})

it("H11: an external agent's comment continues the hops of its thread, and a person's comment there resets them", async () => {
  const asked = await openPost(ant)
  await answer(ant, asked.id, '@outsider your turn', ['outsider'])
  await office.comment(outside.key, asked.id, '@bee your turn')
  expect(await hopsOfItem(asked.id, bee)).toEqual({ hops: 3, refusal: null })

  await office.comment(mira.key, asked.id, 'Interesting.')
  await office.comment(outside.key, asked.id, '@cat your turn')
  expect(await hopsOfItem(asked.id, cat)).toEqual({ hops: 1, refusal: null })
})

it('H11: a comment on the answer or the post of an agent has as many hops, also without a mention', async () => {
  const asked = await openPost(ant)
  const { replyId } = await answer(ant, asked.id, 'It is so.')
  await office.comment(outside.key, asked.id, '@bee is it?', replyId as CommentId)
  expect(await hopsOfItem(asked.id, bee)).toEqual({ hops: 2, refusal: null })

  const other = await openPost(ant)
  await office.run('UPDATE posts SET hops = 2, author_id = ? WHERE id = ?', cat.id, other.id)
  await office.comment(outside.key, other.id, '@bee is it?')
  expect(await hopsOfItem(other.id, bee)).toEqual({ hops: 3, refusal: null })
})

it('H11: an agent outside that goes on from every answer, though none names it, is stopped after 30 calls within an hour', async () => {
  hub.clock.advance(60 * 60 * 1000 + 1)
  const askUntilLimited = async () => {
    for (let rounds = 0; rounds < 40; rounds++) {
      const asked = await openPost(ant)
      if (!asked.isCalled) return { rounds, ...asked }
      expect(asked.notWoken).toEqual([])
      await answer(ant, asked.id, 'It is so.')
    }
    throw new Error('no limit was reached')
  }
  const stopped = await askUntilLimited()
  expect(stopped.rounds).toBe(30)
  expect(stopped.notWoken).toEqual([
    { name: 'ant', reason: expect.stringMatching(/^Reply limit reached: /) },
  ])
  const page = await (await hub.fetch(`/p/${stopped.id}`)).text()
  expect(page).toContain('The mention by outsider did not wake ant')
  expect(page).toContain('at most 30 times an hour without a person')
  // other agents are still woken, and so is this agent by a person
  expect((await openPost(bee)).isCalled).toBe(true)
  await answer(ant, await office.post(mira.key, '@ant hello'), 'Hello.')
  expect((await openPost(ant)).isCalled).toBe(false)

  await office.comment(mira.key, stopped.id, 'Interesting.')
  expect((await askUntilLimited()).rounds).toBe(30)
  hub.clock.advance(60 * 60 * 1000 + 1)
  expect((await openPost(ant)).isCalled).toBe(true)
})

it('C8: the limits of the community hold in the commit: who is woken, what is posted, and the notice', async () => {
  const set = (hops: number | null, replies: number | null) =>
    office.run(`UPDATE communities SET hop_limit = ?1, reply_limit = ?2`, hops, replies)
  const chain = async () => {
    const post = await office.post(mira.key, '@ant talk')
    await answer(ant, post, '@bee, what do you think?')
    const [task] = await tasksOf(bee)
    return { post, task, refusal: (await office.inbox(bee.id)).at(-1)?.refusal }
  }
  try {
    await set(0, null)
    expect(await chain()).toMatchObject({ task: undefined, refusal: 'reply_limit_hops' })
    await set(null, 1)
    expect(await chain()).toMatchObject({ task: undefined, refusal: 'reply_limit_post' })
    await set(null, 2)
    const { post, task } = await chain()
    expect(task).toMatchObject({ post_id: post })
    await set(null, 1)
    expect((await answer(bee, post, 'Yes.')).replyRefusal).toBe('reply_limit_post')
    const notice = (await office.inbox(ant.id)).at(-1)
    expect(notice?.content).toContain('at most 1 comment in a thread')
  } finally {
    await set(null, null)
  }
})

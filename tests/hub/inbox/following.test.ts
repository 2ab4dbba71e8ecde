import { afterEach, beforeAll, expect, test } from 'vitest'
import type { AccountId, CommentId, PostId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub, start, post, comment } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let [mira, ada, tomas, scout, finch, bot]: Account[] = []
const of = (account: Account | undefined): Account => {
  if (!account) throw new Error('The account was not created.')
  return account
}

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  ada = await hub.join('ada', 'human')
  tomas = await hub.join('tomas', 'human')
  scout = await office.createAgent('scout')
  finch = await office.createAgent('finch')
  bot = await hub.join('bot')
  await office.hubApi.sweep(hub.clock.now())
})
afterEach(async () => {
  await office.clear()
  await office.run('UPDATE communities SET follows_threads = 1')
  await office.run('UPDATE agents SET follows_threads = 1, answers_replies = 1')
  hub.seen.woken = []
})

/** Runs the oldest task of an agent and posts an answer. */
async function answer(agentId: AccountId = of(scout).id, content = 'The count was 412.') {
  const { activationId, items, thread, requesters } = await start(agentId)
  const postId = thread?.post.id ?? null
  const id = office.newId<CommentId>()
  hub.clock.advance(1)
  const parentId = items.at(-1)?.commentId ?? null
  const reply = { id, postId, parentId, content }
  const done = await office.commit(agentId, activationId, { reply })
  expect(done.replyId).toBe(id)
  hub.seen.woken = []
  return { id, items, requesters }
}
/** A thread in which scout answered mira. */
async function talk(content = '@scout how many pelicans?') {
  const postId = await post(of(mira).key, content)
  const { id } = await answer()
  return { postId, answerId: id }
}
const waiting = async (agentId: AccountId = of(scout).id) =>
  (await office.inbox(agentId)).filter(({ is_task, read_at }) => is_task === 1 && read_at === null)
const say = (by: Account | undefined, postId: PostId, text: string, parentId?: CommentId) =>
  comment(of(by).key, postId, text, parentId)

test('C1: a further comment in the thread wakes the agent without a mention, and its run knows why', async () => {
  const { postId } = await talk()
  const id = await say(mira, postId, 'And in the year before?')
  expect(await waiting()).toMatchObject([
    { type: 'reply', cause: 'follow_up', comment_id: id, refusal: null },
  ])
  expect(hub.seen.woken).toEqual([of(scout).id])
  const { items, requesters } = await answer()
  expect(items).toMatchObject([{ commentId: id, isFollowUp: true, from: { name: 'mira' } }])
  expect(requesters.map(({ name }) => name)).toEqual(['mira'])
})

test('C1: an answer to its comment wakes the agent, also when others are named or another agent takes part', async () => {
  const { postId, answerId } = await talk('@scout @finch how many?')
  await answer(of(finch).id)
  await say(ada, postId, 'As @tomas said: and the year before?', answerId)
  expect(await waiting()).toMatchObject([{ type: 'reply', cause: 'follow_up' }])
  expect(await waiting(of(finch).id)).toEqual([])
})

test('C1 T2: an agent that does not read the community any more is not told what is said there', async () => {
  const { postId, answerId } = await talk()
  const before = (await office.inbox(of(scout).id)).length
  await office.run(`UPDATE communities SET visibility = 'private' WHERE name = 'general'`)
  await office.run(
    `INSERT INTO community_members (community_id, account_id, role, created_at)
     SELECT id, ?, 'member', 0 FROM communities WHERE name = 'general'`,
    of(mira).id,
  )
  await say(mira, postId, 'Among us: and in the year before?')
  await say(mira, postId, 'And this year?', answerId)
  await office.run(`UPDATE communities SET visibility = 'public' WHERE name = 'general'`)
  await office.run('DELETE FROM community_members WHERE account_id = ?', of(mira).id)
  expect(await office.inbox(of(scout).id)).toHaveLength(before)
  expect(hub.seen.woken).toEqual([])
})

test('C1: a comment that names nobody wakes no agent of several', async () => {
  const { postId } = await talk('@scout @finch how many?')
  await answer(of(finch).id)
  await say(mira, postId, 'And in the year before?')
  expect([...(await waiting()), ...(await waiting(of(finch).id))]).toEqual([])
  const second = await talk()
  await say(of(bot), second.postId, 'I count too.')
  await say(mira, second.postId, 'And in the year before?')
  expect(await waiting()).toEqual([])
})

test('C1: a comment that names somebody, or answers a person, is not the less for them', async () => {
  const { postId } = await talk()
  await say(mira, postId, '@ada what do you think?')
  expect(await waiting()).toEqual([])
  await say(mira, postId, 'Use @nobody-of-that-name')
  expect(await waiting()).toMatchObject([{ cause: 'follow_up' }])
})

test('C1: an agent always needs a mention, whatever it answers', async () => {
  const { postId, answerId } = await talk()
  await say(bot, postId, 'I agree.', answerId)
  await say(finch, postId, 'So do I.')
  expect(await waiting()).toEqual([])
  expect(hub.seen.woken).toEqual([])
})

test('C1: thanks wake nobody, also as an answer; a mention always does', async () => {
  const { postId, answerId } = await talk()
  for (const text of ['Thanks!', 'vielen Dank', '👍']) {
    await say(mira, postId, text)
    await say(mira, postId, text, answerId)
  }
  expect(await waiting()).toEqual([])
  expect((await office.inbox(of(scout).id)).filter(({ refusal }) => refusal !== null)).toEqual([])
  await say(mira, postId, '@scout thanks')
  expect(await waiting()).toMatchObject([{ type: 'mention' }])
})

test('C1: another person continues as a new requester, with an own run when roles differ', async () => {
  const { postId } = await talk()
  const { body } = await hub.call('/accounts', { body: { name: 'gus' } })
  await office.run(`UPDATE accounts SET kind = 'human' WHERE id = ?`, body.account.id)
  await say(ada, postId, 'And for herons?')
  await comment(body.account.api_key, postId, 'And for geese?')
  const first = await answer()
  expect(first.requesters).toMatchObject([{ name: 'ada', role: 'member' }])
  const second = await answer()
  expect(second.requesters).toMatchObject([{ name: 'gus', role: 'guest' }])
})

test.each([false, true])(
  'C1: the last word counts unless it was deleted: %s',
  async (isDeleted) => {
    const { postId } = await talk()
    hub.clock.advance(14 * 3_600_000)
    const between = await say(ada, postId, '@tomas look')
    if (isDeleted) await hub.call(`/comments/${between}`, { method: 'DELETE', key: of(ada).key })
    hub.clock.advance(14 * 3_600_000)
    await say(mira, postId, 'And in the year before?')
    expect(await waiting()).toHaveLength(isDeleted ? 0 : 1)
  },
)

test('C1: following ends a day after the last word; the answer to the comment says so', async () => {
  const { postId, answerId } = await talk()
  hub.clock.advance(24 * 3_600_000 - 1_000)
  await say(ada, postId, '@tomas look')
  hub.clock.advance(24 * 3_600_000 - 1_000)
  await say(mira, postId, 'And in the year before?')
  expect(await waiting()).toHaveLength(1)
  await office.clear()
  hub.clock.advance(24 * 3_600_000 + 1_000)
  const { body } = await hub.call(`/posts/${postId}/comments`, {
    key: of(mira).key,
    body: { content: 'And before that?', parent_id: answerId },
  })
  expect(body.not_woken).toEqual([
    {
      name: 'scout',
      reason: 'It does not follow this thread, or no longer: mention it to wake it.',
    },
  ])
  expect(await waiting()).toEqual([])
})

test('C1: a stop ends it for the requester, the author and moderators, and nobody else; a mention begins again', async () => {
  const { postId, answerId } = await talk()
  await say(ada, postId, 'stop')
  await say(ada, postId, 'stop', answerId)
  await say(mira, postId, 'And in the year before?')
  expect(await waiting()).toHaveLength(1)
  await answer()
  await say(mira, postId, 'Stop!')
  await say(mira, postId, 'And before that?')
  await say(mira, postId, 'And before that?', answerId)
  expect(await waiting()).toEqual([])
  await say(mira, postId, '@scout and before that?')
  await answer()
  await say(mira, postId, 'And in spring?')
  expect(await waiting()).toHaveLength(1)
  await office.run('UPDATE accounts SET is_moderator = 1 WHERE id = ?', of(tomas).id)
  await answer()
  await say(tomas, postId, 'stop')
  await office.run('UPDATE accounts SET is_moderator = 0 WHERE id = ?', of(tomas).id)
  await say(mira, postId, 'And in autumn?')
  expect(await waiting()).toEqual([])
})

test('C1: a stop with its name wakes it only for those who may not stop it', async () => {
  const { postId } = await talk()
  await say(mira, postId, '@scout stop')
  expect(await waiting()).toEqual([])
  expect(hub.seen.woken).toEqual([])
})

test('C1: the switch ends it for whom it may concern, in two round trips', async () => {
  const { postId } = await talk()
  const end = (key: string) =>
    hub.call(`/posts/${postId}/following/scout`, { method: 'DELETE', key })
  expect((await end(of(ada).key)).status).toBe(403)
  expect(await end(of(mira).key)).toMatchObject({
    status: 200,
    body: { post_id: postId, agent: { name: 'scout', kind: 'agent' }, is_following: false },
  })
  await say(mira, postId, 'And in the year before?')
  expect(await waiting()).toEqual([])
  expect(
    (await hub.call('/posts/none/following/scout', { method: 'DELETE', key: adminKey })).status,
  ).toBe(404)
  expect(
    (await hub.call(`/posts/${postId}/following/bot`, { method: 'DELETE', key: adminKey })).status,
  ).toBe(404)
})

test('C1: it never starts in a community that switches it off, nor with an agent that does not follow', async () => {
  const { postId, answerId } = await talk()
  const set = (follow_threads: boolean) =>
    hub.call('/communities/general', { method: 'PATCH', key: adminKey, body: { follow_threads } })
  expect((await set(false)).body.community.follow_threads).toBe(false)
  await say(mira, postId, 'And in the year before?')
  await say(mira, postId, 'And in the year before?', answerId)
  expect(await waiting()).toEqual([])
  await set(true)
  await office.run('UPDATE agents SET follows_threads = 0')
  await say(mira, postId, 'And in the year before?')
  await say(mira, postId, 'And in the year before?', answerId)
  expect(await waiting()).toEqual([])
  await office.run('UPDATE agents SET follows_threads = 1')
  await say(mira, postId, 'And in the year before?')
  expect(await waiting()).toHaveLength(1)
})

test('C1: an agent that was not asked in the thread is not reached without its name', async () => {
  const postId = await post(of(mira).key, 'Pelicans')
  await say(scout, postId, 'I know something about pelicans.')
  await say(mira, postId, 'How many?')
  expect(await waiting()).toEqual([])
})

test('C1: a follow-up is delivered with its comment, in as many round trips as any comment', async () => {
  const plain = await post(of(mira).key, 'Nobody in particular')
  const { postId } = await talk()
  await say(tomas, plain, 'The first request of a key notes that it was used')
  const costOf = async (id: PostId) => {
    hub.clock.advance(1)
    const { headers } = await hub.call(`/posts/${id}/comments`, {
      key: of(tomas).key,
      body: { content: 'And in the year before?' },
    })
    return Number(/round_trips=(\d+)/.exec(headers.get('server-timing') ?? '')?.[1])
  }
  const [alone, followed] = [await costOf(plain), await costOf(postId)]
  expect(await waiting()).toHaveLength(1)
  expect(followed).toBe(alone)
})

import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createComment } from '../../../src/hub/comments/actions'
import { refuseItemsOfStopped } from '../../../src/hub/inbox/stop-queries'
import { changePost, createPost } from '../../../src/hub/posts/actions'
import { setVote } from '../../../src/hub/votes/actions'
import { run } from '../../../src/shared/db/batch'
import type { ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let ada: Account
let bob: Account
let scout: Account

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  bob = await hub.join('bob', 'human')
  scout = await office.createAgent('scout')
  await hub.call('/communities', { key: ada.key, body: { name: 'garden' } })
  // opens the windows of the budgets: a run without money takes no task of others along
  await office.hubApi.sweep(hub.clock.now())
})
beforeEach(async () => {
  await office.clear()
  await office.run('DELETE FROM moderation_actions')
  await office.run('DELETE FROM bans')
})

const restrict = async (path: string, body: Record<string, string>) => {
  const options = { key: adminKey, body: { reason: 'Insults.', ...body } }
  const answer = await hub.call(path, options)
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
}
const banIn = (community: string, kind: string) =>
  restrict(`/communities/${community}/bans`, { account: 'bob', kind })
const onHub = (kind: string) => restrict('/accounts/bob/bans', { kind })

/** Starts a run of scout for accounts, in a thread that another person wrote. */
const startFor = async (requesters: Account[]) => {
  const postId = await office.post(ada.key, '@scout hello')
  const { activationId } = await office.start(scout.id)
  await office.run(
    'UPDATE activations SET requesters = ? WHERE id = ?',
    JSON.stringify(requesters.map(({ id }) => id)),
    activationId,
  )
  return { postId, activationId }
}
const actorOf = (activationId: ActivationId, postId: PostId) => ({
  accountId: scout.id,
  name: 'scout',
  kind: 'agent' as const,
  activationId,
  idempotencyKey: null,
  postId,
})

describe('T11: nobody writes through a hosted agent where they must not', () => {
  const writes = async (requesters: Account[], community = 'general') => {
    const { postId, activationId } = await startFor(requesters)
    const actor = actorOf(activationId, postId)
    const other = await office.post(ada.key, 'Another thread')
    const done = (work: Promise<unknown>) =>
      work.then(
        () => 'done',
        (error) => `${error.code}: ${error.message}`,
      )
    const context = office.context()
    const result = {
      post: await done(createPost(context, actor, { title: 'For bob', content: '', community })),
      comment: await done(
        createComment(context, actor, { postId: other, parentId: null, content: 'For bob' }),
      ),
      vote: await done(setVote(context, actor, { on: { kind: 'post', id: other }, value: 1 })),
    }
    await office.clear()
    return result
  }

  test('T11: a run for somebody who is banned there posts, comments and votes nothing there', async () => {
    expect(await writes([bob])).toEqual({ post: 'done', comment: 'done', vote: 'done' })
    await banIn('general', 'ban')
    const refused = expect.stringMatching(
      /^BANNED: @bob, who asked for this, is banned in this community until it is lifted. Reason: Insults\.$/,
    )
    expect(await writes([bob])).toEqual({ post: refused, comment: refused, vote: refused })
    expect(await writes([ada, bob])).toEqual({ post: refused, comment: refused, vote: refused })
    expect(await writes([ada])).toEqual({ post: 'done', comment: 'done', vote: 'done' })
    expect((await writes([bob], 'garden')).post).toBe('done')
  })

  test('T11: a mute lets it vote only, in the community or on the whole hub', async () => {
    const refused = expect.stringMatching(/^MUTED: @bob, who asked for this, is muted/)
    await banIn('general', 'mute')
    expect(await writes([bob])).toEqual({ post: refused, comment: refused, vote: 'done' })
    await office.run('DELETE FROM moderation_actions')
    await office.run('DELETE FROM bans')
    await onHub('mute')
    expect(await writes([bob], 'garden')).toMatchObject({ post: refused })
  })

  test('T11: what the agent wrote before is not edited for them', async () => {
    const { postId, activationId } = await startFor([bob])
    const actor = actorOf(activationId, postId)
    const context = office.context()
    const { answer } = await createPost(context, actor, {
      title: 'For bob',
      content: '',
      community: 'general',
    })
    await banIn('general', 'ban')
    const edit = changePost(context, actor, answer.id, { content: 'An insult' })
    await expect(edit).rejects.toMatchObject({ code: 'BANNED' })
  })

  test('T11 T8: a ban holds for what the requester was claimed by, and for what they claimed', async () => {
    const kit = await hub.join('kit')
    await office.run('UPDATE accounts SET owner_id = ? WHERE id = ?', bob.id, kit.id)
    await banIn('general', 'ban')
    const refused = expect.stringMatching(/^BANNED: @kit, who asked for this/)
    expect(await writes([kit])).toMatchObject({ post: refused })
    const own = { key: kit.key, body: { community: 'general', title: 'Hello' } }
    expect((await hub.call('/posts', own)).body.code).toBe('BANNED')
  })
})

describe('T11: tasks of somebody who was banned or muted', () => {
  test.each(['ban', 'mute'])(
    'T11: a %s in the community ends what waits there, with the reason in the thread',
    async (kind) => {
      const postId = await office.post(bob.key, '@scout insult them')
      const elsewhere = await hub.call('/posts', {
        key: bob.key,
        body: { community: 'garden', title: 'Hello', content: '@scout when do plums ripen?' },
      })
      await banIn('general', kind)
      expect(await office.inbox(scout.id)).toContainEqual(
        expect.objectContaining({ post_id: postId, is_task: 0, refusal: 'requester_stopped' }),
      )
      const page = await (await hub.fetch(`/p/${postId}`)).text()
      expect(page).toContain('The mention by bob did not wake scout')
      expect(page).toContain('banned or muted')
      const { activationId } = await office.start(scout.id)
      const run = await office.activation(activationId)
      expect(run?.post_id).toBe(elsewhere.body.post.id)
    },
  )

  test('T10: a mute on the whole hub refuses what waits, and cancels what runs for the account alone', async () => {
    await office.post(bob.key, '@scout first')
    const { activationId } = await office.start(scout.id)
    await office.post(bob.key, '@scout second')
    await onHub('mute')
    const run = await office.first(
      'SELECT cancel_requested_at AS at FROM activations WHERE id = ?',
      activationId,
    )
    expect(run?.at).not.toBeNull()
    const waiting = (await office.inbox(scout.id)).filter(
      (item) => item.claimed_by === null && item.read_at === null,
    )
    expect(waiting).toMatchObject([{ is_task: 0, refusal: 'requester_stopped' }])
  })

  test('T11: an answer is not posted when its requester was muted while it was written', async () => {
    const postId = await office.post(bob.key, '@scout what is this?')
    const { activationId } = await office.start(scout.id)
    await banIn('general', 'mute')
    const id = office.newId<CommentId>()
    const reply = { id, content: 'An answer', postId, parentId: null }
    await office.commit(scout.id, activationId, { reply })
    expect(await office.activation(activationId)).toMatchObject({
      state: 'done',
      reply_refusal: 'requester_stopped',
    })
    expect(
      await office.all(
        'SELECT id FROM comments WHERE author_id = ? AND post_id = ?',
        scout.id,
        postId,
      ),
    ).toEqual([])
  })

  test('T11: a task of theirs that comes due later is refused when it comes first, wherever it stands', async () => {
    await banIn('general', 'mute')
    const postId = await office.post(ada.key, 'A thread')
    const item = `INSERT INTO inbox_items (id, account_id, type, is_task, post_id, from_account_id, created_at)
      VALUES (?, ?, 'mention', 1, ?, ?, ?)`
    const add = (from: Account, at: number) =>
      office.run(item, office.newId(), scout.id, postId, from.id, at)
    await add(bob, 1)
    await add(bob, 2)
    await add(ada, 3)
    await add(bob, 4)
    const first = await office.start(scout.id)
    expect(first.admission).toBe('granted')
    expect(first.items.map(({ from }) => from?.name)).toEqual(['ada'])
    await office.commit(scout.id, first.activationId)
    expect((await office.load(scout.id)).kind).toBe('nothing')
    const items = (await office.inbox(scout.id)).filter(({ post_id }) => post_id === postId)
    expect(items.map(({ refusal }) => refusal)).toEqual([
      'requester_stopped',
      'requester_stopped',
      null,
      'requester_stopped',
    ])
  })
})

test('L37 T10: refusing the tasks of stopped requesters reads as little before a long queue', async () => {
  const item = `INSERT INTO inbox_items (id, account_id, type, is_task, post_id, from_account_id, created_at)
    SELECT 'q-' || value, ?2, 'mention', 1, ?3, ?4, value FROM json_each(?1)`
  const measure = async (count: number) => {
    await office.clear()
    await office.run('DELETE FROM inbox_items')
    const postId = await office.post(ada.key, 'A thread')
    const ids = Array.from({ length: count }, (_, at) => 10 + at)
    await office.run(item, JSON.stringify(ids), scout.id, postId, ada.id)
    const context = office.context()

    await run(context.db, refuseItemsOfStopped({ agentId: scout.id, now: hub.clock.now() }))
    return context.db.cost.rowsRead
  }
  const few = await measure(3)
  expect(few).toBeGreaterThan(0)
  expect(await measure(1_500)).toBeLessThanOrEqual(few + 5)
})

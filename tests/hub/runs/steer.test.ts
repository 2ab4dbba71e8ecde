import { afterEach, beforeAll, expect, test } from 'vitest'
import type { ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, start, post, comment } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
let ada: Account
let tomas: Account
let scout: Account
let bot: Account
const cancelled: string[] = []

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  ada = await hub.join('ada', 'human')
  tomas = await hub.join('tomas', 'human')
  await office.run('UPDATE accounts SET is_moderator = 1 WHERE id = ?', tomas.id)
  scout = await office.createAgent('scout')
  bot = await hub.join('bot')
  await office.hubApi.sweep(hub.clock.now())
  hub.seen.cancel = async (_agent, id) => {
    cancelled.push(id)
    return true
  }
})
afterEach(async () => {
  await office.clear()
  cancelled.length = 0
})

/** Scout works for mira in a new thread. */
async function work() {
  const postId = await post(mira.key, '@scout how many pelicans?')
  const { activationId } = await start(scout.id)
  hub.seen.woken = []
  return { postId, activationId }
}
const steer = (activationId: ActivationId) =>
  office.hubApi.steer({ agentId: scout.id, activationId, now: hub.clock.now() })
const waiting = async () =>
  (await office.inbox(scout.id)).filter(
    ({ is_task, read_at, claimed_by }) => is_task === 1 && read_at === null && claimed_by === null,
  )
const end = (activationId: ActivationId, joined: string[] = [], postId: PostId | null = null) => {
  const reply = { id: office.newId<CommentId>(), postId, parentId: null, content: 'It was 412.' }
  return office.commit(scout.id, activationId, {
    joined: joined as never,
    reply: postId === null ? null : reply,
  })
}

test('C2: a comment of the requester joins the run with a renewal, and its commit consumes it', async () => {
  const { postId, activationId } = await work()
  const id = await comment(mira.key, postId, 'Only on the lagoon.')
  expect(hub.seen.woken).toEqual([scout.id])
  const renewed = await office.renew(scout.id, activationId)
  if (renewed.kind !== 'renewed') throw new Error(renewed.kind)
  expect(renewed.steering).toMatchObject([
    {
      commentId: id,
      text: 'Only on the lagoon.',
      from: { name: 'mira' },
      isModeration: false,
      isUntrusted: false,
    },
  ])
  // a repeat returns the same, and so does a request of its own
  expect(await steer(activationId)).toEqual(renewed.steering)
  await end(activationId, [renewed.steering?.[0]?.id ?? ''], postId)
  expect(await waiting()).toEqual([])
  expect((await office.inbox(scout.id)).every(({ read_at }) => read_at !== null)).toBe(true)
  expect(await office.load(scout.id)).toEqual({ kind: 'nothing' })
})

test('C2: what the run has not read is delivered again after its commit, and after the end of a lost run', async () => {
  for (const isLost of [false, true]) {
    const { postId, activationId } = await work()
    const first = await comment(mira.key, postId, 'Only on the lagoon.')
    const [joined] = await steer(activationId)
    await comment(mira.key, postId, 'And in spring.')
    await steer(activationId)
    const { waiting: agents } = await end(activationId, isLost ? [] : [joined?.id ?? ''])
    expect(agents).toEqual([scout.id])
    const again = await start(scout.id)
    expect(again.items.map(({ commentId }) => commentId).includes(first)).toBe(isLost)
    expect(again.items).toHaveLength(isLost ? 2 : 1)
    await office.clear()
  }
})

test('C2: a repeated commit changes nothing, and a comment after it is a task of its own', async () => {
  const { postId, activationId } = await work()
  await comment(mira.key, postId, 'Only on the lagoon.')
  const [joined] = await steer(activationId)
  await end(activationId, [joined?.id ?? ''], postId)
  await end(activationId, [], postId)
  expect(await waiting()).toEqual([])
  await comment(mira.key, postId, 'And in spring?')
  expect(await steer(activationId)).toEqual([])
  expect(await waiting()).toHaveLength(1)
})

test('C2: others wait as before, whatever they write; their rights are not those of the run', async () => {
  const { postId, activationId } = await work()
  await comment(ada.key, postId, '@scout and herons?')
  await comment(ada.key, postId, 'Or geese.')
  await comment(bot.key, postId, '@scout and ducks?')
  expect(await steer(activationId)).toEqual([])
  expect((await waiting()).map(({ type }) => type)).toEqual(['mention', 'mention'])
  await end(activationId)
  const { requesters } = await start(scout.id)
  expect(requesters.map(({ name }) => name).sort()).toEqual(['ada', 'bot'])
})

test('C2: an agent that asked steers its run by no means', async () => {
  const { body } = await hub.call('/posts', {
    key: bot.key,
    body: { community: 'general', title: 'Asked', content: '@scout how many?' },
  })
  const { activationId } = await start(scout.id)
  await comment(mira.key, body.post.id, 'Interesting.')
  await comment(bot.key, body.post.id, '@scout quickly')
  expect(await steer(activationId)).toEqual([])
})

test('C2: thanks and what names others do not join; a mention of the agent does', async () => {
  const { postId, activationId } = await work()
  await comment(mira.key, postId, 'Thanks!')
  await comment(mira.key, postId, '@ada look at this')
  expect(await steer(activationId)).toEqual([])
  await comment(mira.key, postId, '@scout and @ada: only on the lagoon')
  expect(await steer(activationId)).toHaveLength(1)
})

test('C2: a comment of a moderator joins as untrusted text, is no request and grants nothing', async () => {
  const { postId, activationId } = await work()
  await comment(tomas.key, postId, 'Keep it short, please.')
  expect(await waiting()).toEqual([])
  const before = await office.renew(scout.id, activationId)
  if (before.kind !== 'renewed') throw new Error(before.kind)
  expect(before.steering).toMatchObject([{ isModeration: true, isUntrusted: true }])
  expect(before.policy.requesters).toMatchObject([{ name: 'mira', role: 'member' }])
  const row = await office.first<{ requesters: string }>(
    'SELECT requesters FROM activations WHERE id = ?',
    activationId,
  )
  expect(JSON.parse(row?.requesters ?? '')).toEqual([mira.id])
  // unread, it wakes nobody: it asked nothing
  expect((await end(activationId)).waiting).toEqual([])
})

test('C2: a moderator who mentions the agent asks for a run of their own', async () => {
  const { postId, activationId } = await work()
  await comment(tomas.key, postId, '@scout and herons?')
  expect(await steer(activationId)).toEqual([])
  expect(await waiting()).toHaveLength(1)
})

test('C2: a stop of the requester cancels the run and drops what waits of theirs', async () => {
  const { postId, activationId } = await work()
  await comment(mira.key, postId, 'And in spring.')
  await comment(ada.key, postId, 'stop')
  expect(cancelled).toEqual([])
  await comment(mira.key, postId, 'stop')
  expect(cancelled).toEqual([activationId])
  expect(await waiting()).toEqual([])
  const row = await office.first(
    'SELECT cancel_requested_at AS at FROM activations WHERE id = ?',
    activationId,
  )
  expect(row?.at).not.toBeNull()
})

test('C2: what joined a run that a person stops is over, read or not', async () => {
  const { postId, activationId } = await work()
  await comment(mira.key, postId, 'And in spring.')
  await steer(activationId)
  await comment(mira.key, postId, 'stop')
  expect((await end(activationId)).waiting).toEqual([])
  expect(await waiting()).toEqual([])
})

/** Scout works for mira and ada, each of whom wrote more, which joined the run. */
async function workForBoth() {
  const postId = await post(mira.key, '@scout how many pelicans?')
  await comment(ada.key, postId, '@scout and herons?')
  const { activationId, requesters } = await start(scout.id)
  expect(requesters).toHaveLength(2)
  await comment(mira.key, postId, 'And in spring.')
  const adas = await comment(ada.key, postId, 'And egrets?')
  expect(await steer(activationId)).toHaveLength(2)
  return { postId, activationId, adas }
}

test('C2: a stop of one requester drops what that person added; what another added unread gets a run afterwards', async () => {
  const { postId, activationId, adas } = await workForBoth()
  await comment(mira.key, postId, 'stop')
  expect((await end(activationId)).waiting).toEqual([scout.id])
  expect(await waiting()).toMatchObject([{ comment_id: adas }])
  await office.clear()
  const next = await workForBoth()
  const path = `/activations/${next.activationId}/cancel`
  expect((await hub.call(path, { method: 'POST', key: mira.key })).status).toBe(200)
  await end(next.activationId)
  expect(await waiting()).toMatchObject([{ comment_id: next.adas }])
})

test('C2: a stop of a moderator drops what joined the run of others', async () => {
  const { postId, activationId } = await workForBoth()
  await comment(tomas.key, postId, '@scout stop')
  expect((await end(activationId)).waiting).toEqual([])
  expect(await waiting()).toEqual([])
})

test('C2: a moderator stops a run; the author of the post, who did not ask, does not', async () => {
  const postId = await post(ada.key, 'Pelicans')
  await comment(mira.key, postId, '@scout how many?')
  const { activationId } = await start(scout.id)
  await comment(ada.key, postId, '@scout stop')
  expect(cancelled).toEqual([])
  await comment(tomas.key, postId, 'Stop.')
  expect(cancelled).toEqual([activationId])
})

test('C2: of a comment that was deleted after it joined nothing is left, and one deleted before does not join', async () => {
  const { postId, activationId } = await work()
  const id = await comment(mira.key, postId, 'A secret.')
  expect(await steer(activationId)).toMatchObject([{ text: 'A secret.' }])
  await hub.call(`/comments/${id}`, { method: 'DELETE', key: mira.key })
  expect(await steer(activationId)).toMatchObject([{ text: '' }])
  const unread = await comment(mira.key, postId, 'Another secret.')
  await hub.call(`/comments/${unread}`, { method: 'DELETE', key: mira.key })
  expect(await steer(activationId)).toHaveLength(1)
})

test('C2: a renewal and a check are one round trip each, with and without a comment', async () => {
  const { postId, activationId } = await work()
  expect(await office.countTrips(() => office.renew(scout.id, activationId))).toBe(1)
  await comment(mira.key, postId, 'Only on the lagoon.')
  expect(await office.countTrips(() => office.renew(scout.id, activationId))).toBe(1)
  expect(await office.countTrips(() => steer(activationId))).toBe(1)
})

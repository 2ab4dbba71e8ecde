import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { Actor } from '../../../src/hub/contract/hub'
import type { ActivationId, PostId } from '../../../src/shared/ids'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub, hubApi, post, run } = office
const minute = 60_000

let mira: Awaited<ReturnType<typeof hub.join>>
let scout: typeof mira
let other: typeof mira

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  scout = await office.createAgent('scout')
  other = await office.createAgent('other')
  await run(
    'INSERT INTO explorers (account_id, interval_ms, min_confidence, updated_at) VALUES (?, 1, 0.6, 0)',
    scout.id,
  )
  await hubApi.sweep(hub.clock.now())
})

beforeEach(async () => {
  await office.clear()
  hub.clock.advance(60 * minute)
})

/** Starts an exploration of scout with a new post. */
async function startExploration(): Promise<{ actor: Actor; postId: PostId }> {
  const postId = await post(mira.key, 'What grows on Mars?')
  hub.clock.advance(6 * minute)
  const activationId = office.newId<ActivationId>()
  const answer = await hubApi.load({
    agentId: scout.id,
    activationId,
    now: hub.clock.now(),
    capacity: 5,
    canExplore: true,
  })
  expect(answer).toMatchObject({ kind: 'loaded', task: 'exploration' })
  const key = office.newId<string>()
  const actor: Actor = {
    accountId: scout.id,
    name: 'scout',
    kind: 'agent',
    activationId,
    postId: null,
    idempotencyKey: key,
  }
  return { actor, postId }
}

const say = (actor: Actor, postId: PostId, confidence?: number, key?: string) =>
  hubApi.createComment(
    {
      ...actor,
      ...(confidence !== undefined && { confidence }),
      ...(key && { idempotencyKey: key }),
    },
    { postId, parentId: null, content: 'Potatoes.' },
  )

const countSaid = (postId: PostId) =>
  office.first('SELECT count(*) AS n FROM comments WHERE post_id = ?', postId)

test('S9: one contribution per exploration, and a repeat of it is the same one', async () => {
  const { actor, postId } = await startExploration()
  const first = await say(actor, postId, 0.9)
  expect(await say(actor, postId, 0.9)).toEqual(first)
  const other = await post(mira.key, 'And on Venus?')
  await run('UPDATE agents SET interval_ms = 0')
  await expect(say(actor, other, 0.9, 'another call')).rejects.toMatchObject({
    code: 'REPLY_LIMIT',
    message: 'Not posted: this exploration already has a contribution.',
  })
  await expect(
    hubApi.createPost(
      { ...actor, confidence: 0.9, idempotencyKey: 'a third' },
      { community: 'general', title: 'Mars', content: '' },
    ),
  ).rejects.toMatchObject({ code: 'REPLY_LIMIT' })
  expect(await countSaid(postId)).toEqual({ n: 1 })
  expect(await countSaid(other)).toEqual({ n: 0 })
})

test('D6: min_confidence: who is less sure, or does not say, is refused and may try again', async () => {
  const { actor, postId } = await startExploration()
  await expect(say(actor, postId)).rejects.toMatchObject({ code: 'REPLY_LIMIT' })
  await expect(say(actor, postId, 0.59, 'unsure')).rejects.toMatchObject({
    code: 'REPLY_LIMIT',
    message: 'Not posted: the confidence is below the minimum.',
  })
  expect(await countSaid(postId)).toEqual({ n: 0 })
  await say(actor, postId, 0.6, 'sure')
  expect(await countSaid(postId)).toEqual({ n: 1 })
})

test('S9: an exploration adds nothing to a thread that another agent answered meanwhile', async () => {
  await run('UPDATE agents SET interval_ms = 0')
  const before = await post(mira.key, 'And on Venus?')
  await office.comment(other.key, before, 'Nothing.')
  const { actor, postId } = await startExploration()
  await office.comment(other.key, postId, 'Potatoes.')
  await expect(say(actor, postId, 0.9)).rejects.toMatchObject({
    code: 'REPLY_LIMIT',
    message: expect.stringContaining('another agent has commented in this thread'),
    hint: expect.stringContaining('choose another post, or answer PASS'),
  })
  expect(await countSaid(postId)).toEqual({ n: 1 })
  await say(actor, before, 0.9, 'elsewhere')
  expect(await countSaid(before)).toEqual({ n: 2 })
})

test('S9: what a person says meanwhile is no such answer', async () => {
  const { actor, postId } = await startExploration()
  await office.comment(mira.key, postId, 'Anybody?')
  await say(actor, postId, 0.9)
  expect(await countSaid(postId)).toEqual({ n: 2 })
})

test('S9: an assigned task has no such limit', async () => {
  const postId = await post(mira.key, '@scout what grows on Mars?')
  const { activationId } = await office.start(scout.id)
  const actor: Actor = {
    accountId: scout.id,
    name: 'scout',
    kind: 'agent',
    activationId,
    postId,
    idempotencyKey: 'of a mention',
  }
  const first = await post(mira.key, 'one')
  const second = await post(mira.key, 'two')
  await say(actor, first)
  await say(actor, second, undefined, 'of a mention too')
  expect(await countSaid(second)).toEqual({ n: 1 })
})

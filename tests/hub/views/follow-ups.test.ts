import { beforeAll, expect, test } from 'vitest'
import type { CommentId, PostId } from '../../../src/shared/ids'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office

let mira: Awaited<ReturnType<typeof hub.join>>
let tomas: Awaited<ReturnType<typeof hub.join>>
let scout: Awaited<ReturnType<typeof office.createAgent>>

beforeAll(async () => {
  await office.hubApi.sweep(hub.clock.now())
  mira = await hub.join('mira', 'human')
  tomas = await hub.join('tomas', 'human')
  scout = await office.createAgent('scout')
})

interface Promised {
  agent: { name: string }
  cause: string
  consequence: string
}

const preview = async (key: string, postId: PostId, content: string, parentId?: CommentId) => {
  const body = { post_id: postId, parent_id: parentId ?? null, content }
  const answer = await hub.call('/posts/preview', { key, body })
  expect(answer.status).toBe(200)
  return (answer.body.agents as Promised[]).map(
    ({ agent, cause, consequence }) => `${agent.name} ${cause} ${consequence}`,
  )
}

/** How many tasks wait for scout, after a comment was really written. */
const countTasks = async (postId: PostId) =>
  (
    await office.first<{ n: number }>(
      'SELECT count(*) AS n FROM inbox_items WHERE account_id = ? AND post_id = ? AND is_task = 1 AND read_at IS NULL AND claimed_by IS NULL',
      scout.id,
      postId,
    )
  )?.n

/** A thread in which scout has answered mira. */
async function createConversation() {
  const postId = await office.post(mira.key, `@${scout.name} what did we decide?`)
  const { activationId } = await office.start(scout.id)
  const answerId = office.newId<CommentId>()
  const reply = { id: answerId, postId, parentId: null, content: 'Tuesday.' }
  await office.commit(scout.id, activationId, { reply })
  hub.clock.advance(1_000)
  return { postId, answerId }
}

test('C5 C1: a preview promises the follow-up that the comment then is, and none for thanks', async () => {
  const { postId, answerId } = await createConversation()
  expect(await preview(mira.key, postId, 'Thanks!')).toEqual([])
  expect(await preview(tomas.key, postId, 'And where?')).toEqual(['scout follow_up starts'])
  expect(await preview(tomas.key, postId, 'And where?', answerId)).toEqual(['scout reply starts'])
  expect(await preview(scout.key, postId, 'And where?')).toEqual([])
  expect(await countTasks(postId)).toBe(0)
  await office.comment(mira.key, postId, 'Thanks!')
  expect(await countTasks(postId)).toBe(0)
  await office.comment(tomas.key, postId, 'And where?')
  expect(await countTasks(postId)).toBe(1)
  await office.clear()
})

test('C5 C2: a preview says who joins the run at work, and who waits', async () => {
  const postId = await office.post(mira.key, `@${scout.name} when?`)
  const { activationId } = await office.start(scout.id)
  expect(await preview(mira.key, postId, 'Only this year')).toEqual(['scout follow_up joins'])
  expect(await preview(mira.key, postId, `@${scout.name} only this year`)).toEqual([
    'scout mention joins',
  ])
  expect(await preview(tomas.key, postId, `@${scout.name} and me?`)).toEqual([
    'scout mention waits',
  ])
  expect(await preview(tomas.key, postId, 'Hm, well')).toEqual([])
  await office.commit(scout.id, activationId, { reply: null })
  await office.clear()
})

test('C5 C1: a preview says that a reply to an agent that follows no more does not wake it', async () => {
  const { postId, answerId } = await createConversation()
  const path = `/posts/${postId}/following/${scout.name}`
  expect((await hub.call(path, { method: 'DELETE', key: mira.key })).status).toBe(200)
  expect(await preview(mira.key, postId, 'And where?')).toEqual([])
  expect(await preview(mira.key, postId, 'And where?', answerId)).toEqual(['scout reply not_woken'])
  await office.comment(mira.key, postId, 'And where?', answerId)
  expect(await countTasks(postId)).toBe(0)
})

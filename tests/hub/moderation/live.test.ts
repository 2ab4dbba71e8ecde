import { beforeAll, beforeEach, expect, test } from 'vitest'
import { adminKey, createTestHub } from '../create-test-hub'
import { makeModerator } from './make-moderator'

const hub = createTestHub()
type Account = Awaited<ReturnType<typeof hub.join>>
let ada: Account
let mo: Account

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  mo = await hub.join('mo', 'human')
  await makeModerator(mo.id, 'general')
})
beforeEach(() => {
  hub.seen.published = []
})

/** What a moderator does, each with a reason. */
const acts = /\/(remove|restore|lock|unlock|decide)$/
const reason = 'Rude words.'

const send = async (key: string, path: string, body: object, method = 'POST') => {
  hub.clock.advance(1)
  const answer = await hub.call(path, {
    key,
    method,
    body: acts.test(path) ? { reason, ...body } : body,
  })
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

test('T11 H16: what a moderator does is published to the open thread, without words of the text', async () => {
  const body = { community: 'general', title: 'Plums', content: 'An insult' }
  const { post } = await send(ada.key, '/posts', body)
  const { comment } = await send(ada.key, `/posts/${post.id}/comments`, { content: 'Another one' })
  hub.seen.published = []
  const { action } = await send(mo.key, `/comments/${comment.id}/remove`, {})
  await send(mo.key, `/comments/${comment.id}/restore`, {})
  await send(mo.key, `/posts/${post.id}/lock`, {})
  await send(mo.key, `/posts/${post.id}/unlock`, {})
  await send(mo.key, `/posts/${post.id}/remove`, {})
  const changed = { topic: `post:${post.id}`, event: { type: 'changed', post_id: post.id } }
  expect(hub.seen.published).toEqual(Array(5).fill(changed))
  const mine = await hub.call('/appeals', { key: ada.key })
  const removal = mine.body.actions.find(({ kind }: { kind: string }) => kind === 'remove')
  expect(removal.id).not.toBe(action.id)
  await send(ada.key, '/appeals', { action_id: removal.id, text: 'It was a joke.' })
  expect(hub.seen.published).toHaveLength(5)
  await send(adminKey, `/appeals/${removal.id}/decide`, { decision: 'reverse' })
  expect(hub.seen.published.slice(5)).toEqual([changed])
})

test('T11: the entries of a thread have a version that a removal and a lock change', async () => {
  const { post } = await send(ada.key, '/posts', { community: 'general', title: 'Plums' })
  const { comment } = await send(ada.key, `/posts/${post.id}/comments`, { content: 'Another one' })
  const read = async () => {
    const html = await (await hub.fetch(`/p/${post.id}`)).text()
    return (id: string) => new RegExp(`id="${id}"[^>]* data-v="([^"]*)"`).exec(html)?.[1]
  }
  const before = await read()
  await send(mo.key, `/comments/${comment.id}/remove`, {})
  const removed = await read()
  expect(removed(`c-${comment.id}`)).not.toBe(before(`c-${comment.id}`))
  expect(removed('post')).toBe(before('post'))
  await send(mo.key, `/comments/${comment.id}/restore`, {})
  expect((await read())(`c-${comment.id}`)).toBe(before(`c-${comment.id}`))
  await send(mo.key, `/posts/${post.id}/lock`, {})
  const locked = await read()
  for (const id of ['post', 'end', `c-${comment.id}`]) {
    expect(before(id), id).toBeDefined()
    expect(locked(id), id).not.toBe(before(id))
  }
})

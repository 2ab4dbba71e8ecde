import { beforeAll, expect, test } from 'vitest'
import { createTestHub } from '../create-test-hub'
import { markWatched } from './mark-watched'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
})

/** Sends the same request twice and returns both answers. */
async function sendTwice(path: string, body: object, key: string) {
  const send = () => hub.call(path, { key: ada.key, body, headers: { 'idempotency-key': key } })
  return [await send(), await send()] as const
}

test('a new post, which nobody can watch, publishes no live event, and a repeated comment one', async () => {
  const post = { community: 'general', title: 'Herons' }
  const [first, repeated] = await sendTwice('/posts', post, 'post-1')
  expect([first.status, repeated.status]).toEqual([201, 201])
  const { id } = first.body.post
  expect(repeated.body.post.id).toBe(id)
  expect(hub.seen.published).toEqual([])

  await markWatched(id)
  const [comment, again] = await sendTwice(`/posts/${id}/comments`, { content: 'Seen.' }, 'c-1')
  expect(again.body.comment.id).toBe(comment.body.comment.id)
  expect(hub.seen.published).toHaveLength(1)
})

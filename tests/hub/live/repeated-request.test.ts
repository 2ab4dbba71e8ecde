import { beforeAll, expect, test } from 'vitest'
import { createTestHub } from '../create-test-hub'

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

const publishedOf = (type: string) =>
  hub.seen.published.filter(({ event }) => (event as { type: string }).type === type)

test('a repeated request for a post or a comment publishes one live event', async () => {
  const post = { community: 'general', title: 'Herons' }
  const [first, repeated] = await sendTwice('/posts', post, 'post-1')
  expect([first.status, repeated.status]).toEqual([201, 201])
  const { id } = first.body.post
  expect(repeated.body.post.id).toBe(id)
  expect(publishedOf('post')).toEqual([
    { topic: `post:${id}`, event: { type: 'post', id, post_id: id } },
  ])

  const [comment, again] = await sendTwice(`/posts/${id}/comments`, { content: 'Seen.' }, 'c-1')
  expect(again.body.comment.id).toBe(comment.body.comment.id)
  expect(publishedOf('comment')).toHaveLength(1)
  expect(publishedOf('post')).toHaveLength(1)
})

import { expect, test } from 'vitest'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const reason = { reason: 'Off topic' }

test('T11 T10: an account that is muted on the whole hub can still appeal', async () => {
  const ada = await hub.join('ada', 'human')
  const plums = { community: 'general', title: 'Plums' }
  const { post } = (await hub.call('/posts', { key: ada.key, body: plums })).body
  const remove = await hub.call(`/posts/${post.id}/remove`, { key: adminKey, body: reason })
  const mute = { key: adminKey, body: { kind: 'mute', reason: 'Shouting' } }
  expect((await hub.call('/accounts/ada/bans', mute)).status).toBe(201)
  expect((await hub.call('/posts', { key: ada.key, body: plums })).body.code).toBe('MUTED')
  const appeal = { action_id: remove.body.action.id, text: 'It is on topic.' }
  expect((await hub.call('/appeals', { key: ada.key, body: appeal })).status).toBe(201)
})

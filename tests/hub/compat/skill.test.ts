import { beforeAll, describe, expect, test } from 'vitest'
import { type CompatHub, createCompatHub } from './create-compat-hub'

/**
 * The generation of clients that follow the instructions of a hub: they call `/api/v1`, and read the
 * community of a post as an object.
 */
let compat: CompatHub
type Member = Awaited<ReturnType<CompatHub['join']>>
let molty: Member
let owner: Member
beforeAll(async () => {
  compat = createCompatHub()
  molty = await compat.join('molty')
  owner = await compat.join('owner', 'human')
})

const api = (path: string, sent: Parameters<CompatHub['send']>[1] = {}) =>
  compat.send(`/api/v1${path}`, sent)

describe('H3: a client that follows the instructions of a hub', () => {
  test('H3: reads the community of a post as an object and as a text', async () => {
    const body = { submolt_name: 'm/general', title: 'Hello', content: 'World' }
    const made = await api('/posts', { key: molty.key, body })
    expect(made.body).toMatchObject({
      ...{ success: true, community: 'general', submolt_name: 'general' },
      submolt: { name: 'general', display_name: expect.any(String) },
      post: { submolt: { name: 'general' }, author_name: 'molty', comment_count: 0 },
    })
    const hits = await api('/search?q=hello&type=posts&submolt=m/general')
    expect(hits.body.results[0]).toMatchObject({
      ...{ type: 'post', submolt: { name: 'general' }, author: { name: 'molty' } },
    })
    const profile = await api('/agents/profile?name=MOLTY')
    expect(profile.body).toMatchObject({ name: 'molty', recentPosts: [{ title: 'Hello' }] })
    const changed = await api('/agents/me', {
      ...{ key: molty.key, method: 'PATCH', body: { metadata: { my_field: 1 } } },
    })
    expect(changed.body.agent.metadata).toEqual({ my_field: 1 })
  })

  test('H10: writes to a person by to_owner, and marks notifications as read by their ids', async () => {
    const request = { to_owner: '@owner', message: 'May I?' }
    expect((await api('/agents/dm/request', { key: molty.key, body: request })).body.success).toBe(
      true,
    )
    const inbox = await api('/notifications?unread=true', { key: owner.key })
    const [item] = inbox.body.notifications
    expect(item).toMatchObject({
      type: 'dm',
      fromAgent: { name: 'molty' },
      createdAt: item.created_at,
    })
    expect(inbox.body).toMatchObject({ unreadCount: 1, data: [{ id: item.id }] })
    const read = { key: owner.key, body: { notification_ids: [item.id] } }
    expect((await api('/notifications/read', read)).body.read).toBe(true)
    expect((await api('/notifications/count', { key: owner.key })).body.unreadCount).toBe(0)
  })

  test('T8: follows claim_url and pending_claim where accounts are claimed', async () => {
    const claimHub = createCompatHub({ ROOKERY_REGISTRATION: 'claim' })
    const { body } = await claimHub.send('/api/v1/agents/register', { body: { name: 'Waiting' } })
    expect(body).toMatchObject({
      ...{ name: 'waiting', api_key: expect.any(String), claimUrl: body.agent.claim_url },
      agent: { verification_code: expect.any(String) },
    })
    const status = await claimHub.send('/api/v1/agents/status', { key: body.api_key })
    expect(status.body).toMatchObject({ status: 'pending_claim', is_claimed: false })
    const me = await claimHub.send('/api/v1/agents/me', { key: molty.key })
    expect(me.body).toMatchObject({ is_claimed: true, is_active: true })
    const refused = await claimHub.send('/api/v1/posts', {
      ...{ key: body.api_key, body: { submolt: 'general', title: 'x' } },
    })
    expect(refused.body).toMatchObject({ code: 'PENDING_CLAIM', message: refused.body.error })
  })
})

import { beforeAll, describe, expect, test } from 'vitest'
import { createDialectHub, type DialectHub, ways } from './create-dialect-hub'

/**
 * The generation of clients that follow the instructions of a hub: they call `/api/v1`, and read the
 * community of a post as an object.
 */
type Member = Awaited<ReturnType<DialectHub['join']>>

describe.each(ways.below)(
  'H3: a client that follows the instructions of a hub, known $way',
  (way) => {
    const dialect = createDialectHub()
    const api = dialect.as(way)
    /** Both ways share a database. */
    const unique = (name: string) => `${name}-${way.tag}`
    let molty: Member
    let owner: Member
    beforeAll(async () => {
      molty = await dialect.join(unique('molty'))
      owner = await dialect.join(unique('owner'), 'human')
    })

    test('H3: reads the community of a post as an object and as a text', async () => {
      const body = { submolt_name: 'm/general', title: 'Hello', content: 'World' }
      const made = await api('/posts', { key: molty.key, body })
      expect(made.body).toMatchObject({
        success: true,
        community: 'general',
        submolt_name: 'general',
        submolt: { name: 'general', display_name: expect.any(String) },
        post: { submolt: { name: 'general' }, author_name: molty.name, comment_count: 0 },
      })
      const hits = await api('/search?q=hello&type=posts&submolt=m/general')
      expect(hits.body.results[0]).toMatchObject({
        type: 'post',
        submolt: { name: 'general' },
        author: { name: molty.name },
      })
      const profile = await api(`/agents/profile?name=${molty.name.toUpperCase()}`)
      expect(profile.body).toMatchObject({ name: molty.name, recentPosts: [{ title: 'Hello' }] })
      const changed = await api('/agents/me', {
        key: molty.key,
        method: 'PATCH',
        body: { metadata: { my_field: 1 } },
      })
      expect(changed.body.agent.metadata).toEqual({ my_field: 1 })
    })

    test('H10: writes to a person by to_owner, and marks notifications as read by their ids', async () => {
      const request = { to_owner: `@${owner.name}`, message: 'May I?' }
      expect(
        (await api('/agents/dm/request', { key: molty.key, body: request })).body.success,
      ).toBe(true)
      const inbox = await api('/notifications?unread=true', { key: owner.key })
      const [item] = inbox.body.notifications
      expect(item).toMatchObject({
        type: 'dm',
        fromAgent: { name: molty.name },
        createdAt: item.created_at,
      })
      expect(inbox.body).toMatchObject({ unreadCount: 1, data: [{ id: item.id }] })
      const read = { key: owner.key, body: { notification_ids: [item.id] } }
      expect((await api('/notifications/read', read)).body.read).toBe(true)
      expect((await api('/notifications/count', { key: owner.key })).body.unreadCount).toBe(0)
    })

    test('T8: follows claim_url and pending_claim where accounts are claimed', async () => {
      const claimHub = createDialectHub({ ROOKERY_REGISTRATION: 'claim' }).as(way)
      const { body } = await claimHub('/agents/register', { body: { name: unique('Waiting') } })
      expect(body).toMatchObject({
        name: unique('waiting'),
        api_key: expect.any(String),
        claimUrl: body.agent.claim_url,
        agent: { verification_code: expect.any(String) },
      })
      const status = await claimHub('/agents/status', { key: body.api_key })
      expect(status.body).toMatchObject({ status: 'pending_claim', is_claimed: false })
      const me = await claimHub('/agents/me', { key: molty.key })
      expect(me.body).toMatchObject({ is_claimed: true, is_active: true })
      const refused = await claimHub('/posts', {
        key: body.api_key,
        body: { submolt: 'general', title: 'x' },
      })
      expect(refused.body).toMatchObject({ code: 'PENDING_CLAIM', message: refused.body.error })
    })

    test('H3: registers with fields that this hub does not have, and not with a misspelt one', async () => {
      const register = (fields: object) =>
        api('/agents/register', { body: { name: unique(`new-${++count}`), ...fields } })
      let count = 0
      const known = { framework: 'x', avatar_url: null, displayName: 'X' }
      expect((await register(known)).status).toBe(201)
      expect((await register({ kinds: 'agent' })).status).toBe(400)
      const post = { submolt: 'general', title: 'x', flair: 'blue', titles: 'y' }
      expect((await api('/posts', { key: molty.key, body: post })).status).toBe(201)
    })

    test('H3: reads which paths to call next as it knows them', async () => {
      const home = await api('/home', { key: molty.key })
      const steps = home.body.what_to_do_next.join()
      expect(steps).toContain('GET /submolts, then POST /submolts/NAME/subscribe')
      expect(steps).not.toContain('communities,')
    })
  },
)

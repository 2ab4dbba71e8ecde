import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { adminKey, readCost } from '../create-test-hub'
import { createDialectHub, type DialectHub, type Sent, toOwnKey, ways } from './create-dialect-hub'

/** Programs that run agents of others: they poll, activate, read, answer and report with a service key. */
let dialect: DialectHub
let key: string
let keyId: string
type Member = Awaited<ReturnType<DialectHub['join']>>
let alpha: Member
let beta: Member
let hosted: Member
let mira: Member

const keyWays = [...ways.below, ...ways.atRoot]
let sentCount = 0
/**
 * Sends a request with the service key in each of the ways in turn, and below `/api/v1` with the hub's own prefix, which
 * is known, too. Any other key is sent to `/compat`.
 */
const api = (path: string, { key: by = key, ...sent }: Sent = {}) => {
  const own = { base: '/api/v1', toKey: toOwnKey }
  const way = keyWays[sentCount++ % (keyWays.length + 1)] ?? own
  return by === key
    ? dialect.send(way.base + path, { key: way.toKey(by), ...sent })
    : dialect.send(`/compat/api/v1${path}`, { key: by, ...sent })
}
const createKey = (name: string, by = adminKey, body: object = {}) =>
  api(`/agents/${name}/service-keys`, { key: by, body })

beforeAll(async () => {
  dialect = createDialectHub()
  await dialect.join('runner', 'agent')
  ;[alpha, beta, hosted] = [
    await dialect.join('alpha'),
    await dialect.join('beta'),
    await dialect.join('hosted'),
  ] as [Member, Member, Member]
  mira = await dialect.join('mira', 'human')
  await dialect.hub.host(hosted.id)
  const made = await createKey('runner')
  expect(made.status, made.text).toBe(201)
  ;[key, keyId] = [made.body.key.api_key, made.body.key.id]
  expect(key).toMatch(/^moltbook_service_/)
})

/** Sends a body to a path as it is, which a server passes on so; a Request has none with `..` or `\\`. */
async function sendAsIs(path: string, body: object): Promise<Record<string, unknown>> {
  const request = new Request('http://hub.test/', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  Object.defineProperty(request, 'url', { value: `http://hub.test${path}` })
  return (await dialect.hub.app.fetch(request, env, createExecutionContext())).json()
}

const mention = async (text: string) =>
  (
    await dialect.hub.call('/posts', {
      key: mira.key,
      body: { community: 'general', title: 'A question', content: text },
    })
  ).body.post.id as string

describe('H3: a runner with a service key', () => {
  test('H3: polls, activates, reads, answers, marks as read and reports', async () => {
    const empty = await api('/notifications/poll?timeout=0&batch_size=100')
    expect(empty.body).toMatchObject({ success: true, agents: [] })
    const polled = api('/notifications/poll?timeout=5')
    const postId = await mention('@alpha @hosted what is new?')
    const { agents } = (await polled).body
    expect(agents).toEqual([
      expect.objectContaining({ id: alpha.id, name: 'alpha', notification_count: 1 }),
    ])
    const waiting = await api('/agents?has_notifications=true')
    expect(waiting.body.agents.map((agent: Member) => agent.id)).toEqual([alpha.id])
    expect((await api(`/agents/${alpha.id}/activated`, { method: 'POST' })).status).toBe(200)
    const health = await api(`/system/budget-health?agent_id=${alpha.id}`)
    expect(health.body).toMatchObject({
      daily_limit: 0,
      daily_used: 0,
      monthly_limit: 0,
      monthly_used: 0,
      healthy: true,
    })
    const inbox = await api(`/notifications?agent_id=${alpha.id}&unread=true`)
    const [item] = inbox.body.notifications
    expect(item).toMatchObject({
      type: 'mention',
      post_id: postId,
      read: false,
      content: expect.any(String),
      from_agent: { id: mira.id, name: 'mira' },
    })
    const thread = await api(`/posts/${postId}?include_comments=true`)
    expect(thread.body).toMatchObject({ id: postId, author: { name: 'mira' }, comments: [] })
    const answer = { agent_id: alpha.id, content: 'Plums are ripe.' }
    const made = await api(`/posts/${postId}/comments`, { body: answer })
    expect(made.body, made.text).toMatchObject({
      id: expect.any(String),
      created_at: expect.any(String),
      author: { name: 'alpha' },
    })
    const read = await api('/notifications/read', { body: { notification_ids: [item.id] } })
    expect(read.body).toMatchObject({ success: true, read: true })
    expect((await api('/agents?has_notifications=true')).body.agents).toEqual([])
    const spent = { agent_id: alpha.id, tokens_input: 900, tokens_output: 80, cost_usd: 0.25 }
    expect((await api('/system/consumption', { body: spent })).body.recorded).toBe(true)
    const after = await api(`/system/budget-health?agent_id=${alpha.id}`)
    expect(after.body).toMatchObject({ daily_used: 0.25, monthly_used: 0.25, healthy: true })
  })

  test('H3: a retry makes one post, one comment and one report, not three', async () => {
    const content = 'The harvest begins today'
    const post = () =>
      api('/posts', { body: { agent_id: beta.id, content, community: 'm/general' } })
    const made = [await post(), await post()]
    dialect.hub.clock.advance(9 * 60_000)
    made.push(await post())
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(new Set(made.map(({ body }) => body.id)).size).toBe(1)
    expect(made[0]?.body.title).toBe(content)
    dialect.hub.clock.advance(60 * 60_000)
    expect((await post()).body.id).not.toBe(made[0]?.body.id)
    const report = async (headers = {}) =>
      (
        await api('/system/consumption', {
          body: { agent_id: beta.id, tokens_input: 5, cost_usd: 0.01 },
          headers,
        })
      ).body.recorded
    expect([await report(), await report()]).toEqual([true, false])
    const once = { 'idempotency-key': 'report-1' }
    expect([await report(once), await report(once)]).toEqual([true, true])
    const health = await api(`/system/budget-health?agent_id=${beta.id}`)
    expect(health.body.daily_used).toBe(0.02)
    // Other names of what was consumed count as nothing for no budget.
    const unknown = { agent_id: beta.id, spent: 3 }
    expect((await api('/system/consumption', { body: unknown })).status).toBe(400)
    const twins = { agent_id: beta.id, input_tokens: 7, output_tokens: 1 }
    expect((await api('/system/consumption', { body: twins })).body.recorded).toBe(true)
  })

  test('H3: an agent over its budget, or stopped, is not healthy', async () => {
    const budget = { scope: 'agent', name: 'alpha', period: 'day', limit_usd: 0.3 }
    const stored = await env.DB.prepare(
      `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, created_at, updated_at)
       VALUES ('of-alpha', ?, ?, ?, ?, 0, 0)`,
    )
      .bind(budget.scope, alpha.id, budget.period, budget.limit_usd * 1e6)
      .run()
    expect(stored.success).toBe(true)
    await api('/system/consumption', { body: { agent_id: alpha.id, cost_usd: 0.4 } })
    const health = await api(`/system/budget-health?agent_id=${alpha.id}`)
    expect(health.body).toMatchObject({ daily_limit: 0.3, healthy: false })
    expect((await api('/system/budget-health?agent_id=nobody')).status).toBe(404)
  })

  test('H3: lists stale external agents only, without hosted ones and people', async () => {
    dialect.hub.clock.advance(2 * 3_600_000)
    await api(`/agents/${beta.id}/activated`, { method: 'POST' })
    const stale = await api('/agents?stale=true&min_staleness=900')
    const names = stale.body.agents.map((agent: Member) => agent.name)
    expect(names).toContain('alpha')
    for (const name of ['beta', 'hosted', 'mira', 'admin']) expect(names).not.toContain(name)
    expect((await api('/agents?limit=1')).body).toMatchObject({ has_more: true, hasMore: true })
  })

  test('H3: gets notifications of types that it knows', async () => {
    const other = await dialect.join('nosy')
    const { body } = await dialect.hub.call('/posts', {
      key: beta.key,
      body: { community: 'general', title: 'Mine' },
    })
    const at = `/posts/${body.post.id}`
    await dialect.hub.call(`${at}/vote`, { key: mira.key, method: 'PUT', body: { value: 1 } })
    await dialect.hub.call(`${at}/comments`, { key: mira.key, body: { content: 'Nice' } })
    await dialect.hub.call('/conversations', {
      key: other.key,
      body: { to: 'beta', content: 'May I?' },
    })
    const inbox = await api(`/notifications?agent_id=${beta.id}`)
    const types = inbox.body.notifications.map((item: { type: string }) => item.type)
    expect(types).toContain('reply')
    for (const type of types) expect(['mention', 'reply', 'follow', 'like']).toContain(type)
    expect(inbox.body.notifications.every((item: { from_agent: object }) => item.from_agent)).toBe(
      true,
    )
    const hits = (await api('/search?q=harvest')).body.results
    expect(hits.length).toBeGreaterThan(0)
    for (const hit of hits) expect(hit.author.id).toBe(beta.id)
  })

  test('H7: acts for an agent that it acted for before in one round trip', async () => {
    const read = () => api(`/notifications?agent_id=${alpha.id}`)
    await read()
    expect(readCost((await read()).headers).roundTrips).toBe(1)
  })
})

describe('H3, T16: what a service key cannot do', () => {
  test('H3: two different agents in one request are refused', async () => {
    const body = { agent_id: beta.id, community: 'general', title: 'Whose?' }
    const both = await api(`/posts?agent_id=${alpha.id}`, { body })
    expect([both.status, both.body.details?.[0]?.path]).toEqual([400, 'body.agent_id'])
  })

  test('H3: an ordinary key, a session and nobody cannot send agent_id', async () => {
    const body = { agent_id: beta.id, submolt: 'general', title: 'Not mine' }
    for (const sender of [alpha.key, mira.key, adminKey]) {
      const sent = await api('/posts', { key: sender, body })
      expect([sent.status, sent.body.code]).toEqual([403, 'FORBIDDEN'])
      const other = await api(`/notifications?agent_id=${beta.id}`, { key: sender })
      expect(other.status).toBe(403)
      const marked = { key: sender, body: { agent_id: beta.id } }
      expect((await api('/notifications/read-all', marked)).status).toBe(403)
      for (const [path, more] of [
        ['/system/consumption', { body: { agent_id: beta.id, cost_usd: 1 } }],
        [`/agents/${beta.id}/activated`, { method: 'POST' }],
        ['/notifications/poll?timeout=0', {}],
        ['/service/agents', {}],
        [`/system/budget-health?agent_id=${beta.id}`, {}],
        ['/service/notifications/read', { body: { ids: ['x'] } }],
      ] as const) {
        expect((await api(path, { key: sender, ...more })).status, path).toBe(403)
      }
    }
    expect((await dialect.send('/compat/api/v1/posts', { body })).status).toBe(403)
    expect((await api('/posts', { body: { ...body, agent_id: 7 } })).status).toBe(400)
  })

  test('H3: never acts for a hosted agent, a person, a moderator or an admin', async () => {
    const chief = await dialect.join('chief')
    const guard = await dialect.join('guard')
    await dialect.hub.call('/accounts/chief/role', {
      key: adminKey,
      method: 'PUT',
      body: { role: 'admin' },
    })
    await env.DB.prepare('UPDATE accounts SET is_moderator = 1 WHERE id = ?').bind(guard.id).run()
    for (const { id, name } of [hosted, mira, chief, guard]) {
      const body = { agent_id: id, submolt: 'general', title: 'In the name of another' }
      const sent = await api('/posts', { body })
      expect([sent.status, sent.body.code], name).toEqual([403, 'FORBIDDEN'])
      expect((await api(`/notifications?agent_id=${id}`)).status, name).toBe(403)
      expect((await api(`/agents/${id}/activated`, { method: 'POST' })).status, name).toBe(404)
      expect((await createKey(name)).status, name).toBe(403)
    }
    const read = await api('/notifications/read', { body: { ids: ['any'] } })
    expect(read.status).toBe(200)
  })

  test('H3: stops acting for an agent on the next request after that agent is hosted here', async () => {
    const gamma = await dialect.join('gamma')
    const post = (title: string) =>
      api('/posts', { body: { agent_id: gamma.id, submolt: 'general', title } })
    expect((await post('Before')).status).toBe(201)
    await dialect.hub.host(gamma.id)
    expect((await post('After')).status).toBe(401)
  })

  test('T16: makes no key, changes no account and grants nothing for an agent', async () => {
    for (const [path, method, body] of [
      ['/agents/me/keys', 'POST', { label: 'x' }],
      ['/agents/me', 'PATCH', { description: 'x' }],
      ['/submolts', 'POST', { name: 'place' }],
      ['/appeals', 'POST', { removal_id: 'x', text: 'x' }],
    ] as const) {
      const sent = await api(path, { method, body: { ...body, agent_id: beta.id } })
      expect([sent.status, sent.body.code], path).toEqual([403, 'FORBIDDEN'])
    }
    expect((await api('/agents/me/keys', { body: { label: 'x' } })).status).toBe(403)
    for (const path of ['/approvals/..%5Cme%5Ckeys', '/approvals/.%09.%5Cme%5Ckeys']) {
      const made = await api(path, { body: { label: 'x' } })
      expect([made.body.success, made.body.key], path).toEqual([false, undefined])
    }
    const detours = [
      '/x/../api/v1',
      '/x/%2e%2e/api/v1',
      '/%2e/api/v1',
      '/api\\v1',
      '/x\\..\\api/v1',
    ]
    for (const base of [...detours, '/api/v1/x/..', '/x/..', '//api/v1']) {
      const made = await sendAsIs(`${base}/me/keys`, { label: 'x' })
      expect([made.success, made.key], base).toEqual([false, undefined])
    }
    const around = await api(`/agents/..%5Cme%5Ckeys?agent_id=${beta.id}`)
    expect([around.status, around.body.keys]).toEqual([404, undefined])
    const hash = await env.DB.prepare(
      `SELECT hash FROM api_keys WHERE kind = 'service' AND account_id = ? LIMIT 1`,
    )
      .bind(beta.id)
      .first<string>('hash')
    expect((await api('/agents/me', { key: hash ?? '' })).status).toBe(401)
  })

  test('T10, T12: is made and revoked by admins only, recorded, and dead on the next request', async () => {
    expect((await createKey('runner', alpha.key)).status).toBe(403)
    expect((await createKey('runner', mira.key)).status).toBe(403)
    const past = { expires_at: '2020-01-01T00:00:00Z' }
    expect((await createKey('runner', adminKey, past)).status).toBe(400)
    const act = () => api(`/notifications?agent_id=${alpha.id}`)
    expect((await act()).status).toBe(200)
    await dialect.hub.call('/accounts/runner/disable', { key: adminKey, body: { reason: 'x' } })
    expect((await act()).status).toBeGreaterThanOrEqual(401)
    await dialect.hub.call('/accounts/runner/enable', { key: adminKey, method: 'POST' })
    expect((await act()).status).toBe(200)
    const revoke = { key: adminKey, method: 'DELETE' }
    expect((await dialect.hub.call(`/accounts/runner/keys/${keyId}`, revoke)).status).toBe(200)
    expect((await act()).status).toBe(401)
    expect((await api('/agents?stale=true')).status).toBe(401)
    const { results } = await env.DB.prepare('SELECT action, after FROM admin_log').all()
    expect(results.map(({ action }) => action)).toContain('service_key.create')
    expect(JSON.stringify(results)).not.toContain(key)
  })
})

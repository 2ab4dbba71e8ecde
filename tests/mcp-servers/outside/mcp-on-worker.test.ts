import { env, exports } from 'cloudflare:workers'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { beforeAll, expect, test } from 'vitest'
import { rateLimits } from '../../../src/shared/config'
import { formatExact } from '../../../src/shared/format'
import { adminKey, call, createAccount, pushDefinition, scoutFiles } from '../../support/cast'
import { connectMcp, textOf } from '../../support/connect-mcp'

/** The whole Worker, its D1 included, as a client elsewhere sees it. */
const connect = (key: string) => connectMcp((request) => exports.default.fetch(request), key)

type Member = Awaited<ReturnType<typeof createAccount>>
let mira: Member
let postId: string

beforeAll(async () => {
  mira = await createAccount('mira')
  const post = await call<{ post: { id: string } }>('POST', '/api/v1/posts', {
    key: mira.key,
    body: {
      community: 'general',
      title: 'Where the spare keys hang',
      content: 'On the hook behind the heliotrope, as agreed in spring.',
    },
  })
  postId = post.body.post.id
})

async function use(client: Client, name: string, args: Record<string, unknown>) {
  const result = await client.callTool({ name, arguments: args })
  expect(result.isError, textOf(result)).toBe(false)
  return JSON.parse(textOf(result))
}

const audit = async (accountId: string) =>
  (
    await env.DB.prepare(
      'SELECT tool, "grant", decision, outcome, result_bytes AS bytes FROM audit_log WHERE account_id = ? ORDER BY id',
    )
      .bind(accountId)
      .all()
  ).results

const setPolicy = (accountId: string, allowed: string[], denied: string[]) =>
  env.DB.prepare(
    `INSERT INTO grant_policies (account_id, allowed, denied, updated_at) VALUES (?, ?, ?, 0)
     ON CONFLICT DO UPDATE SET allowed = excluded.allowed, denied = excluded.denied`,
  )
    .bind(accountId, JSON.stringify(allowed), JSON.stringify(denied))
    .run()

test('M11: a real client finds, reads and answers a thread with an account key', async () => {
  const client = await connect(mira.key)
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toContain('hub_create_comment')

  const { results } = await use(client, 'hub_search', { query: 'where is the heliotrope?' })
  expect(results[0]).toMatchObject({
    type: 'post',
    post_id: postId,
    author: 'mira',
    community: 'general',
    url: `/p/${postId}`,
  })
  expect(results[0].snippet).toContain('behind the heliotrope')

  const comment = await use(client, 'hub_create_comment', {
    post_id: results[0].url,
    content: 'Still there.',
  })
  const thread = await use(client, 'hub_get_thread', { post_id: postId })
  expect(thread).toMatchObject({
    post: { id: postId, author: 'mira', content: expect.stringContaining('hook') },
    comments: [{ id: comment.id, parent_id: null, author: 'mira', content: 'Still there.' }],
    comment_count: 1,
  })
  expect(Date.parse(thread.post.created_at)).toBeGreaterThan(0)

  const byComment = await use(client, 'hub_search', { query: 'still there', type: 'comment' })
  expect(byComment.results[0]).toMatchObject({ type: 'comment', id: comment.id, post_id: postId })
})

test('M11: every reading tool answers on a real hub', async () => {
  const client = await connect(mira.key)
  const feed = await use(client, 'hub_get_feed', { sort: 'new', community: 'm/general' })
  expect(feed.posts.map(({ id }: { id: string }) => id)).toContain(postId)
  expect(await use(client, 'hub_get_profile', { name: '@Mira' })).toMatchObject({ kind: 'human' })
  expect(await use(client, 'hub_get_notifications', {})).toHaveProperty('notifications')
  expect(await use(client, 'hub_budget_status', {})).toHaveProperty('budgets')
  const post = await use(client, 'hub_create_post', { community: 'general', title: 'From outside' })
  expect((await use(client, 'hub_get_thread', { post_id: post.id })).post.title).toBe(
    'From outside',
  )
})

test('M11: what is not there is an answer a model can read', async () => {
  const client = await connect(mira.key)
  const asked: [string, Record<string, unknown>][] = [
    ['hub_get_thread', { post_id: 'nope' }],
    ['hub_get_profile', { name: 'nobody-here' }],
    ['hub_create_post', { community: 'nowhere', title: 'T' }],
    ['hub_create_comment', { post_id: 'nope', content: 'C' }],
  ]
  for (const [name, args] of asked) {
    const result = await client.callTool({ name, arguments: args })
    expect(textOf(result)).toMatch(/^Error: There is no such (post|account|community)\./)
  }
})

test('M4: revoking a grant takes effect on the next call, and the audit tells', async () => {
  const tomas = await createAccount('tomas')
  const client = await connect(tomas.key)
  const write = { name: 'hub_create_post', arguments: { community: 'general', title: 'One' } }
  expect((await client.callTool(write)).isError).toBe(false)
  await setPolicy(tomas.id, ['hub:read', 'hub:write'], ['hub:write'])
  const denied = await client.callTool(write)
  expect(textOf(denied)).toMatch(/^Error: Missing grant hub:write\b/)
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toContain('hub_search')
  expect(names).not.toContain('hub_create_post')
  expect(await audit(tomas.id)).toEqual([
    {
      tool: 'hub_create_post',
      grant: 'hub:write',
      decision: 'allowed',
      outcome: 'ok',
      bytes: expect.any(Number),
    },
    { tool: 'hub_create_post', grant: 'hub:write', decision: 'denied', outcome: null, bytes: null },
  ])
})

test('M9: when the audit cannot be written nothing is done', async () => {
  const nadia = await createAccount('nadia')
  const client = await connect(nadia.key)
  await env.DB.exec(
    `CREATE TRIGGER audit_fails BEFORE INSERT ON audit_log BEGIN SELECT raise(ABORT, 'disk full'); END`,
  )
  const write = { name: 'hub_create_post', arguments: { community: 'general', title: 'Unseen' } }
  const result = await client.callTool(write)
  await env.DB.exec('DROP TRIGGER audit_fails')
  expect(result.isError).toBe(true)
  expect(textOf(result)).not.toContain('disk')
  const { results } = await env.DB.prepare(`SELECT 1 FROM posts WHERE title = 'Unseen'`).all()
  expect(results).toEqual([])
})

test("M11: the admin's key works, and an unknown one is told to authenticate", async () => {
  const client = await connect(adminKey)
  expect(client.getInstructions()).toContain('You are admin')
  await expect(connect('rookery_unknown')).rejects.toThrow()
  const { status, headers, body } = await call('POST', '/mcp/hub', { body: {} })
  expect(status).toBe(401)
  expect(JSON.stringify(body)).toContain('Send an API key')
  const wrong = await call('POST', '/mcp/hub', { key: 'rookery_unknown', body: {} })
  expect(JSON.stringify(wrong.body)).toContain('Unknown key')
  expect(headers.get('WWW-Authenticate')).toMatch(/^Bearer/)
})

test('M11: a key for reading offers no write tool', async () => {
  const { body } = await call<{ key: { api_key: string } }>('POST', '/api/v1/me/keys', {
    key: mira.key,
    body: { label: 'reader', scopes: ['read'] },
  })
  const client = await connect(body.key.api_key)
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toContain('hub_search')
  expect(names).not.toContain('hub_create_post')
})

test('M11: a token of a running activation works as its agent until the activation is over', async () => {
  const files = {
    'config.yaml':
      'name: tern\nbrain: { provider: offline }\ncapabilities:\n  grants: [hub:read, hub:write]\n  tools: { deny: [hub_create_post] }\n',
    'system-prompt.md': 'You are tern.',
  }
  const tern = await pushDefinition('tern', files)
  const id = 'activation-of-tern'
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, post_id, state, admission, model, definition_version, started_at, deadline_at)
     VALUES (?, ?, 'inbox', 'mention', ?, 'running', 'granted', 'offline/extractive', 1, 0, ?)`,
  )
    .bind(id, tern, postId, Date.now() + 600_000)
    .run()
  const ask = (key: string) =>
    call<{ token: string }>('POST', `/api/v1/activations/${id}/token`, { key })
  expect((await ask(mira.key)).status).toBe(403)
  const { token } = (await ask(adminKey)).body
  const client = await connect(token)
  expect(client.getInstructions()).toContain('You are tern')
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toContain('hub_create_comment')
  expect(names).not.toContain('hub_create_post')
  await use(client, 'hub_create_comment', { post_id: postId, content: 'From a runner.' })
  const { results } = await env.DB.prepare(
    `SELECT account_id, activation_id, outcome FROM audit_log WHERE tool = 'hub_create_comment' AND account_id = ?`,
  )
    .bind(tern)
    .all()
  expect(results).toEqual([{ account_id: tern, activation_id: id, outcome: 'ok' }])
  await env.DB.prepare(`UPDATE activations SET state = 'done' WHERE id = ?`).bind(id).run()
  await expect(client.listTools()).rejects.toThrow()
  expect((await ask(adminKey)).status).toBe(404)
})

test('T7: calls of tools that write are limited as writes, however many connections make them', async () => {
  const { key } = await createAccount('busy')
  const send = (name: string, args: object) =>
    exports.default.fetch(
      new Request('https://hub.test/mcp', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name, arguments: args },
        }),
      }),
    )
  const statuses: number[] = []
  const vote = async () => (await send('hub_vote', { post_id: postId, value: 9 })).status
  // requests come back with time, so a slow machine needs more of them
  while (!statuses.includes(429) && statuses.length < rateLimits.write.requests * 5) {
    statuses.push(...(await Promise.all(Array.from({ length: 20 }, vote))))
  }
  expect(statuses[0]).toBe(200)
  expect(statuses).toContain(429)
  const refused = await send('hub_vote', { post_id: postId, value: 9 })
  expect(refused.headers.get('x-ratelimit-limit')).toBe(String(rateLimits.write.requests))
  expect((await send('hub_get_thread', { post_id: postId })).status).toBe(200)
})

test('T10 M11: a muted caller reads that it is muted, until when and why', async () => {
  const loud = await createAccount('loud')
  const endsAt = new Date(Date.now() + 3_600_000).toISOString()
  const body = { kind: 'mute', reason: 'Shouting', ends_at: endsAt }
  await call('POST', '/api/v1/accounts/loud/bans', { key: adminKey, body })
  const client = await connect(loud.key)
  const args = { post_id: postId, content: 'HELLO' }
  const refused = await client.callTool({ name: 'hub_create_comment', arguments: args })
  expect(refused.isError).toBe(true)
  expect(textOf(refused)).toContain(`muted on this hub until ${formatExact(Date.parse(endsAt))}`)
  expect(textOf(refused)).toContain('Shouting')
  await use(client, 'hub_search', { query: 'heliotrope' })
})

test('M11: hub_ask returns the answer with its link, privately and in public, with progress', async () => {
  await pushDefinition('scout', scoutFiles())
  const client = await connect(mira.key)
  const seen: string[] = []
  const onprogress = ({ message = '' }) => void seen.push(message)
  const ask = async (args: Record<string, unknown>) => {
    const asked = { name: 'hub_ask', arguments: args }
    return JSON.parse(textOf(await client.callTool(asked, undefined, { onprogress })))
  }
  const question = 'Where do the spare keys hang?'
  const first = await ask({ agent: '@scout', question, wait_seconds: 0 })
  expect(first).toMatchObject({ from: 'scout', link: expect.stringMatching(/^\/dm\//) })
  const answered = await ask({ link: first.link })
  expect(answered).toMatchObject({ state: 'answered', from: 'scout', url: first.link })
  expect(answered.answer).toContain('heliotrope')
  expect(seen[0]).toMatch(/^scout (has not started yet|is working) \(\d+ s\)$/)

  const open = await ask({ agent: 'scout', question, community: 'm/general' })
  expect(open).toMatchObject({ state: 'answered', url: expect.stringMatching(/^\/p\/.*#c-/) })
  const reply = await ask({ agent: 'scout', question: 'And the rest?', post_id: open.url })
  expect(reply.url.split('#')[0]).toBe(open.url.split('#')[0])
  expect(reply.url).not.toBe(open.url)

  const tomas = await connect((await createAccount('thea')).key)
  const foreign = { name: 'hub_ask', arguments: { link: first.link } }
  expect(textOf(await tomas.callTool(foreign))).toContain('You asked nobody there')
})

test('M11: hub_ask refuses a private question of an agent, and says when nobody was asked', async () => {
  const finch = await createAccount('finch', 'agent')
  const client = await connect(finch.key)
  const alone = { agent: 'scout', question: 'Anything new?' }
  const refused = await client.callTool({ name: 'hub_ask', arguments: alone })
  expect(textOf(refused)).toContain('wakes no agent')
  const unasked = { agent: 'nobody-here', question: 'Hm?', community: 'general', wait_seconds: 0 }
  const result = await client.callTool({ name: 'hub_ask', arguments: unasked })
  expect(textOf(result)).toContain('You asked nobody there')
})

test('X3: the gateway of models opens with no key of an account, and no forged token', async () => {
  for (const key of [mira.key, adminKey, 'rka1.e30.AAAA']) {
    const response = await exports.default.fetch('http://hub.test/gateway/v1/responses', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_token' } })
  }
})

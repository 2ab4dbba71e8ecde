import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import type { DefinitionFacts } from '../../../src/agents/contract/agents'
import { createConversationApi, createGrantApi } from '../../../src/hub/api/hub-api'
import type { AccountId } from '../../../src/shared/ids'
import { sha256 } from '../../../src/shared/sha256'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const files = { 'config.yaml': 'name: scout', 'system-prompt.md': 'Be kind.' }
const facts: DefinitionFacts = {
  name: 'scout',
  namePath: 'config.yaml:2:name',
  displayName: 'Scout',
  description: 'Finds things',
  model: 'offline/extractive',
  models: ['offline/extractive'],
  readsProviders: false,
  priority: 'normal',
  activationTokensMax: 100_000,
  runCostMaxMicrousd: 0,
  isOffline: true,
  trial: null,
  trialPath: 'config.yaml:9:trial.set',
  adminFields: [],
  grants: ['hub:read', 'hub:write'],
  answersMentions: true,
  answersReplies: true,
  answersDms: false,
  followsThreads: true,
  exploration: null,
  schedules: [],
  writing: { dailyPostsMax: 1, dailyCommentsMax: 2, responsesPerThreadMax: 3, intervalMs: 4 },
  durationSecondsMax: 300,
  callFloor: { microusd: 1, tokens: 2 },
  callWant: { microusd: 3, tokens: 4 },
  budget: { costPerDayMicrousd: 500_000 },
  etag: 'etag-1',
  warnings: [{ path: 'config.yaml:3:shell', message: 'does not work here' }],
}

const put = (name = 'scout') =>
  hub.call(`/agents/${name}/definition`, { method: 'PUT', key: adminKey, body: { files } })
const accept = (change: Partial<DefinitionFacts> = {}) => {
  hub.seen.check = () => ({ ok: true, facts: { ...facts, ...change } })
}
beforeEach(() => accept())

test('a definition creates its agent and budget; the same files again change nothing', async () => {
  const first = await put()
  expect(first).toMatchObject({
    status: 200,
    body: { definition: { name: 'scout', version: 1, etag: 'etag-1' }, warnings: facts.warnings },
  })
  expect(hub.seen.kept).toMatchObject([{ name: 'scout', etag: 'etag-1', files }])
  expect((await put()).body.definition.version).toBe(1)
  const budget = await env.DB.prepare(
    `SELECT b.limit_microusd AS money, (SELECT count(*) FROM budget_windows w WHERE w.budget_id = b.id) AS windows
     FROM budgets b WHERE scope = 'agent' AND scope_id = ?`,
  )
    .bind(first.body.definition.agent_id)
    .first()
  expect(budget).toMatchObject({ money: 500_000, windows: expect.any(Number) })
  expect(budget?.windows).toBeGreaterThan(10)
  const agent = await hub.call('/accounts/scout')
  expect(agent.body.account).toMatchObject({
    kind: 'agent',
    is_hosted: true,
    model: 'offline/extractive',
    display_name: 'Scout',
  })
})

test('changed files create the next version; a removed limit is lifted', async () => {
  accept({ etag: 'etag-2', budget: { costPerDayMicrousd: null }, model: 'anthropic/x' })
  const { body } = await put()
  expect(body.definition).toMatchObject({ version: 2, model: 'anthropic/x' })
  const limit = await env.DB.prepare(
    `SELECT limit_microusd AS money FROM budgets WHERE scope = 'agent'`,
  ).first('money')
  expect(limit).toBeNull()
})

test('D3: the error of an invalid definition names file, line and field; the previous version stays', async () => {
  const problems = [{ path: 'config.yaml:3:brain.model', message: 'must be text' }]
  hub.seen.check = () => ({ ok: false, problems })
  expect(await put()).toMatchObject({
    status: 422,
    body: { code: 'INVALID_DEFINITION', details: problems },
  })
  accept()
  expect(await put('other')).toMatchObject({
    status: 422,
    body: { details: [{ path: 'config.yaml:2:name' }] },
  })
  const { body } = await hub.call('/agents/scout/definition', { key: adminKey })
  expect(body.definition.version).toBe(2)
})

test('a definition cannot use the name of a person or a reserved name', async () => {
  await hub.join('ada', 'human')
  accept({ name: 'ada' })
  expect((await put('ada')).status).toBe(409)
  accept({ name: 'admin' })
  expect((await put('admin')).status).toBe(422)
})

test('a definition does not take over an external agent that has keys', async () => {
  const { id, key } = await hub.join('wanderer')
  accept({ name: 'wanderer' })
  hub.seen.kept = []
  const refused = await put('wanderer')
  expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
  expect(refused.body.hint).toMatch(/another name.*DELETE \/api\/v1\/me\/keys/)
  expect(hub.seen.kept).toEqual([])
  expect((await hub.call('/accounts/wanderer')).body.account.is_hosted).toBe(false)

  // As the hint says: after the owner deletes the keys, the name can be used.
  const { body } = await hub.call('/me/keys', { key })
  await hub.call(`/me/keys/${body.keys[0].id}`, { method: 'DELETE', key })
  const taken = await put('wanderer')
  expect([taken.status, taken.body.definition?.agent_id]).toEqual([200, id])
})

test('a hosted agent with keys accepts its next definition', async () => {
  const { id } = await hub.join('resident')
  await hub.host(id)
  accept({ name: 'resident' })
  expect((await put('resident')).status).toBe(200)
})

test('H21: pausing and resuming one agent and all; resuming wakes agents with new mentions', async () => {
  const { key, id: adaId } = await hub.join('requester', 'human')
  const { body } = await hub.call('/agents/scout/definition', { key: adminKey })
  const id = body.definition.agent_id as AccountId
  expect(
    (await hub.call('/agents/scout/pause', { method: 'POST', key: adminKey })).body.is_paused,
  ).toBe(true)
  expect((await hub.call('/accounts/scout')).body.account.is_paused).toBe(true)
  expect(
    (await hub.call('/agents/requester/pause', { method: 'POST', key: adminKey })).status,
  ).toBe(404)
  await hub.call('/posts', { key, body: { community: 'general', title: 'Hey @scout' } })
  hub.seen.woken = []
  await hub.call('/agents/scout/resume', { method: 'POST', key: adminKey })
  expect(hub.seen.woken).toEqual([id])
  const headers = { 'idempotency-key': 'pause-1' }
  await hub.call('/system/pause', { method: 'POST', key: adminKey, headers })
  const again = await hub.call('/system/pause', { method: 'POST', key: adminKey, headers })
  expect(again.headers.get('idempotent-replay')).toBe('true')
  const other = await hub.call('/system/resume', { method: 'POST', key: adminKey, headers })
  expect([other.status, other.body.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT'])
  expect(
    await env.DB.prepare(`SELECT value FROM settings WHERE key = 'paused'`).first('value'),
  ).toBe('true')
  await hub.call('/system/resume', { method: 'POST', key: adminKey })
  expect(
    await env.DB.prepare(`SELECT value FROM settings WHERE key = 'paused'`).first('value'),
  ).toBe('false')
  expect(hub.seen.woken).toEqual([id, id])
  expect(adaId).not.toBe(id)
})

test('M3: the policy is the default or the account’s own, without the grants that either denies', async () => {
  const api = createGrantApi(hub.context)
  const { id } = await hub.join('outsider')
  expect(await api.readPolicy(id, null)).toMatchObject({
    requested: null,
    allowed: [
      'hub:read',
      'skills:read',
      'hub:write',
      'memory:read',
      'memory:write',
      'workspace:read',
      'workspace:write',
    ],
    denied: [],
  })
  const scout = await env.DB.prepare(
    `SELECT id FROM accounts WHERE name = 'scout'`,
  ).first<AccountId>('id')
  await env.DB.prepare(
    `UPDATE grant_policies SET denied = '["aws:*"]' WHERE account_id = '*'`,
  ).run()
  await env.DB.prepare(
    `INSERT INTO grant_policies (account_id, allowed, denied, updated_at) VALUES (?, '["hub:read"]', '["hub:write"]', 0)`,
  )
    .bind(scout)
    .run()
  expect(await api.readPolicy(scout as AccountId, null)).toMatchObject({
    requested: ['hub:read', 'hub:write'],
    allowed: ['hub:read'],
    denied: ['aws:*', 'hub:write'],
  })
})

test('M4: an admin sets the grants of an account, effective at once', async () => {
  const { id } = await hub.join('granted')
  const body = { allowed: ['hub:*', 'aws:s3:read:box'], denied: ['hub:write'] }
  const set = await hub.call('/agents/granted/grants', { method: 'PUT', key: adminKey, body })
  expect(set.body.grants).toEqual({
    requested: null,
    allowed: body.allowed,
    denied: ['aws:*', 'hub:write'],
  })
  expect(await createGrantApi(hub.context).readPolicy(id, null)).toMatchObject(set.body.grants)
  const read = await hub.call('/agents/granted/grants', { key: adminKey })
  expect(read.body.grants).toEqual(set.body.grants)
  const wrong = await hub.call('/agents/granted/grants', {
    method: 'PUT',
    key: adminKey,
    body: { allowed: ['a b'] },
  })
  expect([wrong.status, wrong.body.details[0].path]).toEqual([400, 'body.allowed.0'])
})

test('the gateway finds callers by key, also the admin key, and writes audit entries', async () => {
  const api = createGrantApi(hub.context)
  const { id, key } = await hub.join('caller')
  const now = hub.clock.now()
  expect(await api.findCaller(await sha256(key), now)).toEqual({
    id,
    name: 'caller',
    kind: 'agent',
    keyId: expect.any(String),
    scopes: ['read', 'write'],
  })
  expect(await api.findCaller(await sha256(adminKey), now)).toMatchObject({ name: 'admin' })
  expect(await api.findCaller(await sha256('nobody'), now)).toBeNull()
  const intent = await api.recordIntent(id, {
    callId: 'c1',
    tool: 'hub_search',
    grant: 'hub:read',
    argumentsHash: 'h',
    decision: 'allowed',
    outcome: null,
    durationMs: null,
    resultBytes: null,
    at: now,
  })
  await api.recordResult(intent.id, { outcome: 'ok', durationMs: 5, resultBytes: 10 })
  await api.recordResult(intent.id, { outcome: 'error', durationMs: 6, resultBytes: 0 })
  const row = await env.DB.prepare('SELECT outcome, duration_ms AS ms FROM audit_log WHERE id = ?')
    .bind(intent.id)
    .first()
  expect(row).toEqual({ outcome: 'ok', ms: 5 })
})

test('tools read and write through the API, in one round trip per read', async () => {
  const { id, key } = await hub.join('tooler')
  hub.clock.advance(1)
  let open = hub.context()
  const api = createConversationApi(() => {
    open = hub.context()
    return open
  })
  const actor = {
    accountId: id,
    name: 'tooler',
    kind: 'agent',
    activationId: null,
    idempotencyKey: 'call-1',
    postId: null,
  } as const
  const input = { community: 'm/general', title: 'From a tool', content: 'Zebra' }
  const post = await api.createPost(actor, input)
  expect(await api.createPost(actor, input)).toEqual(post)
  const comment = await api.createComment(
    { ...actor, idempotencyKey: 'call-2' },
    { postId: post.id, parentId: null, content: 'And a word' },
  )
  const thread = await api.readThread(actor, post.id, 50)
  expect(thread).toMatchObject({
    post: { community: 'general', title: 'From a tool', commentCount: 1 },
    comments: [{ id: comment.id }],
  })
  expect(open.db.cost.roundTrips).toBe(1)
  expect(
    (await api.readFeed(actor, { sort: 'new', community: 'm/general', limit: 1 }))[0]?.id,
  ).toBe(post.id)
  expect(await api.readProfile(actor, '@tooler')).toMatchObject({ id, kind: 'agent' })
  expect(await api.readInbox(actor, 5)).toEqual([])
  expect((await api.readBudgets(actor)).map(({ scope }) => scope)).toContain('hub')
  await expect(api.readThread(actor, 'x' as never, 5)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(api.createPost(actor, { ...input, title: '', content: '' })).rejects.toMatchObject({
    code: 'VALIDATION',
  })
  await expect(
    api.createPost({ ...actor, idempotencyKey: null }, { ...input, content: key }),
  ).rejects.toMatchObject({ code: 'VALIDATION' })
})

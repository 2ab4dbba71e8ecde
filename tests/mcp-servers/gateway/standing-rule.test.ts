import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { listKnownTools } from '../../../src/mcp-servers/gateway/list-known-tools'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { adminKey, createTestHub } from '../../hub/create-test-hub'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const hub = createTestHub()
const mira = await hub.join('mira', 'human')
const tomas = await hub.join('tomas', 'human')
const boss = await hub.join('boss', 'human')
const bot = await hub.join('bot')
const scout = await hub.join('scout')
await hub.host(scout.id)
await env.DB.prepare(`UPDATE agents SET grants = '["*"]'`).run()
await hub.call('/submolts', { key: mira.key, body: { name: 'garden' } })

const ran: unknown[] = []
let trips = 0
const contexts: ReturnType<typeof hub.context>[] = []
const hubApi = createHubApi(() => {
  const context = hub.context()
  contexts.push(context)
  return context
})
const createServers = (description = 'Sends it.') => [
  {
    name: 'test',
    description: 'For tests.',
    tools: [
      defineTool({
        ...{ name: 'send', description, tier: 'write', isIdempotent: false, doing: 'sending' },
        // Not strict: an argument that the tool does not know would be dropped in silence.
        input: z.object({ to: z.string(), text: z.string(), copies: z.number().default(1) }),
        grant: { shape: 'test:*', of: ({ to }) => `test:${to.split('/')[0]}` },
        async run({ input }) {
          ran.push(input)
          return 'sent'
        },
      }),
    ],
  },
]
const createTestGateway = (servers = createServers()) =>
  createGateway({
    ...testFileStores,
    ...{ hub: hubApi, memory: fakeMemory, clock: hub.clock, servers },
  })
hub.seen.tools = listKnownTools(createServers())
let gateway = createTestGateway()

let calls = 0
const outside: ToolCaller = {
  ...{ accountId: scout.id, name: 'scout', kind: 'agent', activationId: null, postId: null },
}
const send = async (args: object | string, caller: ToolCaller) => {
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  contexts.length = 0
  const result = await gateway.call(
    caller,
    { callId: `call-${++calls}`, tool: 'test_send', arguments: text },
    new AbortController().signal,
  )
  trips = contexts.reduce((sum, { db }) => sum + db.cost.roundTrips, 0)
  return result
}
const decisionOf = async (args: object | string, caller: ToolCaller) =>
  (await send(args, caller)).audit.decision

/** A run of scout for accounts, in a community or outside of any. */
const createRun = async (
  requesters: AccountId[] = [mira.id],
  community: string | null = 'garden',
): Promise<ToolCaller> => {
  const activationId = crypto.randomUUID() as ActivationId
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at, requesters, community_id)
     VALUES (?, ?, 'inbox', 'mention', 'parked', 'granted', 'offline/extractive', 1, 0, 0, ?,
       (SELECT id FROM communities WHERE name = ?))`,
  )
    .bind(activationId, scout.id, JSON.stringify(requesters), community)
    .run()
  return { ...outside, activationId }
}

const pending = { to: 'acme/tools', text: 'Weekly report 47' }

/** Lets a run ask for a call, as its park would have written it; returns the approval's id. */
async function ask(args: object | string, caller: ToolCaller): Promise<string> {
  const { approval } = await send(args, caller)
  if (!approval) throw new Error('nothing to approve')
  await env.DB.prepare(
    `INSERT INTO approvals (id, account_id, activation_id, call_id, tool, "grant", tier, arguments, arguments_hash,
       reasons, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
    .bind(
      ...[`${caller.activationId}:${approval.callId}`, scout.id, caller.activationId],
      ...[approval.callId, approval.tool, approval.grant, approval.tier, approval.arguments],
      ...[approval.argumentsHash, JSON.stringify(approval.reasons)],
      ...[hub.clock.now(), hub.clock.now() + 86_400_000],
    )
    .run()
  return `${caller.activationId}:${approval.callId}`
}

const approve = (id: string, rule: object, key: string = adminKey, decision = 'approve') =>
  hub.call(`/approvals/${encodeURIComponent(id)}`, {
    key,
    body: { decision, standing_rule: rule },
  })
const listRules = async () =>
  (await hub.call('/standing-rules', { key: adminKey })).body.standing_rules
const setPolicy = (body: object) =>
  hub.call('/agents/scout/grants', { method: 'PUT', key: adminKey, body })
const setRole = (name: string, role: string) =>
  hub.call(`/agents/${name}/role`, { method: 'PUT', key: adminKey, body: { role } })

/** Approves `args` in a run for mira in m/garden with a rule, made by the admin unless `key` says otherwise. */
async function createRule(rule: object = {}, key: string = adminKey, args: object = pending) {
  const answer = await approve(await ask(args, await createRun()), rule, key)
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body.standing_rule
}

beforeEach(async () => {
  ran.length = 0
  gateway = createTestGateway()
  hub.seen.tools = listKnownTools(createServers())
  await env.DB.batch([
    env.DB.prepare('DELETE FROM approvals'),
    env.DB.prepare('DELETE FROM standing_rules'),
  ])
  await setPolicy({ allowed: ['test:*'], require_approval: ['tier:write'] })
  await setRole('boss', 'admin')
})

test('T20: a rule made with an approval lets such calls run without one, until it ends', async () => {
  const scope = await createRule({ days: 2 })
  expect(scope).toEqual({
    arguments: [
      { name: 'to', equals: '"acme/tools"', begins_with: null },
      { name: 'text', equals: '"Weekly report 47"', begins_with: null },
    ],
    community: 'garden',
    requester: 'mira',
    ends_at: new Date(hub.clock.now() + 2 * 86_400_000).toISOString(),
  })
  const later = await send(pending, await createRun())
  expect(later).toMatchObject({ isError: false, approval: null })
  expect(later.audit).toMatchObject({
    decision: 'allowed',
    ruleId: (await listRules())[0].id,
    reason: expect.stringMatching(/^Allowed by standing rule of @admin until \d{4}-.* UTC\.$/),
  })
  // The decision, the rules among it, is one round trip.
  expect(trips).toBe(1)
  expect(ran).toEqual([{ ...pending, copies: 1 }])
  hub.clock.advance(2 * 86_400_000)
  expect(await decisionOf(pending, await createRun())).toBe('needs_approval')
  expect((await listRules())[0].state).toBe('expired')
})

test.each([
  ['another value', { ...pending, text: 'Weekly report 48' }],
  ['a look-alike letter', { ...pending, text: 'Wеekly report 47' }],
  ['a default written out', { ...pending, copies: 1 }],
  ['an argument that the tool drops', { ...pending, note: 'x' }],
  ['an argument less', { to: 'acme/tools', text: '' }],
  ['another resource', { ...pending, to: 'acme-evil/tools' }],
  ['an argument of the prototype', '{"to":"acme/tools","text":"Weekly report 47","__proto__":{}}'],
  ['the last of two equal names', '{"to":"acme/tools","text":"Weekly report 47","text":"Pay"}'],
])('T20: a rule does not cover %s', async (_, args) => {
  await createRule()
  expect(await decisionOf(args, await createRun())).toBe('needs_approval')
  expect(ran).toEqual([])
})

test('T20: a prefix covers what begins with it, for the same grant only', async () => {
  await createRule({ prefixes: { text: 'Weekly report ', to: 'acme/' } })
  const run = await createRun()
  expect(await decisionOf({ to: 'acme/site', text: 'Weekly report 48' }, run)).toBe('allowed')
  expect(await decisionOf({ to: 'acme/site', text: 'Weekly rep' }, run)).toBe('needs_approval')
  expect(await decisionOf({ to: 'other/x', text: 'Weekly report 48' }, run)).toBe('needs_approval')
})

test('T20: a rule holds for its community and its requester, unless it says otherwise', async () => {
  await createRule()
  const others: [AccountId[], string | null][] = [
    [[tomas.id], 'garden'],
    [[mira.id, tomas.id], 'garden'],
    [[], 'garden'],
    [[mira.id], 'general'],
    [[mira.id], null],
  ]
  for (const [requesters, community] of others) {
    const decision = await decisionOf(pending, await createRun(requesters, community))
    // A run of the hub itself has no line of the policy to begin with.
    expect(decision).toBe(requesters.length > 0 ? 'needs_approval' : 'denied')
  }
  // Nor for the agent's own key, or for another account.
  expect(await decisionOf(pending, outside)).toBe('needs_approval')
  await createRule({ any_requester: true, any_community: true }, adminKey, {
    ...pending,
    text: 'Anybody',
  })
  for (const [requesters, community] of others.slice(0, 2)) {
    const run = await createRun(requesters, community)
    expect(await decisionOf({ ...pending, text: 'Anybody' }, run)).toBe('allowed')
  }
})

test('T20: a rule lends no grant: what the policy does not allow or denies stays refused', async () => {
  await createRule()
  await setPolicy({ allowed: ['test:*'], denied: ['test:acme'], require_approval: ['tier:write'] })
  expect(await decisionOf(pending, await createRun())).toBe('denied')
  await setPolicy({ allowed: ['test:* for @tomas'], require_approval: ['tier:write'] })
  expect(await decisionOf(pending, await createRun())).toBe('denied')
})

test('T20: a rule covers the approval that untrusted text forces; other calls still ask, and say why', async () => {
  await setPolicy({ allowed: ['test:*'], require_approval: [] })
  const tainted = async () => ({ ...(await createRun()), hasReadUntrusted: true })
  const caller = await tainted()
  const id = await ask(pending, caller)
  expect((await hub.call('/approvals', { key: adminKey })).body.approvals).toMatchObject([
    { id, reasons: [{ kind: 'untrusted', entry: null, community: null }] },
  ])
  expect((await approve(id, {})).status).toBe(200)
  expect(await decisionOf(pending, await tainted())).toBe('allowed')
  expect(await decisionOf({ ...pending, text: 'Pay now' }, await tainted())).toBe('needs_approval')
})

test('C3: an approval names the entries of the policy that require it', async () => {
  await setPolicy({ allowed: ['test:*'], require_approval: ['tier:write', 'test:acme', 'test:b'] })
  await ask(pending, await createRun())
  const { body } = await hub.call('/approvals', { key: adminKey })
  expect(body.approvals[0].reasons.map(({ entry }: { entry: string }) => entry)).toEqual([
    'tier:write',
    'test:acme',
  ])
})

test('T20: what leaves a closed community needs a rule for that community', async () => {
  await env.DB.prepare(`UPDATE communities SET visibility = 'private' WHERE name = 'garden'`).run()
  const closed = { reader: mira.id, privateTo: null, community: 'garden' }
  const inside = async () => ({ ...(await createRun()), privacy: closed })
  await createRule({ any_community: true })
  expect(await decisionOf(pending, await inside())).toBe('needs_approval')
  await createRule({}, adminKey, { ...pending, text: 'Ours' })
  expect(await decisionOf({ ...pending, text: 'Ours' }, await inside())).toBe('allowed')
  await env.DB.prepare(`UPDATE communities SET visibility = 'public' WHERE name = 'garden'`).run()
})

test('T20: a revoked rule covers nothing from the next call on; revoking is for admins', async () => {
  await createRule()
  const [{ id }] = await listRules()
  const revoke = (key: string) => hub.call(`/standing-rules/${id}`, { method: 'DELETE', key })
  expect((await revoke(mira.key)).status).toBe(403)
  expect((await hub.call('/standing-rules', { key: mira.key })).status).toBe(403)
  expect(await decisionOf(pending, await createRun())).toBe('allowed')
  const answer = await revoke(boss.key)
  expect([answer.status, answer.body.standing_rule.state]).toEqual([200, 'revoked'])
  expect(await decisionOf(pending, await createRun())).toBe('needs_approval')
  expect((await hub.call('/standing-rules/none', { method: 'DELETE', key: adminKey })).status).toBe(
    404,
  )
})

test.each([
  ['demoted', () => setRole('boss', 'member'), () => setRole('boss', 'admin')],
  [
    'banned',
    () => hub.call('/agents/boss/bans', { key: adminKey, body: { kind: 'ban', reason: 'x' } }),
    () => env.DB.prepare('DELETE FROM bans').run(),
  ],
  [
    'disabled',
    () => hub.call('/agents/boss/disable', { key: adminKey, body: {} }),
    () => hub.call('/agents/boss/enable', { key: adminKey, body: {} }),
  ],
])('T20: a rule ends for good when its creator is %s', async (_, end, undo) => {
  await createRule({}, boss.key)
  expect(await decisionOf(pending, await createRun())).toBe('allowed')
  const ended = await end()
  expect(ended).not.toMatchObject({ status: 404 })
  expect(await decisionOf(pending, await createRun())).toBe('needs_approval')
  expect((await listRules())[0]).toMatchObject({ state: 'creator', created_by: 'boss' })
  await undo()
  expect(await decisionOf(pending, await createRun())).toBe('needs_approval')
})

test('T20: a rule covers nothing of a tool whose definition has changed', async () => {
  await createRule()
  const changed = createServers('Sends it, and a copy to the archive.')
  gateway = createTestGateway(changed)
  hub.seen.tools = listKnownTools(changed)
  expect(await decisionOf(pending, await createRun())).toBe('needs_approval')
  expect((await listRules())[0].state).toBe('tool_changed')
})

test('T20: only a person who may decide creates a rule, for the decision to approve, at most 90 days', async () => {
  const id = await ask(pending, await createRun())
  for (const key of [mira.key, tomas.key, bot.key]) {
    expect((await approve(id, {}, key)).status).toBe(403)
  }
  await setRole('bot', 'admin')
  expect((await approve(id, {}, bot.key)).status).toBe(403)
  // Whoever created a community moderates it, and cannot decide approvals.
  expect((await approve(id, {}, mira.key)).status).toBe(403)
  for (const decision of ['deny', 'approve_activation']) {
    expect((await approve(id, {}, adminKey, decision)).status).toBe(400)
  }
  for (const rule of [
    { days: 91 },
    { days: 0 },
    { prefixes: { text: 'Daily ' } },
    { prefixes: { text: '' } },
    { anything: true },
  ]) {
    expect((await approve(id, rule)).status, JSON.stringify(rule)).toBe(400)
  }
  expect(await listRules()).toEqual([])
  expect((await hub.call('/approvals', { key: adminKey })).body.approvals).toHaveLength(1)
  expect((await approve(id, { days: 90 })).status).toBe(200)
  // The call is decided: a second rule cannot be made from it.
  expect((await approve(id, { days: 1 })).status).toBe(409)
  expect(await listRules()).toHaveLength(1)
})

test('T20: no rule is made of a call with a secret, or of one that nobody alone requested', async () => {
  const secret = { ...pending, text: `Key ghp_${'a1B2'.repeat(9)}` }
  expect((await approve(await ask(secret, await createRun()), {})).status).toBe(400)
  const shared = await ask(pending, await createRun([mira.id, tomas.id]))
  expect((await approve(shared, {})).status).toBe(400)
  expect((await approve(shared, { any_requester: true })).status).toBe(200)
  expect(JSON.stringify(await listRules())).not.toContain('ghp_')
})

test('T20: the preview is what is created, and writes nothing', async () => {
  const id = await ask(pending, await createRun())
  const rule = { prefixes: { text: 'Weekly report ' }, any_requester: true, days: 7 }
  const preview = await hub.call(`/approvals/${encodeURIComponent(id)}/rule-preview`, {
    ...{ key: adminKey, body: rule },
  })
  expect(preview.status).toBe(200)
  expect(await listRules()).toEqual([])
  const { body } = await approve(id, rule)
  expect(body.standing_rule).toEqual(preview.body.standing_rule)
})

test('T20: a decision about a call counts before a rule', async () => {
  const run = await createRun()
  const callId = `call-${calls + 1}`
  const id = await ask(pending, run)
  await hub.call(`/approvals/${encodeURIComponent(id)}`, {
    ...{ key: adminKey, body: { decision: 'deny', note: 'Not this week' } },
  })
  await createRule()
  expect((await send(pending, run)).text).toBe('Error: Denied by admin: Not this week')
  expect(callId).toBe(id.split(':')[1])
  expect(await decisionOf(pending, await createRun())).toBe('allowed')
})

test('T20 T12: uses are counted from the audit, and creating and revoking are in the admin log', async () => {
  // A call with a key: its account requests it, and its audit is written at once.
  await send(pending, outside)
  const { body } = await hub.call('/approvals', { key: adminKey })
  expect((await approve(body.approvals[0].id, {})).status).toBe(200)
  const before = (await listRules())[0]
  expect(before).toMatchObject({ uses: 0, last_used_at: null, requester: 'scout', community: null })
  for (let use = 0; use < 3; use++) {
    hub.clock.advance(1_000)
    expect(await decisionOf(pending, outside)).toBe('allowed')
  }
  const [rule] = await listRules()
  // The first call used the approval itself.
  expect(rule).toMatchObject({ uses: 2, last_used_at: new Date(hub.clock.now()).toISOString() })
  const { results } = await env.DB.prepare(
    'SELECT decision, outcome, reason FROM audit_log WHERE rule_id = ?',
  )
    .bind(rule.id)
    .all()
  expect(results).toHaveLength(2)
  expect(results[0]).toMatchObject({
    ...{ decision: 'allowed', outcome: 'ok' },
    reason: expect.stringContaining('standing rule of @admin'),
  })
  await expect(
    env.DB.prepare('UPDATE audit_log SET rule_id = NULL WHERE rule_id = ?').bind(rule.id).run(),
  ).rejects.toThrow()
  await hub.call(`/standing-rules/${rule.id}`, { method: 'DELETE', key: adminKey })
  const log = await hub.call('/admin/log?action=standing_rule.*', { key: adminKey })
  const own = log.body.entries.filter(({ target_id }: { target_id: string }) => target_id === rule.id)
  expect(own.map(({ action }: { action: string }) => action)).toEqual([
    'standing_rule.revoke',
    'standing_rule.create',
  ])
  expect(own[1].after).toMatchObject({ tool: 'test_send', arguments: ['to: exact', 'text: exact'] })
  expect(JSON.stringify(own)).not.toContain('Weekly')
})

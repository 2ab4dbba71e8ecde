import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { needsApproval } from '../../../src/mcp-servers/gateway/approvals'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import type { ActivationId } from '../../../src/shared/ids'
import { adminKey, createTestHub } from '../../hub/create-test-hub'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const hub = createTestHub()
const finch = await hub.join('finch')
const ran: unknown[] = []
const contexts: ReturnType<typeof hub.context>[] = []
const hubApi = createHubApi(() => {
  const context = hub.context()
  contexts.push(context)
  return context
})
const echo = (name: string, tier: 'read' | 'write' | 'destructive') =>
  defineTool({
    name,
    description: 'Says it again.',
    tier,
    isIdempotent: false,
    doing: 'echoing',
    input: z.strictObject({ text: z.string() }),
    grant: { shape: 'test:*', of: ({ text }) => `test:${text}` },
    async run({ input }) {
      ran.push(input.text)
      return input.text
    },
  })
const servers = [
  {
    name: 'test',
    description: 'For tests.',
    tools: [echo('look', 'read'), echo('write', 'write'), echo('erase', 'destructive')],
  },
]
const gateway = createGateway({
  ...testFileStores,
  hub: hubApi,
  memory: fakeMemory,
  clock: hub.clock,
  servers,
})
hub.seen.tools = listKnownTools(servers)

const activationId = '00000000-0000-7000-8000-00000000a001' as ActivationId
const outside: ToolCaller = {
  accountId: finch.id,
  name: 'finch',
  kind: 'agent',
  activationId: null,
  postId: null,
  tiers: ['read', 'write', 'destructive'],
}
const atWork: ToolCaller = { ...outside, activationId }

let calls = 0
const call = (caller: ToolCaller, tool: string, text = 'a', callId = `call-${++calls}`) =>
  gateway.call(
    caller,
    { callId, tool: `test_${tool}`, arguments: JSON.stringify({ text }) },
    new AbortController().signal,
  )
const require = (entries: string[], name = 'finch') =>
  hub.call(`/agents/${name}/grants`, {
    method: 'PUT',
    key: adminKey,
    body: { allowed: ['test:*', 'hub:*'], require_approval: entries },
  })
const decide = (id: string, decision: string, note = '') =>
  hub.call(`/approvals/${encodeURIComponent(id)}/decide`, {
    key: adminKey,
    body: { decision, note },
  })
const approvals = async () =>
  (await env.DB.prepare('SELECT * FROM approvals ORDER BY rowid').all()).results

/** As the park of this activation would have written it. */
const askFor = async (result: Awaited<ReturnType<typeof call>>) => {
  const asked = result.approval
  if (!asked) throw new Error('nothing to approve')
  const id = `${activationId}:${asked.callId}`
  await env.DB.prepare(
    `INSERT INTO approvals (id, account_id, activation_id, call_id, tool, "grant", tier, arguments, arguments_hash, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
    .bind(
      id,
      finch.id,
      activationId,
      asked.callId,
      asked.tool,
      asked.grant,
      asked.tier,
      asked.arguments,
      asked.argumentsHash,
      hub.clock.now(),
      hub.clock.now() + 1_000,
    )
    .run()
  return id
}

beforeAll(() => require([]))
beforeEach(async () => {
  ran.length = 0
  await env.DB.batch([
    env.DB.prepare('DELETE FROM approvals'),
    env.DB.prepare('DELETE FROM inbox_items'),
  ])
  await require(['tier:write', 'test:secret', 'tool:test_erase'])
})

test('M7: a call that needs a person does not run; the result says what would', async () => {
  contexts.length = 0
  const result = await call(atWork, 'write', 'a', 'call-x')
  expect(contexts.reduce((sum, { db }) => sum + db.cost.roundTrips, 0)).toBe(1)
  expect(ran).toEqual([])
  expect(result).toMatchObject({
    isError: true,
    approval: {
      callId: 'call-x',
      tool: 'test_write',
      grant: 'test:a',
      tier: 'write',
      arguments: '{"text":"a"}',
      argumentsHash: result.audit.argumentsHash,
    },
    audit: { decision: 'needs_approval', outcome: null },
  })
  expect(await approvals()).toEqual([])
})

test('M7: policy names tiers, tools and grants; what it does not name runs', async () => {
  const asks = async (tool: string, text: string) =>
    (await call(atWork, tool, text)).audit.decision === 'needs_approval'
  expect(await asks('look', 'a')).toBe(false)
  expect(await asks('look', 'secret')).toBe(true)
  expect(await asks('write', 'a')).toBe(true)
  expect(await asks('erase', 'a')).toBe(true)
  await require([])
  // The default policy asks for destructive calls.
  expect(await asks('erase', 'a')).toBe(true)
  await require([], '*')
  expect(await asks('erase', 'a')).toBe(false)
})

test('M7: what the default policy reserves is reserved for everybody', async () => {
  await require([])
  expect((await require(['tool:test_look'], '*')).body.require_approval).toEqual(['tool:test_look'])
  expect((await call(atWork, 'look')).audit.decision).toBe('needs_approval')
  await require([], '*')
  expect((await call(atWork, 'look')).audit.decision).toBe('allowed')
})

test('M7: an approved call runs with these arguments and no others, and another one asks again', async () => {
  const id = await askFor(await call(atWork, 'write', 'a', 'call-1'))
  expect((await call(atWork, 'write', 'a', 'call-1')).audit.decision).toBe('needs_approval')
  await decide(id, 'approve')
  expect((await call(atWork, 'write', 'b', 'call-1')).audit.decision).toBe('needs_approval')
  expect((await call(atWork, 'write', 'a', 'call-2')).audit.decision).toBe('needs_approval')
  expect(ran).toEqual([])
  expect(await call(atWork, 'write', 'a', 'call-1')).toMatchObject({ text: 'a', isError: false })
  expect(ran).toEqual(['a'])
})

test('M7: approved for the activation, the tool runs with that grant in this activation only', async () => {
  const id = await askFor(await call(atWork, 'erase', 'a', 'call-1'))
  await decide(id, 'approve_activation')
  expect((await call(atWork, 'erase', 'a', 'call-9')).isError).toBe(false)
  expect((await call(atWork, 'erase', 'b')).audit.decision).toBe('needs_approval')
  expect((await call(atWork, 'write', 'a')).audit.decision).toBe('needs_approval')
  const other = { ...atWork, activationId: '00000000-0000-7000-8000-00000000a002' as ActivationId }
  expect((await call(other, 'erase', 'a')).audit.decision).toBe('needs_approval')
})

test('M7: denied, the result says who and why, also when it is asked again', async () => {
  const id = await askFor(await call(atWork, 'write', 'a', 'call-1'))
  await decide(id, 'deny', 'Not on a Friday')
  for (const callId of ['call-1', 'call-2']) {
    const result = await call(atWork, 'write', 'a', callId)
    expect(result.text).toBe('Error: Denied by admin: Not on a Friday')
    expect(result).toMatchObject({ approval: null, audit: { decision: 'denied' } })
  }
  expect(ran).toEqual([])
})

test('M7: when nobody decides in time, the result says so', async () => {
  await askFor(await call(atWork, 'write', 'a', 'call-1'))
  hub.clock.advance(1_001)
  await hubApi.sweep(hub.clock.now())
  const result = await call(atWork, 'write', 'a', 'call-1')
  expect(result.text).toBe('Error: The approval request expired, so the call did not run.')
})

test('M4: a grant that was revoked meanwhile refuses an approved call', async () => {
  const id = await askFor(await call(atWork, 'write', 'a', 'call-1'))
  await decide(id, 'approve')
  await hub.call('/agents/finch/grants', { method: 'PUT', key: adminKey, body: { allowed: [] } })
  expect((await call(atWork, 'write', 'a', 'call-1')).text).toMatch(/^Error: Missing grant/)
})

test('M7: an outside caller is asked to come again, and the approvers are asked once', async () => {
  const asked = await Promise.all([call(outside, 'write'), call(outside, 'write')])
  asked.push(await call(outside, 'write'))
  for (const { text, approval, audit } of asked) {
    expect(text).toBe(
      'Error: This call requires approval (/approvals). Repeat the same call after it is approved.',
    )
    expect({ approval, decision: audit.decision }).toEqual({
      approval: null,
      decision: 'needs_approval',
    })
  }
  expect(await approvals()).toMatchObject([{ account_id: finch.id, activation_id: null }])
  const { results } = await env.DB.prepare('SELECT type, is_task FROM inbox_items').all()
  expect(results).toEqual([{ type: 'approval_request', is_task: 0 }])
  expect(ran).toEqual([])
})

test('M7: an outside call that was approved runs once, and its caller is told', async () => {
  await call(outside, 'write')
  const [asked] = await approvals()
  await decide(String(asked?.id), 'approve')
  const told = await env.DB.prepare('SELECT type, content FROM inbox_items WHERE account_id = ?')
    .bind(finch.id)
    .all()
  expect(told.results).toEqual([{ type: 'approval_decision', content: 'test_write: approved.' }])
  const again = await Promise.all(Array.from({ length: 6 }, () => call(outside, 'write')))
  expect(again.filter(({ isError }) => !isError)).toHaveLength(1)
  expect(ran).toEqual(['a'])
  expect((await approvals()).map(({ status }) => status)).toEqual(['approved', 'pending'])
})

test('M7 M9: an outside call that cannot be noted keeps its approval, and runs with it later', async () => {
  await call(outside, 'write')
  const [asked] = await approvals()
  await decide(String(asked?.id), 'approve')
  await env.DB.prepare(
    `CREATE TRIGGER audit_is_full BEFORE INSERT ON audit_log BEGIN SELECT raise(ABORT, 'full'); END`,
  ).run()
  const failed = await call(outside, 'write')
  await env.DB.prepare('DROP TRIGGER audit_is_full').run()
  expect(failed.text).toMatch(/^Error: test_write did not run, because the hub could not/)
  expect(await call(outside, 'write')).toMatchObject({ text: 'a', isError: false })
  expect(ran).toEqual(['a'])
  const noted = `SELECT decision, outcome FROM audit_log WHERE id = (SELECT used_by FROM approvals)`
  expect(await env.DB.prepare(noted).first()).toEqual({ decision: 'allowed', outcome: 'ok' })
})

test('M7 M8: a call that its rate limit stops keeps its approval, and runs with it later', async () => {
  const limited = { allowed: ['test:*', 'hub:*'], require_approval: ['tier:write'] }
  const rate_limits = [{ tool: 'test_write', per: 'minute', limit: 1 }]
  await hub.call('/agents/finch/grants', {
    method: 'PUT',
    key: adminKey,
    body: { ...limited, rate_limits },
  })
  await call(outside, 'write', 'first')
  await call(outside, 'write', 'second')
  for (const { id } of await approvals()) await decide(String(id), 'approve')
  expect((await call(outside, 'write', 'first')).isError).toBe(false)
  expect((await call(outside, 'write', 'second')).audit.decision).toBe('rate_limited')
  hub.clock.advance(60_000)
  expect((await call(outside, 'write', 'second')).isError).toBe(false)
  expect(ran).toEqual(['first', 'second'])
})

test('M7: an outside call that was denied stays denied; one that expired may be asked for again', async () => {
  await call(outside, 'write')
  const [asked] = await approvals()
  await decide(String(asked?.id), 'deny', 'No')
  expect((await call(outside, 'write')).text).toBe('Error: Denied by admin: No')
  await call(outside, 'erase')
  hub.clock.advance(86_400_001)
  await hubApi.sweep(hub.clock.now())
  expect((await call(outside, 'erase')).audit.decision).toBe('needs_approval')
  expect((await approvals()).map(({ status }) => status)).toEqual(['denied', 'expired', 'pending'])
})

test('M7: what was said to an outside caller holds for a day, yes or no', async () => {
  for (const decision of ['approve', 'deny']) {
    await env.DB.prepare('DELETE FROM approvals').run()
    await call(outside, 'write')
    const [asked] = await approvals()
    await decide(String(asked?.id), decision)
    hub.clock.advance(86_400_001)
    expect((await call(outside, 'write')).audit.decision).toBe('needs_approval')
    expect((await approvals()).map(({ status }) => status)).toEqual([
      decision === 'deny' ? 'denied' : 'approved',
      'pending',
    ])
  }
  expect(ran).toEqual([])
})

test('M7: an entry never reserves more than it names', () => {
  const segment = fc.constantFrom('a', 'b', 'c')
  void fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 4 }), segment, (parts, other) => {
      const grant = parts.join(':')
      const asked = { name: `t_${other}`, tier: 'read', grant }
      expect(needsApproval([grant], asked)).toBe(true)
      expect(needsApproval([`${grant}:${other}`], asked)).toBe(false)
      expect(needsApproval([`tool:t_${other}`], asked)).toBe(true)
      expect(needsApproval([`tool:${grant}`, 'tier:write'], asked)).toBe(false)
    }),
  )
})

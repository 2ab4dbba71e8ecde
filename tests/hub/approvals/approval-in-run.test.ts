import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import type { ActivationId } from '../../../src/shared/ids'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const finch = await hub.join('finch')
const ran: string[] = []
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  tier: 'write',
  isIdempotent: false,
  doing: 'paying',
  input: z.strictObject({ to: z.string() }),
  grant: { shape: 'test:*', of: ({ to }) => `test:${to}` },
  async run({ input }) {
    ran.push(input.to)
    return input.to
  },
})
const servers = [{ name: 'test', description: 'For tests.', tools: [pay] }]
hub.seen.tools = listKnownTools(servers)
const gateway = createGateway({
  ...testFileStores,
  hub: createHubApi(hub.context),
  memory: fakeMemory,
  clock: hub.clock,
  servers,
})
const withKey: ToolCaller = {
  accountId: finch.id,
  name: 'finch',
  kind: 'agent',
  activationId: null,
  postId: null,
  tiers: ['read', 'write', 'destructive'],
}
/** A program that calls with the token of a run. */
const inRun = (end: string): ToolCaller => ({
  ...withKey,
  activationId: `00000000-0000-7000-8000-00000000${end}` as ActivationId,
  isExternal: true,
})
let calls = 0
const call = async (caller: ToolCaller) => {
  const asked = { callId: `call-${++calls}`, tool: 'test_pay', arguments: '{"to":"bob"}' }
  return (await gateway.call(caller, asked, new AbortController().signal)).audit.decision
}
const decide = (id: string, decision: string) =>
  hub.call(`/approvals/${encodeURIComponent(id)}/decide`, { key: adminKey, body: { decision } })

test('T13: what was approved for a program in one run holds in no other run, nor for a key', async () => {
  const body = { allowed: ['test:*'], require_approval: ['tier:write'] }
  await hub.call('/agents/finch/grants', { method: 'PUT', key: adminKey, body })
  await Promise.all([call(inRun('a101')), call(inRun('a101'))])
  const { results } = await env.DB.prepare('SELECT * FROM approvals').all()
  const [asked] = results
  expect(results).toMatchObject([{ activation_id: null, run_id: inRun('a101').activationId }])
  const id = String(asked?.id)
  const forRun = await decide(id, 'approve_activation')
  expect([forRun.status, forRun.body.code]).toEqual([409, 'CONFLICT'])
  const done = await decide(id, 'approve')
  expect(done.body.approval).toMatchObject({ scope: 'once', run_id: inRun('a101').activationId })
  for (const other of [inRun('a102'), withKey]) expect(await call(other)).toBe('needs_approval')
  expect(ran).toEqual([])
  expect(await call(inRun('a101'))).toBe('allowed')
  expect(await call(inRun('a101'))).toBe('needs_approval')
  expect(ran).toEqual(['bob'])
})

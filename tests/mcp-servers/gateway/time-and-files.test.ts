import { expect, test } from 'vitest'
import * as z from 'zod'
import { noPrivacy } from '../../../src/hub/contract/hub'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { servers } from '../../../src/mcp-servers/servers'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import type { AccountId } from '../../../src/shared/ids'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

test('M1: the operator sets the time of calls whose tool states none', async () => {
  const tool = defineTool({
    name: 'wait',
    description: 'Waits.',
    input: z.strictObject({}),
    tier: 'read',
    grant: 'test:wait',
    isIdempotent: true,
    doing: 'waiting',
    run: () => new Promise(() => {}),
  })
  const gateway = createGateway({
    ...testFileStores,
    memory: fakeMemory,
    clock: createFakeClock(),
    toolTimeoutMs: 30,
    hub: createFakeHubApi({ requested: ['test:*'], allowed: ['test:*'], denied: [] }).hubApi,
    servers: [{ name: 'test', description: 'For tests.', tools: [tool] }],
  })
  const call = { callId: 'call-1', tool: 'test_wait', arguments: '{}' }
  const { text } = await gateway.call(scoutAtWork, call, new AbortController().signal)
  expect(text).toMatch(/^Error: test_wait timed out after 0\.03 s/)
})

test('L13: what an agent stores in its workspace is measured if it may use it', async () => {
  const caller = { ...scoutAtWork, accountId: 'acc-keeper' as AccountId }
  const gateway = createGateway({
    ...testFileStores,
    memory: fakeMemory,
    clock: createFakeClock(),
    servers,
    hub: createFakeHubApi({ requested: [], allowed: [], denied: [] }).hubApi,
  })
  const policy = (grant: string) => ({ requested: [grant], allowed: [grant], denied: [] })
  expect(gateway.measureFiles(caller, policy('hub:read'))).toBeNull()
  const allowed = policy('workspace:read')
  expect(await gateway.measureFiles(caller, allowed)).toEqual({ files: 0, bytes: 0 })
  const workspace = testFileStores.workspaceOf(caller.accountId, noPrivacy, false)
  await workspace.write('notes/today.md', new TextEncoder().encode('tides'), null)
  expect(await gateway.measureFiles(caller, allowed)).toEqual({ files: 1, bytes: 5 })
  await workspace.remove('notes/today.md')
})

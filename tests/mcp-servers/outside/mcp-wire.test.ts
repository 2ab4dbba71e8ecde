import { expect, test } from 'vitest'
import * as z from 'zod'
import { paginateTools } from '../../../src/mcp-servers/outside/paginate-tools'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import { textOf } from '../../support/connect-mcp'
import { listRequest, setUpMcp as setUp } from '../../support/set-up-mcp'

test('M11: a batch that cancels its own request is still answered', async () => {
  const { post } = setUp()
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
  const response = await post('/mcp/hub', [listRequest, cancel])
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ id: 1, result: { tools: expect.any(Array) } })
})

test('M11: batches are for the version that has them', async () => {
  const { post } = setUp()
  const statusOf = async (version: string) =>
    (await post('/mcp/hub', [listRequest], { 'MCP-Protocol-Version': version })).status
  expect(await statusOf('2025-03-26')).toBe(200)
  for (const version of ['2025-06-18', '2025-11-25']) expect(await statusOf(version)).toBe(400)
})

test('M11: the version is negotiated: the one asked for when it is known, else the newest', async () => {
  const { post } = setUp()
  const negotiate = async (protocolVersion: string) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } }
    const response = await post('/mcp', { ...listRequest, method: 'initialize', params })
    const { result } = await response.json<{ result: Record<string, unknown> }>()
    return result
  }
  const versions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
  for (const version of versions) {
    expect((await negotiate(version)).protocolVersion).toBe(version)
  }
  const newest = await negotiate('2099-01-01')
  expect(newest.protocolVersion).toBe('2025-11-25')
  // there is no way to tell a client of a change, so none is promised
  expect(newest.capabilities).toEqual({ tools: {} })
})

test('M11: a long list comes in pages that survive a change between them', () => {
  const tools = Array.from({ length: 250 }, (_, index) => ({
    name: `hub_tool_${String(index).padStart(3, '0')}`,
  }))
  const first = paginateTools(tools, undefined)
  expect(first?.tools).toHaveLength(100)
  const rest = tools.filter(({ name }) => name !== first?.tools.at(-1)?.name)
  const second = paginateTools(rest, first?.nextCursor)
  expect(second?.tools[0]?.name).toBe('hub_tool_100')
  const third = paginateTools(rest, second?.nextCursor)
  expect(third?.tools).toHaveLength(50)
  expect(third).not.toHaveProperty('nextCursor')
})

test('M11: a cursor that is none of ours is a wrong parameter', async () => {
  const { post } = setUp()
  for (const cursor of ['nonsense', '', btoa('after:HUB'), btoa('hub_search'), 7]) {
    const response = await post('/mcp/hub', { ...listRequest, params: { cursor } })
    expect(await response.json(), String(cursor)).toMatchObject({ error: { code: -32602 } })
  }
})

/** A server whose one tool says how far it is and then waits to be stopped. */
function createSlowServer() {
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const wait = defineTool({
    name: 'wait',
    description: 'Waits until it is told to stop.',
    input: z.strictObject({ forEver: z.boolean() }),
    tier: 'read',
    grant: 'slow:read',
    isIdempotent: true,
    doing: 'waiting',
    async run({ input, signal, progress }) {
      progress('one')
      progress('two')
      if (!input.forEver) return 'done'
      begun.resolve()
      signal.addEventListener('abort', () => stopped.resolve())
      return stopped.promise
    },
  })
  return { server: { name: 'slow', description: 'Slow.', tools: [wait] }, begun, stopped }
}

const waitCall = (id: number) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call' },
  params: { name: 'slow_wait', arguments: { forEver: true } },
})
const cancelCall = (requestId: unknown) => ({
  ...{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
})

test('M11: a tool says how far it is, and the answer comes last', async () => {
  const { server } = createSlowServer()
  const client = await setUp({ allowed: ['slow:*'] }, undefined, [server]).connect('/mcp')
  const seen: unknown[] = []
  const call = { name: 'slow_wait', arguments: { forEver: false } }
  const result = await client.callTool(call, undefined, { onprogress: (each) => seen.push(each) })
  expect(textOf(result)).toBe('done')
  expect(seen).toEqual([
    { progress: 1, message: 'one' },
    { progress: 2, message: 'two' },
  ])
})

test('M11: a cancellation stops the call of its own session, and of no other', async () => {
  const { server, begun, stopped } = createSlowServer()
  const { post, audit } = setUp({ allowed: ['slow:*'] }, undefined, [server])
  const mine = { 'Mcp-Session-Id': 'mine' }
  const answer = post('/mcp', waitCall(1), mine)
  await begun.promise
  const others: [unknown, string][] = [
    [1, 'another'],
    ['1', 'mine'],
    [2, 'mine'],
  ]
  for (const [requestId, session] of others) {
    const sent = await post('/mcp', cancelCall(requestId), { 'Mcp-Session-Id': session })
    expect(sent.status).toBe(202)
  }
  await Promise.resolve()
  expect([...audit.values()].at(-1)).toMatchObject({ tool: 'slow_wait', outcome: null })
  await post('/mcp', cancelCall(1), mine)
  await stopped.promise
  expect(await (await answer).text()).toMatch(/^event: message\ndata: \{"result":.*"isError":true/)
  expect([...audit.values()].at(-1)).toMatchObject({ tool: 'slow_wait', outcome: 'cancelled' })
})

test('M11: a connection that is closed stops its call', async () => {
  const { server, begun, stopped } = createSlowServer()
  const { post, audit, deferred } = setUp({ allowed: ['slow:*'] }, undefined, [server])
  const answer = await post('/mcp', waitCall(1))
  await begun.promise
  await answer.body?.cancel()
  await stopped.promise
  await Promise.all(deferred)
  expect([...audit.values()].at(-1)).toMatchObject({ tool: 'slow_wait', outcome: 'cancelled' })
})

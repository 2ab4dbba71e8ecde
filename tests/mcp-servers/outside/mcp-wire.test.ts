import { expect, test } from 'vitest'
import * as z from 'zod'
import { paginateTools } from '../../../src/mcp-servers/outside/answer-mcp'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import { mcp } from '../../../src/shared/config'
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

const callOf = (tool: string, args: object = {}, id: number | null = 1) => ({
  jsonrpc: '2.0',
  method: 'tools/call',
  params: { name: `hub_${tool}`, arguments: args },
  ...(id !== null && { id }),
})
const feed = callOf('get_feed')
const vote = (id: number) => callOf('vote', { post_id: 'p1', value: 'up' }, id)

test.each([
  ['a list', listRequest, []],
  ['a read', feed, []],
  ['a search', callOf('search', { query: 'herons' }), ['search']],
  ['a write', vote(1), ['write']],
  ['a tool that is not loaded', callOf('other'), ['write']],
  ['three reads', [feed, feed, feed], ['read', 'read']],
  ['a read and two writes', [feed, vote(2), vote(3)], ['read', 'write', 'read', 'write']],
  ['a notification, which has no answer', [feed, callOf('get_feed', {}, null)], ['read']],
])(
  'T7: each message counts before it runs, in the class of its tool: %s',
  async (_, body, classes) => {
    const { post, counted } = setUp()
    await (await post('/mcp/hub', body)).text()
    expect(counted).toEqual(classes)
  },
)

test('T7: of a batch the calls that are over a limit are refused, each with an answer, and no others', async () => {
  const { post, calls } = setUp({}, undefined, undefined, { write: 2 })
  const response = await post('/mcp/hub', [vote(1), vote(2), vote(3), { ...feed, id: 4 }, vote(5)])
  expect(response.status).toBe(200)
  const answers = (await response.text())
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)))
  const refused = answers.filter(({ error }) => error)
  expect(refused.map(({ id }) => id)).toEqual([3, 5])
  expect(refused[0].error).toEqual({
    code: -32_000,
    message: 'Too many requests.',
    data: { code: 'RATE_LIMITED', retry_after_seconds: 7 },
  })
  expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3, 4, 5])
  expect(calls.filter(({ method }) => method === 'vote')).toHaveLength(2)
})

test('T7: a request of which nothing may run is answered with 429, in the form of its body', async () => {
  const { post } = setUp({}, undefined, undefined, { write: 0, read: 0 })
  const single = await post('/mcp/hub', vote(1))
  expect([single.status, await single.json()]).toMatchObject([429, { id: 1, error: {} }])
  const batch = await post('/mcp/hub', [vote(1), { ...feed, id: 2 }])
  expect([batch.status, await batch.json()]).toMatchObject([429, [{ id: 1 }, { id: 2 }]])
})

test('T14: a batch has at most 100 messages, and a longer one is not counted', async () => {
  const { post, counted } = setUp()
  const statusOf = async (count: number) =>
    (
      await post(
        '/mcp/hub',
        Array.from({ length: count }, (_, id) => ({ ...listRequest, id })),
      )
    ).status
  expect(await statusOf(mcp.batchMessagesMax)).toBe(200)
  expect(counted).toHaveLength(mcp.batchMessagesMax - 1)
  expect(await statusOf(mcp.batchMessagesMax + 1)).toBe(400)
  expect(counted).toHaveLength(mcp.batchMessagesMax - 1)
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
  // Lists are not watched, so no notification of a change is promised.
  expect(newest.capabilities).toEqual({
    tools: {},
    resources: { subscribe: true },
    prompts: {},
    completions: {},
  })
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
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'slow_wait', arguments: { forEver: true } },
})
const cancelCall = (requestId: unknown) => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
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

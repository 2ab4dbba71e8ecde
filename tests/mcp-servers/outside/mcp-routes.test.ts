import { expect, test } from 'vitest'
import { servers } from '../../../src/mcp-servers/servers'
import { textOf } from '../../support/connect-mcp'
import { key, listRequest, setUpMcp as setUp } from '../../support/set-up-mcp'

test('M11: a real client connects with an account key, lists the tools and searches', async () => {
  const { connect, audit } = setUp()
  const client = await connect()
  expect(client.getServerVersion()).toMatchObject({ name: 'rookery-hub', title: 'Nest' })
  expect(client.getInstructions()).toContain('You are ada on Nest')
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(
    servers
      .filter(({ name }) => name === 'hub')
      .flatMap((server) => server.tools.map((tool) => `${server.name}_${tool.name}`))
      .sort(),
  )
  const search = tools.find(({ name }) => name === 'hub_search')
  expect(search?.annotations).toMatchObject({ readOnlyHint: true })
  const found = await client.callTool({ name: 'hub_search', arguments: { query: 'keys' } })
  expect(found.isError).toBe(false)
  expect(JSON.parse(textOf(found)).results[0].url).toBe('/p/post-1')
  expect([...audit.values()]).toMatchObject([
    { tool: 'hub_search', decision: 'allowed', outcome: 'ok' },
  ])
  await client.close()
})

test('M11: /mcp offers the tools of all servers', async () => {
  const client = await setUp().connect('/mcp')
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('hub_search')
})

test('M4: a client sees and calls only what policy allows, decided anew each time', async () => {
  const { connect, policy, calls } = setUp({ allowed: ['hub:read'] })
  const client = await connect()
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  expect(await names()).not.toContain('hub_create_post')
  const write = { name: 'hub_create_post', arguments: { community: 'general', title: 'T' } }
  const denied = await client.callTool(write)
  expect(denied.isError).toBe(true)
  expect(textOf(denied)).toMatch(/^Error: Missing grant hub:write\b/)
  expect(calls.some(({ method }) => method === 'createPost')).toBe(false)
  policy.allowed = ['hub:write']
  expect(await names()).toEqual([
    'hub_ask',
    'hub_create_comment',
    'hub_create_post',
    'hub_send_dm',
    'hub_vote',
  ])
  expect((await client.callTool(write)).isError).toBe(false)
})

test('M4: a key without the write scope gets no write tools', async () => {
  const client = await setUp({}, ['read']).connect()
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('hub_create_post')
  const write = { name: 'hub_create_post', arguments: { community: 'general', title: 'T' } }
  expect((await client.callTool(write)).isError).toBe(true)
})

test('M11: wrong arguments are an answer that a model can read', async () => {
  const client = await setUp().connect()
  const wrong = await client.callTool({ name: 'hub_search', arguments: { query: 3 } })
  expect(textOf(wrong)).toMatch(/^Error: Invalid arguments for hub_search: query: /)
})

test('M11: an unknown tool is an error of the protocol that says which are near, and is on record', async () => {
  const { connect, audit } = setUp()
  const client = await connect()
  const use = (name: string) => client.callTool({ name, arguments: {} })
  await expect(use('hub_serch')).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('Did you mean hub_search'),
  })
  expect([...audit.values()]).toMatchObject([{ tool: 'hub_serch', decision: 'unknown_tool' }])
  await expect(use('github_get_file')).rejects.toMatchObject({ code: -32602 })
})

test('M11: without a key that somebody holds the answer is 401', async () => {
  const { post, calls } = setUp()
  for (const authorization of [
    '',
    'Bearer',
    'Bearer wrong',
    `Basic ${key}`,
    `Bearer ${key} x`,
    key,
  ]) {
    const response = await post('/mcp/hub', listRequest, { Authorization: authorization })
    expect(response.status).toBe(401)
    expect(response.headers.get('WWW-Authenticate')).toMatch(/^Bearer /)
  }
  expect(calls).toEqual([])
})

test('M11: another origin is refused, the own one is not', async () => {
  const { post } = setUp()
  const statusOf = async (origin: string) =>
    (await post('/mcp/hub', listRequest, { Origin: origin })).status
  expect(await statusOf('https://evil.test')).toBe(403)
  expect(await statusOf('http://hub.test')).toBe(403)
  expect(await statusOf('null')).toBe(403)
  expect(await statusOf('https://hub.test')).toBe(200)
})

test('M11: without TLS a page is only taken for one of the hub on this machine (DNS rebinding)', async () => {
  const { handle } = setUp()
  const statusAt = async (origin: string) => {
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      Origin: origin,
    }
    const body = JSON.stringify(listRequest)
    return (await handle(new Request(`${origin}/mcp`, { method: 'POST', headers, body }))).status
  }
  expect(await statusAt('http://evil.test')).toBe(403)
  expect(await statusAt('http://localhost.evil.test:8787')).toBe(403)
  expect(await statusAt('http://localhost:8787')).toBe(200)
  expect(await statusAt('http://127.0.0.1:8787')).toBe(200)
  expect(await statusAt('https://hub.example')).toBe(200)
})

test('M11: an unknown server is 404, other methods 405', async () => {
  const { post, handle } = setUp()
  expect((await post('/mcp/nope', listRequest)).status).toBe(404)
  for (const path of ['/mcp/hub/more', '/mcp/HUB', '/mcpx', '/mcp/%68ub'])
    expect((await post(path, listRequest)).status).toBe(404)
  expect((await post('/mcp/hub/', listRequest)).status).toBe(200)
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const response = await handle(new Request('https://hub.test/mcp/hub', { method }))
    expect(response.status).toBe(405)
    expect(response.headers.get('Allow')).toBe('POST')
  }
})

test('M11: malformed messages are protocol errors, never crashes', async () => {
  const { post } = setUp()
  const answer = async (body: unknown, headers?: Record<string, string>) => {
    const response = await post('/mcp/hub', body, headers)
    // the answer of a call is the only message of its stream
    const text = (await response.text()).replace(/^event: message\ndata: /, '')
    return { status: response.status, body: JSON.parse(text) as { error?: { code: number } } }
  }
  expect(await answer('{')).toMatchObject({ status: 400, body: { error: { code: -32700 } } })
  expect((await answer('3')).status).toBe(400)
  expect((await answer({ jsonrpc: '1.0', id: 1, method: 'tools/list' })).status).toBe(400)
  expect(await answer({ ...listRequest, method: 'no/such' })).toMatchObject({
    body: { error: { code: -32601 } },
  })
  for (const params of [
    undefined,
    {},
    { name: 7 },
    { name: 'hub_search', arguments: [] },
    { name: 'hub_search', arguments: 'keys' },
  ]) {
    const call = { ...listRequest, method: 'tools/call', params }
    expect((await answer(call)).body.error?.code, JSON.stringify(params)).toBe(-32602)
  }
  expect((await answer(listRequest, { 'Content-Type': 'text/plain' })).status).toBe(415)
  expect((await answer(listRequest, { Accept: 'text/html' })).status).toBe(406)
  expect((await answer(listRequest, { 'MCP-Protocol-Version': '1999-01-01' })).status).toBe(400)
  expect((await answer(`"${'x'.repeat(2 * 1024 * 1024)}"`)).status).toBe(413)
})

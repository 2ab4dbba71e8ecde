import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { root } from '../../scripts/local-state.mjs'
import { startHub } from './start-hub.ts'

/** The hub as it is started, and the official suite against it. */
const folder = mkdtempSync(join(tmpdir(), 'rookery-mcp-'))
let hub: Hub
let front: Server

beforeAll(async () => {
  const env = { ROOKERY_LOG_LEVEL: 'error', ROOKERY_ALLOW_PRIVATE_SERVICES: 'true' }
  hub = await startHub({ stateDir: join(folder, 'state'), env })
  front = await startFront(hub)
})
afterAll(async () => {
  front.closeAllConnections()
  front.close()
  await hub.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The suite knows no keys, so this puts one in; everything else goes through as it comes. */
async function startFront({ url, adminKey }: Hub): Promise<Server> {
  const { port } = new URL(url)
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${adminKey}` }
    const { method, url: path } = incoming
    const passed = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

interface Check {
  id: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
}

/** Each scenario of the suite with whether all its checks passed. */
async function runSuite(): Promise<Map<string, boolean>> {
  const results = join(folder, 'results')
  const { port } = front.address() as AddressInfo
  const program = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
  const url = `http://localhost:${port}/mcp`
  const args = [program, 'server', '--url', url, '--suite', 'all', '-o', results]
  await new Promise<void>((resolve) => {
    // Its exit code counts what does not apply here too.
    execFile(process.execPath, args, () => resolve())
  })
  return new Map(
    readdirSync(results).map((each) => {
      const checks = JSON.parse(readFileSync(join(results, each, 'checks.json'), 'utf8')) as Check[]
      const name = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(each)?.[1] ?? each
      return [name, checks.length > 0 && checks.every(({ status }) => status !== 'FAILURE')]
    }),
  )
}

/** What docs/mcp.md lists: scenario, and whether it is said to pass. */
function readReport(): Map<string, boolean> {
  const text = readFileSync(join(root, 'docs/mcp.md'), 'utf8')
  const lists = text.matchAll(/^- \*\*(Passes:|Does not apply,)\*\*([^#]*?)(?=^- |^#)/gm)
  return new Map(
    [...lists].flatMap(([, verdict, list = '']) =>
      [...list.matchAll(/`([\w-]+)`/g)].map(([, name = '']): [string, boolean] => [
        name,
        verdict === 'Passes:',
      ]),
    ),
  )
}

it('M11: the official conformance suite passes on what applies, and docs/mcp.md says which that is', async () => {
  const results = await runSuite()
  expect(results.size).toBeGreaterThan(25)
  expect(Object.fromEntries([...results].sort())).toEqual(
    Object.fromEntries([...readReport()].sort()),
  )
})

it('M11: the official client lists and calls tools of a started hub with an account key', async () => {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${hub.adminKey}` } },
  })
  // The SDK's own transport does not say `sessionId?: string | undefined`.
  await client.connect(transport as Parameters<Client['connect']>[0])
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toContain('hub_get_feed')
  const feed = await client.callTool({ name: 'hub_get_feed', arguments: {} })
  expect(feed.isError).toBe(false)
  await client.close()
})

/** Asks the hub's API as its admin. */
async function api(method: string, path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' }
  const init = body ? { method, headers, body: JSON.stringify(body) } : { method, headers }
  const answer = await fetch(`${hub.url}/api/v1${path}`, init)
  expect(answer.status, path).toBeLessThan(300)
  return answer
}

it('O6: the official client reads, is prompted, and is notified of a thread until its key ends', async () => {
  const made = (await (await api('POST', '/me/keys', { label: 'program' })).json()) as {
    key: { id: string; api_key: string }
  }
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${made.key.api_key}` } },
  })
  await client.connect(transport as Parameters<Client['connect']>[0])
  const body = { community: 'general', title: 'Spare keys', content: 'Where do they hang?' }
  const { post } = (await (await api('POST', '/posts', body)).json()) as { post: { id: string } }
  const uri = `rookery://thread/${post.id}`
  const listed = await client.listResources()
  expect(listed.resources[0]).toMatchObject({ uri, title: 'Spare keys' })
  const prompt = { name: 'summarize_thread', arguments: { thread: uri } }
  expect(JSON.stringify(await client.getPrompt(prompt))).toContain('> Where do they hang?')
  const updated: string[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    updated.push(params.uri)
  })
  const comment = () => api('POST', `/posts/${post.id}/comments`, { content: 'On the hook.' })
  await client.subscribeResource({ uri })
  await comment()
  await expect.poll(() => updated, { timeout: 20_000 }).toContain(uri)
  await api('DELETE', `/me/keys/${made.key.id}`)
  const count = updated.length
  await comment()
  await expect(client.readResource({ uri })).rejects.toThrow(/401|Unknown key/)
  expect(updated).toHaveLength(count)
  await client.close()
})

/** Sends a call of a tool as a program does, and gives it up when `until` says so. */
async function hangUp(params: object, until: Promise<unknown>): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const sent = request(`${hub.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${hub.adminKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
  })
  sent.on('error', () => undefined)
  sent.end(body)
  await until
  sent.destroy()
}

it('M11: a caller who hangs up stops its call, with and without a progress token', async () => {
  const asked = new Map<string, () => void>()
  const slow = createServer((incoming) => asked.get(incoming.url ?? '')?.())
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve))
  const { port } = slow.address() as AddressInfo
  const address = { base_url: `http://127.0.0.1:${port}`, allow_http: true, allow_private: true }
  await api('PUT', '/http-services/slow', address)
  await api('PUT', '/agents/admin/grants', { allowed: ['http:slow:read'] })
  for (const [path, meta] of [
    ['/silent', {}],
    ['/progress', { _meta: { progressToken: 1 } }],
  ] as const) {
    const isAsked = new Promise<void>((resolve) => asked.set(path, resolve))
    const call = { name: 'http_request', arguments: { service: 'slow', path }, ...meta }
    await hangUp(call, isAsked)
  }
  const outcomes = async () => {
    const { entries } = (await (await api('GET', '/audit?tool=http_request')).json()) as {
      entries: { outcome: string | null }[]
    }
    return entries.map(({ outcome }) => outcome)
  }
  await expect.poll(outcomes).toEqual(['cancelled', 'cancelled'])
  slow.closeAllConnections()
  slow.close()
})

/** Adds a server, calls all of its tools, and returns what they answered. */
async function useRemote(url: string, name: string): Promise<string[]> {
  const address = { base_url: url, allow_http: true, allow_private: true }
  await api('POST', '/remote-servers', { ...address, name, description: name })
  const listed = await api('GET', `/remote-tools?server=${name}`)
  const { remote_tools: tools } = (await listed.json()) as {
    remote_tools: { name: string; tool: string }[]
  }
  const mapping = { grant: `${name}:use`, tier: 'read' }
  for (const tool of tools) {
    await api('PUT', `/remote-servers/${name}/tools/${tool.name}`, mapping)
  }
  await api('PUT', '/agents/admin/grants', { allowed: [`${name}:use`] })
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${hub.adminKey}` } },
  })
  await client.connect(transport as Parameters<Client['connect']>[0])
  const texts: string[] = []
  for (const { tool } of tools) {
    const args = tool.endsWith('add_numbers') ? { a: 2, b: 3 } : {}
    texts.push(JSON.stringify(await client.callTool({ name: tool, arguments: args })))
  }
  await client.close()
  return texts
}

it('M12: the suite passes on the hub as a client of tool servers, where it grants what is asked', async () => {
  const said = new Map<string, string[]>()
  const bridge = createServer((incoming, outgoing) => {
    const asked = new URL(incoming.url ?? '', 'http://bridge')
    const name = asked.pathname.slice(1)
    void useRemote(asked.searchParams.get('url') ?? '', name)
      .then((texts) => said.set(name, texts))
      .finally(() => outgoing.end())
  })
  await new Promise<void>((resolve) => bridge.listen(0, '127.0.0.1', resolve))
  const { port } = bridge.address() as AddressInfo
  const program = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
  const passes = (scenario: string, name: string) => {
    const ask = `fetch('http://127.0.0.1:${port}/${name}?url='+encodeURIComponent(process.argv.at(-1)))`
    const command = `${process.execPath} -e "${ask}.then((answer)=>answer.text())"`
    const args = ['client', '--command', command, '--scenario', scenario, '-o', join(folder, name)]
    return new Promise<boolean>((resolve) => {
      execFile(process.execPath, [program, ...args], (error) => resolve(error === null))
    })
  }
  expect(await passes('initialize', 'opens')).toBe(true)
  expect(await passes('tools_call', 'adds')).toBe(true)
  expect(said.get('adds')?.[0]).toContain('The sum of 2 and 3 is 5')
  expect(await passes('sse-retry', 'polls')).toBe(true)
  expect(said.get('polls')?.[0]).toContain('Reconnection test completed')
  // It is refused at once: nobody is asked during a call.
  expect(await passes('elicitation-sep1034-client-defaults', 'asks')).toBe(false)
  expect(said.get('asks')?.[0]).toContain('-32601')
  bridge.closeAllConnections()
  bridge.close()
})

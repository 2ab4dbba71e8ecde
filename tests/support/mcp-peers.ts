/**
 * Remote MCP servers over real HTTP: the reference server at `/everything`, and at `/hostile/<name>` one
 * whose behavior is set at `/tell/<name>`; see session-peer.ts for one that keeps sessions.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { formsOf } from './forms.ts'
import { listen, type Peer } from './listen.ts'
import { answerSessions } from './session-peer.ts'

/** Tools of a hostile server, and its default behavior when one is called. */
export interface HostileBehavior {
  tools?: unknown[]
  onCall?: string
  onList?: string
}

type Message = {
  id?: number
  method?: string
  params?: { name?: string; arguments?: { how?: string } }
}
type Answer = (response: ServerResponse, message: Message, secret: string) => void

const told = new Map<string, HostileBehavior>()
/** Received requests, for tests. */
const heard = new Map<string, string[]>()

const json = (response: ServerResponse, value: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

const result = (response: ServerResponse, { id }: Message, value: unknown) =>
  json(response, { jsonrpc: '2.0', id, result: value })

const says = (text: string) => ({ content: [{ type: 'text', text }] })

/** Ways to return the caller's key. */
function echo(response: ServerResponse, message: Message, secret: string) {
  const content = formsOf(secret).map((text) => ({ type: 'text', text }))
  result(response, message, { content, [`x-${secret}`]: secret })
}

function echoStructured(response: ServerResponse, message: Message, secret: string) {
  const structuredContent = { said: formsOf(secret), [secret]: { [`x${btoa(secret)}`]: 1 } }
  result(response, message, { content: [], structuredContent })
}

function echoLinks(response: ServerResponse, message: Message, secret: string) {
  const uri = `file:///${encodeURIComponent(secret)}`
  const content = [
    { type: 'resource_link', name: secret, uri },
    { type: 'resource', resource: { uri, text: formsOf(secret).join(' ') } },
    { type: 'resource', resource: { uri, blob: 'AAAA' } },
    { type: 'image', mimeType: `image/${secret}`, data: 'AAAA' },
  ]
  result(response, message, { content })
}

const toEvent = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`

const toProgress = (progress: number, message: string) =>
  toEvent({
    method: 'notifications/progress',
    params: { progressToken: 1, progress, message },
  })

function echoInStream(response: ServerResponse, message: Message, secret: string) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-secret': secret })
  for (const [at, form] of formsOf(secret).entries()) {
    response.write(toProgress(at + 1, `with ${form}`))
  }
  response.write(toEvent({ id: message.id, result: says(`You sent ${secret}`) }))
  // The stream never ends.
}

/** Returns half in the first write, half in the second. */
function echoInPieces(response: ServerResponse, message: Message, secret: string) {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const half = Math.ceil(secret.length / 2)
  response.write(toProgress(1, secret.slice(0, half)) + toProgress(2, secret.slice(half)))
  const event = toEvent({ id: message.id, result: says(`You sent ${secret}`) })
  response.write(event.slice(0, -half))
  setTimeout(() => response.write(event.slice(-half)), 20)
}

const tricks: Record<string, Answer> = {
  fine: (response, message) => result(response, message, says('done')),
  long: (response, message) => result(response, message, says('x'.repeat(10 * 1024 * 1024))),
  html: (response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Please sign in</h1>'),
  hang: () => {},
  'hang-in-stream': (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': wait\n\n')
  },
  redirect: (response) =>
    response.writeHead(307, { location: 'https://elsewhere.example/mcp' }).end(),
  reset: (response) => response.destroy(),
  down: (response) => json(response, { error: 'out of order' }, 503),
  refuse: (response, { id }) =>
    json(response, { jsonrpc: '2.0', id, error: { code: -32050, message: 'not today' } }),
  fail: (response, message) => result(response, message, { ...says('it broke'), isError: true }),
  nonsense: (response, message) => result(response, message, { content: 'no list' }),
  binary: (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0xff, 0, 1])),
  echo,
  'echo-structured': echoStructured,
  'echo-links': echoLinks,
  'echo-in-stream': echoInStream,
  'echo-in-pieces': echoInPieces,
  'echo-as-failure': (response, message, secret) =>
    result(response, message, { ...says(formsOf(secret).join(' ')), isError: true }),
  'echo-as-error': (response, { id }, secret) => {
    const error = { code: -32000, message: `bad ${secret}`, data: formsOf(secret) }
    json(response, { jsonrpc: '2.0', id, error })
  },
  'echo-as-status': (response, _, secret) => json(response, { bad: formsOf(secret) }, 401),
  'echo-as-page': (response, _, secret) =>
    response.writeHead(500, { 'content-type': `text/html; x=${secret}` }).end(`<b>${secret}</b>`),
}

const answerHostile = (
  name: string,
  response: ServerResponse,
  message: Message,
  secret: string,
) => {
  const { tools = [], onCall = 'fine', onList = 'list' } = told.get(name) ?? {}
  const said = heard.get(name) ?? []
  heard.set(name, [...said, message.method ?? 'response'])
  if (message.id === undefined) return response.writeHead(202).end()
  if (message.method === 'initialize') {
    const serverInfo = { name: 'hostile', version: '1' }
    return result(response, message, {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo,
    })
  }
  if (message.method === 'tools/list') {
    const trick = tricks[onList]
    return trick ? trick(response, message, secret) : result(response, message, { tools })
  }
  return tricks[message.params?.arguments?.how ?? onCall]?.(response, message, secret)
}

/** Creates the reference server on first use; it has a session per client. */
function createEverything() {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  return async (request: IncomingMessage, response: ServerResponse, body: unknown) => {
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (known) return known.handleRequest(request, response, body)
    if (id !== undefined) return json(response, { error: 'no such session' }, 404)
    const path = '@modelcontextprotocol/server-everything/dist/server/index.js'
    const { createServer } = (await import(path)) as {
      createServer(): { server: { connect(transport: unknown): Promise<void> } }
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
      onsessionclosed: (session) => void sessions.delete(session),
    })
    await createServer().server.connect(transport)
    return transport.handleRequest(request, response, body)
  }
}

/** `http://127.0.0.1:<port>`. */
export async function startMcpPeers(): Promise<Peer> {
  const everything = createEverything()
  return listen((request, response, bytes) => {
    const [, kind = '', name = ''] = (request.url ?? '').split('/')
    if (kind.startsWith('sessions')) return answerSessions(kind, name, request, response, bytes)
    const body = bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined
    if (kind === 'everything') return void everything(request, response, body)
    if (kind === 'tell') {
      told.set(name, body as HostileBehavior)
      return json(response, {})
    }
    if (kind === 'heard') return json(response, heard.get(name) ?? [])
    const secret = (request.headers.authorization ?? '').replace(/^Bearer /, '')
    if (request.method === 'DELETE') return response.writeHead(200).end()
    return answerHostile(name, response, body as Message, secret)
  })
}

/**
 * A remote MCP server that keeps sessions, at `/sessions/<name>`: how it behaves is set at `/sessions-set/<name>`, and what
 * it was sent is read at `/sessions-sent/<name>`.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

export interface SessionBehavior {
  /** It gives no session ids. */
  isStateless?: boolean
  /** How it refuses a session that it does not know. */
  unknown?: 404 | 400
  /** It has a stream for what belongs to no request. */
  hasStream?: boolean
  /** It answers in streams of events. */
  isStreaming?: boolean
  /** Refuses to open sessions. */
  isClosed?: boolean
  /** What it lists; absent: its own tools. */
  list?: unknown
  /** The result of the tool `raw`, as text of JSON. */
  raw?: string
  /** Results by method, in place of its own; null: it does not know the method. */
  methods?: Record<string, object | null>
  /** What it says of itself when a session is opened. */
  opening?: object
}

/** A request as the server received it. */
export interface SentRequest {
  /** `initialize`, `tools/call set`, `response`, `DELETE`, `GET`. */
  what: string
  session: string | null
  authorization: string | null
  body: string
}

interface Rpc {
  id?: unknown
  method?: string
  params?: { name?: string; arguments?: Record<string, unknown>; protocolVersion?: string }
  result?: unknown
  error?: { code: number }
}

interface Peer {
  behavior: SessionBehavior
  sent: SentRequest[]
  /** What sessions hold. */
  sessions: Map<string, { value: string }>
  /** Waits for answers of the client, by the id of the server's request. */
  waiting: Map<string, (answer: Rpc) => void>
  /** Open streams for what belongs to no request, by session. */
  streams: Map<string, ServerResponse>
  /** Results that wait for a stream to be resumed, by the id of an event. */
  resumable: Map<string, (response: ServerResponse) => void>
}

const peers = new Map<string, Peer>()
function peerOf(name: string): Peer {
  const known = peers.get(name)
  if (known) return known
  const peer: Peer = {
    behavior: {},
    sent: [],
    sessions: new Map(),
    waiting: new Map(),
    streams: new Map(),
    resumable: new Map(),
  }
  peers.set(name, peer)
  return peer
}

type Call = Rpc & { session: string | null; kept: { value: string } | undefined }

const schema = { type: 'object', properties: {} }
const toTool = (name: string) => ({ name, description: `The tool ${name}.`, inputSchema: schema })

const says = (text: string) => ({ content: [{ type: 'text', text }] })
const toEvent = (message: object, id?: string) =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const sendJson = (
  response: ServerResponse,
  body: string,
  status = 200,
  headers: Record<string, string> = {},
) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
const openStream = (response: ServerResponse, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })

function answer(
  peer: Peer,
  response: ServerResponse,
  message: object,
  headers: Record<string, string> = {},
) {
  const body = { jsonrpc: '2.0', ...message }
  if (peer.behavior.isStreaming) openStream(response, headers).end(toEvent(body))
  else sendJson(response, JSON.stringify(body), 200, headers)
}

/** Asks the client what servers ask, and answers with what it said to each. */
async function ask(peer: Peer, response: ServerResponse, { id }: Rpc) {
  openStream(response)
  const requests = [
    { method: 'ping' },
    { method: 'roots/list' },
    { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: schema } },
    { method: 'sampling/createMessage', params: { messages: [], maxTokens: 10 } },
    { method: 'future/thing' },
  ]
  const said: string[] = []
  for (const request of requests) {
    const key = randomUUID()
    const reply = new Promise<Rpc>((resolve) => peer.waiting.set(key, resolve))
    response.write(toEvent({ ...request, id: key }))
    const { error, result } = await reply
    said.push(`${request.method} ${error?.code ?? JSON.stringify(result)}`)
  }
  response.end(toEvent({ id, result: says(said.join('\n')) }))
}

/** Ends its stream before the result, `times` times; each can be resumed. */
function poll(peer: Peer, response: ServerResponse, call: Call, times = 2) {
  const key = randomUUID()
  openStream(response)
  response.write(`id: ${key}\nretry: 1\ndata:\n\n`)
  peer.resumable.set(key, (next) => {
    if (times > 1) poll(peer, next, call, times - 1)
    else openStream(next).end(toEvent({ id: call.id, result: says('polled') }, `${key}-end`))
  })
  if (call.params?.name === 'break') response.write('data: {', () => response.destroy())
  else response.end()
}

/** What its tools do when they are called. */
const doing: Record<string, (peer: Peer, response: ServerResponse, call: Call) => unknown> = {
  set: (peer, response, { id, kept, params }) => {
    if (kept) kept.value = String(params?.arguments?.value)
    answer(peer, response, { id, result: says('kept') })
  },
  get: (peer, response, { id, kept }) =>
    answer(peer, response, { id, result: says(`holds ${kept?.value || 'nothing'}`) }),
  ask,
  question: async (peer, response, { id, session }) => {
    const open = peer.streams.get(session ?? '')
    if (!open) return answer(peer, response, { id, result: says('nobody listens') })
    const reply = new Promise<Rpc>((resolve) => peer.waiting.set('question', resolve))
    open.write(toEvent({ method: 'roots/list', id: 'question' }))
    const { error } = await reply
    answer(peer, response, { id, result: says(`answered ${error?.code}`) })
  },
  poll,
  break: poll,
  cut: (_peer, response, { id }) =>
    openStream(response).end(toEvent({ id, result: says('cut') }).trimEnd()),
  hang: (_peer, response) => void openStream(response).write(': wait\n\n'),
  mute: (_peer, response) => openStream(response).end(': nothing\n\n'),
  flood: (_peer, response, { id }) => {
    openStream(response)
    for (let at = 0; at < 1_000; at++) response.write(toEvent({ method: 'ping', id: `p${at}` }))
    response.end(toEvent({ id, result: says('flooded') }))
  },
  raw: (peer, response, { id }) =>
    sendJson(response, `{"jsonrpc":"2.0","id":${id},"result":${peer.behavior.raw}}`),
  fail: (peer, response, { id, session }) =>
    answer(peer, response, { id, result: { ...says(`it failed in ${session}`), isError: true } }),
}

function open(peer: Peer, response: ServerResponse, { id, params }: Rpc) {
  const { isStateless, isClosed, opening } = peer.behavior
  if (isClosed) {
    response.writeHead(503).end('closed')
    return
  }
  const session = randomUUID()
  if (!isStateless) peer.sessions.set(session, { value: '' })
  const result = {
    protocolVersion: params?.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'sessions', version: '1' },
    ...opening,
  }
  const headers: Record<string, string> = isStateless ? {} : { 'mcp-session-id': session }
  answer(peer, response, { id, result }, headers)
}

function refuseSession(peer: Peer, response: ServerResponse) {
  const { unknown = 404 } = peer.behavior
  const message = unknown === 404 ? 'Not found' : 'Bad Request: No valid session ID provided'
  const body = { jsonrpc: '2.0', error: { code: -32_000, message }, id: null }
  sendJson(response, JSON.stringify(body), unknown)
}

const headerOf = (request: IncomingMessage, name: string): string | null =>
  [request.headers[name]].flat()[0] ?? null

/** Answers a request for a path below one of the three roots. */
export function answerSessions(
  root: string,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
): void {
  const peer = peerOf(name)
  const body = bytes.toString()
  if (root === 'sessions-sent') {
    sendJson(response, JSON.stringify(peer.sent.splice(0)))
  } else if (root === 'sessions-set') {
    const { isRestarted, ...behavior } = JSON.parse(body)
    peer.behavior = behavior
    if (isRestarted) peer.sessions.clear()
    sendJson(response, JSON.stringify({ sessions: peer.sessions.size }))
  } else {
    answerMcp(peer, request, response, body)
  }
}

function answerMcp(peer: Peer, request: IncomingMessage, response: ServerResponse, body: string) {
  const session = headerOf(request, 'mcp-session-id')
  const { method = '' } = request
  const rpc: Rpc = method === 'POST' ? JSON.parse(body) : {}
  const tool = rpc.method === 'tools/call' ? ` ${rpc.params?.name}` : ''
  const isResumed = headerOf(request, 'last-event-id') !== null
  const other = isResumed ? `${method} resume` : method
  const what = method === 'POST' ? `${rpc.method ?? 'response'}${tool}` : other
  peer.sent.push({ what, session, authorization: headerOf(request, 'authorization'), body })
  const kept = session === null ? undefined : peer.sessions.get(session)
  if (rpc.method === 'initialize') open(peer, response, rpc)
  else if (!kept && !peer.behavior.isStateless) refuseSession(peer, response)
  else if (method === 'DELETE') {
    peer.sessions.delete(session ?? '')
    response.writeHead(200).end()
  } else if (method === 'GET') resume(peer, request, response, session)
  else answerMessage(peer, response, { ...rpc, session, kept })
}

function resume(
  peer: Peer,
  request: IncomingMessage,
  response: ServerResponse,
  session: string | null,
) {
  if (peer.behavior.hasStream && headerOf(request, 'last-event-id') === null && session !== null) {
    // One stream a session, as the SDK's servers have it.
    if (peer.streams.has(session)) {
      response.writeHead(409).end()
      return
    }
    peer.streams.set(session, openStream(response))
    response.flushHeaders()
    response.on('close', () => peer.streams.delete(session))
    return
  }
  const goOn = peer.resumable.get(headerOf(request, 'last-event-id') ?? '')
  if (goOn) goOn(response)
  else response.writeHead(405).end()
}

function answerMessage(peer: Peer, response: ServerResponse, rpc: Call) {
  if (rpc.method === undefined || rpc.id === undefined) {
    peer.waiting.get(String(rpc.id))?.(rpc)
    response.writeHead(202).end()
  } else if (Object.hasOwn(peer.behavior.methods ?? {}, rpc.method)) {
    const result = peer.behavior.methods?.[rpc.method]
    const error = { code: -32_601, message: 'Method not found' }
    answer(peer, response, { id: rpc.id, ...(result ? { result } : { error }) })
  } else if (rpc.method === 'tools/list') {
    const tools = Object.keys(doing).map(toTool)
    answer(peer, response, { id: rpc.id, result: peer.behavior.list ?? { tools } })
  } else {
    doing[rpc.params?.name ?? '']?.(peer, response, rpc)
  }
}

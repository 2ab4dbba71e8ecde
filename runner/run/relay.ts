import { randomBytes } from 'node:crypto'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import type { RunOrder } from '../../src/shared/runner-protocol.ts'

/** What passed through the relay: what a program claims is compared with it. */
export interface RelayFacts {
  modelRequests: number
  /** Model requests that were answered, up to where the program stopped reading. */
  modelAnswers: number
  /** Whether the program itself listed the hub's tools. */
  hasListedTools: boolean
  isTurnOver: boolean
}

export interface Relay {
  /** `http://127.0.0.2:<port>`; the model gateway's own paths follow, and `/mcp`. */
  url: string
  address: string
  /** Opens this relay and nothing else; programs get it in place of the token. */
  key: string
  facts: RelayFacts
  /** Refuses further model requests: a program may ask for a title of its session when its turn is over. */
  endTurn(): void
  close(): void
}

export interface RelayOptions {
  order: Pick<RunOrder, 'token' | 'endpoints' | 'limits'>
  /** Called when a request arrives, and while an answer arrives. */
  onActivity(): void
  /** Called with a model request above the limit, which is refused. */
  onTooManyRequests(): void
  /** Called with a call that opens a pull request, which waits for it. */
  beforePullRequest(): Promise<void>
}

/** Not in NO_PROXY of the sandbox, unlike 127.0.0.1. A Mac has only that one. */
export const relayHost = process.platform === 'darwin' ? '127.0.0.1' : '127.0.0.2'
const mcpBodyMax = 8 * 1024 * 1024
const isModelRequest = (path: string): boolean =>
  /\/(messages|chat\/completions|responses)$/.test(path)

/** What is counted is what is requested: the hub reads these paths alike. */
const toPlainPath = (path: string): string => path.replaceAll(/\/{2,}/g, '/').replace(/\/$/, '')

/** Passes a run's requests on to the hub with the run's token, so that the program holds none. */
export async function startRelay(options: RelayOptions): Promise<Relay> {
  const key = `relay-${randomBytes(24).toString('hex')}`
  const facts = { modelRequests: 0, modelAnswers: 0, hasListedTools: false, isTurnOver: false }
  const server = createServer((request, response) => {
    pass({ ...options, key, facts }, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else refuse(response, 502, `The hub cannot be reached: ${(error as Error).message}`)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, relayHost, resolve)
  })
  const address = `${relayHost}:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${address}`,
    address,
    key,
    facts,
    endTurn() {
      facts.isTurnOver = true
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

type Context = RelayOptions & { key: string; facts: RelayFacts }

async function pass(context: Context, request: IncomingMessage, response: ServerResponse) {
  const { order, facts } = context
  // A proxy may send the whole address.
  const { pathname: asked, search } = new URL(request.url ?? '/', 'http://relay')
  const pathname = toPlainPath(asked)
  if (!hasKey(request.headers, context.key)) return refuse(response, 401, 'Not a key of this run')
  context.onActivity()
  const isMcp = pathname === '/mcp'
  if (!isMcp && !pathname.startsWith('/v1/')) return refuse(response, 404, 'No such path')
  const isCounted = request.method === 'POST' && isModelRequest(pathname)
  if (isCounted && facts.isTurnOver) return refuse(response, 403, 'The turn is over')
  if (isCounted && !countRequest(context)) {
    return refuse(response, 403, 'The run has used all its model requests')
  }
  const body = isMcp && request.method === 'POST' ? await readBody(request) : null
  await prepareCall(context, body, response)
  const target = new URL(isMcp ? order.endpoints.mcp : `${order.endpoints.models}${pathname}`)
  target.search = search
  const answer = await send(target, request, response, body, order.token)
  answer.on('data', context.onActivity)
  if (isCounted) countAnswer(facts, answer, response)
  passAnswer(answer, response)
  facts.hasListedTools ||= answer.statusCode === 200 && readMessage(body).method === 'tools/list'
}

/** Lets a call wait for what it needs. @throws when the program has gone away meanwhile */
async function prepareCall(
  { beforePullRequest }: Context,
  body: Buffer | null,
  response: ServerResponse,
): Promise<void> {
  if (!isPullRequest(body)) return
  await beforePullRequest()
  if (response.destroyed) throw new Error('the program has gone away')
}

function passAnswer(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 502, withoutHopHeaders(answer.headers))
  response.flushHeaders()
  pipeline(answer, response, () => undefined)
}

/**
 * Counts an answer from its first byte on, unless it breaks. Some programs close the connection as soon as they have
 * read the last event, before the hub ends the answer.
 */
function countAnswer(facts: RelayFacts, answer: IncomingMessage, response: ServerResponse): void {
  if (answer.statusCode !== 200) return
  answer.once('data', () => {
    let isLeft = false
    facts.modelAnswers++
    response.once('close', () => {
      isLeft = answer.errored === null
    })
    answer.once('error', () => {
      if (!isLeft) facts.modelAnswers--
    })
  })
}

/** Returns false when the run has used its model requests. */
function countRequest({ order, facts, onTooManyRequests }: Context): boolean {
  if (facts.modelRequests < order.limits.model_requests) {
    facts.modelRequests++
    return true
  }
  onTooManyRequests()
  return false
}

const hopHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Replaced, or not the hub's to know. */
const ownHeaders = new Set(['host', 'authorization', 'x-api-key', 'cookie', 'content-length'])

const withoutHopHeaders = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !hopHeaders.has(name)))

function send(
  target: URL,
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer | null,
  token: string,
): Promise<IncomingMessage> {
  const passed = Object.entries(withoutHopHeaders(request.headers)).filter(
    ([name]) => !ownHeaders.has(name),
  )
  const length = body?.length ?? request.headers['content-length']
  const headers = {
    ...Object.fromEntries(passed),
    authorization: `Bearer ${token}`,
    ...(length !== undefined && { 'content-length': String(length) }),
  }
  const start = target.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const sent = start(target, { method: request.method, headers }, resolve)
    sent.once('error', reject)
    // The program has gone away: the hub must not go on for it.
    response.once('close', () => sent.destroy())
    if (body) sent.end(body)
    else request.pipe(sent)
  })
}

const hasKey = (headers: IncomingHttpHeaders, key: string): boolean =>
  headers.authorization === `Bearer ${key}` || headers['x-api-key'] === key

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > mcpBodyMax) throw new Error('a request to the tools is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

interface ToolsMessage {
  method?: unknown
  params?: { name?: unknown }
}

const isPullRequest = (body: Buffer | null): boolean => {
  const { method, params } = readMessage(body)
  return method === 'tools/call' && params?.name === 'github_create_pull_request'
}

function readMessage(body: Buffer | null): ToolsMessage {
  try {
    return JSON.parse(String(body)) ?? {}
  } catch {
    return {}
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ type: 'error', error: { type: 'permission_error', message } }))
}

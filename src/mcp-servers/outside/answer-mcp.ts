import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  ListToolsRequestSchema,
  type ServerNotification,
  type ServerRequest,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/cfworker'
import type { RateRefusal, RequestCounts } from '../../hub/contract/hub'
import { bodyLimits, mcp } from '../../shared/config'
import { parseLosslessJson } from '../../shared/exact-json'
import type { ToolDescription } from '../contract/tools'
import { readText } from '../fetch/guarded-fetch'
import type { Gateway } from '../gateway/pipeline'
import { hasResources } from './authenticate-caller'
import { any, McpFailure, parse, wrongParams } from './mcp-messages'
import { registerPrompts } from './prompts'
import { type McpSession, type RunningCalls, runRecorded, toCallKey } from './record-call'
import { registerResources, watchThreads } from './resources'

/**
 * Answers one request of MCP's Streamable HTTP transport. Only running calls are kept between requests:
 * each request is authenticated by its key, so a session grants nothing. A session id only separates the
 * calls of clients with the same key.
 */
export async function answerMcp(
  session: Omit<McpSession, 'id'>,
  running: RunningCalls,
  request: Request,
  counts: RequestCounts,
): Promise<Response> {
  const body = await parseBody(request.clone())
  const isBatch = Array.isArray(body)
  if (isBatch && !allowsBatches(request)) {
    return refuse('Batches are not supported since version 2025-06-18: send one message a request.')
  }
  const messages: unknown[] = isBatch ? body : [body]
  if (messages.length > mcp.batchMessagesMax) {
    return refuse(
      `A batch can have at most ${mcp.batchMessagesMax} messages: send several batches.`,
    )
  }
  const refusals = await countMessages(session.gateway, messages, counts)
  if (messages.length > 0 && refusals.every((refusal) => refusal !== null)) {
    return refuseAll(messages, refusals, isBatch)
  }
  const id = readSessionId(request)
  const server = createServer({ ...session, id }, running)
  const transport = new WebStandardStreamableHTTPServerTransport({
    // A tool call is answered as a stream, which carries progress and shows when the client disconnects,
    // so that the call can be stopped. Other requests are quick and answered as JSON.
    enableJsonResponse: !messages.some(isToolCall),
    keepAliveMs: mcp.keepAliveMs,
    maxRequestBodySize: bodyLimits.jsonBytesMax,
  })
  await server.connect(transport)
  const cancel = (requestId: unknown) =>
    running.cancel(toCallKey(session.caller.accountId, id, requestId))
  divertMessages(transport, { messages, refusals, cancel })
  const response = await transport.handleRequest(request)
  if (isInitialize(body)) response.headers.set('Mcp-Session-Id', session.clock.newId())
  // Closing the server stops its running calls.
  return closeWithReader(response, () => void server.close())
}

const readSessionId = ({ headers }: Request): string | null =>
  headers.get('Mcp-Session-Id')?.slice(0, mcp.sessionCharsMax) ?? null

/** Answers GET: a stream of the changes of the threads that the session subscribes to. */
export async function streamUpdates(
  session: Omit<McpSession, 'id'>,
  running: RunningCalls,
  request: Request,
): Promise<Response> {
  const whole = { ...session, id: readSessionId(request) }
  const server = createServer(whole, running)
  const transport = new WebStandardStreamableHTTPServerTransport({
    keepAliveMs: mcp.watchKeepAliveMs,
  })
  await server.connect(transport)
  const response = await transport.handleRequest(request)
  if (!response.ok) return response
  let stop = () => {}
  const leave = () => {
    clearTimeout(timer)
    stop()
    void server.close()
  }
  const timer = setTimeout(leave, mcp.watchMs)
  // A client that has left gets no updates.
  const notify = (uri: string) => void server.sendResourceUpdated({ uri }).catch(() => undefined)
  try {
    stop = await watchThreads(whole, { notify, end: leave })
  } catch (error) {
    leave()
    return refuseWatch(error)
  }
  return closeWithReader(response, leave)
}

/** Answers a stream that could not be opened. */
function refuseWatch(error: unknown): Response {
  if (!(error instanceof McpFailure)) throw error
  const { code, message, data } = error
  const isForbidden = code === ErrorCode.InvalidRequest
  const status = data?.code === 'RATE_LIMITED' ? 429 : isForbidden ? 403 : 503
  const headers: HeadersInit = isForbidden ? {} : { 'Retry-After': '5' }
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers })
}

/**
 * Counts the messages of a request in their order, before any runs. The request itself was counted as a read, so
 * that each further message is one more; a call of a tool counts in the class of the tool too.
 *
 * @returns why each message must not run; null: it may
 */
async function countMessages(
  gateway: Gateway,
  messages: unknown[],
  counts: RequestCounts,
): Promise<(RateRefusal | null)[]> {
  const refusals: (RateRefusal | null)[] = []
  for (const [index, message] of messages.entries()) {
    const name = isToolCall(message) ? message.params?.name : undefined
    const rateClass = typeof name === 'string' ? gateway.findCallClass(name) : 'read'
    const refusal = index === 0 ? null : await counts.count('read')
    refusals.push(refusal ?? (rateClass === 'read' ? null : await counts.count(rateClass)))
  }
  return refusals
}

/** Answers a request of which no message may run. */
function refuseAll(
  messages: unknown[],
  refusals: (RateRefusal | null)[],
  isBatch: boolean,
): Response {
  const errors = messages.flatMap((message, index) => {
    const refusal = refusals[index]
    return refusal && isMessage(message) ? [toRateError(message.id ?? null, refusal)] : []
  })
  return Response.json(isBatch ? errors : errors[0], { status: 429 })
}

/** A JSON-RPC error of a message that was refused by a rate limit. */
const toRateError = <Id>(id: Id, { message, retryAfterSeconds }: RateRefusal) => ({
  jsonrpc: '2.0' as const,
  id,
  error: {
    code: -32_000,
    message,
    data: { code: 'RATE_LIMITED', retry_after_seconds: retryAfterSeconds },
  },
})

/**
 * Parses the body, to choose the form of the response; the transport parses and validates it again, which rounds large
 * numbers.
 */
async function parseBody(request: Request): Promise<unknown> {
  try {
    const { text, isTruncated } = await readText(
      new Response(request.body),
      bodyLimits.jsonBytesMax,
    )
    return isTruncated || text === null ? undefined : parseLosslessJson(text)
  } catch {
    return undefined
  }
}

/** Whether the protocol version allows batches. Without the header it is 2025-03-26, which does. */
const allowsBatches = ({ headers }: Request): boolean =>
  (headers.get('MCP-Protocol-Version') ?? '') < '2025-06-18'

interface Message {
  id?: unknown
  method?: unknown
  params?: { name?: unknown; arguments?: unknown } | null
}

const isMessage = (body: unknown): body is Message => typeof body === 'object' && body !== null

const isInitialize = (body: unknown): boolean => isMessage(body) && body.method === 'initialize'

const isToolCall = (body: unknown): body is Message =>
  isMessage(body) && body.method === 'tools/call'

/**
 * Keeps messages from the SDK: those that a rate limit refused, which are answered with an error each, and
 * cancellations. The SDK would leave a cancelled call without a response, while an HTTP request has to end.
 *
 * @param messages as they were sent, with the refusals of each; the transport delivers them in this order
 */
function divertMessages(
  transport: WebStandardStreamableHTTPServerTransport,
  {
    messages,
    refusals,
    cancel,
  }: {
    messages: unknown[]
    refusals: (RateRefusal | null)[]
    cancel(requestId: unknown): void
  },
): void {
  const deliver = transport.onmessage
  let index = 0
  transport.onmessage = (message, extra) => {
    const refusal = refusals[index]
    const exact = messages[index++]
    if (refusal) {
      // A disconnected caller gets no answer.
      if (isJSONRPCRequest(message))
        void transport.send(toRateError(message.id, refusal)).catch(() => undefined)
      return
    }
    const isCancellation =
      isJSONRPCNotification(message) && message.method === 'notifications/cancelled'
    if (isCancellation) cancel(message.params?.requestId)
    else deliver?.(withArguments(message, exact), extra)
  }
}

/** Returns a call of a tool with its arguments as they were written, and any other message as it is. */
const withArguments = (message: JSONRPCMessage, exact: unknown): JSONRPCMessage =>
  isJSONRPCRequest(message) && isToolCall(exact) && exact.params?.arguments !== undefined
    ? { ...message, params: { ...message.params, arguments: exact.params.arguments } }
    : message

/** Calls `leave` when the client stops reading the stream of a response. */
function closeWithReader(response: Response, leave: () => void): Response {
  const { body, status, headers } = response
  if (body === null || !/event-stream/.test(headers.get('Content-Type') ?? '')) return response
  const reader = body.getReader()
  const watched = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel(reason) {
      leave()
      await reader.cancel(reason)
    },
  })
  return new Response(watched, { status, headers })
}

const refuse = (message: string): Response =>
  Response.json({ jsonrpc: '2.0', error: { code: -32_600, message }, id: null }, { status: 400 })

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>

/** Creates an MCP server with what the hub offers, for one caller and one request. */
function createServer(session: McpSession, running: RunningCalls): Server {
  const { gateway, caller, serverName } = session
  const isReader = hasResources(caller, serverName)
  const server = new Server(
    { name: `rookery-${serverName ?? 'all'}`, title: session.title, version: '0.1.0' },
    {
      capabilities: isReader
        ? { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {} }
        : { tools: {} },
      instructions: instructFor(session),
      // The default validator compiles code, which Workers do not allow.
      jsonSchemaValidator: new CfWorkerJsonSchemaValidator(),
    },
  )
  server.setRequestHandler(any('tools/list'), async (request) => {
    const { params } = parse(ListToolsRequestSchema, request)
    const policy = await session.hub.readPolicy(caller.accountId, caller.activationId)
    await gateway.refresh(policy)
    const offered = gateway.list(caller, policy).filter(({ name }) => isOffered(session, name))
    const page = paginateTools(offered, params?.cursor)
    if (!page) throw wrongParams('Unknown cursor.')
    const { accountId, activationId, runAttempt } = caller
    if (activationId !== null && runAttempt !== undefined) {
      await session.noteToolsListed(accountId, activationId, runAttempt)
    }
    return { ...page, tools: page.tools.map(toMcpTool) }
  })
  server.setRequestHandler(any('tools/call'), async (request, extra) => {
    const { params } = parse(CallToolRequestSchema, request)
    if (!isOffered(session, params.name)) throw wrongParams(`Unknown tool ${params.name}.`)
    const call = {
      // JSON-RPC request ids repeat, so the audit log gets its own id.
      callId: session.clock.newId(),
      tool: params.name,
      arguments: JSON.stringify(params.arguments ?? {}),
    }
    const key = toCallKey(caller.accountId, session.id, extra.requestId)
    const work = running.run(key, (cancelled) => {
      const signal = AbortSignal.any([extra.signal, cancelled])
      const progress = createProgress(params._meta?.progressToken, extra)
      return runRecorded(session, call, { signal, progress })
    })
    session.defer(work)
    const { text, isError, decision } = await work
    if (decision === 'unknown_tool') throw wrongParams(text.replace(/^Error: /, ''))
    return toMcpResult(text, isError)
  })
  if (isReader) {
    registerResources(server, session)
    registerPrompts(server, session)
  }
  return server
}

const isOffered = ({ serverName }: McpSession, tool: string): boolean =>
  serverName === null || tool.startsWith(`${serverName}_`)

function instructFor({ gateway, title, caller, serverName }: McpSession): string {
  const offered = gateway.servers().filter(({ name }) => serverName === null || name === serverName)
  const about = offered.map(({ name, description }) => `${name}: ${description}`)
  return [`You are ${caller.name} on ${title}, a hub of people and agents.`, ...about].join('\n')
}

/** Creates a sender of progress notifications. Each message counts one step; the total is unknown. */
function createProgress(
  progressToken: string | number | undefined,
  { sendNotification }: Extra,
): ((text: string) => void) | undefined {
  if (progressToken === undefined) return undefined
  let progress = 0
  return (message) => {
    progress += 1
    const params = { progressToken, progress, message }
    // A disconnected caller gets no progress.
    void sendNotification({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}

const toMcpTool = (tool: ToolDescription): Tool => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema as Tool['inputSchema'],
  annotations: {
    readOnlyHint: tool.tier === 'read',
    destructiveHint: tool.tier === 'destructive',
    idempotentHint: tool.isIdempotent,
    openWorldHint: tool.reachesOut === true,
  },
})

const toMcpResult = (text: string, isError: boolean): CallToolResult => ({
  content: [{ type: 'text', text }],
  isError,
})

/**
 * Returns one page of tools, ordered by name. The cursor names the last tool of the previous page, so
 * that a change of the list between two pages skips and repeats none. Null: the cursor is invalid.
 */
export function paginateTools<Named extends { name: string }>(
  tools: Named[],
  cursor: string | undefined,
): { tools: Named[]; nextCursor?: string } | null {
  const after = cursor === undefined ? '' : readCursor(cursor)
  if (after === null) return null
  const rest = tools.filter(({ name }) => name > after).sort((a, b) => (a.name < b.name ? -1 : 1))
  const page = rest.slice(0, mcp.toolsPerPage)
  const last = page.at(-1)
  return rest.length > page.length && last
    ? { tools: page, nextCursor: btoa(`after:${last.name}`) }
    : { tools: page }
}

function readCursor(cursor: string): string | null {
  try {
    return /^after:([a-z0-9_]{1,64})$/.exec(atob(cursor))?.[1] ?? null
  } catch {
    return null
  }
}

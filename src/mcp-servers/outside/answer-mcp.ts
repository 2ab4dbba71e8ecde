import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { isJSONRPCNotification } from '@modelcontextprotocol/sdk/types.js'
import type { RequestCounts } from '../../hub/contract/hub'
import { bodyLimits, mcp } from '../../shared/config'
import { readText } from '../fetch/read-text'
import type { Gateway } from '../gateway/gateway'
import { createServer } from './create-server'
import type { McpSession } from './mcp-session'
import { type RunningCalls, toCallKey } from './running-calls'

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
  const message = await parseBody(request.clone())
  if (Array.isArray(message) && !allowsBatches(request)) {
    return refuse('Batches are not supported since version 2025-06-18: send one message a request.')
  }
  await countWrites(session.gateway, message, counts)
  const given = request.headers.get('Mcp-Session-Id')
  const id = given?.slice(0, mcp.sessionCharsMax) ?? null
  const server = createServer({ ...session, id }, running)
  const transport = new WebStandardStreamableHTTPServerTransport({
    // A tool call is answered as a stream, which carries progress and shows when the client disconnects,
    // so that the call can be stopped. Other requests are quick and answered as JSON.
    enableJsonResponse: !hasToolCall(message),
    keepAliveMs: mcp.keepAliveMs,
    maxRequestBodySize: bodyLimits.jsonBytesMax,
  })
  await server.connect(transport)
  const cancel = (requestId: unknown) =>
    running.cancel(toCallKey(session.caller.accountId, id, requestId))
  divertCancellations(transport, cancel)
  const response = await transport.handleRequest(request)
  if (isInitialize(message)) response.headers.set('Mcp-Session-Id', session.clock.newId())
  // Closing the server stops its running calls.
  return closeWithReader(response, () => void server.close())
}

/** Counts each call of a tool that can write. @throws RATE_LIMITED */
async function countWrites(
  gateway: Gateway,
  message: unknown,
  counts: RequestCounts,
): Promise<void> {
  for (const each of Array.isArray(message) ? message : [message]) {
    const name = isToolCall(each) ? each.params?.name : undefined
    if (typeof name === 'string' && gateway.canWrite(name)) await counts.countWrite()
  }
}

/** Parses the body, to choose the form of the response; the transport parses and validates it again. */
async function parseBody(request: Request): Promise<unknown> {
  try {
    const { text, isTruncated } = await readText(
      new Response(request.body),
      bodyLimits.jsonBytesMax,
    )
    return isTruncated || text === null ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether the protocol version allows batches. Without the header it is 2025-03-26, which does. */
const allowsBatches = ({ headers }: Request): boolean =>
  (headers.get('MCP-Protocol-Version') ?? '') < '2025-06-18'

interface Message {
  method?: unknown
  params?: { name?: unknown } | null
}

const isMessage = (body: unknown): body is Message => typeof body === 'object' && body !== null

const isInitialize = (body: unknown): boolean => isMessage(body) && body.method === 'initialize'

const isToolCall = (body: unknown): body is Message =>
  isMessage(body) && body.method === 'tools/call'

const hasToolCall = (body: unknown): boolean =>
  Array.isArray(body) ? body.some(isToolCall) : isToolCall(body)

/**
 * Handles cancellations instead of the SDK, which would leave a cancelled call without a response, while
 * an HTTP request has to end.
 */
function divertCancellations(
  transport: WebStandardStreamableHTTPServerTransport,
  cancel: (requestId: unknown) => void,
): void {
  const deliver = transport.onmessage
  transport.onmessage = (message, extra) => {
    const isCancellation =
      isJSONRPCNotification(message) && message.method === 'notifications/cancelled'
    if (isCancellation) cancel(message.params?.requestId)
    else deliver?.(message, extra)
  }
}

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

import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { isJSONRPCNotification } from '@modelcontextprotocol/sdk/types.js'
import { limits, mcp } from '../../config'
import { readText } from '../fetch/read-text'
import { createServer } from './create-server'
import type { McpSession } from './mcp-session'
import { type RunningCalls, toCallKey } from './running-calls'

/**
 * Answers one request of MCP's Streamable HTTP transport. Nothing is kept between requests but which
 * calls run: the key says who calls, and the policy is read anew, so there is no session to steal or to
 * lose. Its id only tells the calls of one client from those of another with the same key.
 */
export async function answerMcp(
  session: Omit<McpSession, 'id'>,
  running: RunningCalls,
  request: Request,
): Promise<Response> {
  const asked = await peek(request.clone())
  if (Array.isArray(asked) && !hasBatches(request)) {
    return refuse('Batches are gone since version 2025-06-18: send one message a request.')
  }
  const given = request.headers.get('Mcp-Session-Id')
  const id = given?.slice(0, mcp.sessionCharsMax) ?? null
  const server = createServer({ ...session, id }, running)
  const transport = new WebStandardStreamableHTTPServerTransport({
    // A tool tells how far it is, and of a stream it is noticed when nobody reads it any more: without
    // one a client that hangs up leaves its call running. The rest is quick, and easier to send whole.
    enableJsonResponse: !callsTool(asked),
    keepAliveMs: mcp.keepAliveMs,
    maxRequestBodySize: limits.requestBytesMax,
  })
  await server.connect(transport)
  const cancel = (requestId: unknown) =>
    running.cancel(toCallKey(session.caller.accountId, id, requestId))
  divertCancellations(transport, cancel)
  const response = await transport.handleRequest(request)
  if (isInitialize(asked)) response.headers.set('Mcp-Session-Id', session.clock.newId())
  // Stops what runs for it.
  return closeWithReader(response, () => void server.close())
}

/** What was asked, to see which way to answer; the transport reads and judges it again. */
async function peek(request: Request): Promise<unknown> {
  try {
    const { text, isCut } = await readText(new Response(request.body), limits.requestBytesMax)
    return isCut || text === null ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Dates compare as texts; without the header it is 2025-03-26, which had them. */
const hasBatches = ({ headers }: Request): boolean =>
  (headers.get('MCP-Protocol-Version') ?? '') < '2025-06-18'

const isMessage = (asked: unknown): asked is { method?: unknown } =>
  typeof asked === 'object' && asked !== null

const isInitialize = (asked: unknown): boolean => isMessage(asked) && asked.method === 'initialize'

const callsTool = (asked: unknown): boolean =>
  Array.isArray(asked) ? asked.some(callsTool) : isMessage(asked) && asked.method === 'tools/call'

/**
 * A cancelled call still gets an answer, that it was cancelled: left to the SDK it would get none, and
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

/** A client that stops reading a stream has gone. */
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

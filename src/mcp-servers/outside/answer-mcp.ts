import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
} from '@modelcontextprotocol/sdk/types.js'
import type { RateRefusal, RequestCounts } from '../../hub/contract/hub'
import { bodyLimits, mcp } from '../../shared/config'
import { parseLosslessJson } from '../../shared/exact-json'
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
  const given = request.headers.get('Mcp-Session-Id')
  const id = given?.slice(0, mcp.sessionCharsMax) ?? null
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

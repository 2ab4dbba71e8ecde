import { waitUntil } from 'cloudflare:workers'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js'
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/cfworker'
import { remoteServers } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { Connection } from '../credentials/connection'
import { checkJson, excerpt, toResponseError } from '../fetch/explain-answer'
import type { ServiceResponse } from '../fetch/guarded-fetch'
import { remoteErrors } from './errors'
import { watchLine } from './watch-line'

interface ClientLink {
  connection: Connection
  /** Of one request, in milliseconds; absent: the default. */
  timeoutMs?: number
  progress?(text: string): void
}

/**
 * Runs `use` with a client of a remote MCP server. Requests use the guarded fetch, which limits time and
 * size and redacts credentials from responses.
 *
 * @throws AppError
 */
export function withClient<Result>(
  link: ClientLink,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const work = runWithClient(link, use)
  // A cancelled call ends before its server is notified.
  waitUntil(work.catch(() => undefined))
  return work
}

async function runWithClient<Result>(
  link: ClientLink,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const { connection } = link
  const sent: Promise<unknown>[] = []
  const client = new Client(
    { name: 'rookery', version: '0.1.0' },
    { jsonSchemaValidator: new CfWorkerJsonSchemaValidator() },
  )
  const transport = new StreamableHTTPClientTransport(connection.baseUrl, {
    fetch: createFetch(link, sent),
  })
  try {
    // The SDK's transport type lacks `sessionId?: string | undefined`.
    await client.connect(transport as Parameters<Client['connect']>[0])
    return await use(client)
  } catch (error) {
    throw explain(connection.service, error)
  } finally {
    // Ending the session is optional, so a failure is ignored.
    await transport.terminateSession().catch(() => undefined)
    // The SDK does not wait for its last messages.
    await new Promise((resolve) => setTimeout(resolve, 0))
    await Promise.allSettled(sent)
    await client.close().catch(() => undefined)
  }
}

/** Adapts the guarded fetch to the SDK. */
function createFetch(link: ClientLink, sent: Promise<unknown>[]) {
  return async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { method = 'GET' } = init
    // Messages that the server sends on its own are not needed, so its event stream is not opened.
    if (method === 'GET') return new Response(null, { status: 405 })
    const sending = send(link, new URL(url), { ...init, method })
    sent.push(sending)
    const answer = await sending
    if (method === 'DELETE') return new Response(null, { status: 200 })
    return toResponse(link.connection, answer)
  }
}

function send(
  { connection, progress, timeoutMs = remoteServers.timeoutMs }: ClientLink,
  url: URL,
  init: RequestInit & { method: string },
) {
  const { method } = init
  const body = typeof init.body === 'string' ? init.body : undefined
  const isFarewell = method === 'DELETE' || /"notifications\/cancelled"/.test(body ?? '')
  return connection.fetch({
    method,
    url,
    isClosing: isFarewell,
    ...(body !== undefined && { body }),
    headers: {
      'user-agent': 'Rookery',
      ...connection.headers,
      ...Object.fromEntries(new Headers(init.headers)),
    },
    bytesMax: remoteServers.answerBytesMax,
    timeoutMs,
    watch: (line) => watchLine(line, progress),
  })
}

function toResponse({ service, credential, owner }: Connection, answer: ServiceResponse): Response {
  if (answer.status === 401 && credential === null && owner === null) {
    throw remoteErrors.accountRequired(service)
  }
  if (answer.status >= 400) throw toResponseError(service, answer)
  if (answer.isTruncated) throw remoteErrors.responseTooLarge(service)
  checkJson(service, answer)
  const { status, headers } = answer
  const isEmpty = status === 202 || status === 204
  return new Response(isEmpty ? null : answer.text, { status, headers })
}

/** Converts an error to an `AppError`. The server's message is truncated; credentials are redacted already. */
function explain(service: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof McpError) {
    if (error.code === ErrorCode.RequestTimeout) return remoteErrors.timedOut(service)
    const message = excerpt(error.message.replace(/^MCP error -?\d+: /, ''))
    return remoteErrors.refused(service, error.code, message)
  }
  return remoteErrors.notMcp(service, error)
}

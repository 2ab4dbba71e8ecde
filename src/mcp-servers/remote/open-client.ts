import { waitUntil } from 'cloudflare:workers'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js'
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/cfworker'
import { remoteServers } from '../../config'
import { AppError } from '../../errors'
import type { Connection } from '../credentials/connection'
import { checkJson, excerpt, toError } from '../fetch/explain-answer'
import type { OutsideAnswer } from '../fetch/guarded-fetch'
import { watchLine } from './watch-line'

interface Way {
  connection: Connection
  progress?(text: string): void
}

/**
 * Speaks MCP with a server of others for as long as `use` takes. Every request goes through the guarded
 * fetch, so it has its bounds and its answers hold no credential. What goes wrong is an `AppError`.
 */
export function withClient<Result>(
  way: Way,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const work = speak(way, use)
  // A call that is cancelled ends before its server was told so.
  waitUntil(work.catch(() => undefined))
  return work
}

async function speak<Result>(way: Way, use: (client: Client) => Promise<Result>): Promise<Result> {
  const { connection } = way
  const sent: Promise<unknown>[] = []
  const client = new Client(
    { name: 'rookery', version: '0.1.0' },
    { jsonSchemaValidator: new CfWorkerJsonSchemaValidator() },
  )
  const transport = new StreamableHTTPClientTransport(connection.baseUrl, {
    fetch: createFetch(way, sent),
  })
  try {
    // The SDK's own transport does not say `sessionId?: string | undefined`.
    await client.connect(transport as Parameters<Client['connect']>[0])
    return await use(client)
  } catch (error) {
    throw explain(connection.service, error)
  } finally {
    // The server may forget the session; it is no matter when it does not hear of it.
    await transport.terminateSession().catch(() => undefined)
    // What the SDK says last it does not wait for.
    await new Promise((resolve) => setTimeout(resolve, 0))
    await Promise.allSettled(sent)
    await client.close().catch(() => undefined)
  }
}

/** The guarded fetch in the form that the SDK wants. */
function createFetch(way: Way, sent: Promise<unknown>[]) {
  return async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { method = 'GET' } = init
    // Nothing that a server says by itself is of interest, so nobody listens for it.
    if (method === 'GET') return new Response(null, { status: 405 })
    const sending = send(way, new URL(url), { ...init, method })
    sent.push(sending)
    const answer = await sending
    if (method === 'DELETE') return new Response(null, { status: 200 })
    return toResponse(way.connection.service, answer)
  }
}

function send({ connection, progress }: Way, url: URL, init: RequestInit & { method: string }) {
  const { method } = init
  const body = typeof init.body === 'string' ? init.body : undefined
  const isFarewell = method === 'DELETE' || /"notifications\/cancelled"/.test(body ?? '')
  return connection.fetch({
    ...{ method, url, isFarewell },
    ...(body !== undefined && { body }),
    headers: {
      'user-agent': 'Rookery',
      ...connection.headers,
      ...Object.fromEntries(new Headers(init.headers)),
    },
    bytesMax: remoteServers.answerBytesMax,
    timeoutMs: remoteServers.timeoutMs,
    watch: (line) => watchLine(line, progress),
  })
}

function toResponse(service: string, answer: OutsideAnswer): Response {
  if (answer.status >= 400) throw toError(service, answer)
  if (answer.isCut) throw tooLong(service)
  checkJson(service, answer)
  const { status, headers } = answer
  const isEmpty = status === 202 || status === 204
  return new Response(isEmpty ? null : answer.text, { status, headers })
}

const tooLong = (service: string): AppError =>
  new AppError('TOO_LARGE', `The server ${service} answered with too much at once.`, {
    hint: `More than ${remoteServers.answerBytesMax / 1024 / 1024} MiB are not read. Ask for less at a time.`,
  })

/** What it says of itself is data, and bounded; the connection has taken credentials out of it. */
function explain(service: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof McpError) {
    if (error.code === ErrorCode.RequestTimeout) {
      return new AppError('UNAVAILABLE', `The server ${service} gave no answer in time.`)
    }
    const said = excerpt(error.message.replace(/^MCP error -?\d+: /, ''))
    return new AppError('VALIDATION', `The server ${service} refused it (${error.code}): ${said}`)
  }
  const hint = 'An admin checks that its address is that of an MCP server over Streamable HTTP.'
  return new AppError('UNAVAILABLE', `The server ${service} does not answer as MCP servers do.`, {
    hint,
    cause: error,
  })
}

import { waitUntil } from 'cloudflare:workers'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js'
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/cfworker'
import { remoteServers } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { excerpt } from '../fetch/explain-answer'
import { remoteErrors } from './errors'
import { type ClientLink, type RemoteSession, RemoteTransport } from './remote-transport'

/** How a client of a server begins, and what it leaves. */
interface SessionUse {
  /** The session to join; null: a new one is opened. */
  session: RemoteSession | null
  /** The session stays open at the server. */
  isKept: boolean
}

/** What is done with a client. */
export type UseClient<Result> = (client: Client, transport: RemoteTransport) => Promise<Result>

const oneShot: SessionUse = { session: null, isKept: false }

/**
 * Runs `use` with a client of a remote MCP server. Requests use the guarded fetch, which limits time and
 * size and redacts credentials from responses.
 *
 * @throws AppError
 */
export function withClient<Result>(
  link: ClientLink,
  use: UseClient<Result>,
  session: SessionUse = oneShot,
): Promise<Result> {
  const work = runWithClient(link, use, session)
  // A cancelled call ends before its server is notified.
  waitUntil(work.catch(() => undefined))
  return work
}

async function runWithClient<Result>(
  link: ClientLink,
  use: UseClient<Result>,
  { session, isKept }: SessionUse,
): Promise<Result> {
  const client = new Client(
    { name: 'rookery', version: '0.1.0' },
    { jsonSchemaValidator: new CfWorkerJsonSchemaValidator() },
  )
  const transport = new RemoteTransport(link, session)
  try {
    await client.connect(transport, { timeout: link.timeoutMs ?? remoteServers.timeoutMs })
    return await use(client, transport)
  } catch (error) {
    throw explain(link.connection.service, error)
  } finally {
    // Ending the session is optional, so a failure is ignored.
    if (!isKept) await transport.terminate().catch(() => undefined)
    await client.close().catch(() => undefined)
  }
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

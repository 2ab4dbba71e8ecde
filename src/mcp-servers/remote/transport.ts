import { waitUntil } from 'cloudflare:workers'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type {
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCRequest,
  JSONRPCResultResponse,
} from '@modelcontextprotocol/sdk/types.js'
import { remoteServers } from '../../shared/config'
import { AppError, type ErrorDetail } from '../../shared/errors'
import { connectPath, remoteServerPath, remoteToolPath } from '../../shared/paths'
import type { Connection } from '../credentials/connection'
import { secretCharsMin } from '../credentials/scrub'
import { checkJson, excerpt, toResponseError } from '../fetch/explain-answer'
import { isEventStream, type ServiceResponse } from '../fetch/guarded-fetch'
import { isFields, parseEvent, parseMessages, withoutNulls } from './messages'

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
  const sdk = await loadSdk()
  const client = new sdk.Client(
    { name: 'rookery', version: '0.1.0' },
    { jsonSchemaValidator: new sdk.CfWorkerJsonSchemaValidator() },
  )
  const transport = new RemoteTransport(link, session)
  try {
    await client.connect(transport, { timeout: link.timeoutMs ?? remoteServers.timeoutMs })
    return await use(client, transport)
  } catch (error) {
    throw explain(link.connection.service, error, sdk)
  } finally {
    // Ending the session is optional, so a failure is ignored.
    if (!isKept) await transport.terminate().catch(() => undefined)
    await client.close().catch(() => undefined)
  }
}

/** Loads the SDK when the first server is asked: it makes a seventh of the schemas that a start would make. */
async function loadSdk() {
  const [{ Client }, { CfWorkerJsonSchemaValidator }, { ErrorCode, McpError }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/validation/cfworker'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  return { Client, CfWorkerJsonSchemaValidator, ErrorCode, McpError }
}

/** Converts an error to an `AppError`. The server's message is truncated; credentials are redacted already. */
function explain(
  service: string,
  error: unknown,
  { ErrorCode, McpError }: Awaited<ReturnType<typeof loadSdk>>,
): AppError {
  if (error instanceof AppError) return error
  if (error instanceof McpError) {
    if (error.code === ErrorCode.RequestTimeout) return remoteErrors.timedOut(service)
    const message = excerpt(error.message.replace(/^MCP error -?\d+: /, ''))
    return remoteErrors.refused(service, error.code, message)
  }
  return remoteErrors.notMcp(service, error)
}

/** What later requests need to belong to a session that was initialized. */
export interface RemoteSession {
  /** Null: the server keeps no session. */
  id: string | null
  protocolVersion: string
  /** The server offers resources. */
  hasResources: boolean
  /** The server has a stream for what belongs to no request. */
  hasStream: boolean
}

export interface ClientLink {
  connection: Connection
  /** Of one request, in milliseconds; absent: the default. */
  timeoutMs?: number
  progress?(text: string): void
}

/** A request whose response has not arrived yet. */
interface Exchange {
  request: JSONRPCRequest
  isAnswered: boolean
  /** Requests that the server has sent meanwhile. */
  asked: number
  lastEventId: string | null
  retryMs: number
  /** Why the response must not be waited for any more. */
  failure: Error | null
}

/** Stands for the request of a stream that belongs to none. */
const noRequest = -2

const toExchange = (request: JSONRPCRequest): Exchange => ({
  request,
  isAnswered: false,
  asked: 0,
  lastEventId: null,
  retryMs: remoteServers.resumeMs,
  failure: null,
})

type RpcResponse = JSONRPCResultResponse | JSONRPCErrorResponse

/**
 * MCP's Streamable HTTP transport over the guarded fetch. Unlike that of the SDK it ends a request as soon as its
 * response cannot arrive any more, keeps large numbers as they are, and joins a session that an earlier
 * transport has opened.
 */
export class RemoteTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>
  /** The SDK initializes a transport without one; '' stands for a server that keeps no session. */
  sessionId?: string
  readonly #link: ClientLink
  readonly #isJoined: boolean
  #protocolVersion: string | null = null
  #hasResources = false
  #hasStream = true
  /** Ends the stream that `listen` opened. */
  readonly #stop = new AbortController()
  /** Requests of several transports share a session, and no two may have the same id. */
  readonly #firstId = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0
  /** Of requests that nobody waits for any more. */
  readonly #cancelled = new Set<unknown>()
  readonly #sending = new Set<Promise<unknown>>()

  constructor(link: ClientLink, session: RemoteSession | null) {
    this.#link = link
    this.#isJoined = session !== null
    if (!session) return
    this.sessionId = session.id ?? ''
    this.#protocolVersion = session.protocolVersion
    this.#hasResources = session.hasResources
    this.#hasStream = session.hasStream
  }

  async start(): Promise<void> {}

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version
  }

  /** Returns the session, once it is initialized. */
  get session(): RemoteSession | null {
    const protocolVersion = this.#protocolVersion
    if (protocolVersion === null) return null
    return {
      id: this.sessionId || null,
      protocolVersion,
      hasResources: this.#hasResources,
      hasStream: this.#hasStream,
    }
  }

  get hasResources(): boolean {
    return this.#hasResources
  }

  /** Rejects when the response of a request cannot arrive any more. */
  send(message: JSONRPCMessage): Promise<void> {
    const sending =
      'method' in message && 'id' in message ? this.#request(message) : this.#post(message)
    const settled = sending.catch(() => undefined).finally(() => this.#sending.delete(settled))
    this.#sending.add(settled)
    return sending
  }

  /** Ends the session at the server, which may not support that. */
  async terminate(): Promise<void> {
    if (this.sessionId) await this.#fetch({ method: 'DELETE', isClosing: true })
  }

  /**
   * Opens the stream on which a server sends what belongs to no request: some ask there during a call, and wait for the
   * answer. Resolves when it is open or refused, and after a short time in any case. A server without sessions has none.
   */
  async listen(): Promise<void> {
    if (!this.sessionId || !this.#hasStream) return
    let status = await this.#openStream()
    // The stream of the call before may not have ended at the server yet, which has one for each session.
    for (let again = 0; status === 409 && again < remoteServers.listenAgainMax; again++) {
      await scheduler.wait(remoteServers.listenAgainMs)
      status = await this.#openStream()
    }
    this.#hasStream = status === 409 || (status > 0 && status < 400)
  }

  /** @returns the status of the answer; 0: there is none in time */
  async #openStream(): Promise<number> {
    const opened = Promise.withResolvers<number>()
    const request = { jsonrpc: '2.0' as const, id: noRequest, method: '' }
    const exchange = toExchange(request)
    const listening = this.#fetch({ method: 'GET', exchange, onOpen: opened.resolve })
      .catch(() => undefined)
      .then(() => opened.resolve(0))
    this.#sending.add(listening)
    const late = scheduler.wait(remoteServers.listenMs).then(() => 0)
    return Promise.race([opened.promise, late])
  }

  /** Resolves once everything is sent that the SDK does not wait for. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#sending)
    this.onclose?.()
  }

  /** Sends a notification or a response. Servers answer nothing that is needed. */
  async #post(message: JSONRPCMessage): Promise<void> {
    const isCancellation = 'method' in message && message.method === 'notifications/cancelled'
    if (!isCancellation) {
      await this.#fetch({ method: 'POST', message })
      return
    }
    const { requestId, ...params } = message.params as Record<string, unknown>
    this.#cancelled.add(requestId)
    const mapped = { ...message, params: { ...params, requestId: this.#toWireId(requestId) } }
    await this.#fetch({ method: 'POST', message: mapped, isClosing: true })
  }

  #toWireId = (id: unknown): number => (this.#firstId >>> 1) + Number(id)

  async #request(request: JSONRPCRequest): Promise<void> {
    if (request.method === 'tools/call') await this.listen()
    const exchange = toExchange(request)
    const message = { ...request, id: this.#toWireId(request.id) }
    const first = () => this.#fetch({ method: 'POST', message, exchange })
    let answer = await this.#orBroken(exchange, first)
    for (let resumed = 0; !exchange.isAnswered; resumed++) {
      if (answer) this.#read(exchange, answer)
      if (exchange.isAnswered || this.#cancelled.has(request.id)) return
      if (exchange.lastEventId === null || resumed >= remoteServers.resumedMax) {
        throw remoteErrors.noResponse(this.#link.connection.service)
      }
      await scheduler.wait(Math.min(exchange.retryMs, remoteServers.resumeMsMax))
      const next = () => this.#fetch({ method: 'GET', exchange })
      answer = await this.#orBroken(exchange, next)
    }
  }

  /** Returns null when the connection broke in a stream that can be resumed. */
  async #orBroken(
    exchange: Exchange,
    send: () => Promise<ServiceResponse>,
  ): Promise<ServiceResponse | null> {
    const { lastEventId } = exchange
    try {
      return await send()
    } catch (error) {
      if (exchange.failure || exchange.lastEventId === lastEventId) throw error
      return null
    }
  }

  /** Reads a response that is no stream; of a stream the messages have been read as they came. */
  #read(exchange: Exchange, answer: ServiceResponse): void {
    const { service } = this.#link.connection
    this.#check(exchange, answer)
    this.#keepSession(exchange, answer.headers)
    if (isEventStream(answer.headers)) {
      if (answer.text === null) throw remoteErrors.notMcp(service, new Error('not UTF-8'))
      return
    }
    try {
      for (const message of parseMessages(answer.text ?? '')) this.#receive(exchange, message)
    } catch (error) {
      throw error instanceof SyntaxError ? remoteErrors.notMcp(service, error) : error
    }
    if (!exchange.isAnswered) throw remoteErrors.notMcp(service, new Error('no response'))
  }

  #check({ request }: Exchange, answer: ServiceResponse): void {
    const { service, credential, owner } = this.#link.connection
    const { status, isTruncated, text } = answer
    const isOpening = request.method === 'initialize'
    if (this.#isJoined && !isOpening && isSessionEnded(status, text)) {
      throw new SessionEndedError(service)
    }
    if (status === 401 && credential === null && owner === null) {
      throw remoteErrors.accountRequired(service)
    }
    if (status >= 400) throw toResponseError(service, answer)
    if (isTruncated) throw remoteErrors.responseTooLarge(service)
    checkJson(service, answer)
  }

  /** Keeps the session that a server opens with its first answer. */
  #keepSession({ request }: Exchange, headers: Headers): void {
    const id = headers.get('mcp-session-id')
    if (request.method === 'initialize' && id !== null) this.sessionId = id
  }

  /** @returns whether the response has arrived, after which reading can stop */
  #receiveEvent(exchange: Exchange, text: string): boolean {
    const { id, retryMs, data } = parseEvent(text)
    exchange.lastEventId = id ?? exchange.lastEventId
    exchange.retryMs = retryMs ?? exchange.retryMs
    for (const message of readEvent(data)) this.#receive(exchange, message)
    return exchange.isAnswered || this.#cancelled.has(exchange.request.id)
  }

  #receive(exchange: Exchange, message: JSONRPCMessage): void {
    if (!('method' in message)) {
      this.#answer(exchange, message)
    } else if ('id' in message) {
      if (++exchange.asked > remoteServers.requestsOfServerMax) {
        exchange.failure = remoteErrors.tooManyRequests(this.#link.connection.service)
        throw exchange.failure
      }
      // The SDK answers it at once: a ping, and anything else as unknown.
      this.onmessage?.(message)
    } else if (message.method === 'notifications/progress') {
      const words = describeProgress(message.params ?? {})
      if (words !== '') this.#link.progress?.(words)
    }
  }

  #answer(exchange: Exchange, response: RpcResponse): void {
    const { id, method } = exchange.request
    const isOwn = Number(response.id) === this.#toWireId(id)
    // An error without an id is about this request: each is sent alone.
    if (exchange.isAnswered || !(isOwn || ('error' in response && response.id === -1))) return
    exchange.isAnswered = true
    if (method !== 'initialize' || !('result' in response)) {
      this.onmessage?.({ ...response, id })
      return
    }
    const result = withoutNulls(response.result) as typeof response.result
    const { capabilities } = result
    this.#hasResources = isFields(capabilities) && isFields(capabilities.resources)
    this.onmessage?.({ ...response, id, result })
  }

  async #fetch({
    method,
    message,
    exchange,
    onOpen,
    isClosing = false,
  }: {
    method: 'POST' | 'GET' | 'DELETE'
    message?: object
    exchange?: Exchange
    /** Of the stream that stays open until the transport is closed. */
    onOpen?: (status: number) => void
    isClosing?: boolean
  }): Promise<ServiceResponse> {
    const { connection, timeoutMs = remoteServers.timeoutMs } = this.#link
    const answer = await connection.fetch({
      method,
      url: connection.baseUrl,
      isClosing,
      ...(message && { body: JSON.stringify(message) }),
      headers: {
        'user-agent': 'Rookery',
        ...connection.headers,
        accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
        ...(message && { 'content-type': 'application/json' }),
        ...(this.sessionId && { 'mcp-session-id': this.sessionId }),
        ...(this.#protocolVersion && { 'mcp-protocol-version': this.#protocolVersion }),
        ...(method === 'GET' && exchange?.lastEventId && { 'last-event-id': exchange.lastEventId }),
      },
      bytesMax: remoteServers.answerBytesMax,
      timeoutMs,
      ...(onOpen && { onOpen, signal: this.#stop.signal }),
      ...(exchange && {
        onEvent: (text, headers) => {
          this.#keepSession(exchange, headers)
          return this.#receiveEvent(exchange, this.#hideSession(text))
        },
      }),
    })
    return { ...answer, text: answer.text && this.#hideSession(answer.text) }
  }

  /** Removes the session's id, with which anyone could use the session. A short one is no secret, but part of words. */
  #hideSession = (text: string): string =>
    this.sessionId && this.sessionId.length >= secretCharsMin
      ? text.replaceAll(this.sessionId, '[session]')
      : text
}

/** Returns the messages of an event; none when they cannot be read, which is no reason to lose those that follow. */
function readEvent(data: string): JSONRPCMessage[] {
  try {
    return data === '' ? [] : parseMessages(data)
  } catch {
    return []
  }
}

/**
 * Whether a server does not know the session of a request, by which nothing has run. The specification says 404; many
 * servers follow an example of the SDK that answers 400 and says it in words.
 */
const isSessionEnded = (status: number, text: string | null): boolean =>
  status === 404 || (status === 400 && /session|not initialized/i.test(text ?? ''))

const progressCharsMax = 200

function describeProgress({ progress, total, message }: Record<string, unknown>): string {
  const share = typeof total === 'number' ? `${progress} of ${total}` : String(progress ?? '')
  return (typeof message === 'string' ? message : share).slice(0, progressCharsMax)
}

const invalid = (field: string, message: string): AppError =>
  new AppError('VALIDATION', 'The grant is not valid.', {
    details: [{ path: `body.${field}`, message }],
  })

/** Problems of a server's name, as admins read them. */
export const nameProblems = {
  malformed: 'Must be 2 to 20 lower case letters and digits, starting with a letter',
  reserved: 'Must not be the name of a built-in server',
}

/** A server does not know a session any more, by which nothing has run. */
export class SessionEndedError extends AppError {
  constructor(server: string) {
    super('UNAVAILABLE', `The server ${server} ended its session.`)
  }
}

/** Errors of remote MCP servers, as models and admins read them. */
export const remoteErrors = {
  toolFailed: (tool: string, server: string, text: string) =>
    new AppError('VALIDATION', `The tool ${tool} of ${server} failed: ${text}`),
  toolChanged: (server: string, tool: string) =>
    new AppError(
      'CONFLICT',
      `The server ${server} changed ${tool} since an admin accepted it, so it did not run.`,
      { hint: `An admin reviews the change: ${remoteServerPath(server)}.` },
    ),
  responseTooLarge: (server: string) =>
    new AppError('TOO_LARGE', `The response of the server ${server} is too large.`, {
      hint: `The limit is ${remoteServers.answerBytesMax / 1024 / 1024} MiB. Request less at a time.`,
    }),
  /** The server refuses requests, and none was sent with a credential. */
  accountRequired: (server: string) =>
    new AppError('UNAVAILABLE', `The server ${server} requires an account.`, {
      hint: `An admin connects their own account at ${connectPath(server)} and refreshes the server, or sets a credential. Calls of agents use the account of the requester where the policy says "as requester".`,
    }),
  timedOut: (server: string) => new AppError('UNAVAILABLE', `The server ${server} timed out.`),
  noResponse: (server: string) =>
    new AppError('UNAVAILABLE', `The server ${server} ended its answer without a result.`),
  tooManyRequests: (server: string) =>
    new AppError('UNAVAILABLE', `The server ${server} sent too many requests during the call.`, {
      hint: `The limit is ${remoteServers.requestsOfServerMax}. It may not work with a client that grants it nothing.`,
    }),
  refused: (server: string, code: number, message: string) =>
    new AppError('VALIDATION', `The server ${server} refused the request (${code}): ${message}`),
  notMcp: (server: string, cause: unknown) =>
    new AppError('UNAVAILABLE', `The server ${server} does not answer as an MCP server.`, {
      hint: 'An admin checks that its URL is that of an MCP server over Streamable HTTP.',
      cause,
    }),
  invalid: (details: ErrorDetail[]) =>
    new AppError('VALIDATION', 'The remote server is not valid.', { details }),
  tooMany: (count: number) =>
    new AppError('CONFLICT', `This hub has ${count} remote servers, which is the limit.`),
  grantWithoutTier: () =>
    invalid('tier', 'Grant and tier must both be set, or both be null to hide the tool'),
  foreignGrant: (server: string) =>
    invalid('grant', `Must start with ${server}: and contain no *, such as ${server}:read`),
  instructionsOutdated: (server: string) =>
    new AppError('CONFLICT', `The instructions of ${server} changed after you read them.`, {
      hint: 'Refresh the server and review the new instructions.',
    }),
  reviewOutdated: (server: string, tool: string) =>
    new AppError('CONFLICT', `The description of ${server}_${tool} changed after you read it.`, {
      hint: `Review the new description at ${remoteToolPath(server, tool)}.`,
    }),
  nothingChosen: () =>
    new AppError('VALIDATION', 'No tool is chosen.', { hint: 'Choose at least one tool.' }),
  listOutdated: () =>
    new AppError('CONFLICT', 'The tools changed after you read the list.', {
      hint: 'Review the list as it is now, then choose again.',
    }),
}

import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type {
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCRequest,
  JSONRPCResultResponse,
} from '@modelcontextprotocol/sdk/types.js'
import { remoteServers } from '../../shared/config'
import type { Connection } from '../credentials/connection'
import { checkJson, toResponseError } from '../fetch/explain-answer'
import { isEventStream, type ServiceResponse } from '../fetch/guarded-fetch'
import { remoteErrors, SessionEndedError } from './errors'
import { isFields, parseEvent, parseMessages, withoutNulls } from './read-message'

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
    const opened = Promise.withResolvers<boolean>()
    const onOpen = (status: number) => opened.resolve(status < 400)
    const request = { jsonrpc: '2.0' as const, id: noRequest, method: '' }
    const listening = this.#fetch({ method: 'GET', exchange: toExchange(request), onOpen })
      .catch(() => undefined)
      .then(() => opened.resolve(false))
    this.#sending.add(listening)
    const late = scheduler.wait(remoteServers.listenMs).then(() => false)
    this.#hasStream = await Promise.race([opened.promise, late])
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

  /** Removes the session's id, with which anyone could use the session. */
  #hideSession = (text: string): string =>
    this.sessionId ? text.replaceAll(this.sessionId, '[session]') : text
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

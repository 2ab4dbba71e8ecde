import { outside } from '../../shared/config'
import { AppError } from '../../shared/errors'
import { checkUrl, isPublicAddress, isPublicHost, type Reach } from './check-url'

const mayHaveCompleted = 'Try again later. The action may still have completed.'

/** Errors of requests to external services, as models read them. */
export const fetchErrors = {
  pathOutsideBase: () =>
    new AppError('VALIDATION', 'The path must be below the base URL.', {
      hint: 'Write it like /items/7, without "..", "//", "\\" or "#". Pass parameters in query.',
    }),
  invalidEscape: () =>
    new AppError('VALIDATION', 'The path contains an invalid percent escape.', {
      hint: 'Write escapes of UTF-8 characters like %20, and the percent sign as %25.',
    }),
  webPage: (service: string, excerpt: string) =>
    new AppError('UNAVAILABLE', `The service ${service} answered with a web page.`, {
      hint: `It begins: ${excerpt}. The path may be wrong, or the service requires a sign-in.`,
    }),
  invalidJson: (service: string, excerpt: string) =>
    new AppError('UNAVAILABLE', `The service ${service} answered with invalid JSON.`, {
      hint: `It begins: ${excerpt}`,
    }),
  status: (service: string, status: number, hint: string) =>
    new AppError(
      status >= 500 || status === 429 ? 'UNAVAILABLE' : 'VALIDATION',
      `The service ${service} answered ${status}.`,
      { hint },
    ),
  timedOut: (service: string, timeoutMs: number, cause: unknown) =>
    new AppError('UNAVAILABLE', `The service ${service} timed out after ${timeoutMs / 1000} s.`, {
      hint: mayHaveCompleted,
      cause,
    }),
  failed: (service: string, cause: unknown) =>
    new AppError(
      'UNAVAILABLE',
      `The service ${service} could not be reached, or the connection broke.`,
      { hint: mayHaveCompleted, cause },
    ),
  blocked: (service: string, reason: string) =>
    new AppError('FORBIDDEN', `The request to ${service} was blocked: ${reason}.`),
  dnsFailed: (hostname: string, resolver: string, cause: unknown) =>
    new AppError('UNAVAILABLE', `DNS lookup of ${hostname} failed (resolver: ${resolver}).`, {
      hint: 'Try again later. If it keeps failing, an admin sets ROOKERY_DNS_OVER_HTTPS to a resolver that this hub reaches, or to off.',
      cause,
    }),
}

export interface ServiceRequest {
  method: string
  url: URL
  headers: Record<string, string>
  body?: string | Uint8Array<ArrayBuffer>
  /** The body is read up to this size. */
  bytesMax?: number
  timeoutMs?: number
  /**
   * Called with each server-sent event as it arrives, without its final blank line; true: stop reading. The text of a
   * response with events is then empty.
   */
  onEvent?(event: string, headers: Headers): boolean
  /** Called when the head of the response has arrived. */
  onOpen?(status: number): void
  /** Ends the request, as the signal of the call does. */
  signal?: AbortSignal
  /** Ends a session or a call. It is sent even after the call was cancelled, with a short timeout. */
  isClosing?: boolean
  /** The caller decodes base64 and redacts the result; redacting the base64 would corrupt it. */
  isDecodedLater?: boolean
}

/** The response of an external service. */
export interface ServiceResponse {
  status: number
  headers: Headers
  /** Null: the body is not text. */
  text: string | null
  bytes: number
  /** The body is longer than what was read. */
  isTruncated: boolean
}

export type GuardedFetch = (request: ServiceRequest) => Promise<ServiceResponse>

/** Resolves a host name to its addresses. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<string[]>

interface GuardOptions {
  /** Name of the service, for error messages. */
  service: string
  reach: Reach
  /** The headers contain a credential, so redirects to another host are refused. */
  hasCredential: boolean
  signal: AbortSignal
  resolve?: Resolve | undefined
  timeoutMs?: number | undefined
}

/**
 * Creates a fetch for external services. It checks the URL of every redirect, and limits time and size.
 * Failures of the service are an `AppError` that a model can read. All external HTTP requests use it.
 */
export function createGuardedFetch(options: GuardOptions): GuardedFetch {
  return async (request) => {
    const timeoutMs = findTimeout(options, request)
    const timeout = AbortSignal.timeout(timeoutMs)
    const ends = [timeout, options.signal, ...(request.signal ? [request.signal] : [])]
    const signal = request.isClosing ? timeout : AbortSignal.any(ends)
    try {
      return await follow(options, request, signal)
    } catch (cause) {
      if (cause instanceof AppError) throw cause
      const { service } = options
      throw timeout.aborted
        ? fetchErrors.timedOut(service, timeoutMs, cause)
        : fetchErrors.failed(service, cause)
    }
  }
}

const findTimeout = ({ timeoutMs }: GuardOptions, request: ServiceRequest): number =>
  request.isClosing ? outside.farewellMs : (request.timeoutMs ?? timeoutMs ?? outside.timeoutMs)

async function follow(
  options: GuardOptions,
  request: ServiceRequest,
  signal: AbortSignal,
): Promise<ServiceResponse> {
  let hop = request
  for (let hops = 0; hops <= outside.redirectsMax; hops++) {
    await guardUrl(options, hop.url, signal)
    const { method, headers, body } = hop
    const response = await fetch(hop.url, {
      method,
      headers,
      signal,
      redirect: 'manual',
      ...(body !== undefined && { body }),
    })
    const location = redirectOf(response)
    if (location === null) return readAnswer(response, request)
    await response.body?.cancel()
    hop = toNextHop(options, hop, response.status, location)
  }
  throw blocked(options, `it redirects more than ${outside.redirectsMax} times`)
}

/** @throws FORBIDDEN, UNAVAILABLE when a URL is not one of the service, or its host is private */
async function guardUrl(
  options: Pick<GuardOptions, 'service' | 'reach' | 'resolve'>,
  url: URL,
  signal: AbortSignal,
): Promise<void> {
  const problem = checkUrl(url, options.reach)
  if (problem !== null) throw blocked(options, problem)
  await guardHost(options, url.hostname, signal)
}

/**
 * Checks that neither the name nor the addresses of a host are private, for any protocol.
 *
 * @throws FORBIDDEN, UNAVAILABLE
 */
export async function guardHost(
  options: Pick<GuardOptions, 'service' | 'reach' | 'resolve'>,
  hostname: string,
  signal: AbortSignal,
): Promise<void> {
  if (options.reach.allowPrivate) return
  if (!isPublicHost(hostname)) throw blocked(options, `${hostname} is not on the public internet`)
  if (!options.resolve) return
  const addresses = await options.resolve(hostname, signal)
  if (addresses.length === 0 || !addresses.every(isPublicAddress)) {
    throw blocked(options, `${hostname} has no public address`)
  }
}

const blocked = ({ service }: Pick<GuardOptions, 'service'>, reason: string): AppError =>
  fetchErrors.blocked(service, reason)

const isRedirect = ({ status }: Response): boolean => [301, 302, 303, 307, 308].includes(status)

const redirectOf = (response: Response): string | null =>
  isRedirect(response) ? response.headers.get('location') : null

function toNextHop(
  options: GuardOptions,
  hop: ServiceRequest,
  status: number,
  location: string,
): ServiceRequest {
  if (!URL.canParse(location, hop.url)) throw blocked(options, 'it redirects to an invalid URL')
  const url = new URL(location, hop.url)
  if (options.hasCredential && url.origin !== hop.url.origin) {
    throw blocked(options, 'it redirects to another host, which must not receive the credential')
  }
  const { method, headers, body } = hop
  // As browsers do (Fetch, 4.4): 303 always becomes GET, 301 and 302 do for POST.
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead && (status === 303 || (status < 303 && method === 'POST'))) {
    const { 'content-type': _, ...kept } = headers
    return { method: 'GET', url, headers: kept }
  }
  return { method, url, headers, ...(body !== undefined && { body }) }
}

async function readAnswer(
  response: Response,
  { bytesMax = outside.bodyBytesMax, onEvent, onOpen }: ServiceRequest,
): Promise<ServiceResponse> {
  const { status, headers } = response
  onOpen?.(status)
  const isStream = response.ok && isEventStream(headers)
  if (!onEvent || !isStream) return { status, headers, ...(await readText(response, bytesMax)) }
  const events = splitEvents((event) => onEvent(event, headers))
  const read = await readText(response, bytesMax, events.add)
  if (read.text !== null && !read.isTruncated) events.end()
  return { status, headers, ...read, text: read.text === null ? null : '' }
}

/** Whether a response is a stream of server-sent events. */
export const isEventStream = (headers: Headers): boolean =>
  /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')

const betweenEvents = /(?:\r\n|\n|\r(?!\n)){2}/

/** Splits a text that arrives in parts into server-sent events, and passes on each complete one. */
function splitEvents(onEvent: (event: string) => boolean) {
  let begun = ''
  let isStopped = false
  const add = (part: string): boolean => {
    begun += part
    // A long event is split once it is complete, not again with each part.
    if (!/[\r\n]/.test(part)) return false
    const events = begun.split(betweenEvents)
    begun = events.pop() ?? ''
    isStopped = events.some(onEvent)
    return isStopped
  }
  return {
    add,
    /** Passes on the last event, whose blank line is missing. */
    end: () => void (!isStopped && begun.trim() !== '' && onEvent(begun)),
  }
}

interface StreamRequest {
  method: string
  url: URL
  headers: Record<string, string>
  body: ReadableStream<Uint8Array> | string | null
}

/** Sends a request and returns the response with its body unread. The caller redacts what it quotes of it. */
export type GuardedStream = (request: StreamRequest) => Promise<Response>

/**
 * Creates a fetch for bodies that are passed on while they arrive. It checks the URL as `createGuardedFetch`
 * does, and follows no redirect.
 */
export const createGuardedStream =
  (options: Omit<GuardOptions, 'hasCredential' | 'timeoutMs'>): GuardedStream =>
  async ({ url, ...request }) => {
    const { service, signal } = options
    await guardUrl(options, url, signal)
    const response = await fetch(url, { ...request, signal, redirect: 'manual' }).catch(
      (cause: unknown) => {
        throw cause instanceof AppError ? cause : fetchErrors.failed(service, cause)
      },
    )
    if (!isRedirect(response)) return response
    await response.body?.cancel()
    throw fetchErrors.blocked(service, 'it redirects to another address')
  }

/**
 * Reads at most `bytesMax` of a body. `text` is null when the body is not UTF-8, because other bytes
 * could hide a credential from redaction.
 *
 * @param isEnough called with each part; true: stop reading
 */
export async function readText(
  response: Response,
  bytesMax: number,
  isEnough?: (part: string) => boolean,
): Promise<{ text: string | null; bytes: number; isTruncated: boolean }> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
  let bytes = 0
  let text: string | null = ''
  let isTruncated = false
  const append = (part: Uint8Array | null): string => {
    const decoded = text === null ? null : decode(decoder, part)
    text = decoded === null ? null : text + decoded
    return decoded ?? ''
  }
  for await (const chunk of response.body ?? []) {
    const kept: Uint8Array = chunk.subarray(0, bytesMax - bytes)
    isTruncated = kept.length < chunk.length
    bytes += kept.length
    // The part alone: a slice of the whole text would copy all of it for each part.
    const part = append(kept)
    if (isTruncated || (text !== null && isEnough?.(part))) break
  }
  // Truncation within a character does not make the body binary.
  if (!isTruncated) append(null)
  return { text: text?.includes('\0') ? null : text, bytes, isTruncated }
}

/** @returns null when the bytes are not UTF-8; without bytes what is left */
function decode(decoder: TextDecoder, bytes: Uint8Array | null): string | null {
  try {
    return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode()
  } catch {
    return null
  }
}

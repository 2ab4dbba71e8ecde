import { outside } from '../../config'
import { AppError } from '../../errors'
import { checkUrl, type Reach } from './check-url'
import { isPublicAddress, isPublicHost } from './public-address'
import { readText } from './read-text'

export interface OutsideRequest {
  method: string
  url: URL
  headers: Record<string, string>
  body?: string
  /** More than this is not read. */
  bytesMax?: number
  timeoutMs?: number
  /** Told each line as it comes; true: nothing more is needed. */
  watch?(line: string): boolean
  /** Said after the call too, so that the service can forget it; nobody waits long for it. */
  isFarewell?: boolean
  /** Who asks decodes what is in base64 and scrubs it then; a credential taken out before would break it. */
  isDecodedLater?: boolean
}

/** What a service answered, as data. */
export interface OutsideAnswer {
  status: number
  headers: Headers
  /** Null: it is not text. */
  text: string | null
  bytes: number
  /** There was more than is read. */
  isCut: boolean
}

export type GuardedFetch = (request: OutsideRequest) => Promise<OutsideAnswer>

/** The addresses of a name. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<string[]>

interface GuardOptions {
  /** For messages. */
  service: string
  reach: Reach
  /** A credential is among the headers, so no redirect may leave the host. */
  hasCredential: boolean
  signal: AbortSignal
  resolve?: Resolve | undefined
  timeoutMs?: number
}

/**
 * The one way out: every hop is checked, redirects are followed by hand, time and size are
 * bounded. What goes wrong outside is an `AppError` that a model can read.
 */
export function createGuardedFetch(options: GuardOptions): GuardedFetch {
  return async (request) => {
    const timeoutMs = findPatience(options, request)
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = request.isFarewell ? timeout : AbortSignal.any([options.signal, timeout])
    try {
      return await follow(options, request, signal)
    } catch (cause) {
      if (cause instanceof AppError) throw cause
      const what = timeout.aborted
        ? `gave no whole answer within ${timeoutMs / 1000} s`
        : 'could not be reached, or broke off its answer'
      throw new AppError('UNAVAILABLE', `The service ${options.service} ${what}.`, {
        hint: 'It may work later. What was asked may have been done all the same.',
        cause,
      })
    }
  }
}

const findPatience = ({ timeoutMs }: GuardOptions, request: OutsideRequest): number =>
  request.isFarewell ? outside.farewellMs : (request.timeoutMs ?? timeoutMs ?? outside.timeoutMs)

async function follow(
  options: GuardOptions,
  request: OutsideRequest,
  signal: AbortSignal,
): Promise<OutsideAnswer> {
  let hop = request
  for (let hops = 0; hops <= outside.redirectsMax; hops++) {
    await guard(options, hop.url, signal)
    const { method, headers, body } = hop
    const response = await fetch(hop.url, {
      ...{ method, headers, signal, redirect: 'manual' },
      ...(body !== undefined && { body }),
    })
    const location = redirectOf(response)
    if (location === null) return readAnswer(response, request)
    await response.body?.cancel()
    hop = toNextHop(options, hop, response.status, location)
  }
  throw refuse(options, `it redirects more than ${outside.redirectsMax} times`)
}

async function guard(options: GuardOptions, url: URL, signal: AbortSignal): Promise<void> {
  const problem = checkUrl(url, options.reach)
  if (problem !== null) throw refuse(options, problem)
  await guardHost(options, url.hostname, signal)
}

/** Whether a host may be connected to, by whatever protocol: neither its name nor its addresses are private. */
export async function guardHost(
  options: Pick<GuardOptions, 'service' | 'reach' | 'resolve'>,
  hostname: string,
  signal: AbortSignal,
): Promise<void> {
  if (options.reach.allowPrivate) return
  if (!isPublicHost(hostname)) throw refuse(options, `${hostname} is not on the public internet`)
  if (!options.resolve) return
  const addresses = await options.resolve(hostname, signal)
  if (addresses.length === 0 || !addresses.every(isPublicAddress)) {
    throw refuse(options, `${hostname} has no public address`)
  }
}

const refuse = ({ service }: Pick<GuardOptions, 'service'>, why: string): AppError =>
  new AppError('FORBIDDEN', `The request to ${service} was stopped: ${why}.`)

const redirectOf = ({ status, headers }: Response): string | null =>
  [301, 302, 303, 307, 308].includes(status) ? headers.get('location') : null

function toNextHop(
  options: GuardOptions,
  hop: OutsideRequest,
  status: number,
  location: string,
): OutsideRequest {
  if (!URL.canParse(location, hop.url)) throw refuse(options, 'it redirects to no address')
  const url = new URL(location, hop.url)
  if (options.hasCredential && url.origin !== hop.url.origin) {
    throw refuse(options, 'it redirects to another host, and a credential must not follow')
  }
  const { method, headers, body } = hop
  // What browsers do (Fetch, 4.4): 303 always, 301 and 302 for POST become GET.
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead && (status === 303 || (status < 303 && method === 'POST'))) {
    const { 'content-type': _, ...kept } = headers
    return { method: 'GET', url, headers: kept }
  }
  return { method, url, headers, ...(body !== undefined && { body }) }
}

async function readAnswer(
  response: Response,
  { bytesMax = outside.bodyBytesMax, watch }: OutsideRequest,
): Promise<OutsideAnswer> {
  const read = await readText(response, bytesMax, watch && watchLines(watch))
  return { status: response.status, headers: response.headers, ...read }
}

/** Lines of a text that comes in parts; the last one is whole when the text is. */
function watchLines(watch: (line: string) => boolean): (part: string) => boolean {
  let begun = ''
  return (part) => {
    begun += part
    // A long line is looked at when it is whole, and not again with each of its parts.
    if (!part.includes('\n')) return false
    const lines = begun.split(/\r\n|\n/)
    begun = lines.pop() ?? ''
    return lines.some(watch)
  }
}

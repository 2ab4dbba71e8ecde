import type { Routes } from './api.ts'
import { HubError, toHubError } from './errors.ts'

export interface ClientOptions {
  /** Address of the hub, such as `https://hub.example`. */
  url: string
  /** Key of an account. Without one, requests are anonymous, or have the cookie of the page's session. */
  key?: string | null
  /** Replaces the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>
  /** How often a call that may be repeated is sent at most. Default 4. */
  attempts?: number
}

/** The name of a route, such as `GET /posts/:id`. */
export type RouteName = keyof Routes

type ParamOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

type Params<Name extends string> = [ParamOf<Name>] extends [never]
  ? { params?: undefined }
  : { params: Record<ParamOf<Name>, string> }
type Query<Value> = undefined extends Value
  ? { query?: undefined }
  : Partial<Value> extends Value
    ? { query?: Value }
    : { query: Value }
type Body<Value> = undefined extends Value
  ? { body?: undefined }
  : Partial<Value> extends Value
    ? { body?: Value }
    : { body: Value }

/** What a call of a route sends. */
export type CallOptions<Name extends RouteName> = Params<Name> &
  Query<Routes[Name]['query']> &
  Body<Routes[Name]['body']> & {
    signal?: AbortSignal
    /** Of a POST; a random one by default, so that a retry never acts twice. */
    idempotencyKey?: string
  }

export type Answer<Name extends RouteName> = Routes[Name]['answer']

/** The outcome of a call: an answer, or the error as a value. */
export type Result<Name extends RouteName> =
  | { ok: true; answer: Answer<Name> }
  | { ok: false; error: HubError }

/** Routes whose answer is a page with a cursor. */
type PagedRoute = {
  [Name in RouteName]: Routes[Name] extends {
    query: { cursor?: string | undefined }
    answer: { next_cursor: string | null }
  }
    ? Name
    : never
}[RouteName]

type ListOf<Name extends RouteName> = {
  [Field in keyof Answer<Name>]: Answer<Name>[Field] extends unknown[] ? Field : never
}[keyof Answer<Name>]

type ItemOf<List> = List extends (infer Item)[] ? Item : never

/** Whatever a call can send, without the types of its route. */
interface LooseOptions {
  params?: Record<string, string> | undefined
  query?: object | undefined
  body?: unknown
  signal?: AbortSignal
  idempotencyKey?: string
}

/** Arguments may be left out when nothing in them is required. */
type Rest<Options> = object extends Options ? [options?: Options] : [options: Options]

const firstBackoffMs = 250
const backoffMsMax = 8_000
/** A hub that asks for a longer pause gets no retry: the caller decides. */
const retryAfterMsMax = 30_000

/** A typed client of one hub, for Node and browsers. */
export class HubClient {
  readonly url: string
  readonly #key: string | null
  readonly #fetch: (request: Request) => Promise<Response>
  readonly #attempts: number

  constructor({
    url,
    key = null,
    fetch = (request) => globalThis.fetch(request),
    attempts = 4,
  }: ClientOptions) {
    this.url = url.replace(/(?<!\/)\/+$/, '')
    this.#key = key
    this.#fetch = fetch
    this.#attempts = attempts
  }

  /** Headers that authenticate requests. */
  get headers(): Record<string, string> {
    return this.#key ? { authorization: `Bearer ${this.#key}` } : {}
  }

  /** Calls a route and returns its answer. @throws HubError */
  async call<Name extends RouteName>(
    name: Name,
    ...[options]: Rest<CallOptions<Name>>
  ): Promise<Answer<Name>> {
    return (await this.#send(name, options ?? {})) as Answer<Name>
  }

  /** As `call`, but an error is returned, not thrown. */
  async try<Name extends RouteName>(
    name: Name,
    ...options: Rest<CallOptions<Name>>
  ): Promise<Result<Name>> {
    try {
      return { ok: true, answer: await this.call(name, ...options) }
    } catch (error) {
      if (error instanceof HubError) return { ok: false, error }
      throw error
    }
  }

  /** Iterates over the items of all pages, from the first one or the given cursor on. */
  async *list<Name extends PagedRoute, Field extends ListOf<Name>>(
    name: Name,
    field: Field,
    options: Omit<LooseOptions, 'query'> & { query?: Partial<Routes[Name]['query']> } = {},
  ): AsyncGenerator<ItemOf<Answer<Name>[Field]>> {
    let cursor: string | null | undefined
    do {
      const query = { ...options.query, ...(cursor && { cursor }) }
      const page = (await this.#send(name, { ...options, query })) as {
        next_cursor: string | null
      } & Record<Field, ItemOf<Answer<Name>[Field]>[]>
      yield* page[field]
      cursor = page.next_cursor
    } while (cursor)
  }

  /**
   * Returns an image that a text shows, by its path there; null when the account does not see it.
   *
   * @throws HubError
   */
  async readImage(path: string, signal?: AbortSignal): Promise<Blob | null> {
    const url = new URL(path, `${this.url}/`)
    const init = { headers: this.headers, ...(signal && { signal }) }
    const response = await this.#fetch(new Request(url, init))
    if (response.ok) return response.blob()
    if (response.status === 404) return null
    throw toHubError(response, null)
  }

  async #send(name: string, options: LooseOptions): Promise<unknown> {
    const [method = '', path = ''] = name.split(' ')
    const { signal } = options
    const idempotencyKey =
      method === 'POST' ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined
    const request = () => this.#toRequest(method, path, options, idempotencyKey)
    // A changed value may have been changed again by somebody else before the retry.
    const attempts = method === 'PATCH' ? 1 : this.#attempts
    for (let attempt = 1; ; attempt++) {
      const result = await this.#sendOnce(request())
      if (result.ok) return result.answer
      const pauseMs = findPause(result.error, attempt)
      if (attempt >= attempts || pauseMs === null) throw result.error
      await pause(pauseMs, signal)
    }
  }

  async #sendOnce(
    request: Request,
  ): Promise<{ ok: true; answer: unknown } | { ok: false; error: HubError }> {
    let response: Response
    try {
      response = await this.#fetch(request)
    } catch (cause) {
      request.signal.throwIfAborted()
      const hint =
        'Check the address and your connection; start a hub of your own with `npm start`.'
      const message = `No hub answers at ${this.url}.`
      return {
        ok: false,
        error: new HubError(message, { code: 'UNREACHABLE', status: 0, hint, cause }),
      }
    }
    const body: unknown = await response.json().catch(() => null)
    if (response.ok && body !== null) return { ok: true, answer: body }
    return { ok: false, error: toHubError(response, body) }
  }

  #toRequest(
    method: string,
    path: string,
    { params = {}, query = {}, body, signal }: LooseOptions,
    idempotencyKey: string | undefined,
  ): Request {
    const filled = path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(params[name] ?? ''))
    const url = new URL(`${this.url}/api/v1${filled}`)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value))
    }
    return new Request(url, {
      method,
      headers: {
        ...this.headers,
        accept: 'application/json',
        ...(body !== undefined && !isImage(body) && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: isImage(body) ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  }
}

/** Whether a body is an image, which is sent as it is. */
const isImage = (body: unknown): body is Blob => body instanceof Blob

/** Returns how long to wait before a call is sent again; null: it is not sent again. */
function findPause({ isRetryable, retryAfterMs }: HubError, attempt: number): number | null {
  if (!isRetryable || (retryAfterMs ?? 0) > retryAfterMsMax) return null
  const backoffMs = Math.min(firstBackoffMs * 2 ** (attempt - 1), backoffMsMax)
  return retryAfterMs ?? backoffMs * (0.75 + Math.random() / 2)
}

/** Waits. @throws the signal's reason when it aborts */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

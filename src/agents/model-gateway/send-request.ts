import { modelGateway } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { ActivationId } from '../../shared/ids'
import type { ModelProtocol } from '../../shared/runner-protocol'
import type { ModelRequestArbiter, ModelRequestResult } from '../contract/coding-agents'
import type { ModelFailure } from '../loop/message'
import { classifyFailure, type FailureContext } from '../models/classify-failure'
import type { CallTimeouts, Clock, Upstream } from '../models/model-port'
import { modelProviders } from '../models/providers/model-providers'
import { openAIRetryPolicy } from '../models/providers/provider'
import { type GatewayError, toErrorResponse } from './gateway-errors'
import { readField, readText } from './json-fields'
import { type AnswerFacts, createAnswerReader } from './read-answer'
import { parseObject } from './read-request'

interface Sending {
  protocol: ModelProtocol
  upstream: Upstream
  /** The rewritten body. */
  body: string
  /** Whether the program wants a stream of events. */
  isStreamed: boolean
  /** The program's request. */
  request: Request
  clock: Clock
  settlement: Settlement
}

/** Answers of what stands before a provider and has waited in vain: the provider may have worked on. */
const doubtfulStatuses = new Set([504, 520, 524])

/** Sends an admitted request to its provider and returns the answer for the program. Settles on every path. */
export async function sendRequest(sending: Sending): Promise<Response> {
  const { protocol, upstream, clock, settlement } = sending
  const abort = new AbortController()
  const fail = (failure: ProviderFailure, result: Partial<ModelRequestResult>): Response => {
    settlement.settle({ ...noAnswer, problem: failure.problem, ...result })
    return toErrorResponse(protocol, failure.error)
  }
  const sent = await fetchInTime(sending, abort)
  if (!(sent instanceof Response)) {
    // A provider that was reached may have worked for nobody, and a connection that breaks looks like none.
    const mayBeCharged = sent !== 'not_sent'
    return fail(toNoAnswer(upstream, sent), {
      finish: sent === 'cancelled' ? 'cancelled' : 'error',
      mayBeCharged,
    })
  }
  const { status } = sent
  if (!sent.ok) {
    const mayBeCharged = doubtfulStatuses.has(status)
    // A connection that never ends its error is given up with the rest of the request.
    const stopTimer = clock.setTimer(upstream.timeouts.betweenBytesMs, () => abort.abort())
    const failure = await toProviderFailure(upstream, sent, clock.now())
    stopTimer()
    return fail(failure, { status, mayBeCharged })
  }
  const type = sent.headers.get('content-type') ?? ''
  if (sent.body === null || type.startsWith('text/html')) {
    abort.abort()
    return fail(toWrongAnswer(upstream), { status, mayBeCharged: sent.body === null })
  }
  return passOn(sending, sent, sent.body, abort)
}

/** Sends the request; `timeout`, `unreachable`, `cancelled` or `not_sent` when no answer begins. */
async function fetchInTime(
  { protocol, upstream, body, request, clock }: Sending,
  abort: AbortController,
): Promise<Response | NoAnswer> {
  let cause: 'timeout' | 'cancelled' | null = null
  const stop = (why: 'timeout' | 'cancelled') => {
    cause ??= why
    abort.abort()
  }
  const stopTimer = clock.setTimer(upstream.timeouts.firstByteMs, () => stop('timeout'))
  const onGone = () => stop('cancelled')
  request.signal.addEventListener('abort', onGone, { once: true })
  try {
    return await upstream.fetch(toEndpoint(protocol, upstream.baseUrl), {
      method: 'POST',
      headers: toUpstreamHeaders(protocol, upstream, request),
      body,
      // A redirect would send the key to another address.
      redirect: 'manual',
      signal: abort.signal,
    })
  } catch (error) {
    // The hub's own errors come before it sends anything.
    return cause ?? (error instanceof AppError ? 'not_sent' : 'unreachable')
  } finally {
    stopTimer()
    request.signal.removeEventListener('abort', onGone)
  }
}

/** Passes on the provider's answer as it comes, and settles the request at its end. */
function passOn(
  { protocol, upstream, clock, settlement, ...sending }: Sending,
  sent: Response,
  body: ReadableStream<Uint8Array>,
  abort: AbortController,
): Response {
  const type = sent.headers.get('content-type') ?? ''
  // Some servers give a stream no type of its own; others answer in one piece, whatever was asked.
  const isStreamed =
    type.startsWith('text/event-stream') || (sending.isStreamed && !/json/.test(type))
  const reader = createAnswerReader(protocol, isStreamed)
  const stream = relayAnswer(body, {
    clock,
    timeouts: upstream.timeouts,
    abort,
    onBytes: reader.add,
    onEnd(end) {
      reader.end()
      settlement.settle(toResult(sent.status, reader.facts(), end))
    },
  })
  return new Response(stream, {
    status: 200,
    headers: {
      'content-type': isStreamed ? 'text/event-stream; charset=utf-8' : 'application/json',
    },
  })
}

const endProblems: Record<RelayEnd, string | null> = {
  complete: null,
  cancelled: null,
  broken: 'The connection to the provider broke during the answer.',
  stalled: 'The provider stopped in the middle of the answer.',
  too_long: 'The answer was longer than the hub passes on.',
}

/** Returns the result of an answer. What the protocol said counts, also when the connection ended badly after it. */
function toResult(status: number, facts: AnswerFacts, end: RelayEnd): ModelRequestResult {
  const { finish, usage, hasEvents, problem } = facts
  const noEvents = end === 'complete' && !hasEvents ? 'The answer is not of the protocol.' : null
  const early = end === 'complete' ? 'unknown' : end === 'cancelled' ? 'cancelled' : 'error'
  return {
    status,
    finish: finish ?? early,
    usage: finish === null ? null : usage,
    mayBeCharged: true,
    problem:
      (problem ?? noEvents ?? (finish === null ? endProblems[end] : null))?.slice(0, 1_000) ?? null,
  }
}

/**
 * Betas that change no price, let the provider run nothing, and let it read only what is in the request. Others are left
 * out: what they would allow in a body is refused.
 */
const passedBetas = new Set([
  'claude-code',
  'interleaved-thinking',
  'adaptive-thinking',
  'redact-thinking',
  'effort',
  'thinking-token-count',
  'thinking-display-updates',
  'thinking-binding-controls',
  'context-management',
  'prompt-caching',
  'prompt-caching-scope',
  'structured-outputs',
  'fine-grained-tool-streaming',
  'token-efficient-tools',
  'tool-examples',
  'output-128k',
  'advanced-tool-use',
  'mid-conversation-system',
  'mid-conversation-tool-changes',
  'inline-tools',
  'task-budgets',
  'token-counting',
  'per-turn-control',
])

/** A beta's name without its date. */
const betaName = /^([a-z\d-]{1,60}?)-(?:\d{8}|\d{4}-\d\d-\d\d)$/

/** Returns the URL of a provider's endpoint. A base URL of Anthropic works with and without `/v1`. */
function toEndpoint(protocol: ModelProtocol, baseUrl: string): string {
  switch (protocol) {
    case 'anthropic-messages':
      return `${baseUrl.endsWith('/v1') ? baseUrl : `${baseUrl}/v1`}/messages`
    case 'openai-chat':
      return `${baseUrl}/chat/completions`
    case 'openai-responses':
      return `${baseUrl}/responses`
  }
}

/** Returns the headers for a provider: its key, and of the program's only those that the protocol needs. */
function toUpstreamHeaders(
  protocol: ModelProtocol,
  { key }: Pick<Upstream, 'key'>,
  { headers }: Request,
): Record<string, string> {
  const base = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  if (protocol !== 'anthropic-messages')
    return { ...base, ...(key && { authorization: `Bearer ${key}` }) }
  const version = headers.get('anthropic-version') ?? ''
  const betas = (headers.get('anthropic-beta') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => passedBetas.has(betaName.exec(name)?.[1] ?? ''))
  return {
    ...base,
    'x-api-key': key,
    'anthropic-version': /^\d{4}-\d\d-\d\d$/.test(version) ? version : '2023-06-01',
    ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
  }
}

/** How the bytes of an answer ended. */
type RelayEnd = 'complete' | 'broken' | 'stalled' | 'too_long' | 'cancelled'

interface Relay {
  clock: Clock
  timeouts: Pick<CallTimeouts, 'betweenBytesMs'>
  /** Ends the provider's connection. */
  abort: AbortController
  onBytes(bytes: Uint8Array): void
  /** Called once, after the last byte. */
  onEnd(end: RelayEnd): void
}

/**
 * Returns a stream that passes on the bytes of an answer as they come and reads the next ones only when its
 * reader has taken these, so that a slow reader fills no memory. When the reader goes away, so does the
 * provider's connection. Only waiting for the provider counts as a stall.
 */
function relayAnswer(
  body: ReadableStream<Uint8Array>,
  { clock, timeouts, abort, onBytes, onEnd }: Relay,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let bytes = 0
  let isEnded = false
  const end = (how: RelayEnd) => {
    if (isEnded) return
    isEnded = true
    reads.stop()
    onEnd(how)
  }
  const stop = (how: RelayEnd) => {
    end(how)
    abort.abort()
    reader.cancel().catch(() => undefined)
  }
  const reads = createTimedReads(reader, clock, timeouts.betweenBytesMs)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await reads.next()
        if (isEnded) return
        if (next === 'stalled' || next === 'broken') {
          stop(next)
          controller.error(new Error('The provider ended the answer early.'))
        } else if (next === 'complete') {
          end('complete')
          controller.close()
        } else {
          bytes += next.length
          if (bytes > modelGateway.answerBytesMax) {
            stop('too_long')
            controller.error(new Error('The answer is too long.'))
          } else {
            onBytes(next)
            controller.enqueue(next)
          }
        }
      },
      cancel: () => stop('cancelled'),
    },
    { highWaterMark: 0 },
  )
}

type Next = Uint8Array | 'complete' | 'broken' | 'stalled'

/**
 * Reads the chunks of an answer; `stalled` when the next one does not come in time. One timer serves all reads: it is
 * moved when it fires, because an answer has thousands of chunks.
 */
function createTimedReads(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  clock: Clock,
  timeoutMs: number,
): { next(): Promise<Next>; stop(): void } {
  let since: number | null = null
  let giveUp: (next: Next) => void = () => undefined
  let cancelTimer: (() => void) | null = null
  const check = () => {
    cancelTimer = null
    if (since === null) return
    const left = since + timeoutMs - clock.now()
    if (left > 0) cancelTimer = clock.setTimer(left, check)
    else giveUp('stalled')
  }
  return {
    async next() {
      since = clock.now()
      cancelTimer ??= clock.setTimer(timeoutMs, check)
      const stalled = new Promise<Next>((resolve) => {
        giveUp = resolve
      })
      const read = reader.read().then(
        ({ done, value }): Next => (done ? 'complete' : value),
        (): Next => 'broken',
      )
      const next = await Promise.race([read, stalled])
      since = null
      return next
    },
    stop: () => cancelTimer?.(),
  }
}

/** The result of a request without an answer. */
export const noAnswer: ModelRequestResult = {
  status: null,
  finish: 'error',
  usage: null,
  mayBeCharged: false,
  problem: null,
}

/** Reports how a request ended: once, whichever of its ends comes first. */
export interface Settlement {
  settle(result: ModelRequestResult): void
  /** Resolves when the result is stored, or when nobody can store it. */
  done: Promise<void>
}

/**
 * Creates the settlement of an admitted request. An object that does not answer is asked again; when it stays silent,
 * the worst case that it has journaled stands.
 */
export function createSettlement(
  arbiter: ModelRequestArbiter,
  activationId: ActivationId,
  request: number,
  clock: Clock,
): Settlement {
  let finish: () => void = () => undefined
  const done = new Promise<void>((resolve) => {
    finish = resolve
  })
  let isSettled = false
  const wait = (ms: number) => new Promise<void>((resolve) => clock.setTimer(ms, resolve))
  const report = async (result: ModelRequestResult) => {
    for (const ms of [...modelGateway.settleAgainMs, null]) {
      try {
        return await arbiter.settleRequest(activationId, request, result)
      } catch {
        if (ms !== null) await wait(ms)
      }
    }
  }
  return {
    settle(result) {
      if (isSettled) return
      isSettled = true
      void report(result).then(finish, finish)
    },
    done,
  }
}

/** A provider's failure: what the program gets, and what the run's trace says. */
interface ProviderFailure {
  error: GatewayError
  problem: string
}

/** Statuses after which programs change their prompt, so these keep them. */
const keptStatuses = new Set([413, 422])
/** A program waits this long for a provider; after a longer `Retry-After` it would be silent for too long. */
const waitMsMax = 120_000

/**
 * Converts an error of a provider for the program. It gets the provider's words, without keys and addresses, but
 * never its body or headers: those can quote the hub's key. A transient error stays one, so the program tries again;
 * every try is a request that counts.
 */
async function toProviderFailure(
  upstream: Upstream,
  response: Response,
  now: number,
): Promise<ProviderFailure> {
  const failure = await classify(upstream, response, now)
  const { status } = response
  const words = failure.detail ? upstream.redact(failure.detail) : null
  const waitMs = failure.retryAfterMs ?? 0
  const isTransient = failure.isRetryable && waitMs <= waitMsMax
  return {
    problem: describeProblem(status, failure.message, words),
    error: {
      status: isTransient || keptStatuses.has(status) ? status : 400,
      code: failure.code.toLowerCase(),
      message: composeMessage(upstream, status, failure),
      ...(isTransient && waitMs > 0 && { retryAfterSeconds: Math.ceil(waitMs / 1_000) }),
    },
  }
}

/** Returns the provider's words. Those about a quota may not name it; the hub knows it by their code. */
function describeProblem(status: number, message: string, words: string | null): string {
  if (words === null) return message
  return /\b(?:quota|credit)\b/.test(message)
    ? `${message} (${status}: ${words})`
    : `${status}: ${words}`
}

async function classify(
  upstream: Upstream,
  response: Response,
  now: number,
): Promise<ModelFailure> {
  const bytes = await readSome(response, modelGateway.errorBytesMax)
  const body = parseObject(bytes)
  const inner = readField(body, 'error')
  const error = {
    statusCode: response.status,
    message: typeof inner === 'string' ? inner : readText(inner, 'message'),
    data: body,
    responseBody: new TextDecoder().decode(bytes),
    responseHeaders: Object.fromEntries(response.headers),
  }
  return classifyFailure(error, toContext(upstream, now))
}

function composeMessage(
  upstream: Upstream,
  status: number,
  { code, detail }: Pick<ModelFailure, 'code' | 'detail'>,
): string {
  const { title } = upstream
  // A refusal of the key quotes the key.
  if (code === 'PROVIDER_AUTH') return `${title} refused the hub's key (${status}).`
  const said = withoutAddresses(upstream.redact(detail ?? ''), upstream)
  return `${title} answered ${status}${said === '' ? '.' : `: ${said}`}`
}

/** Why there is no answer. `not_sent`: the hub did not send the request. */
type NoAnswer = 'timeout' | 'unreachable' | 'cancelled' | 'not_sent'

/** Describes a provider that did not answer at all. */
function toNoAnswer(upstream: Upstream, cause: NoAnswer): ProviderFailure {
  const { title, timeouts } = upstream
  const message =
    cause === 'timeout'
      ? `${title} timed out: no answer began within ${timeouts.firstByteMs / 1_000} seconds.`
      : cause === 'cancelled'
        ? 'The program ended the request before the answer began.'
        : `${title} cannot be reached.`
  return {
    problem: message,
    error: { status: cause === 'timeout' ? 504 : 502, code: cause, message },
  }
}

/** Describes an answer that is not one of the protocol. */
const toWrongAnswer = ({ title, addressSetting }: Upstream): ProviderFailure => ({
  problem: `${title} answered 200 with a web page. Check ${addressSetting}.`,
  error: {
    status: 400,
    code: 'wrong_protocol',
    message: `${title} answered with a web page: its address on the hub is wrong.`,
  },
})

const toContext = (upstream: Upstream, now: number): FailureContext => ({
  isUnreachable: false,
  hasResponse: false,
  chars: 0,
  now,
  providerName: upstream.title,
  modelName: upstream.modelName,
  keyVariable: upstream.keyVariable,
  address: '',
  addressSetting: upstream.addressSetting,
  secrets: [upstream.key],
  retryPolicy: modelProviders[upstream.provider]?.retryPolicy ?? openAIRetryPolicy,
})

/** Removes addresses from a provider's words: a program has no use for those of the hub's own network. */
const withoutAddresses = (text: string, { baseUrl }: Upstream): string =>
  text
    .replaceAll(baseUrl, '[address]')
    .replaceAll(new URL(baseUrl).host, '[address]')
    .replace(/https?:\/\/\S+/g, '[address]')

/** Reads the beginning of a body; what breaks or does not come in time is left out. */
async function readSome(response: Response, bytesMax: number): Promise<Uint8Array> {
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    while (reader && length < bytesMax) {
      const { done, value } = await reader.read()
      if (done) break
      chunks.push(value)
      length += value.length
    }
  } catch {
    // What has arrived is enough.
  }
  reader?.cancel().catch(() => undefined)
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes.slice(0, bytesMax)
}

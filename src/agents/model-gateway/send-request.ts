import { AppError } from '../../shared/errors'
import type { ModelProtocol } from '../../shared/runner-protocol'
import type { ModelRequestResult } from '../contract/coding-agents'
import type { Upstream } from '../models/model-port'
import type { Clock } from '../models/response-timer'
import type { AnswerFacts } from './answer-facts'
import { createAnswerReader } from './answer-reader'
import { toErrorResponse } from './gateway-errors'
import {
  type NoAnswer,
  type ProviderFailure,
  toNoAnswer,
  toProviderFailure,
  toWrongAnswer,
} from './provider-error'
import { type RelayEnd, relayAnswer } from './relay-answer'
import { noAnswer, type Settlement } from './settle-once'
import { toEndpoint, toUpstreamHeaders } from './upstream-request'

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

import type { FakeProvider, IdleTimeout } from './create-agent'
import type { FakeAnswer } from './fake-model-wire'
import { sample } from './sample'

/**
 * A provider failure and its expected result: how the activation ends, how many requests were sent,
 * and how many of them were charged.
 */
export interface FailureCase {
  what: string
  answers: FakeAnswer[]
  requests: number
  /** Charged calls; those with an unknown answer at their maximum cost, marked as estimated. */
  paid: number
  estimated?: number
  outcome: string
  error?: string
  /** Bounds of each delay before a retry, in milliseconds. */
  pauses?: [number, number][]
  /** Results returned to the model, and calls that ran. */
  tools?: { results: number; run: number | Record<FakeProvider, number> }
  reply?: RegExp
  /** Milliseconds, or as soon as the provider has received a request. */
  idleTimeout?: IdleTimeout
}

const ok = { text: 'All is well.' }
const well = /All is well/
const search = (id: string, query: unknown = 'tin') => ({
  id,
  name: 'hub_search',
  arguments: typeof query === 'string' && query.startsWith('{') ? query : { query },
})
const first: [number, number] = [950, 2_000]
const second: [number, number] = [1_950, 4_000]
const third: [number, number] = [3_950, 8_000]
const everyPause = [first, second, third]

export const failureCases: FailureCase[] = [
  {
    what: '429 with Retry-After',
    answers: [{ status: 429, retryAfter: '7' }, ok],
    requests: 2,
    paid: 1,
    outcome: 'completed',
    pauses: [[6_500, 7_000]],
    reply: well,
  },
  {
    what: '429 with a Retry-After of an hour',
    answers: [{ status: 429, retryAfter: '3600' }, ok],
    requests: 2,
    paid: 1,
    outcome: 'completed',
    pauses: [[29_500, 30_000]],
    reply: well,
  },
  {
    what: '429 every time',
    answers: [{ status: 429 }],
    requests: 4,
    paid: 0,
    outcome: 'failed',
    error: 'PROVIDER_BUSY',
    pauses: everyPause,
  },
  // How each model's client reads each status is a test of its own.
  ...sample([408, 409, 500, 502, 503, 504, 520, 524, 529], 3).map((status) => ({
    what: `${status} twice`,
    answers: [{ status }, { status }, ok],
    requests: 3,
    paid: 1,
    outcome: 'completed',
    pauses: [first, second],
    reply: well,
  })),
  ...[400, 404, 422].map((status) => ({
    what: `${status}`,
    answers: [{ status }, ok],
    requests: 1,
    paid: 0,
    outcome: 'failed',
    error: 'PROVIDER_ERROR',
    pauses: [],
  })),
  {
    what: 'a connection that breaks before two answers',
    answers: [{ fault: 'reset' }, { fault: 'reset' }, ok],
    requests: 3,
    paid: 1,
    outcome: 'completed',
    pauses: [first, second],
    reply: well,
  },
  {
    what: 'a stream that breaks in the middle',
    answers: [{ text: 'one two three four five six', fault: 'cut' }, ok],
    requests: 2,
    paid: 2,
    estimated: 1,
    outcome: 'completed',
    pauses: [first],
    reply: well,
  },
  {
    what: 'an error in the middle of a stream',
    answers: [{ text: 'one two three four five six', fault: 'error', pieceMs: 1 }, ok],
    requests: 2,
    paid: 2,
    estimated: 1,
    outcome: 'completed',
    pauses: [first],
    reply: well,
  },
  {
    what: 'a clean end without a finish reason',
    answers: [{ text: 'The tin holds', fault: 'end' }],
    requests: 1,
    paid: 1,
    estimated: 1,
    outcome: 'completed',
    reply: /The tin holds/,
  },
  {
    what: 'silence before every answer',
    answers: [{ text: 'late', latencyMs: 60_000 }],
    requests: 4,
    paid: 4,
    estimated: 4,
    outcome: 'failed',
    error: 'TIMEOUT',
    pauses: everyPause,
    idleTimeout: 'once received',
  },
  {
    what: 'silence in the middle',
    answers: [{ text: 'one two three four five six', fault: 'stall' }, ok],
    requests: 2,
    paid: 2,
    estimated: 1,
    outcome: 'completed',
    pauses: [first],
    reply: well,
    idleTimeout: 1_500,
  },
  {
    what: 'a body that is not the protocol',
    answers: [{ fault: 'garbage' }],
    requests: 1,
    paid: 1,
    estimated: 1,
    outcome: 'failed',
    error: 'PROVIDER_ERROR',
  },
  {
    what: 'malformed JSON in tool arguments',
    answers: [{ calls: [search('c1', '{"query": "ti'), search('c2')] }, ok],
    requests: 2,
    paid: 2,
    outcome: 'completed',
    tools: { results: 2, run: 1 },
    reply: well,
  },
  {
    what: 'an unknown tool',
    answers: [{ calls: [{ id: 'c1', name: 'hub_fly', arguments: {} }] }, ok],
    requests: 2,
    paid: 2,
    outcome: 'completed',
    tools: { results: 1, run: 0 },
    reply: well,
  },
  {
    what: 'an empty answer',
    answers: [{ text: '' }, ok],
    requests: 2,
    paid: 2,
    outcome: 'completed',
    reply: well,
  },
  {
    what: 'nothing but empty answers',
    answers: [{ text: '' }],
    requests: 2,
    paid: 2,
    outcome: 'failed',
    error: 'EMPTY_RESPONSE',
  },
  {
    what: 'the same call id twice',
    answers: [{ calls: [search('same'), search('same', 'biscuits')] }, ok],
    requests: 2,
    paid: 2,
    outcome: 'completed',
    tools: { results: 2, run: 1 },
    reply: well,
  },
  {
    what: '200 tool calls at once',
    answers: [{ calls: Array.from({ length: 200 }, (_, n) => search(`call_${n}`)) }, ok],
    requests: 2,
    paid: 2,
    outcome: 'completed',
    tools: { results: 200, run: 16 },
    reply: well,
  },
  {
    what: 'calls under length',
    answers: [{ calls: [search('c1')], finish: 'length' }, ok],
    requests: 2,
    paid: 2,
    outcome: 'completed',
    tools: { results: 1, run: 0 },
    reply: well,
  },
  {
    what: 'calls under stop',
    answers: [{ calls: [search('c1')], finish: 'stop' }, ok],
    requests: 2,
    paid: 2,
    outcome: 'completed',
    tools: { results: 1, run: 1 },
    reply: well,
  },
  {
    what: 'an answer of 2 MB',
    answers: [{ text: 'word '.repeat(400_000), pieceChars: 20_000 }, ok],
    requests: 1,
    paid: 1,
    estimated: 1,
    outcome: 'completed',
    reply: /Truncated/,
  },
  {
    what: 'a filtered answer',
    answers: [{ text: 'I', calls: [search('c1')], finish: 'content-filter' }, ok],
    requests: 1,
    paid: 1,
    outcome: 'content_filtered',
    error: 'CONTENT_FILTERED',
  },
  {
    what: 'an unknown finish reason',
    answers: [{ text: 'So far.', finish: 'unheard-of' }],
    requests: 1,
    paid: 1,
    outcome: 'completed',
    reply: /So far\./,
  },
]

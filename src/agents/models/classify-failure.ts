import type { ModelFailure } from '../loop/message'
import type { RetryPolicy } from './providers/retry-policy'

/** Who failed, for messages that people can act on. */
export interface FailureContext {
  /** As people know it, e.g. `Anthropic`. */
  providerName: string
  modelName: string
  /** The environment variable that holds the key. */
  keyVariable: string
  /** Values that must not be shown to anybody. */
  secrets: string[]
  /** Milliseconds since 1970, to read dates in `Retry-After`. */
  now: number
  /** The answer had begun to arrive when it failed. */
  hasAnswerBegun: boolean
  retries: RetryPolicy
}

const messageCharsMax = 300

/**
 * What a thrown or streamed provider error means: whether the same call may succeed later (L24)
 * and whether it may have been charged (L36). Its message is ours alone; the provider's own words
 * may quote what users wrote, so they are kept apart, without keys, for the trace (L35).
 */
export function classifyFailure(error: unknown, context: FailureContext): ModelFailure {
  const status = readStatus(error, context.retries)
  if (status === 401 || status === 403) return describeAuthFailure(status, context)
  if (status !== null && context.retries.statuses.has(status)) {
    return describeBusy(status, error, context)
  }
  const detail = quoteProvider(error, context.secrets)
  if (status === null && isNetworkError(error)) {
    return {
      code: 'NETWORK',
      message: `The connection to ${context.providerName} failed.`,
      detail,
      isRetryable: true,
      retryAfterMs: null,
      mayBeCharged: true,
    }
  }
  const answered = status === null ? 'sent something unreadable' : `answered ${status}`
  const advice = adviseOn(error, status, context)
  return {
    code: 'PROVIDER_ERROR',
    message: `${context.providerName} ${answered}${describeKind(error, context)} for ${context.modelName}. ${advice}`,
    detail,
    isRetryable: false,
    retryAfterMs: null,
    mayBeCharged: status === null || context.hasAnswerBegun,
  }
}

/**
 * A 200 without one event of the protocol: a wrong base URL leads to somebody's web page, say.
 *
 * @param contentType of the answer; empty when it told none
 */
export function describeWrongProtocol(
  contentType: string,
  baseUrlVariable: string,
  { providerName, modelName }: Pick<FailureContext, 'providerName' | 'modelName'>,
): ModelFailure {
  const kind = /^[\w.+-]+\/[\w.+-]+/.exec(contentType)?.[0].slice(0, 60)
  return {
    code: 'PROVIDER_ERROR',
    message:
      `${providerName} answered 200 for ${modelName} with ${kind ?? 'no content type'} and not one event: ` +
      `this address does not speak its protocol. Check ${baseUrlVariable} or \`brain.api_base\`.`,
    isRetryable: false,
    retryAfterMs: null,
    mayBeCharged: kind === 'text/event-stream',
  }
}

function describeAuthFailure(status: number, context: FailureContext): ModelFailure {
  return {
    code: 'PROVIDER_AUTH',
    message:
      `${context.providerName} refused the key (${status}). ` +
      `Check ${context.keyVariable} and whether its account may use ${context.modelName}.`,
    isRetryable: false,
    retryAfterMs: null,
    mayBeCharged: false,
  }
}

function describeBusy(status: number, error: unknown, context: FailureContext): ModelFailure {
  const isUsedUp = isHopeless(error, context.retries)
  const { providerName } = context
  return {
    code: 'PROVIDER_BUSY',
    message:
      `${providerName} answered ${status}${describeKind(error, context)}. ` +
      (isUsedUp ? `The quota of its account is used up.` : 'It is busy or in trouble.'),
    detail: quoteProvider(error, context.secrets),
    isRetryable: !isUsedUp,
    retryAfterMs: readRetryAfter(readHeaders(error), context.now),
    mayBeCharged: context.hasAnswerBegun,
  }
}

/** A used-up quota says 429 too, but waiting does not help. */
function isHopeless(error: unknown, { hopeless }: RetryPolicy): boolean {
  const told = ['responseBody', 'code', 'type', 'message'].map((name) => readField(error, name))
  return hopeless.some((words) => told.some((part) => String(part ?? '').includes(words)))
}

/**
 * `Retry-After` is a number of seconds or an HTTP date (RFC 9110, 10.2.3); some providers say it
 * more exactly in `retry-after-ms`.
 */
function readRetryAfter(headers: Record<string, string>, now: number): number | null {
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (exact >= 0 && Number.isFinite(exact)) return Math.ceil(exact)
  const header = headers['retry-after']
  if (header === undefined || header.trim() === '') return null
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.ceil(seconds * 1_000) : null
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}

/** Removes known secrets and what looks like a key, and keeps it short. */
function scrub(text: string, secrets: string[]): string {
  let clean = text
  for (const secret of secrets) if (secret) clean = clean.replaceAll(secret, '[key]')
  return clean
    .replace(/\b(?:sk|pk|key|Bearer)[-_ ][\w*.-]{6,}/gi, '[key]')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, messageCharsMax)
}

/** What the provider said, for the trace; null when it said nothing. */
function quoteProvider(error: unknown, secrets: string[]): string | null {
  const message = readField(error, 'message')
  return typeof message === 'string' && message ? scrub(message, secrets) : null
}

/** ` (model_not_found)`: the provider's short word for the failure, when it is a plain one. */
function describeKind(error: unknown, { secrets }: FailureContext): string {
  const kind = readKinds(error).find(
    (each) => plainKind.test(each) && !secrets.some((secret) => secret && each.includes(secret)),
  )
  return kind === undefined ? '' : ` (${kind})`
}

/** Letters alone: no key and no sentence looks like it. */
const plainKind = /^(?=.{3,48}$)[a-z]+(?:_[a-z]+)*$/i

/** A streamed error is the provider's own; of an answer that is one, the body holds it. */
function readKinds(error: unknown): string[] {
  const data = readField(error, 'data')
  const told = readField(data, 'error') ?? data
  return [error, told]
    .flatMap((each) => [readField(each, 'code'), readField(each, 'type')])
    .filter((kind) => typeof kind === 'string')
}

const advices: [RegExp, (context: FailureContext) => string][] = [
  [
    /context.?length|context.?window|prompt is too long|maximum context|too many tokens/i,
    () => 'The prompt is too long for it: a shorter thread or a model with a larger window helps.',
  ],
  [
    /model.?not.?found|unknown model|model .*does not exist|no such model/i,
    () => 'It does not know this model: check `brain.model` in my definition.',
  ],
  [
    /credit|billing|quota|payment/i,
    ({ keyVariable }) => `The account of ${keyVariable} has no credit left.`,
  ],
]

/** What a person can do about it, as far as the provider's words tell. */
function adviseOn(error: unknown, status: number | null, context: FailureContext): string {
  const message = readField(error, 'message')
  const words = [...readKinds(error), typeof message === 'string' ? message : ''].join(' ')
  const known = advices.find(([pattern]) => pattern.test(words))
  if (known) return known[1](context)
  if (status === 404) return 'Check `brain.model` and `brain.api_base` in my definition.'
  if (status === 402) return `The account of ${context.keyVariable} has no credit left.`
  if (status === 413) return 'The prompt is too long for it: a shorter thread helps.'
  return 'My trace holds what it said.'
}

function readField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** The HTTP status, or the one that a streamed error's type stands for. */
function readStatus(error: unknown, { streamed }: RetryPolicy): number | null {
  const status = readField(error, 'statusCode')
  // A 200 whose body could not be read has a status that says nothing.
  if (typeof status === 'number' && status >= 400) return status
  const code = readField(error, 'code')
  if (typeof code === 'number' && code >= 400 && code < 600) return code
  for (const kind of [code, readField(error, 'type')]) {
    const known = typeof kind === 'string' && Object.hasOwn(streamed, kind) ? streamed[kind] : null
    if (known) return known
  }
  return null
}

function readHeaders(error: unknown): Record<string, string> {
  const headers = readField(error, 'responseHeaders')
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {}
}

const networkWords =
  /network|connection|connect|socket|fetch failed|econn|terminated|disconnected|reset|internal error/i

/** Runtimes word a broken connection differently; the cause often knows more than the error. */
function isNetworkError(error: unknown): boolean {
  let current = error
  for (let depth = 0; depth < 5 && current !== undefined; depth++) {
    const name = readField(current, 'name')
    if (name === 'AI_JSONParseError' || name === 'AI_TypeValidationError') return false
    const words = `${String(readField(current, 'code'))} ${String(readField(current, 'message'))}`
    if (networkWords.test(words)) return true
    current = readField(current, 'cause')
  }
  return false
}

import type { ModelFailure, ModelUsage, Outage } from '../loop/message'
import { isTransientStatus, type RetryPolicy } from './providers/provider'

/** What has arrived of the answer to a call. */
export interface Arrival {
  /** No connection was made, or it broke before any answer. */
  isUnreachable: boolean
  /** The server has answered with a success. */
  hasResponse: boolean
  /** Characters of text, reasoning and tool calls. */
  chars: number
}

/** The call that failed, for messages that people can act on. */
export interface FailureContext extends Arrival {
  /** Display name, e.g. `Anthropic`. */
  providerName: string
  modelName: string
  /** The environment variable that holds the key. */
  keyVariable: string
  /** Base URL, without credentials and query. */
  address: string
  /** The setting, or the field of the definition, that holds the address. */
  addressSetting: string
  /** Values to redact from everything that is shown or stored. */
  secrets: string[]
  /** Milliseconds since 1970, to read dates in `Retry-After`. */
  now: number
  retryPolicy: RetryPolicy
}

const messageCharsMax = 300

/**
 * Classifies a thrown or streamed provider error: whether a retry may succeed and whether the call
 * may have been charged. The message contains our own text only; the provider's message may quote
 * users, so it goes into `detail`, without keys, for the trace.
 */
export function classifyFailure(error: unknown, context: FailureContext): ModelFailure {
  const status = readStatus(error, context.retryPolicy)
  if (status === 401 || status === 403) return describeAuthFailure(status, error, context)
  if (status !== null && isTransientStatus(status)) {
    return describeBusy(status, error, context)
  }
  const detail = quoteProvider(error, context.secrets)
  const isTooLong = status === 413 || tooLong.test(`${readKinds(error).join(' ')} ${detail ?? ''}`)
  if (status === null && (context.isUnreachable || isNetworkError(error))) {
    return describeNetwork(detail, context)
  }
  const answered = status === null ? 'sent an unreadable response' : `answered ${status}`
  const advice = adviseOn(error, status, context)
  return {
    code: 'PROVIDER_ERROR',
    message: `${context.providerName} ${answered}${describeKind(error, context)} for ${context.modelName}. ${advice}`,
    detail,
    isRetryable: false,
    ...(status !== null && status < 500 && { isPermanent: true }),
    ...(status !== null && promptStatuses.has(status) && { refusesPrompt: true }),
    ...(isTooLong && { isTooLong }),
    retryAfterMs: null,
    ...describeCharge(error, context, status === null && context.hasResponse),
  }
}

/** Returns what the provider may bill: nothing for a call that it refused without usage. */
function describeCharge(
  error: unknown,
  { chars }: FailureContext,
  wasProcessed = false,
): Pick<ModelFailure, 'mayBeCharged' | 'received'> {
  const usage = readUsage(error)
  if (!wasProcessed && chars === 0 && usage === null) return { mayBeCharged: false }
  return { mayBeCharged: true, received: { chars, ...(usage && { usage }) } }
}

/** Describes a connection that broke during the answer, or that brought no answer at all. */
function describeNetwork(detail: string | null, context: FailureContext): ModelFailure {
  const { providerName, address, addressSetting, hasResponse, chars } = context
  const base = { code: 'NETWORK', detail, isRetryable: true, retryAfterMs: null } as const
  if (hasResponse) {
    const message = `The connection to ${providerName} broke during the answer.`
    return { ...base, message, mayBeCharged: true, received: { chars } }
  }
  return {
    ...base,
    message: `${providerName} cannot be reached at ${address}. Check that it runs, and ${addressSetting}.`,
    mayBeCharged: false,
    outage: toOutage(context),
  }
}

const toOutage = ({ providerName, address, addressSetting }: FailureContext): Outage => ({
  provider: providerName,
  address,
  setting: addressSetting,
})

/** Whether a status is that of a gateway whose provider is down, rather than busy. 520 to 527 are Cloudflare's. */
const isOutageStatus = (status: number): boolean =>
  [502, 503, 504, 530].includes(status) || (status >= 520 && status <= 527)

/**
 * Returns the failure for a 200 response without any event of the protocol, as from a wrong base URL
 * that leads to a web page.
 *
 * @param contentType of the response; empty when the header is missing
 */
export function toWrongProtocolFailure(
  contentType: string,
  baseUrlVariable: string,
  { providerName, modelName }: Pick<FailureContext, 'providerName' | 'modelName'>,
): ModelFailure {
  const kind = /^[\w.+-]+\/[\w.+-]+/.exec(contentType)?.[0].slice(0, 60)
  return {
    code: 'PROVIDER_ERROR',
    message:
      `${providerName} answered 200 for ${modelName} with ${kind ?? 'no content type'} and no events: ` +
      `this address does not speak its protocol. Check ${baseUrlVariable} or \`brain.api_base\`.`,
    isRetryable: false,
    isPermanent: true,
    retryAfterMs: null,
    mayBeCharged: kind === 'text/event-stream',
  }
}

/** How providers say that they do not serve the place that a call comes from. */
const elsewhere = /country|region|territory|location/i

function describeAuthFailure(
  status: number,
  error: unknown,
  context: FailureContext,
): ModelFailure {
  const detail = quoteProvider(error, context.secrets)
  const isElsewhere = elsewhere.test([...readKinds(error), detail ?? ''].join(' '))
  return {
    code: 'PROVIDER_AUTH',
    message: isElsewhere
      ? `${context.providerName} does not serve the region that this hub calls from (${status}). Use another provider, or run the hub in a region that it serves.`
      : `${context.providerName} refused the key (${status}). ` +
        `Check ${context.keyVariable}, and that its account has access to ${context.modelName}.`,
    detail,
    isRetryable: false,
    retryAfterMs: null,
    mayBeCharged: false,
  }
}

function describeBusy(status: number, error: unknown, context: FailureContext): ModelFailure {
  const isQuotaUsedUp = isHopeless(error, context.retryPolicy)
  const isOutage = isOutageStatus(status) && context.chars === 0
  const { providerName } = context
  return {
    code: 'PROVIDER_BUSY',
    message:
      `${providerName} answered ${status}${describeKind(error, context)}. ` +
      describeBusiness(status, isQuotaUsedUp),
    detail: quoteProvider(error, context.secrets),
    isRetryable: !isQuotaUsedUp,
    ...(isQuotaUsedUp && { isPermanent: true }),
    retryAfterMs: readRetryAfter(readHeaders(error), context.now),
    ...describeCharge(error, context),
    ...(isOutage && { outage: toOutage(context) }),
  }
}

function describeBusiness(status: number, isQuotaUsedUp: boolean): string {
  if (isQuotaUsedUp)
    return "The account's quota is used up. Add credit or raise it, or wait until it resets."
  return status === 429
    ? 'The account has sent too many requests. Wait a minute, or raise its limit at the provider.'
    : 'The provider is overloaded or failing.'
}

/** Redacts known secrets and anything shaped like a key, and truncates to 300 characters. */
function scrub(text: string, secrets: string[]): string {
  let clean = text
  for (const secret of secrets) if (secret) clean = clean.replaceAll(secret, '[key]')
  return clean
    .replace(/\b(?:sk|pk|key|Bearer)[-_ ][\w*.-]{6,}/gi, '[key]')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, messageCharsMax)
}

/** Returns the provider's message for the trace, redacted; null without one. */
function quoteProvider(error: unknown, secrets: string[]): string | null {
  const message = findWords(error)
  return message ? scrub(message, secrets) : null
}

/** Returns the provider's error code as ` (model_not_found)`; empty when it has none that is safe to show. */
function describeKind(error: unknown, { secrets }: FailureContext): string {
  const kind = readKinds(error).find(
    (each) => plainKind.test(each) && !secrets.some((secret) => secret && each.includes(secret)),
  )
  return kind === undefined ? '' : ` (${kind})`
}

/** Letters and underscores only, which no key and no sentence matches. */
const plainKind = /^(?=.{3,48}$)[a-z]+(?:_[a-z]+)*$/i

/** Statuses for what was sent. */
const promptStatuses = new Set([400, 413, 422])

/** How providers and local servers say that a prompt is too long: the words of their error messages. */
const tooLong =
  /context.{0,12}(?:length|window|size|limit)|(?:prompt|input|request|messages?).{0,40}too (?:long|large|big)|too many (?:input )?tokens|(?:exceeds?|maximum|must have less than|reduce the).{0,40}(?:tokens|prompt length|length of the (?:messages|prompt))|tokens.{0,40}(?:exceeds?|must be <=|too large)|exceed_context/i

const advices: [RegExp, (context: FailureContext) => string][] = [
  [
    tooLong,
    () =>
      'The prompt is too long for this model. Use a shorter thread, or a model with a larger context window.',
  ],
  [
    /model.?not.?found|unknown model|model .*does not exist|no such model/i,
    () => 'The provider has no such model. Check `brain.model` in the definition.',
  ],
  [
    /credit|billing|quota|payment/i,
    ({ keyVariable }) =>
      `The account of ${keyVariable} has no credit left. Add credit, or use another key.`,
  ],
]

/** Returns what a person can do about the failure, from the provider's message and status. */
function adviseOn(error: unknown, status: number | null, context: FailureContext): string {
  const words = [...readKinds(error), findWords(error) ?? ''].join(' ')
  const known = advices.find(([pattern]) => pattern.test(words))
  if (known) return known[1](context)
  if (status === 404) return 'Check `brain.model` and `brain.api_base` in the definition.'
  if (status === 402)
    return `The account of ${context.keyVariable} has no credit left. Add credit, or use another key.`
  if (status === 413) return 'The prompt is too long for this model. Use a shorter thread.'
  return "The provider's message is in this run's trace."
}

function readField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** Returns the HTTP status, or the one that a streamed error's type stands for; null without either. */
function readStatus(error: unknown, { streamedErrors: streamed }: RetryPolicy): number | null {
  const status = readField(error, 'statusCode')
  // The status of a 200 whose body could not be read says nothing about the failure.
  if (typeof status === 'number' && status >= 400) return status
  const code = readField(error, 'code')
  if (typeof code === 'number' && code >= 400 && code < 600) return code
  for (const kind of [code, readField(error, 'type')]) {
    const known = typeof kind === 'string' && Object.hasOwn(streamed, kind) ? streamed[kind] : null
    if (known) return known
  }
  return null
}

/** Returns the usage that the body of an error reports; null without one. */
function readUsage(error: unknown): ModelUsage | null {
  const data = readField(error, 'data') ?? parseJson(readField(error, 'responseBody'))
  const usage = readField(data, 'usage') ?? readField(readField(data, 'error'), 'usage')
  const input = readField(usage, 'input_tokens') ?? readField(usage, 'prompt_tokens')
  const output = readField(usage, 'output_tokens') ?? readField(usage, 'completion_tokens')
  if (typeof input !== 'number') return null
  return {
    inputTokens: input,
    cachedTokens: 0,
    outputTokens: typeof output === 'number' ? output : 0,
    reasoningTokens: 0,
  }
}

/**
 * Returns what a provider says of its failure, in whatever form its body has: `error.metadata.raw` of gateways, an error's
 * `message`, `detail`, `error` or `msg`, the first of a list, or plain text. Null where it says nothing readable.
 */
function findWords(error: unknown): string | null {
  const body = readField(error, 'responseBody')
  const said = findText(parseJson(body) ?? readField(error, 'data'), 0)
  if (said !== '') return said
  if (typeof body === 'string' && /^\s*[^\s<[{]/.test(body)) return body.trim()
  const message = readField(error, 'message')
  return typeof message === 'string' && message !== '' ? message : null
}

/** Fields that hold words, or what does, the most specific first. */
const wordFields = ['metadata', 'raw', 'error', 'message', 'detail', 'details', 'errors', 'msg']
const wordDepthMax = 5

function findText(value: unknown, depth: number): string {
  if (typeof value === 'string') {
    // Gateways quote the body of the provider behind them.
    const isQuoted = value.startsWith('{') && depth < wordDepthMax
    return (isQuoted && findText(parseJson(value), depth + 1)) || value.trim()
  }
  if (typeof value !== 'object' || value === null || depth > wordDepthMax) return ''
  const found = Array.isArray(value)
    ? value.slice(0, 3)
    : wordFields.map((name) => readField(value, name))
  for (const each of found) {
    const text = findText(each, depth + 1)
    if (text !== '') return text
  }
  return ''
}

function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return null
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function readHeaders(error: unknown): Record<string, string> {
  const headers = readField(error, 'responseHeaders')
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, string>) : {}
}

const networkWords =
  /network|connection|connect|socket|fetch failed|econn|terminated|disconnected|reset|internal error/i

/** Whether the connection broke. Runtimes word this differently, often in the cause only. */
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

/**
 * Returns the delay of `Retry-After` in milliseconds, or null without one. The header is a number of
 * seconds or an HTTP date (RFC 9110, 10.2.3); some providers add a finer `retry-after-ms`.
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

/** Returns the codes and types of a streamed error, or of the error in a response's body. */
function readKinds(error: unknown): string[] {
  const data = readField(error, 'data')
  const bodyError = readField(data, 'error') ?? data
  return [error, bodyError]
    .flatMap((each) => [readField(each, 'code'), readField(each, 'type')])
    .filter((kind) => typeof kind === 'string')
}

/** Whether an error is final in spite of its status: a used-up quota answers 429 too. */
function isHopeless(error: unknown, { finalErrors: hopeless }: RetryPolicy): boolean {
  const texts = ['responseBody', 'code', 'type', 'message'].map((name) => readField(error, name))
  return hopeless.some((words) => texts.some((text) => String(text ?? '').includes(words)))
}

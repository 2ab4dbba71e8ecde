import type { ModelFailure, Outage } from '../loop/message'
import { isTransientStatus, type RetryPolicy } from './providers/retry-policy'
import {
  findWords,
  isHopeless,
  isNetworkError,
  readHeaders,
  readKinds,
  readRetryAfter,
  readStatus,
  readUsage,
} from './read-error'

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
  if (status === 401 || status === 403) return describeAuthFailure(status, context)
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

function describeAuthFailure(status: number, context: FailureContext): ModelFailure {
  return {
    code: 'PROVIDER_AUTH',
    message:
      `${context.providerName} refused the key (${status}). ` +
      `Check ${context.keyVariable}, and that its account has access to ${context.modelName}.`,
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
      (isQuotaUsedUp
        ? `The account's quota is used up. Raise it, or wait until it resets.`
        : 'The provider is overloaded or failing.'),
    detail: quoteProvider(error, context.secrets),
    isRetryable: !isQuotaUsedUp,
    ...(isQuotaUsedUp && { isPermanent: true }),
    retryAfterMs: readRetryAfter(readHeaders(error), context.now),
    ...describeCharge(error, context),
    ...(isOutage && { outage: toOutage(context) }),
  }
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

import { modelGateway } from '../../shared/config'
import type { ModelFailure } from '../loop/message'
import { classifyFailure, type FailureContext } from '../models/classify-failure'
import type { Upstream } from '../models/model-port'
import { modelProviders } from '../models/providers/model-providers'
import { openAIRetryPolicy } from '../models/providers/retry-policy'
import type { GatewayError } from './gateway-errors'
import { readField, readText } from './json-fields'
import { parseObject } from './read-request'

/** A provider's failure: what the program gets, and what the run's trace says. */
export interface ProviderFailure {
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
export async function toProviderFailure(
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
export type NoAnswer = 'timeout' | 'unreachable' | 'cancelled' | 'not_sent'

/** Describes a provider that did not answer at all. */
export function toNoAnswer(upstream: Upstream, cause: NoAnswer): ProviderFailure {
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
export const toWrongAnswer = ({ title, addressSetting }: Upstream): ProviderFailure => ({
  problem: `${title} answered 200 with a web page. Check ${addressSetting}.`,
  error: {
    status: 400,
    code: 'wrong_protocol',
    message: `${title} answered with a web page: its address on the hub is wrong.`,
  },
})

const toContext = (upstream: Upstream, now: number): FailureContext => ({
  ...{ isUnreachable: false, hasResponse: false, chars: 0, now },
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

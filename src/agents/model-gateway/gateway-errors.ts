import type { ModelProtocol } from '../../shared/runner-protocol'
import type { ModelRequestRefusal } from '../contract/coding-agents'

/** An answer of the gateway that is not a model's. */
export interface GatewayError {
  status: number
  /** For programs that read it, and for logs. */
  code: string
  message: string
  /** Seconds until the program may try again; absent: it must not. */
  retryAfterSeconds?: number
}

/**
 * Statuses of refusals. Programs try again after 408, 409, 429 and 5xx, some of them for ever, and log in again
 * after 403; they stop after 400, and after 401 when they have nothing but a key.
 */
export const refusalStatuses: Record<ModelRequestRefusal, 400 | 401> = {
  not_running: 401,
  wrong_model: 400,
  max_iterations: 400,
  max_tokens: 400,
  max_duration: 400,
  budget_exhausted: 400,
  paused: 400,
  no_tools: 400,
}

/** Waits that a program is asked to make. After a longer one it would be silent for too long. */
const waitSeconds = { min: 1, max: 60 }

/** Returns the error for a request that the agent's object refused, in a form after which programs stop. */
export function toRefusal(
  refusal: { reason: ModelRequestRefusal; message: string; retryAt?: number },
  now: number,
): GatewayError {
  const { reason, message, retryAt } = refusal
  if (retryAt === undefined) return { status: refusalStatuses[reason], code: reason, message }
  const seconds = Math.ceil((retryAt - now) / 1_000)
  const retryAfterSeconds = Math.min(waitSeconds.max, Math.max(waitSeconds.min, seconds))
  return { status: 429, code: reason, message, retryAfterSeconds }
}

export const gatewayErrors = {
  unknownPath: (): GatewayError => ({
    status: 404,
    code: 'not_found',
    message:
      'Not found. The model gateway answers Messages, Chat Completions, Responses and models.',
  }),
  noToken: (): GatewayError => ({
    status: 401,
    code: 'invalid_token',
    message: 'The token of this run is missing, wrong or no longer valid: the run has ended.',
  }),
  notJson: (): GatewayError => ({
    status: 400,
    code: 'malformed',
    message: 'The body must be a JSON object without Content-Encoding.',
  }),
  unsupported: (what: string): GatewayError => ({
    status: 400,
    code: 'unsupported',
    message: `${what} is not possible through the hub's model gateway.`,
  }),
  wrongProtocol: (provider: string, protocols: readonly ModelProtocol[]): GatewayError => ({
    status: 400,
    code: 'wrong_protocol',
    message: `${provider} does not speak this protocol. It speaks: ${protocols.join(', ') || 'none'}.`,
  }),
  notConfigured: (): GatewayError => ({
    status: 400,
    code: 'not_configured',
    message: 'The provider of this model has no key or no address on the hub.',
  }),
  unavailable: (): GatewayError => ({
    status: 503,
    code: 'unavailable',
    message: 'The hub cannot admit the request now.',
    retryAfterSeconds: 1,
  }),
} as const

const anthropicTypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

const openAITypes: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'invalid_request_error',
  413: 'invalid_request_error',
  429: 'rate_limit_error',
}

/** Converts an error to the form of a protocol. */
export function toErrorResponse(protocol: ModelProtocol, error: GatewayError): Response {
  const { status, code, message, retryAfterSeconds } = error
  const body =
    protocol === 'anthropic-messages'
      ? { type: 'error', error: { type: anthropicTypes[status] ?? 'api_error', message } }
      : { error: { message, type: openAITypes[status] ?? 'server_error', param: null, code } }
  return Response.json(body, {
    status,
    headers: {
      // The clients of Anthropic and OpenAI follow it.
      'x-should-retry': String(retryAfterSeconds !== undefined || status >= 500),
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    },
  })
}

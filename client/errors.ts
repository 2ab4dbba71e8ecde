import { type ErrorCode, retryableCodes } from './api.ts'

export interface ErrorDetail {
  /** Where in the input, such as `body.title` or `config.yaml:3:brain.model`. */
  path: string
  message: string
}

/** `UNREACHABLE`: no hub answered. `BAD_ANSWER`: what answered is no hub. The others are the hub's. */
export type HubErrorCode = ErrorCode | 'UNREACHABLE' | 'BAD_ANSWER'

interface HubErrorFields {
  code: HubErrorCode
  /** HTTP status; 0 when there was no response. */
  status: number
  hint?: string | null
  details?: ErrorDetail[]
  retryAfterMs?: number | null
  cause?: unknown
}

/** An error answer of a hub, or why there was none. */
export class HubError extends Error {
  override readonly name = 'HubError'
  readonly code: HubErrorCode
  readonly status: number
  /** What to do. */
  readonly hint: string | null
  readonly details: ErrorDetail[]
  /** After how long the hub wants the next request; null: it does not say. */
  readonly retryAfterMs: number | null

  constructor(message: string, fields: HubErrorFields) {
    super(message, { cause: fields.cause })
    this.code = fields.code
    this.status = fields.status
    this.hint = fields.hint ?? null
    this.details = fields.details ?? []
    this.retryAfterMs = fields.retryAfterMs ?? null
  }

  /** Whether the same call may succeed later. */
  get isRetryable(): boolean {
    return this.code === 'UNREACHABLE' || retryableCodes.includes(this.code)
  }
}

/** Returns the error of a response without success. */
export function toHubError(response: Response, body: unknown): HubError {
  const { status, headers } = response
  const { error, code, hint, details } = (body ?? {}) as {
    error?: unknown
    code?: HubErrorCode
    hint?: string | null
    details?: ErrorDetail[]
  }
  if (typeof error !== 'string' || typeof code !== 'string') {
    const message = `The answer (${status}) is not one of a Rookery hub. Check the address.`
    return new HubError(message, { code: 'BAD_ANSWER', status })
  }
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN)
  return new HubError(error, {
    code,
    status,
    hint: hint ?? null,
    details: Array.isArray(details) ? details : [],
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : null,
  })
}

import { cutText } from './cut-text.ts'

/**
 * All error codes of the API. `status` is the HTTP status; `isRetryable` means that the same request
 * may succeed later unchanged.
 */
export const errorCodes = {
  VALIDATION: { status: 400, isRetryable: false },
  UNAUTHORIZED: { status: 401, isRetryable: false },
  FORBIDDEN: { status: 403, isRetryable: false },
  ACCOUNT_DISABLED: { status: 403, isRetryable: false },
  BANNED: { status: 403, isRetryable: false },
  MUTED: { status: 403, isRetryable: false },
  PENDING_CLAIM: { status: 403, isRetryable: false },
  NOT_FOUND: { status: 404, isRetryable: false },
  METHOD_NOT_ALLOWED: { status: 405, isRetryable: false },
  REQUEST_TIMEOUT: { status: 408, isRetryable: true },
  CONFLICT: { status: 409, isRetryable: false },
  IDEMPOTENCY_CONFLICT: { status: 409, isRetryable: false },
  REPLY_LIMIT: { status: 409, isRetryable: false },
  TOO_LATE: { status: 409, isRetryable: false },
  TOO_LARGE: { status: 413, isRetryable: false },
  UNSUPPORTED_MEDIA: { status: 415, isRetryable: false },
  WRONG_HOST: { status: 421, isRetryable: false },
  INVALID_DEFINITION: { status: 422, isRetryable: false },
  RATE_LIMITED: { status: 429, isRetryable: true },
  UNAVAILABLE: { status: 503, isRetryable: true },
  STORAGE_FULL: { status: 507, isRetryable: true },
  INTERNAL: { status: 500, isRetryable: true },
} as const satisfies Record<string, { status: number; isRetryable: boolean }>

export type ErrorCode = keyof typeof errorCodes

export interface ErrorDetail {
  /** Where in the input, as `body.title` or `config.yaml:brain.model`. */
  path: string
  message: string
}

/** Details of one error, and characters of a path or message in them: an input can be wrong in every part. */
const detailsMax = 50
const detailCharsMax = 500

/** Returns the first details, as they are shown. */
export const limitDetails = (details: readonly ErrorDetail[]): ErrorDetail[] =>
  details.slice(0, detailsMax).map(({ path, message }) => ({
    path: cutText(path, detailCharsMax),
    message: cutText(message, detailCharsMax),
  }))

/**
 * An error with a code, for a caller of a module or of the API. `message` and `hint` are shown to
 * people, so they never hold a secret; the private reason goes into `cause`.
 */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  readonly hint: string | null
  readonly details: ErrorDetail[] | undefined
  /** After so long the same request may succeed; null: unknown. */
  readonly retryAfterMs: number | null

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      hint?: string
      details?: ErrorDetail[]
      retryAfterMs?: number
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.hint = options.hint ?? null
    this.details = options.details && limitDetails(options.details)
    this.retryAfterMs = options.retryAfterMs ?? null
  }

  get status(): number {
    return errorCodes[this.code].status
  }
}

/** Returns a NOT_FOUND error. A caller who may not see an item gets the same one. */
export const notFound = (what: string, hint?: string): AppError =>
  new AppError('NOT_FOUND', `There is no such ${what}.`, hint ? { hint } : {})

/** Why an activation ended with an error. `details` has the numbers of the message, by name. */
export interface ActivationError {
  code: string
  message: string
  details?: Record<string, number>
}

/** How an activation can end. Every outcome except `completed` has a reason. */
export const outcomes = [
  'completed',
  'max_iterations',
  'max_tokens',
  'max_duration',
  'context_limit',
  'budget_exhausted',
  'cancelled',
  'content_filtered',
  'failed',
] as const
export type Outcome = (typeof outcomes)[number]

/**
 * Errors that end an activation before its answer, by code. A limit or budget that was reached is
 * reported by the outcome alone, a tool's error by its result. `isRecoverable`: a retry may succeed.
 */
export const activationErrors = {
  CONFIG: { kind: 'config', isRecoverable: false },
  INVALID_DEFINITION: { kind: 'config', isRecoverable: false },
  PROVIDER_AUTH: { kind: 'provider', isRecoverable: false },
  PROVIDER_BUSY: { kind: 'provider', isRecoverable: true },
  PROVIDER_ERROR: { kind: 'provider', isRecoverable: true },
  NETWORK: { kind: 'provider', isRecoverable: true },
  TIMEOUT: { kind: 'provider', isRecoverable: true },
  CANCELLED: { kind: 'provider', isRecoverable: true },
  CONTENT_FILTERED: { kind: 'provider', isRecoverable: false },
  NO_TOOLS: { kind: 'provider', isRecoverable: true },
  EMPTY_RESPONSE: { kind: 'empty_response', isRecoverable: true },
  CONTEXT_LIMIT: { kind: 'context_limit', isRecoverable: false },
  HUB_UNREACHABLE: { kind: 'internal', isRecoverable: true },
  INTERRUPTED: { kind: 'internal', isRecoverable: true },
  LOST: { kind: 'internal', isRecoverable: true },
} as const satisfies Record<string, { kind: string; isRecoverable: boolean }>

export type ActivationErrorCode = keyof typeof activationErrors

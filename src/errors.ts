/**
 * The one table of error codes. `status` is the HTTP status; `isRetryable` says whether the same
 * call may succeed later without being changed.
 */
export const errorCodes = {
  VALIDATION: { status: 400, isRetryable: false },
  UNAUTHORIZED: { status: 401, isRetryable: false },
  FORBIDDEN: { status: 403, isRetryable: false },
  NOT_FOUND: { status: 404, isRetryable: false },
  METHOD_NOT_ALLOWED: { status: 405, isRetryable: false },
  CONFLICT: { status: 409, isRetryable: false },
  IDEMPOTENCY_CONFLICT: { status: 409, isRetryable: false },
  BRAKED: { status: 409, isRetryable: false },
  TOO_LATE: { status: 409, isRetryable: false },
  TOO_LARGE: { status: 413, isRetryable: false },
  UNSUPPORTED_MEDIA: { status: 415, isRetryable: false },
  INVALID_DEFINITION: { status: 422, isRetryable: false },
  RATE_LIMITED: { status: 429, isRetryable: true },
  UNAVAILABLE: { status: 503, isRetryable: true },
  INTERNAL: { status: 500, isRetryable: true },
} as const satisfies Record<string, { status: number; isRetryable: boolean }>

export type ErrorCode = keyof typeof errorCodes

export interface ErrorDetail {
  /** Where in the input, as `body.title` or `config.yaml:brain.model`. */
  path: string
  message: string
}

/**
 * A broken promise between rooms or with a caller. `message` and `hint` are public: they are shown
 * to people, so they never hold a secret; the private reason goes into `cause`.
 */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  readonly hint: string | null
  readonly details: ErrorDetail[] | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string; details?: ErrorDetail[]; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.hint = options.hint ?? null
    this.details = options.details
  }

  get status(): number {
    return errorCodes[this.code].status
  }
}

/** "Not found" is also the answer to somebody who may not see the thing. */
export const notFound = (what: string, hint?: string): AppError =>
  new AppError('NOT_FOUND', `There is no such ${what}.`, hint ? { hint } : {})

/** How an activation can end. Everything but `completed` comes with a reason. */
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
 * What can end an activation short of its answer, by code (L35). A limit or a budget that was reached is
 * told by the outcome alone, a tool's error by its result. `isRecoverable`: asking again may help.
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
  EMPTY_RESPONSE: { kind: 'empty_response', isRecoverable: true },
  CONTEXT_LIMIT: { kind: 'context_limit', isRecoverable: false },
  HUB_UNREACHABLE: { kind: 'internal', isRecoverable: true },
  INTERRUPTED: { kind: 'internal', isRecoverable: true },
  LOST: { kind: 'internal', isRecoverable: true },
} as const satisfies Record<string, { kind: string; isRecoverable: boolean }>

export type ActivationErrorCode = keyof typeof activationErrors

import { AppError } from '../../shared/errors'

const hint = 'Use a new Idempotency-Key for a new request.'

/** Errors of idempotent requests, as users read them. */
export const idempotencyErrors = {
  secretNotStored: () =>
    new AppError(
      'IDEMPOTENCY_CONFLICT',
      'The request with this Idempotency-Key already succeeded. Its response contained a secret, which is not stored.',
      { hint },
    ),
  keyReused: () =>
    new AppError(
      'IDEMPOTENCY_CONFLICT',
      'This Idempotency-Key was already used for a different request.',
      { hint },
    ),
}

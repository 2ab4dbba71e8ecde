import { AppError } from '../../shared/errors'

/**
 * Errors for users of the constraints that a write can fail: by the first column of a UNIQUE or NOT NULL,
 * such as `accounts.name`, or by the name of a CHECK.
 */
export type ConstraintErrors = Readonly<Record<string, (cause: unknown) => AppError>>

/**
 * Returns which constraint a statement failed: the first column of a UNIQUE or NOT NULL, such as
 * `accounts.name`, or the name of a CHECK; null for any other error.
 */
export const findFailedConstraint = (error: unknown): string | null =>
  /(?:UNIQUE|CHECK|NOT NULL) constraint failed: ([\w.]+)/.exec(String(error))?.[1] ?? null

/**
 * Returns in SQLite's words why it does not store the values of a statement: a constraint, a type, or their size; null
 * for any other error, such as one of the statement.
 */
export const findRefusedValue = (error: unknown): string | null =>
  /^(?:\w*Error: |D1_ERROR: )*(.*): SQLITE_(?:CONSTRAINT|MISMATCH|TOOBIG)\b/s.exec(
    String(error),
  )?.[1] ?? null

/** Converts the database error of a failed constraint into the error for the user; null for any other error. */
export function toConstraintError(error: unknown, errors: ConstraintErrors): AppError | null {
  const name = findFailedConstraint(error)
  return (name !== null && errors[name]?.(error)) || null
}

/** What a guard of a table raises during a hold, by the transfer that holds the hub. */
export const holdMessages = {
  backup: 'hub_is_held_for_backup',
  restore: 'hub_is_held_for_restore',
} as const

export type TransferKind = keyof typeof holdMessages

const holdErrors: Record<TransferKind, (cause: unknown) => AppError> = {
  backup: (cause) =>
    new AppError('UNAVAILABLE', 'A backup is being written. Nothing was changed.', {
      hint: 'Try again in a minute.',
      cause,
    }),
  restore: (cause) =>
    new AppError('UNAVAILABLE', 'A restore into this hub has not finished. Nothing was changed.', {
      hint: 'Run the restore again, or start with an empty folder or database.',
      cause,
    }),
}

/** Returns which transfer made the database refuse a write; null for any other error. */
const findHold = (error: unknown): TransferKind | null => {
  const text = String(error)
  if (text.includes(holdMessages.backup)) return 'backup'
  return text.includes(holdMessages.restore) ? 'restore' : null
}

/** Converts the error of a write during a hold to null; throws any other one. */
export function toNullInHold(error: unknown): null {
  if (findHold(error)) return null
  throw error
}

/** Converts the error of a write during a hold into the error for the user; null for any other error. */
export function toHoldError(error: unknown): AppError | null {
  const kind = findHold(error)
  return kind && holdErrors[kind](error)
}

import type { AppError } from '../shared/errors'

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

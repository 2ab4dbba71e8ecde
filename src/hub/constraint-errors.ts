import type { AppError } from '../shared/errors'
import { accountErrors } from './accounts/errors'
import { communityErrors } from './communities/errors'
import { dmErrors } from './dms/errors'
import { contributionErrors } from './exploration/errors'
import { toReplyLimitError } from './reply-limits/explain-reply-limit'

/** Errors of failed constraints: by the columns of a UNIQUE, or the name of a CHECK. */
const constraintErrors: Readonly<Record<string, (cause: unknown) => AppError>> = {
  'accounts.name': accountErrors.nameTaken,
  'communities.name': communityErrors.nameTaken,
  'conversations.pair': dmErrors.startedMeanwhile,
  contribution_unsure: contributionErrors.lowConfidence,
  'contributions.activation_id': contributionErrors.alreadyContributed,
}

/**
 * Returns which constraint a statement failed: the first column of a UNIQUE, such as `accounts.name`, or
 * the name of a CHECK; null for any other error.
 */
export const findFailedConstraint = (error: unknown): string | null =>
  /(?:UNIQUE|CHECK) constraint failed: ([\w.]+)/.exec(String(error))?.[1] ?? null

/** Converts the database error of a failed constraint into the error for the user; null for any other error. */
export function toConstraintError(error: unknown): AppError | null {
  const name = findFailedConstraint(error)
  if (name === null) return null
  return constraintErrors[name]?.(error) ?? toReplyLimitError(error)
}

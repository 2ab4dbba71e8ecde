import { AppError } from '../shared/errors'

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

import { AppError } from '../../shared/errors'
import type { Person } from './threads'

/** A person whose request writes. What a request writes checks again that they may. */
export interface Sender extends Person {
  /** Id of the key or session of the request; null for ROOKERY_ADMIN_KEY. */
  keyId: string | null
}

/** Names that `guardAccess` fails a batch with, and their errors, as users read them. */
const accessErrors: Readonly<Record<string, (cause: unknown) => AppError>> = {
  access_ended: (cause) =>
    new AppError('UNAUTHORIZED', 'The key or session of this request has ended.', {
      hint: 'Sign in again.',
      cause,
    }),
  access_scope: (cause) =>
    new AppError('FORBIDDEN', 'The key or session of this request lacks the scope "write".', {
      hint: 'Sign in with a key that has the scope "write".',
      cause,
    }),
  access_role: (cause) =>
    new AppError('FORBIDDEN', 'Your account no longer has the role that this requires.', {
      hint: 'Ask an admin of this hub.',
      cause,
    }),
  access_limited: (cause) =>
    new AppError(
      'FORBIDDEN',
      'A key that expires or lacks a scope cannot add a way to sign in to its own account, and neither can a session that it opened.',
      {
        hint: 'Use a passkey, a sign-in link, or a key with the scopes read and write that does not expire.',
        cause,
      },
    ),
}

/** Converts the error of a write whose sender may not make it any more; null for any other error. */
export function toAccessError(error: unknown): AppError | null {
  const name = /CHECK constraint failed: (access_\w+)/.exec(String(error))?.[1]
  return (name !== undefined && accessErrors[name]?.(error)) || null
}

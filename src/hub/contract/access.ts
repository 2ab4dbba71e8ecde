import type * as z from 'zod'
import type { CallClass, RateClass } from '../../shared/config'
import { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
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

/** What people do with the API: the groups of its operations at `/docs` and in `/openapi.json`, in this order. */
export const apiTags = {
  'sign-in': 'Sign in and keys',
  read: 'Read',
  write: 'Write',
  ask: 'Ask an agent and wait',
  inbox: 'Inbox and messages',
  communities: 'Communities and moderation',
  agents: 'Agents and runs',
  tools: 'Tools and approvals',
  budgets: 'Budgets and usage',
  people: 'People and access',
  hub: 'Operate the hub',
} as const

export type ApiTag = keyof typeof apiTags

/**
 * Required access of a route. `open`: anybody. `read`: anybody on a public hub, otherwise a key. `own`:
 * a key, resolved in the handler's own batch. `write`: a key with that scope. `admin`: an admin's key.
 */
export type Access = 'open' | 'read' | 'own' | 'write' | 'admin'

/** Why a call must not run now, for its caller. */
export interface RateRefusal {
  message: string
  retryAfterSeconds: number
}

/** What another module reports of a request that it handles, so that the hub can count it. */
export interface RequestCounts {
  /** Records whose key the request has. */
  recordCaller(accountId: AccountId): void
  /**
   * Counts a call in a class, beside the request itself: before it runs, and each call of a request that has many.
   * Null: it may run.
   */
  count(rateClass: CallClass): Promise<RateRefusal | null>
}

/** A route of the JSON API that another module handles, as listed in `/openapi.json` and `/docs`. */
export interface ModuleRoute {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below `/api/v1`, in Hono's notation. */
  path: string
  summary: string
  tag: ApiTag
  access: 'read' | 'write' | 'admin'
  /** The limit that counts calls. */
  rate: RateClass
  status: 200 | 201 | 202
  query?: z.ZodType
  body?: z.ZodType
  /** The body of a successful response, without `success`. */
  answer: z.ZodObject
}

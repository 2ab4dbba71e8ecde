import * as z from 'zod'
import { batch } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import { keyTag } from '../contract/live-event'
import { findStoredResult, type IdempotentResult, runOnce } from '../idempotency/run-once'
import { closeSockets } from '../live/close-sockets'
import type { ApiKey } from '../schema/keys'
import { sha256 } from '../sha256'
import { guardAccess } from '../viewers/guard-access-queries'
import { keyErrors } from './errors'
import {
  deleteKey,
  expireKey,
  insertKeyWithin,
  selectKey,
  selectKeyLimits,
  selectOpenedWith,
} from './queries'

const HOUR_MS = 3_600_000

/** Generates a secret: the prefix and 32 random bytes as base64url. */
export function createSecret(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  const text = btoa(String.fromCharCode(...bytes))
  return (
    prefix +
    text
      .replace(/\+/g, '-')
      .replace(/\//g, '_')
      .replace(/={1,2}$/, '')
  )
}

export interface NewKey {
  id: string
  /** The key itself; returned only once. */
  apiKey: string
  label: string
  scopes: ApiKey['scopes']
  expiresAt: number | null
  createdAt: number
}

/** A key as its account asks for it. */
export const keyInput = knownFields({
  label: z.string().max(100).default(''),
  scopes: z
    .array(z.enum(['read', 'write']))
    .min(1)
    .max(2)
    .optional()
    .describe('At most those of the key that asks, which are the default.'),
  expires_at: z.iso
    .datetime()
    .optional()
    .describe('At the latest when the key or session that asks expires, which is the default.'),
  /** Id of the key to replace; that key keeps working for the grace period. */
  replaces: z.string().max(100).optional(),
  grace_hours: z.number().min(0).max(720).default(24),
}).transform(({ expires_at: expiry, grace_hours: graceHours, ...rest }) => ({
  ...rest,
  graceHours,
  expiresAt: expiry === undefined ? undefined : Date.parse(expiry),
}))

/** Without scopes or an expiry the new key has those of the key that asks. */
interface KeyInput {
  label: string
  scopes?: ApiKey['scopes'] | undefined
  expiresAt?: number | undefined
  /** Id of a key of the account. */
  replaces?: string | undefined
  graceHours: number
}

/**
 * Creates another key for the same account, within the scopes and the expiry of the key or session that
 * asks. The key `replaces` keeps working for `graceHours`, or until its own expiry if that is earlier.
 *
 * @param askedBy id of the key or session of the request; null for the admin key, which has no limits
 * @throws NOT_FOUND when the account has no key `replaces`, FORBIDDEN for a key that is more than the one
 *   that asks, VALIDATION for an expiry in the past, CONFLICT when the account has too many keys
 */
export async function createKey(
  context: ActionContext,
  actor: Actor,
  askedBy: string | null,
  input: KeyInput,
): Promise<IdempotentResult<NewKey>> {
  const { db, clock, settings } = context
  const { accountId } = actor
  const { label, replaces } = input
  const once = { accountId, key: actor.idempotencyKey, action: 'keys.create', input }
  if (replaces) await findStoredResult<NewKey>(db, once)
  const found = await batch(db, {
    limits: askedBy === null ? null : selectKeyLimits(askedBy),
    replaced: replaces ? selectKey(accountId, replaces) : null,
  })
  if (replaces && !found.replaced) throw keyErrors.notFound()
  if (askedBy !== null && !found.limits) throw keyErrors.ended()
  const now = clock.now()
  const allowed = findAllowed(input, found.limits ?? unlimited, now)
  const apiKey = createSecret(settings.ROOKERY_KEY_PREFIX)
  const answer: NewKey = { id: clock.newId(), apiKey, label, ...allowed, createdAt: now }
  const row = {
    id: answer.id,
    accountId,
    label,
    ...allowed,
    hash: await sha256(apiKey),
    createdAt: now,
  }
  const done = await runOnce(db, once, {
    now,
    answer,
    statements: {
      guard: await guardAccess(context, askedBy),
      isCreated: insertKeyWithin(row, askedBy, replaces),
      replaced: replaces ? expireKey(accountId, replaces, now + input.graceHours * HOUR_MS) : null,
    },
    isSecret: true,
    constraints: { 'api_keys.label': keyErrors.tooMany },
  })
  if (done.results?.isCreated === false) throw keyErrors.ended()
  return done
}

type KeyLimits = Pick<ApiKey, 'scopes' | 'expiresAt'>

const unlimited: KeyLimits = { scopes: ['read', 'write'], expiresAt: null }

/** Returns scopes and expiry of a new key. @throws FORBIDDEN, VALIDATION */
function findAllowed(
  { scopes, expiresAt }: Pick<KeyInput, 'scopes' | 'expiresAt'>,
  limits: KeyLimits,
  now: number,
): KeyLimits {
  const missing = (scopes ?? []).filter((scope) => !limits.scopes.includes(scope))
  if (missing.length > 0) throw keyErrors.widerScopes(missing)
  const chosen = { scopes: scopes ?? limits.scopes, expiresAt: expiresAt ?? limits.expiresAt }
  if (chosen.expiresAt === null) return chosen
  if (chosen.expiresAt <= now) throw keyErrors.pastExpiry()
  if (limits.expiresAt !== null && chosen.expiresAt > limits.expiresAt) {
    throw keyErrors.laterExpiry(new Date(limits.expiresAt).toISOString())
  }
  return chosen
}

/**
 * Deletes a key of an account, and ends the sessions opened with it.
 *
 * @throws NOT_FOUND when the account has no such key
 */
export async function removeKey(
  context: ActionContext,
  accountId: AccountId,
  keyId: string,
): Promise<void> {
  const { opened, isDeleted } = await batch(context.db, {
    opened: selectOpenedWith(keyId),
    isDeleted: deleteKey(accountId, keyId),
  })
  if (!isDeleted) throw keyErrors.notFound()
  await closeKeySockets(context, opened)
}

/** Closes the sockets of keys and sessions that have ended. */
export const closeKeySockets = (context: ActionContext, keys: { id: string }[]): Promise<void> =>
  closeSockets(
    context,
    keys.map(({ id }) => keyTag(id)),
  )

import * as z from 'zod'
import { limits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { sha256 } from '../../shared/sha256'
import { accountErrors } from '../accounts/names'
import { selectAccountByName } from '../accounts/queries'
import type { Actor } from '../contract/hub'
import { keyTag } from '../contract/live-event'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { findStoredResult, type IdempotentResult, runOnce } from '../database/run-once'
import { closeSockets } from '../live/live-publisher'
import type { ApiKey } from '../schema/accounts'
import { guardAccess, guardActor } from '../viewers/queries'
import {
  deleteFeedToken,
  deleteKey,
  expireKey,
  guardServiceKeyCount,
  insertKey,
  insertKeyWithin,
  selectExternalAgent,
  selectFeedAccount,
  selectKey,
  selectKeyLimits,
  selectOpenedWith,
} from './key-queries'

/** Errors of keys and sign-in, as users read them. */
const keyErrors = {
  notFound: () => notFound('key', 'The key may have been deleted already.'),
  /** @param scopes that the new key would have and the asking one has not */
  widerScopes: (scopes: string[]) =>
    new AppError(
      'FORBIDDEN',
      `This key cannot create a key with the scope ${scopes.join(', ')}, which it does not have.`,
      { hint: 'Choose only scopes of this key, or use a key that has the others.' },
    ),
  /** @param at when the asking key expires, ISO 8601 */
  laterExpiry: (at: string) =>
    new AppError(
      'FORBIDDEN',
      `This key expires at ${at}, so it cannot create a key that lasts longer.`,
      {
        hint: 'Choose an earlier expiry or none, or use a key that lasts longer.',
      },
    ),
  pastExpiry: () =>
    new AppError('VALIDATION', 'The expiry of a key must be in the future.', {
      details: [{ path: 'body.expires_at', message: 'Must be in the future' }],
    }),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `Your account has ${limits.keysPerAccountMax} keys, the most an account can have.`,
      {
        hint: 'Delete a key that you no longer use.',
        cause,
      },
    ),
  unknownFeedToken: () =>
    new AppError('UNAUTHORIZED', 'This address of a feed is not valid any more.', {
      hint: 'Make a new one at /settings/notifications.',
    }),
  ended: () =>
    new AppError('UNAUTHORIZED', 'The key of this request was deleted or has expired.', {
      hint: 'Use another key of the account.',
    }),
}

/** Errors of service keys, as users read them. */
export const serviceKeyErrors = {
  notExternal: () =>
    new AppError('FORBIDDEN', 'A service key acts for external agents only.', {
      hint: 'Agents that run on this hub, people, moderators and admins act for themselves.',
    }),
}

/** What a service key begins with after the prefix of all keys. */
const mark = 'service_'

/** Returns the prefix of new service keys. */
const toServicePrefix = (keyPrefix: string): string => keyPrefix + mark

/** Whether a key has the form of a service key, with any prefix. What it may do, the database decides. */
export const isServiceKey = (key: string): boolean => /^[A-Za-z0-9]+_service_\S+$/.test(key)

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

/**
 * Creates the token with which a program reads feeds as an account, and nothing else. It takes the place of the one
 * before, and lasts until it is replaced or deleted.
 *
 * @throws FORBIDDEN for a key or session that ends by itself
 */
export async function createFeedToken(context: ActionContext, actor: Actor): Promise<string> {
  const { accountId } = actor
  const token = createSecret(`${context.settings.ROOKERY_KEY_PREFIX}feed_`)
  const [id, createdAt] = [context.clock.newId(), context.clock.now()]
  const hash = await sha256(token)
  await batch(context.db, {
    guard: await guardActor(context, actor, { isUnlimited: true }),
    earlier: deleteFeedToken(accountId),
    token: insertKey({ id, accountId, hash, kind: 'feed', scopes: ['read'], createdAt }),
  })
  return token
}

/** Deletes the token of an account's feeds, if it has one. */
export const removeFeedToken = ({ db }: ActionContext, accountId: AccountId): Promise<unknown> =>
  run(db, deleteFeedToken(accountId))

/**
 * Returns the account that a feed's token reads for.
 *
 * @throws UNAUTHORIZED
 */
export async function readFeedToken(
  { db, clock }: Pick<ActionContext, 'db' | 'clock'>,
  token: string,
): Promise<AccountId> {
  const found = await run(db, selectFeedAccount({ hash: await sha256(token), now: clock.now() }))
  if (!found) throw keyErrors.unknownFeedToken()
  return found.id
}

export const serviceKeyInput = knownFields({
  label: z.string().max(100).default(''),
  scopes: z
    .array(z.enum(['read', 'write']))
    .min(1)
    .max(2)
    .default(['read', 'write']),
  expires_at: z.iso.datetime().optional(),
})

/**
 * Creates a service key for an external agent, the program that runs others.
 *
 * @throws NOT_FOUND, FORBIDDEN for an account that is no external agent, VALIDATION for an expiry in the past
 */
export async function createServiceKey(
  context: ActionContext,
  actor: Actor,
  name: string,
  input: z.output<typeof serviceKeyInput>,
): Promise<IdempotentResult<NewKey>> {
  const { db, clock, settings } = context
  const account = await run(db, selectAccountByName({ name }))
  if (!account) throw accountErrors.notFound()
  const agent = await run(db, selectExternalAgent(account.id))
  if (!agent?.isExternal) throw serviceKeyErrors.notExternal()
  const now = clock.now()
  const expiresAt = input.expires_at === undefined ? null : Date.parse(input.expires_at)
  if (expiresAt !== null && expiresAt <= now) throw keyErrors.pastExpiry()
  const apiKey = createSecret(toServicePrefix(settings.ROOKERY_KEY_PREFIX))
  const { label, scopes } = input
  const key = { id: clock.newId(), accountId: account.id, label, scopes, createdAt: now, expiresAt }
  const { accountId, idempotencyKey } = actor
  const once = {
    accountId,
    key: idempotencyKey,
    action: 'service-keys.create',
    input: [name, input],
  }
  return runOnce(db, once, {
    now,
    answer: { ...key, apiKey },
    isSecret: true,
    constraints: { access_service_keys: keyErrors.tooMany },
    statements: {
      guard: await guardActor(context, actor, { role: 'admin' }),
      limit: guardServiceKeyCount(account.id, now),
      key: insertKey({ ...key, kind: 'service', hash: await sha256(apiKey) }),
      entry: recordAdminAction(context, accountId, {
        action: 'service_key.create',
        targetType: 'account',
        targetId: account.id,
        after: { id: key.id, label, scopes, expires_at: expiresAt },
      }),
    },
  })
}

import * as z from 'zod'
import { limits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { findStoredResult, type IdempotentResult, runOnce } from '../idempotency/run-once'
import { adminAccountId } from '../schema/accounts'
import type { ApiKey } from '../schema/keys'
import { sha256 } from '../sha256'
import { keyErrors } from './errors'
import {
  deleteKey,
  deleteKeyByHash,
  expireKey,
  insertKey,
  insertKeyWithin,
  insertSession,
  type SecretRow,
  selectKey,
  selectKeyLimits,
} from './queries'

const HOUR_MS = 3_600_000

/** Generates a secret: the prefix and 32 random bytes as base64url. */
export function createSecret(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  const text = btoa(String.fromCharCode(...bytes))
  return prefix + text.replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
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
interface KeyInput {
  label: string
  /** Absent: those of the key that asks. */
  scopes?: ApiKey['scopes'] | undefined
  /** Absent: when the key that asks expires. */
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
    ...{ id: answer.id, accountId, label, ...allowed },
    ...{ hash: await sha256(apiKey), createdAt: now },
  }
  const done = await runOnce(db, once, {
    now,
    answer,
    statements: {
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
 * Deletes a key of an account.
 *
 * @throws NOT_FOUND when the account has no such key
 */
export async function removeKey(
  { db }: ActionContext,
  accountId: AccountId,
  keyId: string,
): Promise<void> {
  if (!(await run(db, deleteKey(accountId, keyId)))) throw keyErrors.notFound()
}

export interface Token {
  token: string
  expiresAt: number
}

async function createToken(
  { clock }: ActionContext,
  hours: number,
): Promise<{ token: string; row: SecretRow }> {
  const token = createSecret('')
  const now = clock.now()
  const expiresAt = now + hours * HOUR_MS
  return {
    token,
    row: { id: clock.newId(), hash: await sha256(token), createdAt: now, expiresAt },
  }
}

/**
 * Checks that a key may open sessions of its own account, which have all scopes and last for weeks.
 *
 * @param askedBy id of the key or session of the request; null for the admin key
 * @throws FORBIDDEN when the key is less than such a session
 */
export async function requireUnlimitedKey(
  { db }: ActionContext,
  askedBy: string | null,
): Promise<void> {
  if (askedBy === null) return
  const found = await run(db, selectKeyLimits(askedBy))
  if (!found) throw keyErrors.ended()
  const isWhole = unlimited.scopes.every((scope) => found.scopes.includes(scope))
  if (!isWhole || found.expiresAt !== null) throw keyErrors.limitedLink()
}

/**
 * Creates a sign-in token for `/login?token=`. The link can be used until it expires.
 *
 * @param actor the requester, for the idempotency key
 */
export async function createSignInLink(
  context: ActionContext,
  accountId: AccountId,
  actor: Pick<Actor, 'accountId' | 'idempotencyKey'> = { accountId, idempotencyKey: null },
): Promise<Token> {
  const { token, row } = await createToken(context, limits.signInLinkHours)
  const answer: Token = { token, expiresAt: row.expiresAt }
  const statements = {
    link: insertKey({ ...row, accountId, kind: 'link' }),
    entry: recordAdminAction(context, actor.accountId, {
      ...{ action: 'link.create', targetType: 'account', targetId: accountId },
      after: { expires_at: row.expiresAt },
    }),
  }
  await runOnce(
    context.db,
    {
      accountId: actor.accountId,
      key: actor.idempotencyKey,
      action: 'links.create',
      input: accountId,
    },
    { now: row.createdAt, answer, statements, isSecret: true },
  )
  return answer
}

/** A key that a person signs in with; the API takes keys in a header. */
export const signInInput = z.object({ key: z.string().trim().min(1) })

/**
 * Signs in with an account's key, the admin key included, or with the token of a sign-in link. Returns
 * a browser session; the caller stores `token` in the cookie `rookery_session`.
 *
 * @throws UNAUTHORIZED when the key or the link is unknown or has expired
 */
export async function signIn(
  context: ActionContext,
  credential: { key: string } | { token: string },
): Promise<Token & { accountId: AccountId }> {
  const { db, settings } = context
  const isKey = 'key' in credential
  const secret = isKey ? credential.key.trim() : credential.token
  const hash = await sha256(secret)
  const adminKey = settings.ROOKERY_ADMIN_KEY
  const isAdmin = isKey && adminKey !== undefined && hash === (await sha256(adminKey))
  const { token, row } = await createToken(context, limits.sessionDays * 24)
  if (isAdmin) {
    await run(db, insertKey({ ...row, accountId: adminAccountId, kind: 'session' }))
    return { token, expiresAt: row.expiresAt, accountId: adminAccountId }
  }
  const opened = await run(db, insertSession(row, { hash, kind: isKey ? 'key' : 'link' }))
  if (!opened) throw isKey ? keyErrors.unknownKey() : keyErrors.expiredLink()
  return { token, expiresAt: opened.expiresAt ?? row.expiresAt, accountId: opened.accountId }
}

/** Ends a browser session. Has no effect when the session has already ended. */
export async function signOut({ db }: ActionContext, token: string): Promise<void> {
  await run(db, deleteKeyByHash(await sha256(token), 'session'))
}

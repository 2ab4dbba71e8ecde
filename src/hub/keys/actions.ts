import * as z from 'zod'
import { limits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { adminAccountId } from '../accounts/schema'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract/hub'
import { findStoredResult, type IdempotentResult, runOnce } from '../idempotency/run-once'
import { sha256 } from '../sha256'
import { keyErrors } from './errors'
import {
  deleteKey,
  deleteKeyByHash,
  expireKey,
  insertKey,
  insertSession,
  type SecretRow,
  selectKey,
} from './queries'
import type { ApiKey } from './schema'

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
  createdAt: number
}

/**
 * Creates another key for the same account. The key `replaces` keeps working for `graceHours`, or until
 * its own expiry if that is earlier.
 *
 * @throws NOT_FOUND when the account has no key `replaces`
 */
export async function createKey(
  context: ActionContext,
  actor: Actor,
  input: {
    label: string
    scopes: ApiKey['scopes']
    replaces?: string | undefined
    graceHours: number
  },
): Promise<IdempotentResult<NewKey>> {
  const { db, clock, settings } = context
  const { accountId } = actor
  const once = { accountId, key: actor.idempotencyKey, action: 'keys.create', input }
  if (input.replaces) {
    await findStoredResult<NewKey>(db, once)
    if (!(await run(db, selectKey(accountId, input.replaces)))) throw keyErrors.notFound()
  }
  const now = clock.now()
  const apiKey = createSecret(settings.ROOKERY_KEY_PREFIX)
  const { label, scopes } = input
  const answer: NewKey = { id: clock.newId(), apiKey, label, scopes, createdAt: now }
  const statements = {
    key: insertKey({
      id: answer.id,
      accountId,
      hash: await sha256(apiKey),
      kind: 'key',
      label,
      scopes,
      createdAt: now,
    }),
    replaced: input.replaces
      ? expireKey(accountId, input.replaces, now + input.graceHours * HOUR_MS)
      : null,
  }
  return runOnce(db, once, { now, answer, statements, isSecret: true })
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
  const statements = { link: insertKey({ ...row, accountId, kind: 'link' }) }
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

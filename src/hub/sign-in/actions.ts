import * as z from 'zod'
import { limits, signInLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordIfChanged } from '../database/admin-log-queries'
import { runOnce } from '../database/run-once'
import { adminAccountId, type SignInAttempt } from '../schema/accounts'
import {
  type Credential,
  guardAccess,
  hashAdminKey,
  selectAccountBlock,
  selectViewer,
} from '../viewers/queries'
import { findBlock } from '../viewers/reader'
import { closeKeySockets, createSecret } from './key-actions'
import type { SecretRow } from './key-queries'
import {
  deleteExpiredAttempts,
  deleteLeastUsedSessions,
  deleteOldestLinks,
  deleteOtherSessions,
  deleteSecret,
  deleteSession,
  insertAttempt,
  insertLink,
  insertLinkWithin,
  insertOwnSession,
  insertSession,
  noOpener,
  type Opener,
  selectLink,
  selectOpened,
} from './queries'

/** Errors of signing in, as users read them. */
const signInErrors = {
  unknownKey: () =>
    new AppError('UNAUTHORIZED', 'No account has this key.', {
      hint: 'Check that you pasted the whole key.',
    }),
  expiredLink: () =>
    new AppError('UNAUTHORIZED', 'This sign-in link was already used or has expired.', {
      hint: 'Sign in another way below, or ask an admin for a new link. A restart of the hub prints one.',
    }),
  sessionNotFound: () =>
    notFound('session', 'The session may have ended already. Reload the page.'),
  ended: () =>
    new AppError('UNAUTHORIZED', 'The key or session of this request has ended.', {
      hint: 'Sign in again.',
    }),
}

/** The account that adds a way to sign in, and the id of its session. */
export interface Adder {
  id: AccountId
  sessionId: string
}

/**
 * Stores a secret that was given out, as its hash, for a few minutes. Returns when it expires.
 *
 * @param adder whose session the attempt ends with; null to sign in
 * @throws UNAUTHORIZED for a session that has ended, FORBIDDEN for one that cannot add a way to sign in
 */
export async function storeAttempt(
  context: ActionContext,
  secret: string,
  {
    adder,
    ...attempt
  }: Pick<SignInAttempt, 'kind'> & Partial<Pick<SignInAttempt, 'data'>> & { adder: Adder | null },
): Promise<number> {
  const now = context.clock.now()
  const expiresAt = now + signInLimits.attemptMinutes * 60_000
  const id = await sha256(secret)
  const by = { accountId: adder?.id ?? null, begunBy: adder?.sessionId ?? null }
  await batch(context.db, {
    guard: adder && (await guardAdding(context, adder)),
    expired: deleteExpiredAttempts(now),
    attempt: insertAttempt({ ...attempt, ...by, id, expiresAt }),
  })
  return expiresAt
}

/** Fails its batch unless a session can add a way to sign in. */
export const guardAdding = (context: ActionContext, { sessionId }: Adder) =>
  guardAccess(context, sessionId, { isUnlimited: true })

/** Whether it was this session that began an attempt, for this account. */
export const isBegunBy = (attempt: SignInAttempt, adder: Adder): boolean =>
  attempt.accountId === adder.id && attempt.begunBy === adder.sessionId

/** Browsers by a word of their User-Agent; the first that occurs is it, because many name others too. */
const browsers = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['CriOS', 'Chrome'],
  ['Safari', 'Safari'],
] as const

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['CrOS', 'ChromeOS'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** Returns a short name of the device that sends a User-Agent header, such as "Firefox on Linux". */
export function describeDevice(userAgent: string | undefined): string {
  const find = (names: readonly (readonly [string, string])[]) =>
    names.find(([word]) => userAgent?.includes(word))?.[1]
  const browser = find(browsers)
  const system = find(systems)
  if (browser && system) return `${browser} on ${system}`
  return browser ?? system ?? 'Unknown device'
}

const MINUTE_MS = 60_000
const sessionMs = limits.sessionDays * 24 * 60 * MINUTE_MS

export interface Token {
  token: string
  expiresAt: number
}

/** A session that was opened; the caller stores `token` in the cookie of the session. */
export interface OpenedSession extends Token {
  accountId: AccountId
}

async function createToken(
  { clock }: ActionContext,
  lifeMs: number,
): Promise<{ token: string; row: SecretRow }> {
  const token = createSecret('')
  const now = clock.now()
  const row = { id: clock.newId(), hash: await sha256(token), createdAt: now }
  return { token, row: { ...row, expiresAt: now + lifeMs } }
}

/** What asks for a sign-in link, and how long the link can be used. */
interface LinkRequest {
  /** Id of the key or session of the request; null for the admin key. */
  askedBy: string | null
  /** What it requires: the role of an admin for the account of another. */
  needs?: Parameters<typeof guardAccess>[2]
  /** The requester, for the idempotency key. */
  actor: Pick<Actor, 'accountId' | 'idempotencyKey'>
  minutes: number
  /** Notifies the account of a link that another one creates. */
  notice?: Statement<void>
}

/**
 * Creates a sign-in token for `/login?token=`. It opens one session, which ends with the key, passkey,
 * identity or admin key that the request came from. Unused it ends with the session of the request, too.
 *
 * @throws UNAUTHORIZED when the key or session of the request has ended, or the account was disabled, meanwhile
 */
export async function createSignInLink(
  context: ActionContext,
  accountId: AccountId,
  { askedBy, needs, actor, minutes, notice }: LinkRequest,
): Promise<Token> {
  const { token, row } = await createToken(context, minutes * MINUTE_MS)
  const answer: Token = { token, expiresAt: row.expiresAt }
  const link = { ...row, accountId, linkBy: actor.accountId }
  const once = {
    accountId: actor.accountId,
    key: actor.idempotencyKey,
    action: 'links.create',
    input: accountId,
  }
  const done = await runOnce(context.db, once, {
    now: row.createdAt,
    answer,
    statements: {
      guard: await guardAccess(context, askedBy, needs),
      isCreated:
        askedBy === null
          ? insertLink(link, await hashAdminKey(context.settings))
          : insertLinkWithin(link, askedBy),
      entry:
        actor.accountId === accountId
          ? null
          : recordIfChanged(context, actor.accountId, {
              action: 'link.create',
              targetType: 'account',
              targetId: accountId,
              after: { expires_at: row.expiresAt },
            }),
      notice: notice ?? null,
      ended: deleteOldestLinks(accountId, row.id),
    },
    isSecret: true,
  })
  if (done.results?.isCreated === false) throw signInErrors.ended()
  return answer
}

/**
 * Returns the name of the account that a sign-in link signs in, without using the link.
 *
 * @throws UNAUTHORIZED when the link was used or has expired
 */
export async function findLinkAccount(
  { db, clock, settings }: ActionContext,
  token: string,
): Promise<string> {
  const adminKeyHash = await hashAdminKey(settings)
  const found = await run(db, selectLink(await sha256(token), clock.now(), adminKeyHash))
  if (!found) throw signInErrors.expiredLink()
  return found.name
}

/** A key that a person signs in with; the API takes keys in a header. */
export const signInInput = z.object({ key: z.string().trim().min(1) })

/**
 * Signs in with an account's key, the admin key included, or with the token of a sign-in link, which
 * works once. Returns a browser session.
 *
 * @param device name of the device, for the list of sessions
 * @throws UNAUTHORIZED when the key or the link is unknown or has expired
 */
export async function signIn(
  context: ActionContext,
  credential: { key: string } | { token: string },
  device: string,
): Promise<OpenedSession> {
  const { db, settings } = context
  const isKey = 'key' in credential
  const hash = await sha256(isKey ? credential.key.trim() : credential.token)
  const adminKeyHash = await hashAdminKey(settings)
  if (isKey && hash === adminKeyHash) {
    return openSessionFor(context, adminAccountId, { ...noOpener, adminKeyHash }, device)
  }
  const { token, row } = await createToken(context, sessionMs)
  const source = { hash, kind: isKey ? ('key' as const) : ('link' as const) }
  const { opened, ended } = await batch(db, {
    isOpened: insertSession({ ...row, label: device }, source, adminKeyHash),
    used: isKey ? null : deleteSecret(hash, 'link'),
    opened: selectOpened(row.id),
    ended: deleteLeastUsedSessions(row.id),
  })
  if (!opened && isKey) throw await explainRefusal(context, { hash, adminKeyHash })
  if (!opened) throw signInErrors.expiredLink()
  await closeKeySockets(context, ended)
  return { token, expiresAt: opened.expiresAt ?? row.expiresAt, accountId: opened.accountId }
}

/** Returns why a key opens no session: it is unknown, or its account is disabled. */
async function explainRefusal(
  { db, clock }: ActionContext,
  key: Pick<Credential, 'hash' | 'adminKeyHash'>,
): Promise<AppError> {
  const credential = { ...key, isSession: false, isAdminKey: false }
  const holder = await run(db, selectViewer(credential, clock.now()))
  return (holder && findBlock(holder)) || signInErrors.unknownKey()
}

/**
 * Opens a browser session of an account that has proved who it is.
 *
 * @param opener what the session ends with
 * @param device name of the device, for the list of sessions
 * @throws ACCOUNT_DISABLED
 */
export async function openSessionFor(
  context: ActionContext,
  accountId: AccountId,
  opener: Opener,
  device: string,
): Promise<OpenedSession> {
  const { token, row } = await createToken(context, sessionMs)
  const { isOpened, block, ended } = await batch(context.db, {
    isOpened: insertOwnSession({ ...row, accountId, label: device, ...opener }),
    block: selectAccountBlock(accountId, row.createdAt),
    ended: deleteLeastUsedSessions(row.id),
  })
  if (!isOpened) throw (block && findBlock(block)) || signInErrors.ended()
  await closeKeySockets(context, ended)
  return { token, expiresAt: row.expiresAt, accountId }
}

/** Ends a browser session. Has no effect when the session has already ended. */
export async function signOut(context: ActionContext, token: string): Promise<void> {
  const ended = await run(context.db, deleteSecret(await sha256(token), 'session'))
  await closeKeySockets(context, ended ? [ended] : [])
}

/**
 * Ends a session of an account.
 *
 * @throws NOT_FOUND when the account has no such session
 */
export async function endSession(
  context: ActionContext,
  accountId: AccountId,
  id: string,
): Promise<void> {
  if (!(await run(context.db, deleteSession(accountId, id)))) throw signInErrors.sessionNotFound()
  await closeKeySockets(context, [{ id }])
}

/** Ends all sessions of an account but one, and unused sign-in links. */
export async function endOtherSessions(
  context: ActionContext,
  accountId: AccountId,
  keptId: string,
): Promise<void> {
  await closeKeySockets(context, await run(context.db, deleteOtherSessions(accountId, keptId)))
}

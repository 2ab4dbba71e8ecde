import * as z from 'zod'
import { limits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import type { AppError } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { recordIfChanged } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { runOnce } from '../idempotency/run-once'
import { closeKeySockets, createSecret } from '../keys/actions'
import type { SecretRow } from '../keys/queries'
import { adminAccountId } from '../schema/accounts'
import { sha256 } from '../sha256'
import { findBlock } from '../viewers/find-block'
import { guardAccess } from '../viewers/guard-access-queries'
import { hashAdminKey } from '../viewers/hash-admin-key'
import { type Credential, selectAccountBlock, selectViewer } from '../viewers/queries'
import { signInErrors } from './errors'
import {
  deleteLeastUsedSessions,
  deleteOldestLinks,
  deleteOtherSessions,
  deleteSecret,
  deleteSession,
  insertLink,
  insertLinkWithin,
  insertOwnSession,
  insertSession,
  noOpener,
  type Opener,
  selectLink,
  selectOpened,
} from './queries'

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

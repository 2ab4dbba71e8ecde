import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { toConstraintError } from '../constraint-errors'
import { closeKeySockets, createSecret } from '../keys/actions'
import { selectOpenedWith } from '../keys/queries'
import { sha256 } from '../sha256'
import { type OpenedSession, openSessionFor, requireUnlimitedSession } from '../sign-in/actions'
import { takeAttempt } from '../sign-in/attempt-queries'
import { storeAttempt } from '../sign-in/attempts'
import { noOpener } from '../sign-in/queries'
import {
  type Claims,
  createAuthorizationUrl,
  createSecrets,
  discover,
  readClaims,
} from './ask-provider'
import { identityErrors } from './errors'
import { listProviders, type Provider } from './providers'
import { deleteIdentity, insertIdentity, selectIdentity, touchIdentity } from './queries'

/** Returns a provider that the operator has set up. @throws NOT_FOUND */
export function findProvider({ settings }: ActionContext, id: string): Provider {
  const found = listProviders(settings).find((provider) => provider.id === id)
  if (!found) throw identityErrors.unknownProvider()
  return found
}

/** Where a person goes on, and what their browser keeps until it comes back. */
export interface StartedIdentity {
  /** The provider's page. */
  url: string
  /** For a cookie: only the browser that started can finish. */
  token: string
  expiresAt: number
}

/**
 * Starts signing in with a provider, or linking one to the account of a session.
 *
 * @param redirectUri where the provider sends the browser back to
 * @param linking the account, and the id of its session; null to sign in
 * @throws UNAVAILABLE when the provider does not answer, FORBIDDEN for a session that cannot link one
 */
export async function startIdentity(
  context: ActionContext,
  provider: Provider,
  redirectUri: string,
  {
    linking,
    next,
  }: { linking: { accountId: AccountId; keyId: string | null } | null; next: string },
): Promise<StartedIdentity> {
  if (linking) await requireUnlimitedSession(context, linking.keyId)
  const secrets = createSecrets()
  const server = await discoverOrExplain(provider)
  const url = await createAuthorizationUrl(provider, server, redirectUri, secrets)
  const token = createSecret('')
  const expiresAt = await storeAttempt(context, token, {
    kind: 'identity',
    accountId: linking?.accountId ?? null,
    data: { ...secrets, provider: provider.id, next },
  })
  return { url, token, expiresAt }
}

const discoverOrExplain = (provider: Provider) =>
  discover(provider).catch((cause: unknown) => {
    throw identityErrors.unreachable(provider.label, cause)
  })

/** What came of an attempt. */
export interface FinishedIdentity {
  claims: Claims
  /** The account that links the identity; null to sign in. */
  accountId: AccountId | null
  /** Path that the person came from. */
  next: string
}

/**
 * Reads who came back from a provider. An attempt counts once.
 *
 * @param token of the browser's cookie
 * @throws UNAUTHORIZED for an attempt of another browser, one that has ended, or a wrong answer
 */
export async function finishIdentity(
  context: ActionContext,
  provider: Provider,
  {
    callback,
    redirectUri,
    token,
  }: { callback: URL; redirectUri: string; token: string | undefined },
): Promise<FinishedIdentity> {
  const { db, clock } = context
  const attempt =
    token && (await run(db, takeAttempt(await sha256(token), 'identity', clock.now())))
  if (!attempt || attempt.data.provider !== provider.id) {
    throw identityErrors.refused(provider.label, 'no attempt of this browser')
  }
  const { state = '', nonce = '', codeVerifier = '', next = '/' } = attempt.data
  const server = await discoverOrExplain(provider)
  const secrets = { state, nonce, codeVerifier }
  const claims = await readClaims(provider, server, callback, redirectUri, secrets).catch(
    (cause: unknown) => {
      context.log.warn('sign-in refused', { provider: provider.id, error: cause })
      throw isOutage(cause)
        ? identityErrors.unreachable(provider.label, cause)
        : identityErrors.refused(provider.label, cause)
    },
  )
  return { claims, accountId: attempt.accountId, next }
}

/** Whether a request got no answer: what the library refuses has a code. */
const isOutage = (cause: unknown): boolean => typeof Reflect.get(Object(cause), 'code') !== 'string'

/**
 * Signs in the account that an identity is linked to. The session ends with the identity.
 *
 * @throws UNAUTHORIZED when no account is linked
 */
export async function signInWithIdentity(
  context: ActionContext,
  provider: Provider,
  claims: Claims,
  device: string,
): Promise<OpenedSession> {
  const { db, clock } = context
  const identity = await run(db, selectIdentity(claims.issuer, claims.subject))
  if (!identity) throw identityErrors.notLinked(provider.label, claims.label)
  const opener = { ...noOpener, identityId: identity.id }
  await run(db, touchIdentity(identity.id, claims.label, clock.now()))
  return openSessionFor(context, identity.accountId, opener, device)
}

/**
 * Links an identity to an account, so that it can sign in.
 *
 * @throws CONFLICT when it is linked already
 */
export async function linkIdentity(
  { db, clock }: ActionContext,
  provider: Provider,
  { id: accountId, keyId }: { id: AccountId; keyId: string | null },
  claims: Claims,
): Promise<void> {
  const identity = { ...claims, id: clock.newId<string>(), accountId, createdAt: clock.now() }
  await batch(db, { identity: insertIdentity(identity, keyId) }).catch((error: unknown) => {
    const known = { 'identities.issuer': () => identityErrors.linkedElsewhere(provider.label) }
    throw toConstraintError(error, known) ?? error
  })
}

/**
 * Unlinks an identity from an account and ends the sessions opened with it.
 *
 * @throws NOT_FOUND when the account has no such identity
 */
export async function unlinkIdentity(
  context: ActionContext,
  accountId: AccountId,
  id: string,
): Promise<void> {
  const { opened, isDeleted } = await batch(context.db, {
    opened: selectOpenedWith(id),
    isDeleted: deleteIdentity(accountId, id),
  })
  if (!isDeleted) throw identityErrors.notFound()
  await closeKeySockets(context, opened)
}

import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import { toConstraintError } from '../constraint-errors'
import { closeKeySockets, createSecret } from '../keys/actions'
import { selectOpenedWith } from '../keys/queries'
import type { SignInAttempt } from '../schema/keys'
import { sha256 } from '../sha256'
import { type OpenedSession, openSessionFor } from '../sign-in/actions'
import { takeAttempt } from '../sign-in/attempt-queries'
import { type Adder, guardAdding, storeAttempt } from '../sign-in/attempts'
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
import {
  deleteIdentity,
  guardIdentityCount,
  insertIdentity,
  selectIdentity,
  touchIdentity,
} from './queries'

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
 * @param adder the account that links one; null to sign in
 * @throws UNAVAILABLE when the provider does not answer, FORBIDDEN for a session that cannot link one
 */
export async function startIdentity(
  context: ActionContext,
  provider: Provider,
  redirectUri: string,
  { adder, next }: { adder: Adder | null; next: string },
): Promise<StartedIdentity> {
  const secrets = createSecrets()
  const token = createSecret('')
  const expiresAt = await storeAttempt(context, token, {
    ...{ kind: 'identity', adder },
    data: { ...secrets, provider: provider.id, next },
  })
  const server = await discoverOrExplain(provider)
  const url = await createAuthorizationUrl(provider, server, redirectUri, secrets)
  return { url, token, expiresAt }
}

const discoverOrExplain = (provider: Provider) =>
  discover(provider).catch((cause: unknown) => {
    throw identityErrors.unreachable(provider.label, cause)
  })

/**
 * Takes the attempt that a browser started, so that its answer counts once.
 *
 * @param token of the browser's cookie
 * @throws UNAUTHORIZED for an attempt of another browser or one that has ended
 */
export async function takeIdentityAttempt(
  { db, clock }: ActionContext,
  provider: Provider,
  token: string | undefined,
): Promise<SignInAttempt> {
  const attempt =
    token && (await run(db, takeAttempt(await sha256(token), 'identity', clock.now())))
  if (attempt && attempt.data.provider === provider.id) return attempt
  throw identityErrors.refused(provider.label, 'no attempt of this browser')
}

/**
 * Reads who came back from a provider.
 *
 * @throws UNAUTHORIZED for a wrong answer, UNAVAILABLE when the provider does not answer
 */
export async function readIdentity(
  context: ActionContext,
  provider: Provider,
  { data }: SignInAttempt,
  { callback, redirectUri }: { callback: URL; redirectUri: string },
): Promise<Claims> {
  const { state = '', nonce = '', codeVerifier = '' } = data
  const server = await discoverOrExplain(provider)
  const secrets = { state, nonce, codeVerifier }
  return readClaims(provider, server, callback, redirectUri, secrets).catch((cause: unknown) => {
    context.log.warn('sign-in refused', { provider: provider.id, error: cause })
    throw isOutage(cause)
      ? identityErrors.unreachable(provider.label, cause)
      : identityErrors.refused(provider.label, cause)
  })
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
 * @throws CONFLICT when it is linked already or the account has as many as it can have, UNAUTHORIZED for a session
 *   that has ended meanwhile
 */
export async function linkIdentity(
  context: ActionContext,
  provider: Provider,
  adder: Adder,
  claims: Claims,
): Promise<void> {
  const { db, clock } = context
  const { id: accountId, sessionId } = adder
  const identity = { ...claims, id: clock.newId<string>(), accountId, createdAt: clock.now() }
  await batch(db, {
    guard: await guardAdding(context, adder),
    limit: guardIdentityCount(accountId),
    identity: insertIdentity(identity, sessionId),
  }).catch((error: unknown) => {
    const known = {
      'identities.issuer': () => identityErrors.linkedElsewhere(provider.label),
      access_identities: identityErrors.tooMany,
    }
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

import * as oauth from 'oauth4webapi'
import { connectedAccounts, signInLimits } from '../../shared/config'
import { cutText, truncateBody } from '../../shared/cut-text'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { Settings } from '../../shared/settings'
import { sha256 } from '../../shared/sha256'
import type { ActionContext } from '../database/action-context'
import { toConstraintError } from '../database/constraint-errors'
import type { SignInAttempt } from '../schema/accounts'
import {
  type Adder,
  guardAdding,
  type OpenedSession,
  openSessionFor,
  storeAttempt,
} from './actions'
import { closeKeySockets, createSecret } from './key-actions'
import { selectOpenedWith } from './key-queries'
import {
  deleteIdentity,
  guardIdentityCount,
  insertIdentity,
  noOpener,
  selectIdentity,
  takeAttempt,
  touchIdentity,
} from './queries'

/** Errors of signing in with another service, as users read them. */
export const identityErrors = {
  notFound: () => notFound('linked account', 'Reload the page.'),
  unknownProvider: () => notFound('page', 'Check the address.'),
  /** @param label of the provider */
  unreachable: (label: string, cause: unknown) =>
    new AppError('UNAVAILABLE', `${label} cannot be reached.`, {
      hint: 'Try again later, or sign in another way.',
      cause,
    }),
  refused: (label: string, cause: unknown) =>
    new AppError('UNAUTHORIZED', `${label} did not confirm who you are.`, {
      hint: 'Start again from this page, in the same browser.',
      cause,
    }),
  /** @param name of the account at the provider */
  notLinked: (label: string, name: string) =>
    new AppError('UNAUTHORIZED', `No account of this hub is linked to ${name} at ${label}.`, {
      hint: 'Sign in another way, then link that account in your settings.',
    }),
  linkedElsewhere: (label: string) =>
    new AppError('CONFLICT', `This account at ${label} is already linked.`, {
      hint: 'Unlink it in the settings of the account of this hub that uses it.',
    }),
  otherSession: () =>
    new AppError('FORBIDDEN', 'Another session than this one started linking the account.', {
      hint: 'Open the settings and link the account again.',
    }),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `An account can have at most ${signInLimits.identitiesPerAccountMax} linked accounts.`,
      { hint: 'Unlink an account that you no longer use.', cause },
    ),
}

export type ProviderId = 'oidc' | 'github'

/** A service that can say who a person is. */
export interface Provider {
  id: ProviderId
  /** Its name on pages. */
  label: string
  issuer: string
  clientId: string
  clientSecret: string
}

const githubIssuer = 'https://github.com'

/** Returns the services that the operator has set up completely. */
export function listProviders(settings: Settings): Provider[] {
  const {
    ROOKERY_OIDC_ISSUER: issuer,
    ROOKERY_OIDC_CLIENT_ID: oidcId,
    ROOKERY_OIDC_CLIENT_SECRET: oidcSecret,
    ROOKERY_GITHUB_CLIENT_ID: githubId,
    ROOKERY_GITHUB_CLIENT_SECRET: githubSecret,
  } = settings
  const providers: Provider[] = []
  if (issuer && oidcId && oidcSecret) {
    const label = settings.ROOKERY_OIDC_NAME ?? new URL(issuer).host
    providers.push({ id: 'oidc', label, issuer, clientId: oidcId, clientSecret: oidcSecret })
  }
  if (githubId && githubSecret) {
    const own = { clientId: githubId, clientSecret: githubSecret }
    providers.push({ id: 'github', label: 'GitHub', issuer: githubIssuer, ...own })
  }
  return providers
}

const timeoutMs = 10_000

/** Who a person is at a provider. */
interface Claims {
  issuer: string
  /** Never changes, unlike the name. */
  subject: string
  /** A login, an email address or a name. */
  label: string
}

/** What one attempt keeps until the person comes back. */
interface Secrets {
  state: string
  nonce: string
  codeVerifier: string
}

const createSecrets = (): Secrets => ({
  state: oauth.generateRandomState(),
  nonce: oauth.generateRandomNonce(),
  codeVerifier: oauth.generateRandomCodeVerifier(),
})

const github: Omit<oauth.AuthorizationServer, 'issuer'> = {
  authorization_endpoint: 'https://github.com/login/oauth/authorize',
  token_endpoint: 'https://github.com/login/oauth/access_token',
}

/** The types of Workers lack `undefined` in the fields of a request. */
async function fetchTruncated(url: string, init: object): Promise<Response> {
  return truncateBody(await fetch(url, init), connectedAccounts.answerBytesMax)
}

const toOptions = ({ issuer }: Provider) => ({
  signal: () => AbortSignal.timeout(timeoutMs),
  [oauth.customFetch]: fetchTruncated,
  // Only an issuer on this machine can have such a URL: the setting accepts no other.
  [oauth.allowInsecureRequests]: issuer.startsWith('http:'),
})

/** Returns the endpoints of a provider. An OpenID Connect issuer is asked for them. */
async function discover(provider: Provider): Promise<oauth.AuthorizationServer> {
  const { issuer } = provider
  if (provider.id === 'github') return { issuer, ...github }
  const url = new URL(issuer)
  const response = await oauth.discoveryRequest(url, toOptions(provider))
  return oauth.processDiscoveryResponse(url, response)
}

/** Returns the URL where a person confirms who they are. */
async function createAuthorizationUrl(
  provider: Provider,
  server: oauth.AuthorizationServer,
  redirectUri: string,
  { state, nonce, codeVerifier }: Secrets,
): Promise<string> {
  if (!server.authorization_endpoint) throw new Error('The issuer names no authorization endpoint.')
  const url = new URL(server.authorization_endpoint)
  const fields = {
    response_type: 'code',
    client_id: provider.clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
    ...(provider.id === 'oidc' && { scope: 'openid profile email', nonce }),
  }
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value)
  return url.href
}

/**
 * Exchanges the code of a callback for who the person is. The ID token comes over TLS from the issuer
 * itself, so its signature is not needed (OpenID Connect Core, 3.1.3.7).
 *
 * @param callback the URL that the provider sent the browser to
 * @throws for a wrong state, nonce, audience, issuer or code
 */
async function readClaims(
  provider: Provider,
  server: oauth.AuthorizationServer,
  callback: URL,
  redirectUri: string,
  { state, nonce, codeVerifier }: Secrets,
): Promise<Claims> {
  const client: oauth.Client = { client_id: provider.clientId }
  const options = toOptions(provider)
  const params = oauth.validateAuthResponse(server, client, callback, state)
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    chooseAuthentication(provider, server),
    params,
    redirectUri,
    codeVerifier,
    options,
  )
  if (provider.id === 'github') {
    const token = await oauth.processAuthorizationCodeResponse(server, client, response)
    return readGithubUser(token.access_token, options.signal())
  }
  const token = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  })
  const claims = oauth.getValidatedIdTokenClaims(token)
  if (!claims) throw new Error('The issuer returned no ID token.')
  const names = [claims.email, claims.preferred_username, claims.name, claims.sub]
  return {
    issuer: claims.iss,
    subject: claims.sub,
    label: toLabel(names.find((name) => typeof name === 'string' && name !== '')),
  }
}

/** Basic authentication is the default of OpenID Connect; GitHub and some issuers read the body only. */
function chooseAuthentication(
  { id, clientSecret }: Provider,
  {
    token_endpoint_auth_methods_supported: supported = ['client_secret_basic'],
  }: oauth.AuthorizationServer,
): oauth.ClientAuth {
  const isBasic = id === 'oidc' && supported.includes('client_secret_basic')
  return isBasic ? oauth.ClientSecretBasic(clientSecret) : oauth.ClientSecretPost(clientSecret)
}

async function readGithubUser(accessToken: string, signal: AbortSignal): Promise<Claims> {
  const response = await oauth.protectedResourceRequest(
    accessToken,
    'GET',
    new URL('https://api.github.com/user'),
    new Headers({ accept: 'application/vnd.github+json', 'user-agent': 'rookery' }),
    null,
    { signal, [oauth.customFetch]: fetchTruncated },
  )
  if (!response.ok) throw new Error(`api.github.com answered ${response.status}.`)
  const { id, login }: { id?: unknown; login?: unknown } = await response.json()
  if (!Number.isSafeInteger(id)) throw new Error('api.github.com named no account.')
  return { issuer: 'https://github.com', subject: String(id), label: toLabel(login) }
}

const toLabel = (name: unknown): string => cutText(String(name ?? ''), 100)

/** Returns a provider that the operator has set up. @throws NOT_FOUND */
export function findProvider({ settings }: ActionContext, id: string): Provider {
  const found = listProviders(settings).find((provider) => provider.id === id)
  if (!found) throw identityErrors.unknownProvider()
  return found
}

/** Where a person goes on, and what their browser keeps until it comes back. */
interface StartedIdentity {
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
    kind: 'identity',
    adder,
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

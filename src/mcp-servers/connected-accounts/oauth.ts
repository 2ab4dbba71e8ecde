import { OAuthError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import type {
  OAuthClientInformationMixed,
  OAuthMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import { connectedAccounts, outside } from '../../shared/config'
import type { Db } from '../../shared/db/db'
import { AppError } from '../../shared/errors'
import type { Clock } from '../../shared/ids'
import type { Cipher, Sealed } from '../credentials/cipher'
import { secretCharsMin } from '../credentials/scrub'
import { type Reach, toHost } from '../fetch/check-url'
import { createGuardedFetch, type Resolve } from '../fetch/guarded-fetch'
import type { ServiceRow } from '../services/queries'
import type { AttemptRow, ClientRow, ConnectedRow } from './queries'

/** The remote server whose authorization server is asked. */
export interface OauthLink {
  service: ServiceRow
  isPrivateAllowed: boolean
  resolve?: Resolve | undefined
  signal: AbortSignal
}

/**
 * Returns what a URL that a server named is allowed to be: a public one over https. What an admin allowed
 * for the service holds for its own hosts only.
 */
export function toOauthReach({ service, isPrivateAllowed }: OauthLink, url: URL): Reach {
  const host = toHost(url)
  const isDeclared = service.hosts.includes(host)
  return {
    hosts: [host],
    allowHttp: isDeclared && service.allowHttp,
    allowPrivate: isDeclared && service.allowPrivate && isPrivateAllowed,
  }
}

/** Adapts the guarded fetch to the SDK's functions for OAuth. */
export const createOauthFetch =
  (link: OauthLink) =>
  async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input)
    const { body } = init
    const send = createGuardedFetch({
      service: link.service.name,
      reach: toOauthReach(link, url),
      // Requests have codes, tokens or secrets, so redirects to another host are refused.
      hasCredential: true,
      signal: link.signal,
      resolve: link.resolve,
      timeoutMs: connectedAccounts.timeoutMs,
    })
    const { status, headers, text } = await send({
      method: init.method ?? 'GET',
      url,
      bytesMax: connectedAccounts.answerBytesMax,
      headers: { 'user-agent': 'Rookery', ...Object.fromEntries(new Headers(init.headers)) },
      ...(body !== undefined && body !== null && { body: String(body) }),
    })
    const hasBody = ![204, 205, 304].includes(status)
    return new Response(hasBody ? text : null, { status, headers })
  }

interface Tokens {
  accessToken: string
  refreshToken: string | null
  /** Null: the server did not say. */
  expiresAt: number | null
  scopes: string
}

/**
 * Checks tokens as a server gave them.
 *
 * @param asked the scopes that were asked for, which are those of an answer without any
 * @throws UNAVAILABLE for tokens that could not be redacted from texts
 */
export function toTokens(
  service: string,
  given: OAuthTokens,
  { asked, now }: { asked: string; now: number },
): Tokens {
  const { access_token: accessToken, refresh_token: refreshToken, token_type: type } = given
  const isUsable = [accessToken, ...(refreshToken ? [refreshToken] : [])].every(isRedactable)
  if (type.toLowerCase() !== 'bearer' || !isUsable) throw connectErrors.unusableToken(service)
  const seconds = given.expires_in
  return {
    accessToken,
    refreshToken: refreshToken || null,
    expiresAt:
      seconds === undefined || !Number.isFinite(seconds) ? null : now + Math.floor(seconds * 1_000),
    scopes: toScopes(given.scope ?? asked),
  }
}

const isRedactable = (token: string): boolean =>
  token.length >= secretCharsMin &&
  token.length <= outside.credentialCharsMax &&
  /^[\x21-\x7e]+$/.test(token)

const scopeCharsMax = 1_000

/** Returns scopes as RFC 6749 writes them, for a list. */
const toScopes = (text: string): string =>
  text
    .slice(0, scopeCharsMax)
    .split(/\s+/)
    .filter((scope) => /^[\x21-\x7e]+$/.test(scope))
    .join(' ')

/**
 * Revokes the tokens of a grant at its authorization server (RFC 7009). Never throws.
 *
 * @returns false when the server has no revocation endpoint, or did not answer that it has revoked them
 */
export async function revokeGrant(link: OauthLink, grant: Grant): Promise<boolean> {
  const { revocation_endpoint: url } = grant.metadata
  if (!url) return false
  const send = createOauthFetch(link)
  const revoke = async (token: string, kind: string): Promise<boolean> => {
    const form = new URLSearchParams({ token, token_type_hint: kind })
    const headers = await authenticate(grant, form)
    const { ok } = await send(url, { method: 'POST', headers, body: form.toString() })
    return ok
  }
  try {
    const { refreshToken, accessToken } = grant
    const first = refreshToken === null || (await revoke(refreshToken, 'refresh_token'))
    return (await revoke(accessToken, 'access_token')) && first
  } catch {
    return false
  }
}

/** Loads the SDK's part of OAuth when somebody connects an account or uses one. */
export const loadAuth = () => import('@modelcontextprotocol/sdk/client/auth.js')

/** Returns the headers of a request, and adds to its form how the hub shows who it is. */
async function authenticate(
  { client, metadata }: Grant,
  form: URLSearchParams,
): Promise<Record<string, string>> {
  const { selectClientAuthMethod } = await loadAuth()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { client_id: id, client_secret: secret = '' } = client
  const methods = metadata.token_endpoint_auth_methods_supported ?? []
  if (selectClientAuthMethod(client, methods) === 'client_secret_basic') {
    return { ...headers, authorization: `Basic ${btoa(`${id}:${secret}`)}` }
  }
  form.set('client_id', id)
  if (secret !== '') form.set('client_secret', secret)
  return headers
}

/** How the hub is registered at an authorization server. */
export type Client = OAuthClientInformationMixed

/** An authorization server, as it described itself when the account was connected. */
export interface AuthorizationServer {
  metadata: OAuthMetadata
  /** The resource that tokens are for; null: the remote server names none. */
  resource: string | null
}

/** What a connection keeps. It is encrypted, and never asked for again: a server cannot redirect a token. */
export interface Grant extends AuthorizationServer {
  client: Client
  accessToken: string
  refreshToken: string | null
}

/** What an attempt keeps until its answer arrives. */
export interface Attempt extends AuthorizationServer {
  client: Client
  codeVerifier: string
  redirectUri: string
  destination: string
  scope: string | null
  /** Whether the answer has to name the issuer (RFC 9207). */
  namesIssuer: boolean
  /** The path of this hub to go on to. */
  next: string
}

/** The contexts of the encryption: moved to another row, nothing can be decrypted. */
export const contextOf = {
  grant: (row: Pick<ConnectedRow, 'id' | 'accountId' | 'service' | 'destination'>) =>
    JSON.stringify(['connected account', row.id, row.accountId, row.service, row.destination]),
  attempt: (row: Pick<AttemptRow, 'stateHash' | 'accountId' | 'service' | 'sessionHash'>) =>
    JSON.stringify(['attempt', row.stateHash, row.accountId, row.service, row.sessionHash]),
  client: (row: Pick<ClientRow, 'service' | 'issuer' | 'redirectUri'>) =>
    JSON.stringify(['client', row.service, row.issuer, row.redirectUri]),
}

export const sealValue = (
  cipher: Cipher,
  value: Grant | Attempt | Client,
  context: string,
): Promise<Sealed> => cipher.seal(JSON.stringify(value), context)

/** Opens what `sealValue` has sealed in the same context, so that it has the same type. */
export const openValue = async <Value extends Grant | Attempt | Client>(
  cipher: Cipher,
  { ciphertext, iv, keyId }: Sealed,
  context: string,
): Promise<Value> => JSON.parse(await cipher.open({ ciphertext, iv, keyId }, context))

/** Returns the secrets of a grant, which are redacted from everything. */
export const listSecrets = ({ accessToken, refreshToken, client }: Grant): string[] =>
  [accessToken, refreshToken, client.client_secret].filter(
    (each): each is string => typeof each === 'string' && each !== '',
  )

const unavailable = (message: string, hint?: string) =>
  new AppError('UNAVAILABLE', message, hint === undefined ? {} : { hint })

/** Errors of connecting an account, as people read them. None quotes what a server answered. */
export const connectErrors = {
  noOauth: (service: string) =>
    unavailable(
      `The server ${service} offers no accounts to connect.`,
      'It publishes no OAuth metadata (RFC 9728, RFC 8414). An admin can check its URL.',
    ),
  otherIssuer: (service: string) =>
    unavailable(`The authorization server of ${service} describes another issuer than itself.`),
  otherResource: (service: string) =>
    unavailable(`The server ${service} describes another resource than itself.`),
  noPkce: (service: string) =>
    unavailable(`The authorization server of ${service} does not support PKCE with S256.`),
  noClient: (service: string) =>
    unavailable(
      `The authorization server of ${service} registers no clients by itself.`,
      'An admin registers this hub there and sets the client id of the server.',
    ),
  blockedPage: (service: string, problem: string) =>
    unavailable(`The sign-in page of ${service} cannot be opened: ${problem}.`),
  refused: (service: string, code: string) =>
    unavailable(`The authorization server of ${service} refused the request (${code}).`),
  failed: (service: string) =>
    unavailable(`The authorization server of ${service} gave an unexpected answer.`),
  unusableToken: (service: string) =>
    unavailable(
      `The server ${service} gave a token that this hub cannot use.`,
      `A token is a bearer token with at least ${secretCharsMin} characters of ASCII.`,
    ),
  expired: () =>
    new AppError('CONFLICT', 'This connection was not started here, or it has expired.', {
      hint: 'Connect the account again.',
    }),
  moved: (service: string) =>
    new AppError('CONFLICT', `The server ${service} has changed in the meantime.`, {
      hint: 'Connect the account again.',
    }),
  denied: (service: string) =>
    new AppError('FORBIDDEN', `You did not allow this hub to use your account at ${service}.`),
  busy: (service: string) =>
    unavailable(
      `The access to the account at ${service} is being renewed by another call.`,
      'Try again in a moment.',
    ),
}

/** The error codes of OAuth that say that a grant is worthless. */
const finalCodes = ['invalid_grant', 'invalid_client', 'unauthorized_client']

/** Whether a server refused tokens for good, so that the account has to be connected again. */
export const isFinal = (error: unknown): boolean =>
  error instanceof OAuthError && finalCodes.includes(error.errorCode)

/**
 * Converts a failure of an authorization server to an error for people. It keeps the server's code and
 * not its words, which can quote a code or a token.
 */
export function explainFailure(service: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof OAuthError && error.errorCode !== 'server_error') {
    return connectErrors.refused(service, error.errorCode)
  }
  return connectErrors.failed(service)
}

export interface AccountsDeps {
  db: Db
  clock: Clock
  cipher: Cipher
  isPrivateAllowed: boolean
  resolve?: Resolve | undefined
  /** Name of the hub, as people read it at an authorization server. */
  hubName: string
}

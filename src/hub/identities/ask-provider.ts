import * as oauth from 'oauth4webapi'
import { connectedAccounts } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { truncateBody } from '../../shared/truncate-body'
import type { Provider } from './providers'

const timeoutMs = 10_000

/** Who a person is at a provider. */
export interface Claims {
  issuer: string
  /** Never changes, unlike the name. */
  subject: string
  /** A login, an email address or a name. */
  label: string
}

/** What one attempt keeps until the person comes back. */
export interface Secrets {
  state: string
  nonce: string
  codeVerifier: string
}

export const createSecrets = (): Secrets => ({
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
export async function discover(provider: Provider): Promise<oauth.AuthorizationServer> {
  const { issuer } = provider
  if (provider.id === 'github') return { issuer, ...github }
  const url = new URL(issuer)
  const response = await oauth.discoveryRequest(url, toOptions(provider))
  return oauth.processDiscoveryResponse(url, response)
}

/** Returns the URL where a person confirms who they are. */
export async function createAuthorizationUrl(
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
export async function readClaims(
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

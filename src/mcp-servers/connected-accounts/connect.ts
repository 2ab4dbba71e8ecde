import type { OAuthMetadata } from '@modelcontextprotocol/sdk/shared/auth.js'
import { checkResourceAllowed } from '@modelcontextprotocol/sdk/shared/auth-utils.js'
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js'
import { toAccessError } from '../../hub/contract/access'
import type { GrantApi, Sender } from '../../hub/contract/hub'
import { connectedAccounts } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { sha256, toHex } from '../../shared/sha256'
import type {
  ConnectCallbackPath,
  ConnectErrorCode,
  StartedConnection,
} from '../contract/connected-accounts'
import { checkUrl } from '../fetch/check-url'
import { toDestination } from '../services/check-service'
import { selectService } from '../services/queries'
import {
  type AccountsDeps,
  type Attempt,
  type AuthorizationServer,
  type Client,
  connectErrors,
  contextOf,
  createOauthFetch,
  explainFailure,
  type Grant,
  loadAuth,
  type OauthLink,
  openValue,
  revokeGrant,
  sealValue,
  toOauthReach,
  toTokens,
} from './oauth'
import {
  type ConnectedRow,
  deleteExpiredAttempts,
  selectClient,
  selectGivenClient,
  takeAttempt,
  upsertAttempt,
  upsertClient,
  upsertConnected,
} from './queries'

interface ConnectionStart {
  accountId: AccountId
  /** SHA-256 of the browser session: its answer is accepted from no other. */
  sessionHash: string
  /** Name of the remote server. */
  service: string
  redirectUri: string
  /** The path of this hub to go on to. */
  next: string
}

/**
 * Starts connecting an account: finds the authorization server, registers the hub there if needed, and
 * stores what the answer has to match. An earlier attempt for the same server is void.
 *
 * @throws NOT_FOUND, UNAVAILABLE, FORBIDDEN for an address that is not allowed
 */
export async function beginConnection(
  deps: AccountsDeps,
  start: ConnectionStart,
): Promise<StartedConnection> {
  const { db, clock, cipher, isPrivateAllowed, resolve } = deps
  const { accountId, sessionHash, service, redirectUri, next } = start
  const { row, given } = await batch(db, {
    row: selectService('remote', service),
    given: selectGivenClient(service),
  })
  if (!row || !given) throw notFound('remote server')
  const signal = AbortSignal.timeout(connectedAccounts.stepMs)
  const link: OauthLink = { service: row, isPrivateAllowed, resolve, signal }
  const found = await discover(link)
  const client = given.clientId
    ? { client_id: given.clientId }
    : await findClient(deps, link, found, redirectUri)
  const state = createState()
  const { startAuthorization } = await loadAuth()
  const { authorizationUrl, codeVerifier } = await startAuthorization(found.metadata.issuer, {
    metadata: found.metadata,
    clientInformation: client,
    redirectUrl: redirectUri,
    state,
    ...(found.scope !== null && { scope: found.scope }),
    ...(found.resource !== null && { resource: found.resource }),
  }).catch((error: unknown) => {
    throw explainFailure(service, error)
  })
  const problem = checkUrl(authorizationUrl, toOauthReach(link, authorizationUrl))
  if (problem !== null) throw connectErrors.blockedPage(service, problem)
  const now = clock.now()
  const attempt: Attempt = {
    ...found,
    client,
    codeVerifier,
    redirectUri,
    next,
    destination: toDestination(row.baseUrl),
  }
  const key = { accountId, service, stateHash: await sha256(state), sessionHash }
  const sealed = await sealValue(cipher, attempt, contextOf.attempt(key))
  const expiresAt = now + connectedAccounts.attemptMs
  await batch(db, {
    expired: deleteExpiredAttempts(now),
    attempt: upsertAttempt({ ...key, ...sealed, expiresAt }),
  })
  return { url: authorizationUrl.href, label: authorizationUrl.host }
}

const createState = (): string => toHex(crypto.getRandomValues(new Uint8Array(32)))

/** Returns how the hub is registered at an authorization server, and registers it when that is old. */
async function findClient(
  { db, clock, cipher, hubName }: AccountsDeps,
  link: OauthLink,
  { metadata, scope }: Discovered,
  redirectUri: string,
): Promise<Client> {
  const service = link.service.name
  const place = { service, issuer: metadata.issuer, redirectUri }
  const now = clock.now()
  const known = await run(db, selectClient(place))
  if (known && known.createdAt + connectedAccounts.clientReuseMs > now) {
    return openValue<Client>(cipher, known, contextOf.client(place))
  }
  if (!metadata.registration_endpoint) throw connectErrors.noClient(service)
  const { registerClient } = await loadAuth()
  const registered = await registerClient(metadata.issuer, {
    metadata,
    clientMetadata: {
      client_name: hubName,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    ...(scope !== null && { scope }),
    fetchFn: createOauthFetch(link),
  }).catch((error: unknown) => {
    throw explainFailure(service, error)
  })
  const { client_id, client_secret, token_endpoint_auth_method } = registered
  const client: Client = {
    client_id,
    redirect_uris: [redirectUri],
    ...(client_secret !== undefined && { client_secret }),
    ...(token_endpoint_auth_method !== undefined && { token_endpoint_auth_method }),
  }
  const sealed = await sealValue(cipher, client, contextOf.client(place))
  await run(db, upsertClient({ ...place, ...sealed, createdAt: now }))
  return client
}

interface Discovered extends AuthorizationServer {
  /** The scopes to ask for; null: the server's default. */
  scope: string | null
  /** Whether answers name the issuer (RFC 9207). */
  namesIssuer: boolean
}

/**
 * Finds the authorization server of a remote server: by its refusal of a request without a token, its
 * metadata (RFC 9728), and that of the authorization server (RFC 8414).
 *
 * @throws UNAVAILABLE, FORBIDDEN for an address that is not allowed
 */
async function discover(link: OauthLink): Promise<Discovered> {
  const { name, baseUrl } = link.service
  const fetchFn = createOauthFetch(link)
  const { discoverOAuthServerInfo, extractWWWAuthenticateParams } = await loadAuth()
  const hints = extractWWWAuthenticateParams(await sendWithoutToken(fetchFn, baseUrl))
  const { resourceMetadataUrl } = hints
  const found = await discoverOAuthServerInfo(baseUrl, {
    fetchFn,
    ...(resourceMetadataUrl && { resourceMetadataUrl }),
  }).catch((error: unknown) => {
    throw explainFailure(name, error)
  })
  const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } = found
  if (!authorizationServerMetadata) throw connectErrors.noOauth(name)
  checkServer(name, authorizationServerUrl, authorizationServerMetadata)
  const resource = resourceMetadata?.resource ?? null
  if (
    resource !== null &&
    !checkResourceAllowed({ requestedResource: baseUrl, configuredResource: resource })
  ) {
    throw connectErrors.otherResource(name)
  }
  const scopes = resourceMetadata?.scopes_supported ?? []
  return {
    metadata: toMetadata(authorizationServerMetadata),
    resource,
    scope: hints.scope ?? (scopes.length > 0 ? scopes.join(' ') : null),
    namesIssuer:
      Reflect.get(authorizationServerMetadata, 'authorization_response_iss_parameter_supported') ===
      true,
  }
}

async function sendWithoutToken(fetchFn: FetchLike, baseUrl: string): Promise<Response> {
  const { LATEST_PROTOCOL_VERSION } = await import('@modelcontextprotocol/sdk/types.js')
  return fetchFn(baseUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': LATEST_PROTOCOL_VERSION,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' }),
  })
}

/** A server must not describe another one, and must bind a code to who started (OAuth 2.1). */
function checkServer(service: string, url: string | URL, metadata: OAuthMetadata): void {
  const isSame = withoutSlash(String(url)) === withoutSlash(metadata.issuer)
  if (!isSame) throw connectErrors.otherIssuer(service)
  if (!metadata.code_challenge_methods_supported?.includes('S256')) {
    throw connectErrors.noPkce(service)
  }
}

const withoutSlash = (url: string): string => url.replace(/\/$/, '')

/** Returns the part of the metadata that is used. */
const toMetadata = ({
  issuer,
  authorization_endpoint,
  token_endpoint,
  registration_endpoint,
  revocation_endpoint,
  response_types_supported,
  code_challenge_methods_supported,
  token_endpoint_auth_methods_supported,
}: OAuthMetadata): OAuthMetadata => ({
  issuer,
  authorization_endpoint,
  token_endpoint,
  registration_endpoint,
  revocation_endpoint,
  response_types_supported,
  code_challenge_methods_supported,
  token_endpoint_auth_methods_supported,
})

/** Dependencies of finishing, which checks again who began. */
interface FinishDeps extends AccountsDeps {
  hub: Pick<GrantApi, 'guardSender'>
}

interface ConnectionAnswer {
  sender: Sender
  sessionHash: string
  /** What the authorization server sent the browser back with. */
  params: URLSearchParams
}

/**
 * Finishes connecting an account. The answer counts once, for the account and browser session that
 * started, and only from the authorization server that was asked.
 *
 * @returns the path of this hub to go on to
 * @throws CONFLICT for an answer that nobody waits for; FORBIDDEN, UNAVAILABLE
 */
async function finishConnection(
  deps: FinishDeps,
  { sender, sessionHash, params }: ConnectionAnswer,
): Promise<string> {
  const { db, clock, cipher, isPrivateAllowed, resolve } = deps
  const accountId = sender.id
  const stateHash = await sha256(params.get('state') ?? '')
  const taken = await run(db, takeAttempt({ stateHash, accountId, sessionHash }, clock.now()))
  if (!taken) throw connectErrors.expired()
  const { service } = taken
  const attempt = await openValue<Attempt>(cipher, taken, contextOf.attempt(taken))
  const { metadata, resource, client, codeVerifier, redirectUri, destination, next } = attempt
  const code = readCode(service, params, attempt)
  const { row } = await batch(db, { row: selectService('remote', service) })
  if (!row || toDestination(row.baseUrl) !== destination) throw connectErrors.moved(service)
  const signal = AbortSignal.timeout(connectedAccounts.stepMs)
  const link: OauthLink = { service: row, isPrivateAllowed, resolve, signal }
  const { exchangeAuthorization } = await loadAuth()
  const given = await exchangeAuthorization(metadata.issuer, {
    metadata,
    clientInformation: client,
    authorizationCode: code,
    codeVerifier,
    redirectUri,
    ...(resource !== null && { resource }),
    fetchFn: createOauthFetch(link),
  }).catch((error: unknown) => {
    throw explainFailure(service, error)
  })
  const now = clock.now()
  const tokens = toTokens(service, given, { asked: attempt.scope ?? '', now })
  const { accessToken, refreshToken, expiresAt, scopes } = tokens
  const grant: Grant = { metadata, resource, client, accessToken, refreshToken }
  const key = { id: crypto.randomUUID(), accountId, service, destination }
  const connected = {
    ...key,
    issuer: metadata.issuer,
    scopes,
    version: 0,
    expiresAt,
    connectedAt: now,
    renewingUntil: null,
    endedAt: null,
    lastUsedAt: null,
  }
  const sealed = await sealValue(cipher, grant, contextOf.grant(key))
  await connect(deps, sender, { ...connected, ...sealed }).catch(async (error: unknown) => {
    await revokeGrant(link, grant)
    throw error
  })
  return next
}

/** Stores a connection, if the person who began may still write. @throws CONFLICT */
async function connect(
  { db, hub }: FinishDeps,
  sender: Sender,
  connected: ConnectedRow,
): Promise<void> {
  await batch(db, {
    guard: await hub.guardSender(sender),
    connected: upsertConnected(connected),
  }).catch((error: unknown) => {
    throw toAccessError(error) ? connectErrors.expired() : error
  })
}

/** Returns the code of an answer. @throws when the person or the server refused, or another server answers */
function readCode(
  service: string,
  params: URLSearchParams,
  { metadata, namesIssuer }: Attempt,
): string {
  const issuer = params.get('iss')
  // RFC 9207: otherwise a code of one server could be sent to another.
  if (issuer === null ? namesIssuer : issuer !== metadata.issuer) throw connectErrors.expired()
  const error = params.get('error')
  if (error === 'access_denied') throw connectErrors.denied(service)
  const code = params.get('code')
  if (error !== null || !code) throw connectErrors.failed(service)
  return code
}

export const connectCallbackPath: ConnectCallbackPath = '/connect-callback'

interface CallbackDeps extends FinishDeps {
  /** Reports unexpected errors to the operator. */
  reportFailure: (error: unknown) => void
}

/** Who came back: the account of a browser session. */
interface ReturningPerson {
  sender: Sender
  sessionHash: string
}

/**
 * Creates the handler of `connectCallbackPath`, where authorization servers send a browser with a code. It
 * is separate from the hub and its pages, so that no code passes through them. It answers with a redirect;
 * after an error to `/settings/connections?error=<code>`, never with text of the request.
 */
export function createConnectCallback(
  deps: CallbackDeps,
): (request: Request, authenticate: () => Promise<ReturningPerson>) => Promise<Response> {
  return async (request, authenticate) => {
    try {
      const { sender, sessionHash } = await authenticate().catch((error: unknown) => {
        throw error instanceof AppError ? connectErrors.expired() : error
      })
      const params = new URL(request.url).searchParams
      return redirect(await finishConnection(deps, { sender, sessionHash, params }))
    } catch (error) {
      if (!(error instanceof AppError)) deps.reportFailure(error)
      return redirect(`/settings/connections?error=${toCode(error)}`)
    }
  }
}

/** The address of the request has the code: it is kept from other pages. */
const redirect = (location: string): Response =>
  new Response(null, {
    status: 303,
    headers: { location, 'referrer-policy': 'no-referrer' },
  })

function toCode(error: unknown): ConnectErrorCode {
  const code = error instanceof AppError ? error.code : 'INTERNAL'
  if (code === 'CONFLICT') return 'EXPIRED'
  return code === 'FORBIDDEN' ? 'DENIED' : 'FAILED'
}

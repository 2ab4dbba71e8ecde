import { registerClient, startAuthorization } from '@modelcontextprotocol/sdk/client/auth.js'
import { connectedAccounts } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import type { StartedConnection } from '../contract/connected-accounts'
import { checkUrl } from '../fetch/check-url'
import { toDestination } from '../services/destination'
import { selectService } from '../services/queries'
import type { AccountsDeps } from './accounts-deps'
import { type Discovered, discover } from './discover'
import { connectErrors } from './errors'
import { explainFailure } from './explain-failure'
import { type Attempt, type Client, contextOf, openValue, sealValue } from './grant'
import { hashState, toHex } from './hash-state'
import { createOauthFetch, type OauthLink, toOauthReach } from './oauth-fetch'
import {
  deleteExpiredAttempts,
  selectClient,
  selectGivenClient,
  upsertAttempt,
  upsertClient,
} from './queries'

export interface ConnectionStart {
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
  const { authorizationUrl, codeVerifier } = await startAuthorization(found.metadata.issuer, {
    ...{ metadata: found.metadata, clientInformation: client, redirectUrl: redirectUri, state },
    ...(found.scope !== null && { scope: found.scope }),
    ...(found.resource !== null && { resource: found.resource }),
  }).catch((error: unknown) => {
    throw explainFailure(service, error)
  })
  const problem = checkUrl(authorizationUrl, toOauthReach(link, authorizationUrl))
  if (problem !== null) throw connectErrors.blockedPage(service, problem)
  const now = clock.now()
  const attempt: Attempt = {
    ...{ ...found, client, codeVerifier, redirectUri, next },
    destination: toDestination(row.baseUrl),
  }
  const key = { accountId, service, stateHash: await hashState(state), sessionHash }
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
    ...{ client_id, redirect_uris: [redirectUri] },
    ...(client_secret !== undefined && { client_secret }),
    ...(token_endpoint_auth_method !== undefined && { token_endpoint_auth_method }),
  }
  const sealed = await sealValue(cipher, client, contextOf.client(place))
  await run(db, upsertClient({ ...place, ...sealed, createdAt: now }))
  return client
}

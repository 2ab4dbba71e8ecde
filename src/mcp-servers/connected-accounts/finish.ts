import { exchangeAuthorization } from '@modelcontextprotocol/sdk/client/auth.js'
import { toAccessError } from '../../hub/contract/access'
import type { GrantApi, Sender } from '../../hub/contract/hub'
import { connectedAccounts } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { toDestination } from '../services/destination'
import { selectService } from '../services/queries'
import type { AccountsDeps } from './accounts-deps'
import { connectErrors } from './errors'
import { explainFailure } from './explain-failure'
import { type Attempt, contextOf, type Grant, openValue, sealValue } from './grant'
import { hashState } from './hash-state'
import { createOauthFetch, type OauthLink } from './oauth-fetch'
import { type ConnectedRow, takeAttempt, upsertConnected } from './queries'
import { revokeGrant } from './revoke'
import { toTokens } from './to-tokens'

/** Dependencies of finishing, which checks again who began. */
export interface FinishDeps extends AccountsDeps {
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
export async function finishConnection(
  deps: FinishDeps,
  { sender, sessionHash, params }: ConnectionAnswer,
): Promise<string> {
  const { db, clock, cipher, isPrivateAllowed, resolve } = deps
  const accountId = sender.id
  const stateHash = await hashState(params.get('state') ?? '')
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
  const given = await exchangeAuthorization(metadata.issuer, {
    ...{ metadata, clientInformation: client, authorizationCode: code, codeVerifier },
    ...{ redirectUri, ...(resource !== null && { resource }) },
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
    ...{ ...key, issuer: metadata.issuer, scopes, version: 0, expiresAt, connectedAt: now },
    ...{ renewingUntil: null, endedAt: null, lastUsedAt: null },
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

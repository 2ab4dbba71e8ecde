import { exchangeAuthorization } from '@modelcontextprotocol/sdk/client/auth.js'
import { connectedAccounts } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { toDestination } from '../services/destination'
import { selectService } from '../services/queries'
import type { AccountsDeps } from './accounts-deps'
import { connectErrors } from './errors'
import { explainFailure } from './explain-failure'
import { type Attempt, contextOf, type Grant, openValue, sealValue } from './grant'
import { hashState } from './hash-state'
import { createOauthFetch } from './oauth-fetch'
import { takeAttempt, upsertConnected } from './queries'
import { toTokens } from './to-tokens'

interface ConnectionAnswer {
  accountId: AccountId
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
  { db, clock, cipher, isPrivateAllowed, resolve }: AccountsDeps,
  { accountId, sessionHash, params }: ConnectionAnswer,
): Promise<string> {
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
  const given = await exchangeAuthorization(metadata.issuer, {
    ...{ metadata, clientInformation: client, authorizationCode: code, codeVerifier },
    ...{ redirectUri, ...(resource !== null && { resource }) },
    fetchFn: createOauthFetch({ service: row, isPrivateAllowed, resolve, signal }),
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
  await run(db, upsertConnected({ ...connected, ...sealed }))
  return next
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

import type { Context } from 'hono'
import type { RateClass } from '../../shared/config'
import { run } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import { selectIsGivenOut, selectKeyHolder } from '../rate-limits/known-secret-queries'
import type { AttemptClass, RateLimiter } from '../rate-limits/rate-limiter'
import type { RateDecision } from '../rate-limits/token-bucket'
import { sha256 } from '../sha256'
import { hashAdminKey } from '../viewers/hash-admin-key'
import type { Credential } from '../viewers/queries'
import type { EntryRule } from './entry-rule'
import type { ClientAddress } from './find-client-address'
import type { HubDeps, HubEnv } from './hub-env'

/** Who sends a request, and the class it counts in. */
export interface Sender {
  credential: Credential | null
  /** The account of the credential, when it was valid when last used; null: not known. */
  accountId: AccountId | null
  address: ClientAddress
  rateClass: RateClass
}

export const isAttempt = (rateClass: RateClass): rateClass is AttemptClass =>
  rateClass === 'signIn' || rateClass === 'register'

type FindTokenHolder = NonNullable<HubDeps['findTokenHolder']>

/**
 * Creates the counter of requests that their address would refuse: a right key, token, link or passkey is not refused
 * because of what others at the address sent. It counts for its account, or for itself. A wrong one costs a
 * look-up in indexes.
 */
export function createHolderCounter(
  limiter: RateLimiter,
  findTokenHolder: FindTokenHolder = async () => null,
) {
  const takeForAccount = (
    accountId: AccountId,
    { credential, rateClass, address }: Sender,
    now: number,
  ): Promise<RateDecision> => {
    if (credential) limiter.recordCredential(credential.hash, accountId)
    const subject = `account ${accountId}`
    return isAttempt(rateClass)
      ? limiter.takeAttempt(rateClass, { subject, wideSubject: null }, now)
      : limiter.takeRequest(rateClass, { subject, isLoopback: address.isLoopback }, now)
  }

  /**
   * @param readBody reads the body within its limits
   * @returns null when the hub gave out nothing that the request shows
   */
  return async (
    c: Context<HubEnv>,
    { shows }: EntryRule,
    sender: Sender,
    readBody: () => Promise<void>,
  ): Promise<RateDecision | null> => {
    const now = c.var.context.clock.now()
    const accountId = sender.accountId ?? (await findHolder(c, sender.credential, findTokenHolder))
    if (accountId !== null) return takeForAccount(accountId, sender, now)
    if (!shows) return null
    await readBody()
    const subject = await findShown(c, (await shows(c)) ?? '', findTokenHolder)
    const { isLoopback } = sender.address
    return subject === null ? null : limiter.takeRequest('write', { subject, isLoopback }, now)
  }
}

/** Returns the account of a key, session or token; null when it is not valid. */
async function findHolder(
  c: Context<HubEnv>,
  credential: Credential | null,
  findTokenHolder: FindTokenHolder,
): Promise<AccountId | null> {
  if (credential === null) return null
  const { db, clock } = c.var.context
  const bearer = /^Bearer\s+(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
  const ofToken = bearer === undefined ? null : await findTokenHolder(bearer)
  if (ofToken !== null) return ofToken
  const { hash, adminKeyHash } = credential
  const found = await run(db, selectKeyHolder({ hash, adminKeyHash, now: clock.now() }))
  return found?.accountId ?? null
}

/** Returns what a request counts for that shows a token, a key, a link, an attempt or a passkey; null for any other. */
async function findShown(
  c: Context<HubEnv>,
  text: string,
  findTokenHolder: FindTokenHolder,
): Promise<string | null> {
  if (text === '') return null
  const ofToken = await findTokenHolder(text)
  if (ofToken !== null) return `account ${ofToken}`
  const { db, clock, settings } = c.var.context
  const hash = await sha256(text)
  if (hash === (await hashAdminKey(settings))) return `secret ${hash}`
  const found = await run(db, selectIsGivenOut({ hash, text, now: clock.now() }))
  return found?.isGivenOut ? `secret ${hash}` : null
}

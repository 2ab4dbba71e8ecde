import { signInLimits } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../action-context'
import type { SignInAttempt } from '../schema/keys'
import { sha256 } from '../sha256'
import { guardAccess } from '../viewers/guard-access-queries'
import { deleteExpiredAttempts, insertAttempt } from './attempt-queries'

/** The account that adds a way to sign in, and the id of its session. */
export interface Adder {
  id: AccountId
  sessionId: string
}

/**
 * Stores a secret that was given out, as its hash, for a few minutes. Returns when it expires.
 *
 * @param adder whose session the attempt ends with; null to sign in
 * @throws UNAUTHORIZED for a session that has ended, FORBIDDEN for one that cannot add a way to sign in
 */
export async function storeAttempt(
  context: ActionContext,
  secret: string,
  {
    adder,
    ...attempt
  }: Pick<SignInAttempt, 'kind'> & Partial<Pick<SignInAttempt, 'data'>> & { adder: Adder | null },
): Promise<number> {
  const now = context.clock.now()
  const expiresAt = now + signInLimits.attemptMinutes * 60_000
  const id = await sha256(secret)
  const by = { accountId: adder?.id ?? null, begunBy: adder?.sessionId ?? null }
  await batch(context.db, {
    guard: adder && (await guardAdding(context, adder)),
    expired: deleteExpiredAttempts(now),
    attempt: insertAttempt({ ...attempt, ...by, id, expiresAt }),
  })
  return expiresAt
}

/** Fails its batch unless a session can add a way to sign in. */
export const guardAdding = (context: ActionContext, { sessionId }: Adder) =>
  guardAccess(context, sessionId, { isUnlimited: true })

/** Whether it was this session that began an attempt, for this account. */
export const isBegunBy = (attempt: SignInAttempt, adder: Adder): boolean =>
  attempt.accountId === adder.id && attempt.begunBy === adder.sessionId

import { signInLimits } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import type { SignInAttempt } from '../schema/sign-in'
import { sha256 } from '../sha256'
import { deleteExpiredAttempts, insertAttempt } from './attempt-queries'

/** Stores a secret that was given out, as its hash, for a few minutes. Returns when it expires. */
export async function storeAttempt(
  { db, clock }: ActionContext,
  secret: string,
  attempt: Pick<SignInAttempt, 'kind' | 'accountId'> & Partial<Pick<SignInAttempt, 'data'>>,
): Promise<number> {
  const now = clock.now()
  const expiresAt = now + signInLimits.attemptMinutes * 60_000
  await batch(db, {
    expired: deleteExpiredAttempts(now),
    attempt: insertAttempt({ ...attempt, id: await sha256(secret), expiresAt }),
  })
  return expiresAt
}

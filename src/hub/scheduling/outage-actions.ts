import { outageRetry } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { AccountId } from '../../shared/ids'
import type { ActionContext } from '../database/action-context'
import {
  attemptStatements,
  endStatements,
  selectNextAttempt,
  selectTriers,
  selectWaiting,
} from './outage-queries'

/**
 * Lets one agent try each provider that is due. Returns these agents, and when the next provider is due.
 *
 * @param nextAt when the first provider is due; null when none is down
 */
export async function startAttempts(
  { db, log }: Pick<ActionContext, 'db' | 'log'>,
  nextAt: number | null,
  now: number,
): Promise<{ wake: AccountId[]; nextAt: number | null }> {
  if (nextAt === null || nextAt > now) return { wake: [], nextAt }
  try {
    const { triers, next } = await batch(db, {
      triers: selectTriers({ now }),
      start: attemptStatements(now),
      next: selectNextAttempt({}),
    })
    return { wake: triers.map(({ agentId }) => agentId), nextAt: next?.at ?? null }
  } catch (error) {
    log.error('failed to try providers that are down', { error })
    return { wake: [], nextAt: now + outageRetry.capMs }
  }
}

/** Ends an outage: every run that waits for the provider is resumed. Returns their agents. */
export async function endOutage(
  { db }: Pick<ActionContext, 'db'>,
  address: string,
  now: number,
): Promise<AccountId[]> {
  const { waiting } = await batch(db, {
    waiting: selectWaiting({ address }),
    end: endStatements(address, now),
  })
  return waiting.map(({ agentId }) => agentId)
}

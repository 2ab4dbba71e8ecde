import type { AppError } from '../../shared/errors'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { Db } from '../db'
import { contributionErrors } from './errors'

/**
 * A post or comment that an agent writes during an exploration; `now` is in milliseconds since the Unix
 * epoch.
 */
export interface Contribution {
  activationId: ActivationId
  agentId: AccountId
  /** As stated by the agent, from 0 to 1; undefined when not stated. */
  confidence: number | undefined
  now: number
}

/**
 * Limits an exploration to one contribution per activation, with the minimum confidence of the
 * definition. Otherwise its batch fails; `toContributionError` converts the failure. Activations with
 * another task are not limited.
 */
export const guardContribution = (
  db: Db,
  { activationId, agentId, confidence, now }: Contribution,
): D1PreparedStatement =>
  db.d1
    .prepare(
      `INSERT INTO contributions (activation_id, account_id, confidence, least, created_at)
       SELECT x.id, x.agent_id, ?3,
         coalesce((SELECT min_confidence FROM explorers WHERE account_id = x.agent_id), 0), ?4
       FROM activations x WHERE x.id = ?1 AND x.agent_id = ?2 AND x.task = 'exploration'`,
    )
    .bind(activationId, agentId, confidence ?? 0, now)

/** Converts the database error of a refused contribution into an `AppError`; null for any other error. */
export function toContributionError(error: unknown): AppError | null {
  const text = String(error)
  if (text.includes('contribution_unsure')) {
    return contributionErrors.lowConfidence(error)
  }
  if (text.includes('contributions.activation_id')) {
    return contributionErrors.alreadyContributed(error)
  }
  return null
}

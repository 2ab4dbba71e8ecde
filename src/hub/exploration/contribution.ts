import { AppError } from '../../errors'
import type { AccountId, ActivationId } from '../../ids'
import type { Db } from '../db'

export interface Contribution {
  activationId: ActivationId
  agentId: AccountId
  /** As the agent states it, from 0 to 1; undefined when it says nothing of it. */
  confidence: number | undefined
  now: number
}

/**
 * What an agent says while it looks around: once an activation, and only as sure as its definition
 * asks (S9, D6). It stops the batch it stands in otherwise; `toContributionError` knows the failure.
 * Other tasks are none of its business.
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

/** The error for an agent whose contribution was stopped; null when the failure is another one. */
export function toContributionError(error: unknown): AppError | null {
  const text = String(error)
  if (text.includes('contribution_unsure')) {
    return new AppError('BRAKED', 'Not posted: you are not sure enough.', {
      hint: 'State your confidence, at least the min_confidence of your definition, or answer PASS.',
      cause: error,
    })
  }
  if (text.includes('contributions.activation_id')) {
    return new AppError('BRAKED', 'Not posted: you have said something already in this turn.', {
      hint: 'One contribution a turn. Answer PASS.',
      cause: error,
    })
  }
  return null
}

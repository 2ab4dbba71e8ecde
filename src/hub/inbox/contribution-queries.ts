import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { ConstraintErrors } from '../constraint-errors'
import { activations } from '../schema/activations'
import { contributions, explorers } from '../schema/exploration'
import { contributionErrors } from './contribution-errors'

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

const x = alias(activations, 'x')

const insertContribution = prepare((v: Params<Contribution & { confidence: number }>) =>
  write(
    insertSelect(
      contributions,
      {
        activationId: x.id,
        accountId: x.agentId,
        confidence: v.confidence,
        least: sql`coalesce((SELECT ${explorers.minConfidence} FROM ${explorers} WHERE ${explorers.accountId} = ${x.agentId}), 0)`,
        createdAt: v.now,
      },
      sql`FROM ${activations} ${x}
        WHERE ${x.id} = ${v.activationId} AND ${x.agentId} = ${v.agentId} AND ${x.task} = 'exploration'`,
    ),
  ),
)

/**
 * Limits an exploration to one contribution per activation, with the minimum confidence of the
 * definition. Otherwise its batch fails with one of `contributionConstraints`. Activations with
 * another task are not limited.
 */
export const guardContribution = (contribution: Contribution): Statement<void> =>
  insertContribution({ ...contribution, confidence: contribution.confidence ?? 0 })

/** Errors of the constraints that `guardContribution` fails. */
export const contributionConstraints: ConstraintErrors = {
  contribution_unsure: contributionErrors.lowConfidence,
  'contributions.activation_id': contributionErrors.alreadyContributed,
}

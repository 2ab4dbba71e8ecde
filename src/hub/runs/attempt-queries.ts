import { and, eq, ne, not, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import {
  one,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import type { RunningActivation } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { isStoppedSql } from '../viewers/ban-sql'

const x = alias(activations, 'x')

/** Selects a running activation with its agent, unless the agent is disabled, banned or muted. */
export const selectRunning = (
  id: ActivationId,
  now: number,
): Statement<RunningActivation | undefined> =>
  one(
    orm
      .select({
        id: accounts.id,
        name: accounts.name,
        kind: accounts.kind,
        postId: activations.postId,
        task: activations.task,
        requesterIds: activations.requesters,
        closed: { id: communities.id, name: communities.name },
        etag: agents.definitionEtag,
        runAttempt: sql<
          number | null
        >`iif(${activations.isRunAttemptEnded}, NULL, ${activations.runAttempt})`,
      })
      .from(activations)
      .innerJoin(accounts, eq(accounts.id, activations.agentId))
      .innerJoin(agents, eq(agents.accountId, accounts.id))
      .leftJoin(
        communities,
        and(eq(communities.id, activations.communityId), ne(communities.visibility, 'public')),
      )
      .where(
        and(
          eq(activations.id, id),
          eq(activations.state, 'running'),
          not(isStoppedSql(accounts.id, now)),
        ),
      ),
  )

/**
 * Marks a run as one that uses the account which its requester connected.
 *
 * @param activationId of the run, or of the request that resumed it
 */
export const markOwnAccount = prepare(
  ({ activationId }: Params<{ activationId: ActivationId }>): Statement<void> =>
    write(
      updateSet(
        activations,
        { usesOwnAccount: true },
        sql`WHERE ${activations.id} = coalesce(
            (SELECT ${x.id} FROM ${activations} ${x} WHERE ${x.resumedBy} = ${activationId}), ${activationId})
          AND ${activations.usesOwnAccount} = 0`,
      ),
    ),
)

/**
 * Makes an attempt of a running activation the one whose token is valid, unless it has ended or a later one
 * has begun. Answers whether it is.
 */
export const beginRunAttempt = (id: ActivationId, attempt: number): Statement<boolean> =>
  writeChanges(
    updateSet(
      activations,
      { runAttempt: attempt, isRunAttemptEnded: false },
      sql`WHERE ${activations.id} = ${id} AND ${activations.state} = 'running'
        AND (coalesce(${activations.runAttempt}, 0) < ${attempt}
          OR (${activations.runAttempt} = ${attempt} AND NOT ${activations.isRunAttemptEnded}))`,
    ),
  )

/** Ends an attempt, unless a later one has begun. */
export const endRunAttempt = (id: ActivationId, attempt: number): Statement<void> =>
  write(
    updateSet(
      activations,
      { isRunAttemptEnded: true },
      sql`WHERE ${activations.id} = ${id} AND ${activations.runAttempt} = ${attempt}`,
    ),
  )

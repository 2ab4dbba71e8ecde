import { and, eq, ne, not, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { one, orm, type Statement } from '../../shared/db/statement'
import type { ActivationId } from '../../shared/ids'
import { isStoppedSql } from '../bans/ban-sql'
import type { RunningActivation } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'

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

/** Whether an activation runs: the condition of every write of COMMIT, so that a repeat changes nothing. */
export const isRunningSql = (activationId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${activations} WHERE ${activations.id} = ${activationId} AND ${activations.state} = 'running')`

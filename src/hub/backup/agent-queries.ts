import { gt, inArray } from 'drizzle-orm'
import { many, orm, type Statement } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { agents } from '../schema/definitions'

/** Selects which of these agents there are. */
export const selectAgentsAmong = (ids: AccountId[]): Statement<{ id: AccountId }[]> =>
  many(orm.select({ id: agents.accountId }).from(agents).where(inArray(agents.accountId, ids)))

/** Selects agents that have objects, in the order of their ids. */
export const selectCopiedAgents = (
  after: string,
  agentsMax: number,
): Statement<{ id: AccountId }[]> =>
  many(
    orm
      .select({ id: agents.accountId })
      .from(agents)
      .where(gt(agents.accountId, after as AccountId))
      .orderBy(agents.accountId)
      .limit(agentsMax),
  )

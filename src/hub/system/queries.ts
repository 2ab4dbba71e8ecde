import { eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { runningCountSql } from '../inbox/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { settings } from '../schema/system'

/** Selects whether the database answers. */
export const selectAnswers = (): Statement<boolean> =>
  mapStatement(oneSql({ one: sql<number>`1` }, sql``), (row) => row !== undefined)

export const updateHubPause = (isPaused: boolean, now: number): Statement<void> =>
  write(
    orm
      .insert(settings)
      .values({ key: 'paused', value: String(isPaused), updatedAt: now })
      .onConflictDoUpdate({
        target: settings.key,
        set: { value: String(isPaused), updatedAt: now },
      }),
  )

/** Selects an agent that runs on this hub. */
export const selectHostedAgent = (name: string): Statement<{ accountId: AccountId } | undefined> =>
  one(
    orm
      .select({ accountId: agents.accountId })
      .from(accounts)
      .innerJoin(agents, eq(agents.accountId, accounts.id))
      .where(eq(accounts.name, name)),
  )

export const updateAgentPause = (
  agentId: AccountId,
  isPaused: boolean,
  now: number,
): Statement<void> =>
  write(orm.update(agents).set({ isPaused, updatedAt: now }).where(eq(agents.accountId, agentId)))

const i = alias(inboxItems, 'i')
const g = alias(agents, 'g')

/** Selects agents that have unclaimed tasks and are not paused; only `agentId` when it is given. */
export const selectWaitingAgents = prepare(({ agentId }: Params<{ agentId: AccountId | null }>) =>
  manySql(
    { accountId: i.accountId, takenSlots: runningCountSql },
    sql`FROM ${inboxItems} ${i}
      JOIN ${agents} ${g} ON ${g.accountId} = ${i.accountId} AND ${g.isPaused} = 0
      WHERE ${i.readAt} IS NULL AND ${i.isTask} = 1 AND ${i.claimedBy} IS NULL
        AND (${agentId} IS NULL OR ${i.accountId} = ${agentId})
      GROUP BY ${i.accountId}`,
  ),
)

/** The gauges of `/metrics`, each from an index or a counter. */
const gauges = {
  posts: sql<number>`(SELECT coalesce(sum(${communities.postCount}), 0) FROM ${communities})`,
  communities: sql<number>`(SELECT count(*) FROM ${communities})`,
  agents: sql<number>`(SELECT count(*) FROM ${agents})`,
  running_activations: sql<number>`(SELECT count(*) FROM ${activations} WHERE ${activations.state} = 'running')`,
  waiting_tasks: sql<number>`(SELECT count(*) FROM ${inboxItems}
    WHERE ${inboxItems.readAt} IS NULL AND ${inboxItems.isTask} = 1 AND ${inboxItems.claimedBy} IS NULL)`,
}

export type Gauges = RowOf<typeof gauges>

const gaugesSql = prepare(() => oneSql(gauges, sql``))

export const selectGauges = (): Statement<Gauges> =>
  mapStatement(gaugesSql({}), (row) => {
    if (row === undefined) throw new Error('The gauges are one row.')
    return row
  })

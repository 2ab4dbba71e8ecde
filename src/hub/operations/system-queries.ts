import { eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import frozenMigrations from '../../../migrations/frozen.json'
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
import { addExcludedSql, insertSelect } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import { type ActivationCounters, noCounters } from '../contract/activations'
import type { CommitRequest } from '../contract/hub'
import { isAgentHeldSql, isWaitingSql, runningCountSql } from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { agentCounters, settings } from '../schema/system'

/** The newest of migrations/*.sql that this version was made with. */
const newestMigration = Object.keys(frozenMigrations).sort().at(-1) ?? ''

/**
 * Selects whether the newest migration of this version was applied: `current`, else `old`. A database that a newer
 * version has migrated is `current`: every migration leaves what the version before needs.
 */
export const selectSchemaState = (): Statement<'current' | 'old'> =>
  mapStatement(
    oneSql({ one: sql<number>`1` }, sql`FROM d1_migrations WHERE name = ${newestMigration}`),
    (row) => (row === undefined ? 'old' : 'current'),
  )

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

/** Selects agents that have unclaimed tasks and can run; only `agentId` when it is given. */
export const selectWaitingAgents = prepare(
  ({ agentId, now }: Params<{ agentId: AccountId | null; now: number }>) =>
    manySql(
      { accountId: i.accountId, takenSlots: runningCountSql },
      sql`FROM ${inboxItems} ${i}
      JOIN ${agents} ${g} ON ${g.accountId} = ${i.accountId} AND NOT ${isAgentHeldSql(g, now)}
      WHERE ${isWaitingSql(i)}
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
  waiting_tasks: sql<number>`(SELECT count(*) FROM ${inboxItems} WHERE ${isWaitingSql(inboxItems)})`,
}

export type Gauges = RowOf<typeof gauges>

const gaugesSql = prepare(() => oneSql(gauges, sql``))

export const selectGauges = (): Statement<Gauges> =>
  mapStatement(gaugesSql({}), (row) => {
    if (row === undefined) throw new Error('The gauges are one row.')
    return row
  })

const x = alias(activations, 'x')
const a = alias(accounts, 'a')
const c = alias(agentCounters, 'c')

/** What an activation adds to the counters of its agent. */
type Increments = Record<'activations' | 'failedActivations' | keyof ActivationCounters, number>

/** Names of all counters; each is also a column of `agent_counters`. */
export const counterNames = [
  'activations',
  'failedActivations',
  ...Object.keys(noCounters),
] as (keyof Increments)[]

const addCounters = prepare((v: Params<Increments & { activationId: ActivationId }>) =>
  write(
    insertSelect(
      agentCounters,
      { accountId: x.agentId, ...pickCounters((name) => v[name]) },
      sql`FROM ${activations} ${x} WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running'
      ON CONFLICT (account_id) DO UPDATE SET ${addExcludedSql(counterNames.map((name) => agentCounters[name]))}`,
    ),
  ),
)

const pickCounters = <Value>(pick: (name: keyof Increments) => Value) =>
  Object.fromEntries(counterNames.map((name) => [name, pick(name)])) as Record<
    keyof Increments,
    Value
  >

/**
 * Adds one activation to the counters of its agent. Part of the commit batch, and only while the row is
 * still running, so that a repeated commit counts once.
 */
export const countActivation = ({
  activationId,
  outcome,
  counters,
}: CommitRequest): Statement<void> =>
  addCounters({
    activationId,
    activations: 1,
    failedActivations: Number(outcome === 'failed'),
    ...noCounters,
    ...counters,
  })

/** Maximum of agents listed, to keep the page small for scrapers; the totals include all agents. */
const agentsMax = 1_000

const agentFields = { agent: a.name, ...pickCounters((name) => c[name]) }

/** Counters of one hosted agent. */
export type CounterRow = RowOf<typeof agentFields>

const selectCounters = prepare(() =>
  manySql(
    agentFields,
    sql`FROM ${agentCounters} ${c} JOIN ${accounts} ${a} ON ${a.id} = ${c.accountId}
    ORDER BY ${c.activations} DESC, ${c.accountId} LIMIT ${agentsMax}`,
  ),
)

export const selectAgentCounters = (): Statement<CounterRow[]> => selectCounters({})

/** Sums over all agents. */
export type CounterTotals = Increments

const selectSums = prepare(() =>
  oneSql(
    pickCounters((name) => sql<number>`coalesce(sum(${agentCounters[name]}), 0)`),
    sql`FROM ${agentCounters}`,
  ),
)

export const selectTotals = (): Statement<CounterTotals> =>
  mapStatement(selectSums({}), (row) => row ?? pickCounters(() => 0))

import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { addExcludedSql, insertSelect } from '../../shared/db/write-sql'
import type { ActivationId } from '../../shared/ids'
import { type ActivationCounters, noCounters } from '../contract/activation-counters'
import type { CommitRequest } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { agentCounters } from '../schema/system'

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

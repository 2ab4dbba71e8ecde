import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { schedulerPages } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import { doesExplorationWaitSql, doesInboxWaitSql } from '../rules/exploration-sql'
import { optionalPersonSql, personSql } from '../rules/people-sql'
import { optionalPlaceSql } from '../rules/places'
import { canReadPostSql, isPostReadableSql } from '../rules/readable-sql'
import { dailyLimitSql } from '../rules/reply-limits-sql'
import { holdsSql, isAgentRunningSql, isHubPausedSql, isWaitingSql } from '../rules/waiting-sql'
import { selectExplorationBudgets } from '../runs/claim-queries'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { agents, explorers } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import type { Reader } from '../viewers/reader'

/** Counts stop here and are shown as "1,000 or more", so that a long queue costs no more. */
export const countMax = 1_000
const waitingMax = sql.raw(String(countMax))
const tasksMax = sql.raw(String(schedulerPages.tasks))
const leasesMax = sql.raw('200')
/** Newest activations that are read to measure how long tasks waited. */
const startsReadMax = sql.raw('100')
const DAY_MS = 86_400_000

const a = alias(accounts, 'a')
const e = alias(explorers, 'e')
const f = alias(accounts, 'f')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')
const m = alias(communities, 'm')
const p = alias(posts, 'p')
const w = alias(inboxItems, 'w')
const x = alias(activations, 'x')

const countRunningSql = (condition?: SQL): SQL<number> =>
  number(sql`
  (SELECT count(*) FROM ${activations} WHERE ${activations.state} = 'running' ${condition})`)

const hubFields = (now: SQLWrapper) => ({
  isPaused: flag(isHubPausedSql),
  running: countRunningSql(),
  runningExploration: countRunningSql(sql`AND ${activations.class} = 'exploration'`),
  isInboxWaiting: flag(doesInboxWaitSql(now)),
  isExplorationWaiting: flag(doesExplorationWaitSql(now)),
  tasksWaiting: number(sql`
    (SELECT count(*) FROM (SELECT 1 FROM ${inboxItems} ${i} WHERE ${isWaitingSql(i)} LIMIT ${waitingMax}))`),
  oldestTaskAt: sql<number | null>`
    (SELECT ${i.createdAt} FROM ${inboxItems} ${i} WHERE ${isWaitingSql(i)} ORDER BY ${i.createdAt} LIMIT 1)`,
})

/** State of the hub; times are in milliseconds since the Unix epoch. */
export type HubState = RowOf<ReturnType<typeof hubFields>>

const noHubState: HubState = {
  isPaused: false,
  running: 0,
  runningExploration: 0,
  isInboxWaiting: false,
  isExplorationWaiting: false,
  tasksWaiting: 0,
  oldestTaskAt: null,
}

const preparedHubState = prepare(({ now }: Params<{ now: number }>) =>
  oneSql(hubFields(now), sql``),
)

/** Selects what the whole hub has running and waiting. */
export const selectHubState = (now: number): Statement<HubState> =>
  mapStatement(preparedHubState({ now }), (row) => row ?? noHubState)

/** What holds the runs of the agent `g` back. */
const holdFields = (now: SQLWrapper) => {
  const { isPaused, isStopped, awaitsProvider } = holdsSql(g, now)
  return {
    isPaused: flag(isPaused),
    isStopped: flag(isStopped),
    awaitsProvider: flag(awaitsProvider),
  }
}

const taskFields = (reader: SQLWrapper, now: SQLWrapper) => ({
  id: i.id,
  agent: personSql(a),
  task: sql<string>`coalesce(${i.task}, ${i.type})`,
  from: optionalPersonSql(
    f,
    sql`${i.type} <> 'dm' AND ${canReadPostSql(i.postId, reader)} AND ${f.id} IS NOT NULL`,
  ),
  postId: nullable(p.id),
  community: optionalPlaceSql(m),
  createdAt: i.createdAt,
  isRunning: flag(isAgentRunningSql(i.accountId)),
  ...holdFields(now),
})

/**
 * A task that no activation has claimed. The sender of a direct message is left out, because it is
 * private.
 */
export type WaitingTask = RowOf<ReturnType<typeof taskFields>>

const selectTasks = prepare(({ reader, now }: Params<{ reader: Reader; now: number }>) =>
  manySql(
    taskFields(reader, now),
    sql`FROM (SELECT * FROM ${inboxItems} ${w} WHERE ${isWaitingSql(w)}
        ORDER BY ${w.createdAt} LIMIT ${tasksMax}) ${i}
      JOIN ${agents} ${g} ON ${g.accountId} = ${i.accountId} JOIN ${accounts} ${a} ON ${a.id} = ${i.accountId}
      LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      LEFT JOIN ${posts} ${p} ON ${p.id} = ${i.postId} AND ${isPostReadableSql(p, reader)}
      LEFT JOIN ${communities} ${m} ON ${m.id} = ${p.communityId}
      ORDER BY ${i.createdAt}, ${i.id}`,
  ),
)

const leaseFields = {
  id: x.id,
  agent: personSql(a),
  class: x.class,
  task: x.task,
  postTitle: nullable(p.title),
  startedAt: x.startedAt,
  deadlineAt: x.deadlineAt,
  reservedMicrousd: x.reservedMicrousd,
}

/** A running activation: its row is the lease of a slot and of reserved money. */
export type Lease = RowOf<typeof leaseFields>

const selectLeases = prepare(({ reader }: Params<{ reader: Reader }>) =>
  manySql(
    leaseFields,
    // The index is named: the one by start would read all activations that ever ran.
    sql`FROM ${activations} ${x} INDEXED BY activations_running JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
      LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostReadableSql(p, reader)}
      WHERE ${x.state} = 'running' ORDER BY ${x.startedAt}, ${x.id} LIMIT ${leasesMax}`,
  ),
)

const preparedStarts = prepare(({ since }: Params<{ since: number }>) =>
  manySql(
    { ms: number(sql`max(0, ${x.startedAt} - min(${i.createdAt}))`) },
    sql`FROM (SELECT ${activations.id}, ${activations.startedAt} FROM ${activations}
        WHERE ${activations.startedAt} > ${since}
        ORDER BY ${activations.startedAt} DESC, ${activations.id} DESC LIMIT ${startsReadMax}) ${x}
      JOIN ${inboxItems} ${i} ON ${i.claimedBy} = ${x.id} GROUP BY ${x.id}`,
  ),
)

/** Selects how long each of the last tasks waited for its activation, in milliseconds. */
const selectStarts = (now: number): Statement<number[]> =>
  mapStatement(preparedStarts({ since: now - DAY_MS }), (rows) => rows.map(({ ms }) => ms))

export const agentStates = ['all', 'running', 'waiting', 'paused', 'failing', 'off'] as const
export type AgentStateFilter = (typeof agentStates)[number]

/** Filter and page of the list of agents. */
export interface AgentPageRequest {
  state: AgentStateFilter
  /** Prefix of the name; '' for all. */
  name: string
  /** Keyset: last run and id of the last agent seen. */
  after: [number, string] | null
  limit: number
}

const tasksOfSql = sql`${inboxItems} ${i} WHERE ${i.accountId} = ${a.id} AND ${isWaitingSql(i)}`

/** The expression of the index `accounts_quiet`: the longest idle agent comes first. */
const lastRunSql = number(sql`coalesce(${a.lastActivatedAt}, 0)`)

const agentFields = (now: SQLWrapper) => ({
  id: a.id,
  name: a.name,
  displayName: a.displayName,
  /** 0 when it never ran. */
  lastActivatedAt: lastRunSql,
  /** 0 when it never explored, or does not explore. */
  lastExploredAt: number(sql`coalesce(${e.exploredAt}, 0)`),
  ...holdFields(now),
  isRunning: flag(isAgentRunningSql(a.id)),
  failures: g.consecutiveFailures,
  /** Exploration interval in milliseconds; null when the agent does not explore. */
  intervalMs: nullable(e.intervalMs),
  weight: number(sql`coalesce(${e.weight}, 0)`),
  tasksWaiting: number(
    sql`(SELECT count(*) FROM (SELECT 1 FROM ${tasksOfSql} LIMIT ${waitingMax}))`,
  ),
  /** Whether it has reached both daily limits of its definition. */
  isCapped: flag(sql`
    (${dailyLimitSql('posts', a.id, now)} IS NOT NULL AND ${dailyLimitSql('comments', a.id, now)} IS NOT NULL)`),
})

/** An agent of this hub. */
export type AgentRow = RowOf<ReturnType<typeof agentFields>>

interface AgentPageValues {
  now: number
  afterAt: number
  afterId: string
  name: string
  rowsMax: number
}

const prepareAgents = (condition?: SQL) =>
  prepare((v: Params<AgentPageValues>) => manySql(agentFields(v.now), agentPageSql(v, condition)))

/** `FROM` and the rest of a select of a page of agents. */
const agentPageSql = (v: Params<AgentPageValues>, condition?: SQL): SQL =>
  sql`FROM ${accounts} ${a} CROSS JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
    LEFT JOIN ${explorers} ${e} ON ${e.accountId} = ${a.id} AND ${e.weight} > 0
    WHERE ${a.kind} = 'agent' AND ${a.isImported} = 0 AND (${lastRunSql}, ${a.id}) > (${v.afterAt}, ${v.afterId})
      AND (${v.name} = '' OR substr(${a.name}, 1, length(${v.name})) = ${v.name} COLLATE NOCASE)
      ${condition && sql`AND ${condition}`}
    ORDER BY ${lastRunSql}, ${a.id} LIMIT ${v.rowsMax}`

const prepareBudgets = (condition?: SQL) =>
  prepare((v: Params<AgentPageValues>) =>
    selectExplorationBudgets(
      sql`SELECT account_id FROM (
        SELECT ${a.id} AS account_id, ${e.accountId} AS explorer ${agentPageSql(v, condition)})
        WHERE explorer IS NOT NULL`,
      v.now,
    ),
  )

const stateConditions: Record<AgentStateFilter, SQL | undefined> = {
  all: undefined,
  running: isAgentRunningSql(a.id),
  waiting: sql`EXISTS (SELECT 1 FROM ${tasksOfSql})`,
  paused: sql`${g.isPaused} = 1`,
  failing: sql`${g.consecutiveFailures} > 0`,
  off: sql`NOT EXISTS (SELECT 1 FROM ${explorers} WHERE ${explorers.accountId} = ${a.id} AND ${explorers.weight} > 0)`,
}

const prepareOfStates = <Prepared>(make: (condition?: SQL) => Prepared) =>
  Object.fromEntries(agentStates.map((state) => [state, make(stateConditions[state])])) as Record<
    AgentStateFilter,
    Prepared
  >

const preparedAgents = prepareOfStates(prepareAgents)
const preparedBudgets = prepareOfStates(prepareBudgets)

/**
 * Selects a page of agents, and one more that shows whether there is a next page, with the budgets that pay
 * for their explorations.
 */
function selectAgents({ state, name, after, limit }: AgentPageRequest, now: number) {
  const [afterAt, afterId] = after ?? [-1, '']
  const values = { now, afterAt, afterId, name, rowsMax: limit + 1 }
  return { agents: preparedAgents[state](values), budgets: preparedBudgets[state](values) }
}

const preparedAgent = prepare(({ name, now }: Params<{ name: string; now: number }>) =>
  oneSql(
    agentFields(now),
    sql`FROM ${accounts} ${a} JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${explorers} ${e} ON ${e.accountId} = ${a.id} AND ${e.weight} > 0
      WHERE ${a.name} = ${name}`,
  ),
)
const preparedAgentBudgets = prepare(({ name, now }: Params<{ name: string; now: number }>) =>
  selectExplorationBudgets(
    sql`SELECT ${accounts.id} AS account_id FROM ${accounts} WHERE ${accounts.name} = ${name}`,
    now,
  ),
)

/** Selects one agent of this hub by its name, in any case, with the budgets that pay for its explorations. */
export const explorerStatements = ({ name, now }: { name: string; now: number }) => ({
  explorer: preparedAgent({ name, now }),
  explorationBudgets: preparedAgentBudgets({ name, now }),
})

/** Returns the statements of the scheduler's page. */
export const boardStatements = (page: AgentPageRequest, now: number, reader: Reader) => ({
  hub: selectHubState(now),
  tasks: selectTasks({ reader, now }),
  leases: selectLeases({ reader }),
  starts: selectStarts(now),
  ...selectAgents(page, now),
})

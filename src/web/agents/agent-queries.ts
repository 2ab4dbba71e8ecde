import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { isPostReadableSql } from '../../hub/rules/readable-sql'
import { isRunShownSql } from '../../hub/rules/traces-sql'
import { isHubPausedSql, isWaitingSql } from '../../hub/rules/waiting-sql'
import { accounts } from '../../hub/schema/accounts'
import { activations } from '../../hub/schema/activations'
import { usageDays } from '../../hub/schema/budgets'
import { agents } from '../../hub/schema/definitions'
import { inboxItems } from '../../hub/schema/inbox'
import { comments, posts } from '../../hub/schema/posts'
import type { Reader } from '../../hub/viewers/reader'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare } from '../../shared/db/statement'

/** Agents on a page of the list. */
export const agentsShown = 50
/** Days whose cost the list shows, today included. */
export const costDays = 30

const DAY_MS = 86_400_000

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')
const n = alias(comments, 'n')
const o = alias(accounts, 'o')
const p = alias(posts, 'p')
const u = alias(usageDays, 'u')
const x = alias(activations, 'x')

/** The newest comment of an agent that the reader can read. */
interface LastAnswer {
  id: string
  postId: string
  title: string
  at: number
}

/** A run that an agent made without being asked. */
interface OwnRun {
  id: string
  task: string
  at: number
}

/** A sum of the days of `costDays`, each of which is looked up: others have spent on these days, too. */
const spentSql = (column: SQLWrapper): SQL => sql`(SELECT coalesce(sum(${column}), 0)
  FROM days CROSS JOIN ${usageDays} ${u} ON ${u.scope} = 'agent' AND ${u.day} = days.day AND ${u.scopeId} = ${g.accountId})`

const listFields = (reader: Params<{ reader: Reader }>['reader']) => ({
  name: a.name,
  displayName: a.displayName,
  avatarId: a.avatarId,
  description: a.description,
  model: g.model,
  ownerId: a.ownerId,
  /** Name of the member who owns it; null for an agent of the hub. */
  ownerName: nullable(o.name),
  version: g.definitionVersion,
  isDisabled: flag(sql`${a.disabledAt} IS NOT NULL`),
  isPaused: flag(sql`${g.isPaused} OR ${isHubPausedSql}`),
  consecutiveFailures: g.consecutiveFailures,
  isRunning: flag(sql`EXISTS (SELECT 1 FROM ${activations} ${x}
    WHERE ${x.agentId} = ${a.id} AND ${x.state} = 'running')`),
  isWaiting: flag(sql`EXISTS (SELECT 1 FROM ${inboxItems} ${i}
    WHERE ${i.accountId} = ${a.id} AND ${isWaitingSql(i)})`),
  costMicrousd: number(spentSql(u.costMicrousd)),
  /** True when calls of models without a price are missing in the cost. */
  hasUnpriced: flag(sql`${spentSql(u.unpricedCalls)} > 0`),
  lastAnswer: sql<LastAnswer | null>`(
    SELECT json_object('id', ${n.id}, 'postId', ${p.id}, 'title', ${p.title}, 'at', ${n.createdAt})
    FROM ${comments} ${n} CROSS JOIN ${posts} ${p} ON ${p.id} = ${n.postId}
    WHERE ${n.authorId} = ${a.id} AND ${n.deletedAt} IS NULL AND ${isPostReadableSql(p, reader)}
    ORDER BY ${n.createdAt} DESC, ${n.id} DESC LIMIT 1)`.mapWith((text: string) =>
    JSON.parse(text),
  ),
  /** Its newest run, if nobody waits for an answer to it: one of a schedule, or an exploration. */
  ownRun: sql<OwnRun | null>`(
    SELECT json_object('id', ${x.id}, 'task', ${x.task}, 'at', ${x.startedAt})
    FROM (SELECT * FROM ${activations} ${x} WHERE ${x.agentId} = ${a.id}
      ORDER BY ${x.startedAt} DESC, ${x.id} DESC LIMIT 1) ${x}
    WHERE ${x.task} IN ('scheduled', 'exploration') AND ${isRunShownSql(reader)})`.mapWith(
    (text: string) => JSON.parse(text),
  ),
})

export type AgentRow = RowOf<ReturnType<typeof listFields>>

interface ListRequest {
  /** Name of the last agent on the page before; '' on the first page. */
  after: string
  sinceDay: number
  reader: Reader
}

const selectAgentRows = prepare((v: Params<ListRequest>) =>
  manySql(
    listFields(v.reader),
    sql`FROM ${agents} ${g} CROSS JOIN ${accounts} ${a} ON ${a.id} = ${g.accountId}
      LEFT JOIN ${accounts} ${o} ON ${o.id} = ${a.ownerId}
      WHERE ${g.name} > ${v.after} ORDER BY ${g.name} LIMIT ${sql.raw(String(agentsShown + 1))}`,
    sql`WITH RECURSIVE days (day) AS MATERIALIZED (SELECT ${v.sinceDay} + 1
      UNION ALL SELECT day + 1 FROM days WHERE day < ${v.sinceDay} + ${sql.raw(String(costDays))})`,
  ),
)

/** Selects a page of the agents of this hub by name, with one more row when there is another page. */
export const selectAgentList = (
  after: string,
  now: number,
  reader: Reader,
): ReturnType<typeof selectAgentRows> =>
  selectAgentRows({ after, sinceDay: Math.floor(now / DAY_MS) - costDays, reader })

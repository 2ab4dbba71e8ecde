import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { reports as reportLimits } from '../../shared/config'
import { nullable, number, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import { bare } from '../../shared/db/write-sql'
import { isPublicSql } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { usageDays } from '../schema/budgets'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { posts } from '../schema/posts'
import { agentDays, reports } from '../schema/reports'

export const dayMs = 86_400_000
const dayOf = (at: number): number => Math.floor(at / dayMs)
/** Returns the Monday of a day's week. Day 0 of the epoch was a Thursday. */
const mondayOf = (day: number): number => day - ((day + 3) % 7)

const literal = (value: number): SQL => sql.raw(String(value))

const dueFields = {
  period: sql<'day' | 'week'>`due.period`,
  since: sql<number>`due.since`,
  until: sql<number>`due.until`,
}

/** A day or week with activations and without a summary. Times are days since the epoch. */
export type DueSummary = RowOf<typeof dueFields>

const selectDue = prepare(({ today, monday }: Params<{ today: number; monday: number }>) =>
  manySql(
    dueFields,
    sql`FROM (
      SELECT 'day' AS period, day AS since, day + 1 AS until
      FROM (SELECT max(day) AS day FROM ${agentDays}
        WHERE day < ${today} AND day >= ${today} - ${literal(reportLimits.lateDaysMax)} AND activations > 0)
      WHERE day IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${reports} WHERE key = 'activity:day:' || day)
      UNION ALL
      SELECT 'week', ${monday} - 7, ${monday}
      WHERE EXISTS (SELECT 1 FROM ${agentDays} WHERE day >= ${monday} - 7 AND day < ${monday} AND activations > 0)
        AND NOT EXISTS (SELECT 1 FROM ${reports} WHERE key = 'activity:week:' || cast(${monday} - 7 AS INTEGER))) due`,
  ),
)

/** Selects the last day with activations before today, and last week, if they have no summary yet. */
export const selectDueSummaries = (now: number): Statement<DueSummary[]> => {
  const today = dayOf(now)
  return selectDue({ today, monday: mondayOf(today) })
}

const t = alias(usageDays, 't')
const a = alias(accounts, 'a')
const h = alias(usageDays, 'h')

const daysBefore = sql.raw(
  `'${JSON.stringify(Array.from({ length: reportLimits.usualDays }, (_, at) => at + 1))}'`,
)

const spendingFields = {
  agentId: t.scopeId,
  name: a.name,
  day: t.day,
  costMicrousd: t.costMicrousd,
  tokens: number(sql`${t.inputTokens} + ${t.outputTokens}`),
  /** Cost and tokens of earlier days with use. */
  history:
    sql`(SELECT json_group_array(json_array(${h.costMicrousd}, ${h.inputTokens} + ${h.outputTokens}))
    FROM json_each(${daysBefore}) n CROSS JOIN ${usageDays} ${h}
    WHERE ${h.scope} = 'agent' AND ${h.day} = ${t.day} - n.value AND ${h.scopeId} = ${t.scopeId})`.mapWith(
      (json: string): [number, number][] => JSON.parse(json),
    ),
}

/** An agent with enough use today for a check. */
export type SpendingAgent = RowOf<typeof spendingFields>

const selectSpending = prepare(({ today }: Params<{ today: number }>) =>
  manySql(
    spendingFields,
    sql`FROM ${usageDays} ${t} JOIN ${accounts} ${a} ON ${a.id} = ${t.scopeId}
      WHERE ${t.scope} = 'agent' AND ${t.day} = ${today}
        AND ${t.inputTokens} + ${t.outputTokens} >= ${literal(reportLimits.unusualTokensMin)}
        AND NOT EXISTS (SELECT 1 FROM ${reports} WHERE key = 'unusual:' || ${t.day} || ':' || ${t.scopeId})
      ORDER BY ${t.inputTokens} + ${t.outputTokens} DESC LIMIT 1000`,
  ),
)

/** Selects agents with enough use today for a check, and without a report today. */
export const selectSpendingAgents = (now: number): Statement<SpendingAgent[]> =>
  selectSpending({ today: dayOf(now) })

const d = alias(agentDays, 'd')
const u = alias(usageDays, 'u')

/** The counts of a summary. */
const counted = {
  activations: d.activations,
  answers: d.answers,
  contributions: d.contributions,
  passes: d.passes,
  failures: d.failures,
  outOfBudget: d.outOfBudget,
  refusedAnswers: d.refusedAnswers,
  refusedCalls: d.refusedCalls,
  refusedMentions: d.refusedMentions,
}

/** The sums of `counted`, each under its column's name. */
const countsSql = sql.join(
  Object.values(counted).map((column) => sql`coalesce(sum(${column}), 0) AS ${bare(column)}`),
  sql`, `,
)

/** The sums of `counted` in the table `w`, and the usage in `u`. */
const totalFields = {
  ...(Object.fromEntries(
    Object.entries(counted).map(([name, column]) => [name, sql<number>`w.${bare(column)}`]),
  ) as Record<keyof typeof counted, SQL<number>>),
  costMicrousd: number(sql`coalesce(sum(${u.costMicrousd}), 0)`),
  tokens: number(sql`coalesce(sum(${u.inputTokens} + ${u.outputTokens}), 0)`),
  unpricedTokens: number(sql`coalesce(sum(${u.unpricedTokens}), 0)`),
}

/** Sums of one agent, or of all agents, in the period of a summary. */
export type ActivityTotals = RowOf<typeof totalFields>

const allFields = { ...totalFields, agents: sql<number>`w.agents` }

/** Sums of all agents, and how many of them ran. */
export type HubActivity = RowOf<typeof allFields>

/** The post or comment of an agent with the highest score. */
export interface TopContribution {
  postId: string
  commentId: string | null
  community: string
  score: number
}

type Period = Params<{ since: number; until: number }>

const duringSql = (v: Period): SQL =>
  sql`FROM ${agentDays} ${d} WHERE ${d.day} >= ${v.since} AND ${d.day} < ${v.until}`

const isDuringSql = (v: Period): SQL => sql`${u.day} >= ${v.since} AND ${u.day} < ${v.until}`

/** The highest-scored post or comment of the agent of `w`; null when there is none. */
function bestSql(v: Period): SQL<TopContribution> {
  const c = alias(comments, 'c')
  const p = alias(posts, 'p')
  const m = alias(communities, 'm')
  const isIn = (at: typeof c.createdAt | typeof p.createdAt) =>
    sql`${at} >= ${v.since} * ${literal(dayMs)} AND ${at} < ${v.until} * ${literal(dayMs)}`
  return sql`(
    SELECT json_object('postId', post_id, 'commentId', comment_id, 'community', community, 'score', score)
    FROM (SELECT ${c.postId} AS post_id, ${c.id} AS comment_id, ${m.name} AS community,
        ${c.upvotes} - ${c.downvotes} AS score, ${c.createdAt} AS at
      FROM ${comments} ${c} JOIN ${posts} ${p} ON ${p.id} = ${c.postId}
      JOIN ${communities} ${m} ON ${m.id} = ${p.communityId}
      WHERE ${c.authorId} = w.account_id AND ${isIn(c.createdAt)}
        AND ${c.deletedAt} IS NULL AND ${p.deletedAt} IS NULL AND ${isPublicSql(m.id)}
    UNION ALL
    SELECT ${p.id}, NULL, ${m.name}, ${p.upvotes} - ${p.downvotes}, ${p.createdAt}
      FROM ${posts} ${p} JOIN ${communities} ${m} ON ${m.id} = ${p.communityId}
      WHERE ${p.authorId} = w.account_id AND ${isIn(p.createdAt)} AND ${p.deletedAt} IS NULL
        AND ${isPublicSql(m.id)})
    ORDER BY score DESC, at, post_id LIMIT 1)`.mapWith(
    (json: string): TopContribution => JSON.parse(json),
  )
}

const agentFields = (v: Period) => ({ ...totalFields, name: a.name, best: nullable(bestSql(v)) })

/** Sums of one agent, with its best post or comment. */
export type AgentActivity = RowOf<ReturnType<typeof agentFields>>

const selectHubActivity = prepare((v: Period) =>
  oneSql(
    allFields,
    sql`FROM (SELECT ${countsSql}, count(DISTINCT iif(${d.activations} > 0, ${d.accountId}, NULL)) AS agents
        ${duringSql(v)}) w
      LEFT JOIN ${usageDays} ${u} ON ${u.scope} = 'hub' AND ${isDuringSql(v)}`,
  ),
)

/** Selects the agents with the most activations. */
const selectAgentActivity = prepare((v: Period) =>
  manySql(
    agentFields(v),
    sql`FROM w JOIN ${accounts} ${a} ON ${a.id} = w.account_id
      LEFT JOIN ${usageDays} ${u} ON ${u.scope} = 'agent' AND ${isDuringSql(v)} AND ${u.scopeId} = w.account_id
      GROUP BY w.account_id ORDER BY w.activations DESC, w.account_id`,
    sql`WITH w AS MATERIALIZED (
      SELECT ${d.accountId} AS account_id, ${countsSql} ${duringSql(v)} AND ${d.activations} > 0
      GROUP BY ${d.accountId} ORDER BY sum(${d.activations}) DESC, ${d.accountId} LIMIT ${literal(reportLimits.agentsMax)})`,
  ),
)

/** Selects the numbers of a summary: those of all agents, and of the agents with the most activations. */
export const selectActivity = ({ since, until }: DueSummary) => ({
  all: selectHubActivity({ since, until }),
  agents: selectAgentActivity({ since, until }),
})

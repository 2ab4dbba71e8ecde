import { eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { reports as reportLimits } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  many,
  manySql,
  mapStatement,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { bare, insertSelect, newIdSql, updateSet } from '../../shared/db/write-sql'
import { unfiltered } from '../database/unfiltered-sql'
import { renderText } from '../markdown/render-text'
import { isRefusingSql, levelSql, neededSql } from '../rules/budget-levels'
import { isCurrentWindowSql } from '../rules/payers-sql'
import { isPublicSql } from '../rules/readable-sql'
import { accounts, systemAccountId } from '../schema/accounts'
import {
  agentDays,
  budgetAccountWindows,
  budgetLevels,
  budgets,
  budgetWindows,
  reports,
  usageDays,
} from '../schema/budgets'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { comments, posts } from '../schema/posts'

/** A post by the hub's own account. */
export interface Report {
  /** Identifies the subject. Only one report with the same key is posted. */
  key: string
  /** A new id. */
  postId: string
  community: 'general' | 'agent-status' | 'agent-activity'
  title: string
  /** Markdown. Never quotes text of users, so that it reveals nothing private and injects no prompts. */
  content: string
  /** Whether admins get the report in their inbox. */
  notifiesAdmins: boolean
  /** Whether it is for a hub in which nothing was ever posted, listed as posts of people are, and pinned. */
  isFirst?: boolean
  /** Of a report about a budget: what webhooks are sent of it. */
  level?: object
}

const r = alias(reports, 'r')
const m = alias(communities, 'm')
const a = alias(accounts, 'a')

/** The reports to post as a JSON list. */
type List = Params<{ list: string }>['list']
type Reports = Params<{ list: string; now: number }>

/** The reports of the list that this batch posts: their key was free, so it has their post id. */
const postedSql = (list: List): SQL => sql`json_each(${list}) e JOIN ${reports} ${r}
  ON ${r.key} = e.value ->> 'key' AND ${r.postId} = e.value ->> 'postId'`

const insertReports = prepare((v: Reports) =>
  write(
    insertSelect(
      reports,
      {
        key: sql`e.value ->> 'key'`,
        postId: sql`e.value ->> 'postId'`,
        createdAt: v.now,
      },
      sql`FROM json_each(${v.list}) e
        WHERE NOT (coalesce(e.value ->> 'isFirst', 0)
          AND EXISTS (SELECT 1 FROM ${posts} ${unfiltered('operator')}))
        ON CONFLICT DO NOTHING`,
    ),
  ),
)

const insertPosts = prepare((v: Reports) =>
  write(
    insertSelect(
      posts,
      {
        id: r.postId,
        communityId: m.id,
        authorId: systemAccountId,
        title: sql`e.value ->> 'title'`,
        content: sql`e.value ->> 'content'`,
        html: sql`e.value ->> 'html'`,
        htmlVersion: sql`e.value ->> 'htmlVersion'`,
        hotRank: sql`${v.now} / 45000000.0`,
        isListed: sql`coalesce(e.value ->> 'isFirst', 0)`,
        pinnedAt: sql`iif(e.value ->> 'isFirst', ${v.now}, NULL)`,
        createdAt: v.now,
      },
      sql`FROM ${postedSql(v.list)} JOIN ${communities} ${m} ON ${m.name} = e.value ->> 'community'`,
    ),
  ),
)

const countPosts = prepare(({ list }: Params<{ list: string }>) =>
  write(
    updateSet(
      communities,
      {
        postCount: sql`${communities.postCount} + (
          SELECT count(*) FROM ${postedSql(list)} WHERE e.value ->> 'community' = ${communities.name})`,
      },
      sql`WHERE ${communities.name} IN (SELECT e.value ->> 'community' FROM ${postedSql(list)})`,
    ),
  ),
)

const notifyAdmins = prepare((v: Reports) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(r.postId),
        accountId: a.id,
        type: 'system',
        postId: r.postId,
        fromAccountId: systemAccountId,
        content: sql`e.value ->> 'title'`,
        createdAt: v.now,
      },
      sql`FROM ${postedSql(v.list)} CROSS JOIN ${accounts} ${a}
        WHERE e.value ->> 'notifiesAdmins' AND ${a.role} = 'admin' AND ${a.kind} = 'human' AND ${a.isImported} = 0`,
    ),
  ),
)

/** Selects the names of agents that run on this hub. */
export const selectAgentNames = (): Statement<string[]> =>
  mapStatement(
    many(
      orm
        .select({ name: accounts.name })
        .from(agents)
        .innerJoin(accounts, eq(accounts.id, agents.accountId))
        .orderBy(accounts.name),
    ),
    (rows) => rows.map(({ name }) => name),
  )

/**
 * Returns statements that post each report once, also with concurrent writers; run them in one batch.
 * The posts wake no agents, and but for the first of a hub they are listed only in their community. Admins get an inbox item.
 */
export function postReportStatements(all: Report[], now: number): Statement<void>[] {
  if (all.length === 0) return []
  const list = JSON.stringify(
    all.map((each) => ({
      ...each,
      ...renderText('posts', { id: each.postId, content: each.content }).columns,
    })),
  )
  return [
    insertReports({ list, now }),
    insertPosts({ list, now }),
    countPosts({ list }),
    notifyAdmins({ list, now }),
  ]
}

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

const b = alias(budgets, 'b')
const w = alias(budgetWindows, 'w')
const l = alias(budgetLevels, 'l')
const v = alias(budgetAccountWindows, 'v')

const levelNowSql = levelSql(b, w, neededSql(b, w))

const changedFields = {
  id: b.id,
  scope: b.scope,
  scopeId: b.scopeId,
  /** Name of the agent or public community; null for other scopes: everybody reads the report. */
  name: sql<string | null>`coalesce(
    (SELECT name FROM ${accounts} WHERE id = ${b.scopeId} AND ${b.scope} = 'agent'),
    (SELECT name FROM ${communities} WHERE id = ${b.scopeId} AND ${b.scope} = 'community'
      AND ${isPublicSql(communities.id)}))`,
  period: b.period,
  limitMicrousd: b.limitMicrousd,
  limitTokens: b.limitTokens,
  spentMicrousd: w.spentMicrousd,
  spentTokens: w.spentTokens,
  startsAt: w.startsAt,
  endsAt: w.endsAt,
  /** Index of the level in `levels`. */
  level: number(levelNowSql),
  /** Critical, because it refused a call for which too little is left. */
  isRefusing: flag(isRefusingSql(b, w, neededSql(b, w))),
  reportedLevel: l.level,
  reportedStartsAt: l.startsAt,
  /** Time of the last change of the budget. */
  updatedAt: b.updatedAt,
  /** Whether tasks of critical priority can use the share above the critical threshold. */
  allowsCritical: b.allowsCritical,
}

/** A budget whose state differs from the last report about it. */
export type ChangedBudget = RowOf<typeof changedFields>

/**
 * Selects budgets that changed since the last report: a threshold was crossed, a call was refused, a limit
 * was changed, or a new period started. Reads only budgets that have crossed a threshold before.
 */
export const selectChangedBudgets = prepare(({ now }: Params<{ now: number }>) =>
  manySql(
    changedFields,
    sql`FROM ${budgetLevels} ${l} CROSS JOIN ${budgets} ${b} ON ${b.id} = ${l.budgetId}
      CROSS JOIN ${budgetWindows} ${w} ON ${isCurrentWindowSql(b, w, now)}
      WHERE (${l.isCrossed} = 1 OR ${l.level} > 0)
        AND (${l.isCrossed} = 1 OR ${l.level} <> ${levelNowSql} OR ${l.startsAt} <> ${w.startsAt})
      ORDER BY ${levelNowSql} DESC, ${b.id} LIMIT 100`,
  ),
)

const usedUpFields = {
  id: b.id,
  scope: b.scope,
  /** Its name stays out of the report, which everybody reads. */
  accountId: v.accountId,
  period: b.period,
  startsAt: v.startsAt,
  endsAt: w.endsAt,
  limitMicrousd: b.limitMicrousd,
  limitTokens: b.limitTokens,
  spentMicrousd: v.spentMicrousd,
  spentTokens: v.spentTokens,
  /** Something is left, but too little for a call that was refused. */
  isRefusing: flag(isRefusingSql(b, v, v)),
  updatedAt: b.updatedAt,
}

/** An account that has used up the budget of its role, which is not reported yet. */
export type UsedUpAccount = RowOf<typeof usedUpFields>

/** Selects the accounts that have used up the budget of their role, or were refused a call, since the last report. */
export const selectUsedUpAccounts = prepare(() =>
  manySql(
    usedUpFields,
    sql`FROM ${budgetAccountWindows} ${v} INDEXED BY budget_account_windows_due CROSS JOIN ${budgets} ${b} ON ${b.id} = ${v.budgetId}
      CROSS JOIN ${budgetWindows} ${w} ON ${w.budgetId} = ${v.budgetId} AND ${w.startsAt} = ${v.startsAt}
      WHERE ${v.alert} = 'due' ORDER BY ${b.id}, ${v.startsAt}, ${v.accountId} LIMIT 100`,
  ),
)

/** Condition: a budget may have crossed a threshold, and has to be reported without waiting for a sweep. */
export const hasCrossedSql = flag(
  sql`EXISTS (SELECT 1 FROM ${budgetLevels} WHERE ${budgetLevels.isCrossed} = 1)
    OR EXISTS (SELECT 1 FROM ${budgetAccountWindows} WHERE ${budgetAccountWindows.alert} = 'due')`,
)

const updateLevels = prepare(({ budgets: list }: Params<{ budgets: string }>) =>
  write(
    updateSet(
      budgetLevels,
      {
        startsAt: sql`e.value ->> 'startsAt'`,
        level: sql`e.value ->> 'level'`,
        isCrossed: sql`0`,
      },
      sql`FROM json_each(${list}) e WHERE ${budgetLevels.budgetId} = e.value ->> 'id'`,
    ),
  ),
)

/** Stores the reported levels; runs in the same batch as the posts that report them. */
export const updateReportedLevels = (list: ChangedBudget[]): Statement<void> =>
  updateLevels({ budgets: JSON.stringify(list) })

const markSent = prepare(({ accounts: list }: Params<{ accounts: string }>) =>
  write(
    updateSet(
      budgetAccountWindows,
      { alert: sql`'sent'` },
      sql`FROM json_each(${list}) e WHERE ${budgetAccountWindows.budgetId} = e.value ->> 'id'
        AND ${budgetAccountWindows.startsAt} = e.value ->> 'startsAt'
        AND ${budgetAccountWindows.accountId} = e.value ->> 'accountId' AND ${budgetAccountWindows.alert} = 'due'`,
    ),
  ),
)

/** Stores that the accounts are reported; runs in the same batch as the posts that report them. */
export const markReported = (list: UsedUpAccount[]): Statement<void> =>
  markSent({ accounts: JSON.stringify(list) })

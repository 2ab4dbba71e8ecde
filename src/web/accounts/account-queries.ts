import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { selectPresentName } from '../../hub/accounts/people-queries'
import { selectAccountByName } from '../../hub/accounts/queries'
import { selectAgentBudget } from '../../hub/budgets/page-queries'
import { selectFollowers } from '../../hub/communities/subscription-queries'
import { allowedLinesSql } from '../../hub/grants/queries'
import { isHeldSql } from '../../hub/rules/held-sql'
import { isPostReadableSql, isPrivateRunSql } from '../../hub/rules/readable-sql'
import { canReadRunSql } from '../../hub/rules/traces-sql'
import { holdsSql, inboxDepthSql, isHubPausedSql } from '../../hub/rules/waiting-sql'
import { selectFeedbackOfAgent } from '../../hub/runs/feedback-queries'
import { activationColumns } from '../../hub/runs/list-queries'
import { accounts } from '../../hub/schema/accounts'
import { activations } from '../../hub/schema/activations'
import { grantPolicies } from '../../hub/schema/approvals'
import {
  agentDefinitions,
  agents,
  explorers,
  heldDefinitions,
  schedules,
} from '../../hub/schema/definitions'
import { posts } from '../../hub/schema/posts'
import type { Reader } from '../../hub/viewers/reader'
import { runFeedbackLimits } from '../../shared/config'
import type { Answers } from '../../shared/db/batch'
import { flag, number } from '../../shared/db/fields'
import { manySql, one, orm, type Params, prepare } from '../../shared/db/statement'
import { type FeedPage, selectFeedRows, toReader } from '../posts/post-queries'

type Name = Params<{ name: string }>

const idOf = (name: SQLWrapper): SQL =>
  sql`(SELECT ${accounts.id} FROM ${accounts} WHERE ${accounts.name} = ${name})`

const a = alias(accounts, 'a')
const b = alias(accounts, 'b')
const g = alias(agents, 'g')

const selectAgent = prepare(({ name, now }: Name & Params<{ now: number }>) => {
  const holds = holdsSql(g, now)
  const d = alias(agentDefinitions, 'd')
  const own = alias(grantPolicies, 'o')
  const base = alias(grantPolicies, 'e')
  const h = alias(heldDefinitions, 'h')
  return one(
    orm
      .select({
        model: g.model,
        /** Name of the member who owns it; null for an agent of the hub. */
        ownerName: sql<
          string | null
        >`(SELECT ${b.name} FROM ${accounts} ${a} JOIN ${accounts} ${b} ON ${b.id} = ${a.ownerId}
          WHERE ${a.id} = ${g.accountId})`,
        definitionVersion: g.definitionVersion,
        definitionAt: d.createdAt,
        /** Author of the definition. */
        definedBy: d.createdBy,
        warnings: d.warnings,
        requested: g.grants,
        default: { allowed: allowedLinesSql(base), denied: base.denied },
        own: { allowed: allowedLinesSql(own), denied: own.denied },
        isPaused: flag(holds.isPaused),
        isStopped: flag(holds.isStopped),
        awaitsProvider: flag(holds.awaitsProvider),
        isHubPaused: flag(sql`${isHubPausedSql}`),
        answersMentions: g.answersMentions,
        answersReplies: g.answersReplies,
        consecutiveFailures: g.consecutiveFailures,
        /** Interval between explorations; null when the agent does not explore. */
        explorationIntervalMs: sql<number | null>`(SELECT ${explorers.intervalMs} FROM ${explorers}
          WHERE ${explorers.accountId} = ${g.accountId} AND ${explorers.weight} > 0)`,
        /** Time of the next scheduled task; null when the agent has no schedule. */
        scheduledAt: sql<number | null>`(SELECT min(${schedules.dueAt}) FROM ${schedules}
          WHERE ${schedules.accountId} = ${g.accountId})`,
        tasksWaiting: number(inboxDepthSql(g.accountId)),
        /** The saved change that waits for its trial; for those who may edit the agent. */
        held: sql<{
          problem: string | null
        } | null>`(SELECT json_object('problem', ${h.problem}) FROM ${heldDefinitions} ${h}
          WHERE ${h.agentId} = ${g.accountId} AND ${isHeldSql(h)})`.mapWith((text: string) =>
          JSON.parse(text),
        ),
      })
      .from(g)
      .leftJoin(d, and(eq(d.accountId, g.accountId), eq(d.version, g.definitionVersion)))
      .leftJoin(own, eq(own.accountId, g.accountId))
      .leftJoin(base, sql`${base.accountId} = '*'`)
      .where(sql`${g.accountId} = ${idOf(name)}`),
  )
})

const x = alias(activations, 'x')
const p = alias(posts, 'p')

const selectActivations = prepare(({ name, reader }: Name & Params<{ reader: Reader }>) =>
  manySql(
    {
      ...activationColumns,
      /** Whether its plan is for its own page only, which knows who may see it. */
      isPrivate: flag(sql`${isPrivateRunSql(x)} OR NOT ${canReadRunSql(reader)}`),
    },
    sql`FROM ${activations} ${x} JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
      LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostReadableSql(p, reader)}
      WHERE ${x.agentId} = ${idOf(name)} ORDER BY ${x.startedAt} DESC, ${x.id} DESC LIMIT 15`,
  ),
)

/** The reads of an account's page. */
export const accountStatements = (name: string, feed: FeedPage) => ({
  account: selectAccountByName({ name }),
  followers: selectFollowers(feed.viewer.credential, feed.viewer.now, name),
  present: selectPresentName(name),
  rows: selectFeedRows(feed),
  agent: selectAgent({ name, now: feed.viewer.now }),
  activations: selectActivations({ name, reader: toReader(feed.viewer) }),
  feedback: selectFeedbackOfAgent({
    name,
    since: feed.viewer.now - runFeedbackLimits.daysShown * 86_400_000,
    reader: toReader(feed.viewer),
  }),
  budget: selectAgentBudget({ name, now: feed.viewer.now, reader: toReader(feed.viewer) }),
})

type AccountAnswers = Answers<ReturnType<typeof accountStatements>>

export type AccountActivation = AccountAnswers['activations'][number]

export type Followers = NonNullable<AccountAnswers['followers']>

/** A hosted agent with the policies that decide about its tools. */
export type AgentCard = NonNullable<AccountAnswers['agent']>

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { explorationScheduling } from '../../shared/config'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { addExcludedSql, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { Outcome } from '../../shared/errors'
import type { AccountId, ActivationId, PostId } from '../../shared/ids'
import { unfiltered } from '../communities/readable-sql'
import type { CommitRequest } from '../contract/hub'
import { renderText } from '../markdown/render-text'
import { computeHotRank } from '../posts/hot-rank'
import { accounts, systemAccountId } from '../schema/accounts'
import { activations } from '../schema/activations'
import { auditLog } from '../schema/audit'
import { communities } from '../schema/communities'
import { agents } from '../schema/definitions'
import { contributions, explorers } from '../schema/exploration'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { agentDays } from '../schema/reports'
import { circuitReport, nameToken } from './circuit-report'
import { isRunningSql } from './running-queries'

const dayMs = 86_400_000

const x = alias(activations, 'x')
const m = alias(communities, 'm')
const i = alias(inboxItems, 'i')
const l = alias(auditLog, 'l')
const n = alias(contributions, 'n')
const agent = alias(accounts, 'agent')
const g = alias(agents, 'g')

type Ending = Params<{ activationId: ActivationId; agentId: AccountId }>

/** A post of the system account in m/agent-errors. */
interface ErrorPost {
  activationId: ActivationId
  agentId: AccountId
  id: PostId
  title: string
  content: string
  hotRank: number
  now: number
  html: string
  htmlVersion: number
}

const systemPost = (v: Params<ErrorPost>) => ({
  id: v.id,
  communityId: m.id,
  authorId: systemAccountId,
  title: v.title,
  content: v.content,
  hotRank: v.hotRank,
  isListed: false,
  createdAt: v.now,
  html: v.html,
  htmlVersion: v.htmlVersion,
})

const inAgentErrorsSql = (v: Params<ErrorPost>): SQL =>
  sql`${m.name} = 'agent-errors' AND ${isRunningSql(v.activationId)}`

const insertReport = prepare((v: Params<ErrorPost>) =>
  write(
    insertSelect(
      posts,
      systemPost(v),
      sql`FROM ${communities} ${m} WHERE ${inAgentErrorsSql(v)} ON CONFLICT DO NOTHING`,
    ),
  ),
)

/** Reports an agent whose circuit this failure opens; runs right after the failure is counted. */
const insertCircuitReport = prepare((v: Params<ErrorPost>) => {
  const named = (text: SQLWrapper): SQL => sql`replace(${text}, ${nameToken}, ${agent.name})`
  return write(
    insertSelect(
      posts,
      { ...systemPost(v), title: named(v.title), content: named(v.content), html: named(v.html) },
      sql`FROM ${communities} ${m}, ${agents} ${g} JOIN ${accounts} ${agent} ON ${agent.id} = ${g.accountId}
      WHERE ${g.accountId} = ${v.agentId} AND ${g.consecutiveFailures} = ${explorationScheduling.failuresMax}
        AND ${inAgentErrorsSql(v)}`,
    ),
  )
})

const countReport = prepare((v: Params<Pick<ErrorPost, 'activationId' | 'id'>>) =>
  write(
    updateSet(
      communities,
      { postCount: sql`${communities.postCount} + 1` },
      sql`WHERE ${communities.id} = (SELECT ${posts.communityId} FROM ${posts} ${unfiltered('counter')} WHERE ${posts.id} = ${v.id})
        AND ${isRunningSql(v.activationId)}`,
    ),
  ),
)

const setFailures = (v: Ending, failures: SQL): Statement<void> =>
  write(
    updateSet(
      agents,
      { consecutiveFailures: failures },
      sql`WHERE ${agents.accountId} = ${v.agentId} AND ${isRunningSql(v.activationId)}`,
    ),
  )

const addFailure = prepare((v: Ending) => setFailures(v, sql`${agents.consecutiveFailures} + 1`))
const resetFailures = prepare((v: Ending) => setFailures(v, sql`0`))

/** Outcomes that are neither a failure nor a success of the agent. */
const neutralOutcomes: readonly Outcome[] = ['cancelled', 'budget_exhausted']

/** Whether the activation `x` wrote something in its exploration. */
const hasContributedSql = sql`EXISTS (SELECT 1 FROM ${contributions} ${n} WHERE ${n.activationId} = ${x.id})`

/** Whether the exploration `x` has seen what there was, and had nothing to write. */
const hasPassedSql = sql`(${x.outcome} = 'completed' AND NOT ${hasContributedSql})`

/** Records when an agent explored, and whether it passed. */
const recordExploration = prepare((v: Params<{ activationId: ActivationId; now: number }>) =>
  write(
    updateSet(
      explorers,
      {
        exploredAt: v.now,
        passedAt: sql`iif(${hasPassedSql}, ${x.startedAt}, ${explorers.passedAt})`,
      },
      sql`FROM ${activations} ${x}
      WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running' AND ${x.task} = 'exploration'
        AND ${explorers.accountId} = ${x.agentId}`,
    ),
  ),
)

/** What one activation adds to the day of its agent, from its recorded result. */
const dayCounts = {
  activations: sql`1`,
  answers: sql`${x.replyCommentId} IS NOT NULL OR EXISTS (SELECT 1 FROM ${inboxItems} ${i}
    WHERE ${i.activationId} = ${x.id} AND ${i.type} IN ('reply', 'dm'))`,
  contributions: hasContributedSql,
  passes: sql`${x.task} = 'exploration' AND ${hasPassedSql}`,
  failures: sql`${x.outcome} = 'failed'`,
  outOfBudget: sql`${x.outcome} = 'budget_exhausted'`,
  refusedAnswers: sql`${x.replyRefusal} IS NOT NULL`,
  refusedCalls: sql`(SELECT count(*) FROM ${auditLog} ${l}
    WHERE ${l.activationId} = ${x.id} AND ${l.decision} IN ('denied', 'rate_limited'))`,
}

const countDay = prepare((v: Params<{ activationId: ActivationId; day: number }>) =>
  write(
    insertSelect(
      agentDays,
      { accountId: x.agentId, day: v.day, ...dayCounts },
      sql`FROM ${activations} ${x} WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running'
      ON CONFLICT (account_id, day) DO UPDATE SET ${addExcludedSql(
        Object.keys(dayCounts).map((name) => agentDays[name as keyof typeof dayCounts]),
      )}`,
    ),
  ),
)

/**
 * Returns the statements of COMMIT that follow from the recorded outcome: the report, the failures in a
 * row, the exploration, and the counts of the agent's day.
 *
 * @param circuitPostId id of the post that reports an opened circuit
 */
export function outcomeStatements(
  { activationId, agentId, now, outcome, report }: CommitRequest,
  circuitPostId: PostId,
): Statement<void>[] {
  const ending = { activationId, agentId }
  const post = { ...ending, now, hotRank: computeHotRank(0, now) }
  const circuitPost = {
    ...post,
    ...circuitReport,
    ...renderText('posts', { id: circuitPostId, content: circuitReport.content }).columns,
    id: circuitPostId,
  }
  return [
    ...(report
      ? [
          insertReport({ ...post, ...report, ...renderText('posts', report).columns }),
          countReport({ ...ending, ...report }),
        ]
      : []),
    ...(outcome === 'failed'
      ? [addFailure(ending), insertCircuitReport(circuitPost), countReport(circuitPost)]
      : neutralOutcomes.includes(outcome)
        ? []
        : [resetFailures(ending)]),
    recordExploration({ activationId, now }),
    countDay({ activationId, day: Math.floor(now / dayMs) }),
  ]
}

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { explorationScheduling } from '../../shared/config'
import { flag } from '../../shared/db/fields'
import {
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { addExcludedSql, bare, insertSelect, newIdSql, updateSet } from '../../shared/db/write-sql'
import type { Outcome } from '../../shared/errors'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import { requestsEndStatements } from '../approvals/write-queries'
import { hasCrossedSql } from '../budgets/report-queries'
import { chargeStatements, insertRefusal } from '../budgets/settle-queries'
import type { CommitRequest, NotifyRequest } from '../contract/hub'
import { postTopic } from '../contract/live-event'
import { unfiltered } from '../database/unfiltered-sql'
import { queuePushesOfAgent } from '../inbox/push-queries'
import { selectIsTopicWatched } from '../live/queries'
import { renderText } from '../markdown/render-text'
import { countActivation } from '../operations/system-queries'
import { computeHotRank } from '../rules/hot-rank'
import { replyLimitSql } from '../rules/reply-limits-sql'
import { isRunningSql, selectAgentsToWake } from '../rules/waiting-sql'
import { explorationOutcomeFields } from '../scheduling/exploration-queries'
import { accounts, systemAccountId } from '../schema/accounts'
import { activations, activationTraces } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { auditLog } from '../schema/audit'
import { agentDays, usageEvents } from '../schema/budgets'
import { communities } from '../schema/communities'
import { agents, contributions, explorers } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { comments, posts } from '../schema/posts'
import { isWriterSilencedSql } from '../viewers/ban-sql'
import { queueEnding, queueHubReports } from '../webhooks/queue-queries'
import { type ReplyText, replyStatements } from './reply-queries'

/** Usage and trace that both COMMIT and PARK report. */
type UsageReport = Pick<CommitRequest, 'activationId' | 'usage' | 'now' | 'trace'>

const x = alias(activations, 'x')
const e = alias(usageEvents, 'e')

const storeTrace = prepare((v: Params<{ activationId: ActivationId; trace: string }>) =>
  write(
    insertSelect(
      activationTraces,
      { activationId: x.id, trace: v.trace },
      sql`FROM ${activations} ${x} WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running'
      ON CONFLICT (activation_id) DO UPDATE SET trace = excluded.trace`,
    ),
  ),
)

/**
 * Returns the statements that charge and record the calls not recorded yet, and store the trace; they
 * apply only while the activation runs. Each call is charged once, however often it is reported.
 */
export function recordUsageStatements(report: UsageReport): Statement<void>[] {
  const { activationId, trace } = report
  return [...chargeStatements(report), storeTrace({ activationId, trace })]
}

/** Sets the totals of an activation to the sum of its recorded usage; part of a list of `SET`. */
const totalsSql = (activationId: SQLWrapper): SQL => {
  const columns = [
    activations.inputTokens,
    activations.cachedTokens,
    activations.outputTokens,
    activations.costMicrousd,
    activations.isPriced,
  ]
  return sql`(${sql.join(columns.map(bare), sql`, `)}) = (
    SELECT coalesce(sum(${e.inputTokens}), 0), coalesce(sum(${e.cachedTokens}), 0),
      coalesce(sum(${e.outputTokens}), 0), coalesce(sum(${e.costMicrousd}), 0), coalesce(min(${e.isPriced}), 1)
    FROM ${usageEvents} ${e} WHERE ${e.activationId} = ${activationId})`
}

/** Stands for the name of the agent in `circuitReport`, also in its HTML: Markdown leaves it as it is. */
const nameToken = 'AGENT_NAME'

/** Post in m/agent-errors about an agent that failed as often in a row as opens its circuit. */
const circuitReport = {
  title: `${nameToken} failed five times in a row`,
  content:
    'Its next exploration starts in a day at the earliest. A mention still starts a run, and a ' +
    `successful run resets the count. [Its runs](/a/${nameToken}) show what failed.`,
}

const dayMs = 86_400_000
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

const setFailures = (v: Ending, failures: SQL, condition: SQL): Statement<void> =>
  write(
    updateSet(
      agents,
      { consecutiveFailures: failures },
      sql`WHERE ${agents.accountId} = ${v.agentId} AND ${condition} AND ${isRunningSql(v.activationId)}`,
    ),
  )

const addFailure = prepare((v: Ending) =>
  setFailures(v, sql`${agents.consecutiveFailures} + 1`, sql`1`),
)
const resetFailures = prepare((v: Ending) =>
  setFailures(v, sql`0`, sql`${agents.consecutiveFailures} <> 0`),
)

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
function outcomeStatements(
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

/** Queues the posts of `outcomeStatements`, as far as they were written. */
function queueErrorPosts({ report, outcome, now }: CommitRequest, circuitPostId: PostId) {
  const ids = [...(report ? [report.id] : []), ...(outcome === 'failed' ? [circuitPostId] : [])]
  if (ids.length === 0) return null
  return queueHubReports(
    ids.map((postId) => ({ postId })),
    now,
  )
}

const u = alias(accounts, 'u')

/** Notifies the people that a running activation acts for, once. */
export const insertNotice = prepare((v: Params<NotifyRequest & { id: string }>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.id),
        accountId: u.id,
        type: 'system',
        postId: x.postId,
        fromAccountId: x.agentId,
        content: v.text,
        createdAt: v.now,
        activationId: x.id,
      },
      sql`FROM ${activations} ${x} CROSS JOIN json_each(${x.requesters}) r
        CROSS JOIN ${accounts} ${u} ON ${u.id} = r.value AND ${u.kind} = 'human'
      WHERE ${x.id} = ${v.activationId} AND ${x.agentId} = ${v.agentId} AND ${x.state} = 'running'
        AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i}
          WHERE ${i.activationId} = ${x.id} AND ${i.accountId} = ${u.id} AND ${i.type} = 'system')`,
    ),
  ),
)

interface Values {
  activationId: ActivationId
  iterations: number
  model: string
  tools: string[]
  now: number
  /** JSON list of the calls to approve. */
  requests: string
}

const a = alias(approvals, 'a')

/**
 * Releases slot, deadline and reservation; the usage so far is already recorded. A late repeat, after the
 * approvals were decided and the activation runs again, changes nothing: its approvals exist already.
 */
export const releaseSlot = prepare((v: Params<Values>) =>
  write(
    updateSet(
      activations,
      {
        state: 'parked',
        iterations: v.iterations,
        model: v.model,
        tools: v.tools,
        reservedMicrousd: 0,
        reservedTokens: 0,
        deadlineAt: v.now,
      },
      sql`, ${totalsSql(v.activationId)},
      (${bare(activations.settledMicrousd)}, ${bare(activations.settledTokens)}) = (
        SELECT coalesce(sum(${e.costMicrousd}), 0), coalesce(sum(${e.inputTokens} + ${e.outputTokens}), 0)
        FROM ${usageEvents} ${e} WHERE ${e.activationId} = ${v.activationId})
      WHERE ${activations.id} = ${v.activationId} AND ${activations.state} = 'running' AND NOT EXISTS (
        SELECT 1 FROM ${approvals} ${a}, json_each(${v.requests}) r
        WHERE ${a.id} = ${v.activationId} || ':' || (r.value ->> 'callId')
          AND ${a.activationId} = ${v.activationId}
          AND ${a.argumentsHash} = r.value ->> 'argumentsHash' AND ${a.tool} = r.value ->> 'tool')`,
    ),
  ),
)

export const selectStateOf = prepare(({ id }: Params<{ id: ActivationId }>) =>
  one(
    orm
      .select({ state: activations.state })
      .from(activations)
      .where(sql`${activations.id} = ${id}`),
  ),
)

const p = alias(posts, 'p')
const c = alias(comments, 'c')

const insertAudit = prepare((v: Params<{ activationId: ActivationId; audit: string }>) =>
  write(
    insertSelect(
      auditLog,
      {
        id: sql`${x.id} || ':' || (e.value ->> 'callId')`,
        accountId: x.agentId,
        activationId: x.id,
        callId: sql`e.value ->> 'callId'`,
        tool: sql`e.value ->> 'tool'`,
        grant: sql`e.value ->> 'grant'`,
        argumentsHash: sql`e.value ->> 'argumentsHash'`,
        decision: sql`e.value ->> 'decision'`,
        outcome: sql`e.value ->> 'outcome'`,
        durationMs: sql`e.value ->> 'durationMs'`,
        resultBytes: sql`e.value ->> 'resultBytes'`,
        createdAt: sql`e.value ->> 'at'`,
        reason: sql`e.value ->> 'reason'`,
        ruleId: sql`e.value ->> 'ruleId'`,
      },
      sql`FROM ${activations} ${x}, json_each(${v.audit}) e
      WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'running'`,
      { verb: 'INSERT OR IGNORE' },
    ),
  ),
)

interface Result {
  activationId: ActivationId
  now: number
  outcome: Outcome
  error: CommitRequest['error']
  iterations: number
  model: string
  program: string | null
  tools: string[]
  notGranted: string[]
  target: 'none' | 'inbox' | 'thread'
  /** The comment that the reply is for; null for the post. */
  parentId: CommentId | null
  /** Why the reply is replaced by a notice. */
  withheld: string | null
}

/** Why a reply was not posted or was replaced; NULL when it was posted unchanged or there is none. */
const refusalSql = (v: Params<Result>): SQL => {
  const limit = replyLimitSql({
    activation: v.activationId,
    post: p.id,
    communityId: p.communityId,
    agent: x.agentId,
    now: v.now,
  })
  const isSilenced = (activationId: SQLWrapper) =>
    isWriterSilencedSql({ accountId: x.agentId, activationId }, p.communityId, v.now)
  const fromOpenPost = sql`${unfiltered('own run')} FROM ${activations} ${x} JOIN ${posts} ${p} ON ${p.id} = ${x.postId}
    WHERE ${x.id} = ${v.activationId} AND ${p.deletedAt} IS NULL`
  return sql`CASE
    WHEN ${v.target} = 'none' THEN NULL
    WHEN ${v.target} = 'inbox' THEN ${v.withheld}
    WHEN EXISTS (SELECT 1 FROM ${comments} ${c} WHERE ${c.activationId} = ${v.activationId}) THEN ${v.withheld}
    WHEN EXISTS (SELECT 1 FROM ${comments} ${c} WHERE ${c.id} = ${v.parentId} AND ${c.removalId} IS NOT NULL)
      THEN 'content_removed'
    ELSE coalesce((SELECT CASE WHEN ${p.isLocked} THEN NULL WHEN ${isSilenced(sql`NULL`)} THEN 'agent_banned'
      WHEN ${isSilenced(v.activationId)} THEN 'requester_stopped' ELSE ${limit} END ${fromOpenPost}),
      (SELECT 'thread_locked' ${fromOpenPost}),
      (SELECT 'content_removed' FROM ${activations} ${x} JOIN ${posts} ${p} ON ${p.id} = ${x.postId}
        WHERE ${x.id} = ${v.activationId} AND ${p.removalId} IS NOT NULL), 'post_deleted') END`
}

/** Records everything about the result but the state, which ends the activation. */
const recordResult = prepare((v: Params<Result>) =>
  write(
    updateSet(
      activations,
      {
        finishedAt: v.now,
        outcome: v.outcome,
        error: v.error,
        iterations: v.iterations,
        model: v.model,
        program: v.program,
        tools: v.tools,
        notGranted: v.notGranted,
        reservedMicrousd: 0,
        reservedTokens: 0,
        replyCommentId: sql`(${unfiltered('own run')} SELECT ${c.id} FROM ${comments} ${c} WHERE ${c.activationId} = ${v.activationId})`,
        replyRefusal: refusalSql(v),
      },
      sql`, ${totalsSql(v.activationId)}
      WHERE ${activations.id} = ${v.activationId} AND ${activations.state} = 'running'`,
    ),
  ),
)

type Ended = Params<{ activationId: ActivationId; agentId: AccountId; now: number }>

/**
 * Consumes the items of a run. What joined it and was not read by its model is released, to be delivered again.
 *
 * @param joined JSON list of the items that joined it and were read
 */
const endItems = prepare(
  (v: Params<{ activationId: ActivationId; now: number; joined: string }>) => {
    const isUnread = sql`(${inboxItems.joinedAt} IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM json_each(${v.joined}) n WHERE n.value = ${inboxItems.id}))`
    const replyRefusal = sql`(SELECT ${x.replyRefusal} FROM ${activations} ${x} WHERE ${x.id} = ${v.activationId})`
    return write(
      updateSet(
        inboxItems,
        {
          claimedBy: sql`iif(${isUnread}, NULL, ${inboxItems.claimedBy})`,
          joinedAt: sql`iif(${isUnread}, NULL, ${inboxItems.joinedAt})`,
          readAt: sql`iif(${isUnread}, NULL, ${v.now})`,
          refusal: sql`iif(${isUnread}, ${inboxItems.refusal}, ${replyRefusal})`,
        },
        sql`WHERE ${inboxItems.claimedBy} = ${v.activationId} AND ${inboxItems.readAt} IS NULL
          AND ${isRunningSql(v.activationId)}`,
      ),
    )
  },
)

const touchAccount = prepare((v: Ended) =>
  write(
    updateSet(
      accounts,
      { lastActivatedAt: v.now },
      sql`WHERE ${accounts.id} = ${v.agentId} AND ${isRunningSql(v.activationId)}`,
    ),
  ),
)

const finish = prepare(({ activationId }: Params<{ activationId: ActivationId }>) =>
  write(
    updateSet(
      activations,
      { state: 'done' },
      sql`WHERE ${activations.id} = ${activationId} AND ${activations.state} = 'running'`,
    ),
  ),
)

const resultFields = {
  state: x.state,
  replyId: x.replyCommentId,
  replyRefusal: x.replyRefusal,
  ...explorationOutcomeFields,
  /** Whether a budget may have crossed a threshold. */
  hasCrossed: flag(sql`${hasCrossedSql}`),
}

const selectResult = prepare(({ activationId }: Params<{ activationId: ActivationId }>) =>
  oneSql(resultFields, sql`FROM ${activations} ${x} WHERE ${x.id} = ${activationId}`),
)

const findReplyTarget = ({ reply }: CommitRequest): Result['target'] =>
  reply === null ? 'none' : reply.postId === null ? 'inbox' : 'thread'

/**
 * Returns the statements of COMMIT as one batch. Every write checks that the activation still runs, and
 * the row is set to done last: a second commit of the same activation changes nothing and reads the same
 * result.
 *
 * @param withheld why the reply is replaced by a notice, or null
 * @param circuitPostId id of the post that reports an opened circuit
 */
export function commitStatements(
  request: CommitRequest,
  text: ReplyText | null,
  withheld: string | null,
  circuitPostId: PostId,
) {
  const { activationId, audit, refusedCall } = request
  const parentId = request.reply?.parentId ?? null
  const { notGranted = [], program = null } = request
  const target = findReplyTarget(request)
  const result = { ...request, notGranted, program, target, parentId, withheld }
  return {
    reply: replyStatements(request, text),
    isPushed: request.reply
      ? queuePushesOfAgent({ agentId: request.agentId, like: request.reply.id, now: request.now })
      : null,
    usage: recordUsageStatements(request),
    refusal: refusedCall
      ? insertRefusal({
          activationId,
          now: request.now,
          neededMicrousd: refusedCall.microusd,
          neededTokens: refusedCall.tokens,
        })
      : null,
    requests: program === null ? [] : requestsEndStatements(request),
    audit: audit.length > 0 ? insertAudit({ activationId, audit: JSON.stringify(audit) }) : null,
    recordResult: recordResult(result),
    endItems: endItems({
      activationId,
      now: request.now,
      joined: JSON.stringify(request.joined ?? []),
    }),
    outcome: outcomeStatements(request, circuitPostId),
    touchAccount: touchAccount(request),
    isQueued: queueEnding({
      activationId,
      postId: request.reply?.postId ?? null,
      commentId: request.reply?.postId ? request.reply.id : null,
      agentId: request.agentId,
      replyId: request.reply?.id ?? null,
      now: request.now,
    }),
    isReported: queueErrorPosts(request, circuitPostId),
    count: countActivation(request),
    finish: finish({ activationId }),
    result: selectResult({ activationId }),
    waiting: selectAgentsToWake(request.now),
    isWatched: request.reply?.postId ? selectIsTopicWatched(postTopic(request.reply.postId)) : null,
  }
}

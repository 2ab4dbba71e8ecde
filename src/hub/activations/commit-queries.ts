import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import { oneSql, type Params, prepare, write } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { Outcome } from '../../shared/errors'
import type { AccountId, ActivationId, CommentId, PostId } from '../../shared/ids'
import { requestsEndStatements } from '../approvals/request-queries'
import { isWriterSilencedSql } from '../bans/ban-sql'
import { insertRefusal } from '../budgets/refusal-queries'
import { unfiltered } from '../communities/readable-sql'
import type { CommitRequest } from '../contract/hub'
import { postTopic } from '../contract/live-event'
import { explorationOutcomeFields } from '../exploration/outcome-queries'
import { selectAgentsToWake } from '../inbox/waiting-sql'
import { selectIsTopicWatched } from '../live/queries'
import { queuePushesOfAgent } from '../push/queue-queries'
import { replyLimitSql } from '../reply-limits/reply-limit-sql'
import { hasCrossedSql } from '../reports/level-queries'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { auditLog } from '../schema/audit'
import { comments } from '../schema/comments'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { countActivation } from '../system/counter-queries'
import { outcomeStatements } from './outcome-queries'
import { type ReplyText, replyStatements } from './reply-queries'
import { isRunningSql } from './running-queries'
import { recordUsageStatements, totalsSql } from './usage-queries'

const x = alias(activations, 'x')
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

/** Whether the model of the run has read an item that joined it. */
const isAnsweredSql = (v: Params<{ activationId: ActivationId; joined: string }>): SQL =>
  sql`EXISTS (SELECT 1 FROM json_each(${v.joined}) n WHERE n.value = ${inboxItems.id})`

/** Releases what joined the run and was not read, to be delivered again. */
const releaseItems = prepare((v: Params<{ activationId: ActivationId; joined: string }>) =>
  write(
    updateSet(
      inboxItems,
      { claimedBy: null, joinedAt: null },
      sql`WHERE ${inboxItems.claimedBy} = ${v.activationId} AND ${inboxItems.readAt} IS NULL
        AND ${inboxItems.joinedAt} IS NOT NULL AND NOT ${isAnsweredSql(v)} AND ${isRunningSql(v.activationId)}`,
    ),
  ),
)

const consumeItems = prepare((v: Ended) =>
  write(
    updateSet(
      inboxItems,
      {
        readAt: v.now,
        refusal: sql`(SELECT ${x.replyRefusal} FROM ${activations} ${x} WHERE ${x.id} = ${v.activationId})`,
      },
      sql`WHERE ${inboxItems.claimedBy} = ${v.activationId} AND ${inboxItems.readAt} IS NULL
        AND ${isRunningSql(v.activationId)}`,
    ),
  ),
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
    releaseItems: releaseItems({ activationId, joined: JSON.stringify(request.joined ?? []) }),
    consumeItems: consumeItems(request),
    outcome: outcomeStatements(request, circuitPostId),
    touchAccount: touchAccount(request),
    count: countActivation(request),
    finish: finish({ activationId }),
    result: selectResult({ activationId }),
    waiting: selectAgentsToWake(request.now),
    isWatched: request.reply?.postId ? selectIsTopicWatched(postTopic(request.reply.postId)) : null,
  }
}

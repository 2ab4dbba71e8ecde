import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Answers } from '../../shared/db/batch'
import { flag, nullable, number } from '../../shared/db/fields'
import { mapStatement, oneSql, type Params, prepare } from '../../shared/db/statement'
import { unfiltered } from '../database/unfiltered-sql'
import { isItemStoppedSql } from '../inbox/stop-queries'
import { canAccountReadSql, canReadPostSql, canReadSql } from '../rules/readable-sql'
import { countCallsSql, limitFieldsOf } from '../rules/reply-limits-sql'
import { hasPageSql, isPostShownSql } from '../rules/shown-sql'
import {
  holdsSql,
  inboxDepthSql,
  isAwaitingProviderSql,
  isHubPausedSql,
  isWaitingSql,
  requestersOfItemSql,
  unreadItemsSql,
} from '../rules/waiting-sql'
import { selectAdmissionsOf, selectPayingBudgetsOf, taskColumnsSql } from '../runs/claim-queries'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { communities } from '../schema/communities'
import { agents, outageWaits, providerOutages, schedules } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { mentions, posts } from '../schema/posts'
import type { Reader } from '../viewers/reader'
import { explorerStatements, selectHubState } from './board-queries'

/** About which agent and thread somebody asks, and when. */
interface QuietQuestion {
  name: string
  /** '' for the agent without a thread. */
  postId: string
  reader: Reader
  now: number
}

type Asked = Params<QuietQuestion>

const a = alias(accounts, 'a')
const c = alias(communities, 'c')
const f = alias(accounts, 'f')
const g = alias(agents, 'g')
/** The alias of `taskColumnsSql`. */
const i = alias(inboxItems, 'i')
const k = alias(mentions, 'k')
const o = alias(approvals, 'o')
const older = alias(inboxItems, 'older')
const p = alias(posts, 'p')
const s = alias(schedules, 's')
const w = alias(outageWaits, 'ow')
const d = alias(providerOutages, 'od')
const x = alias(activations, 'x')

const agentIdSql = ({ name }: Pick<Asked, 'name'>): SQL =>
  sql`(SELECT ${accounts.id} FROM ${accounts} WHERE ${accounts.name} = ${name})`

const postFields = {
  id: p.id,
  /** Null for a post that a moderator removed. */
  title: sql<string | null>`iif(${isPostShownSql(p)}, ${p.title}, NULL)`,
  isLocked: p.isLocked,
  /** The limits between agents that hold there. */
  limits: limitFieldsOf(c),
}

/** Selects the thread, if the reader reads it. */
const selectThread = prepare(({ postId, reader }: Asked) =>
  oneSql(
    postFields,
    sql`FROM ${posts} ${p} JOIN ${communities} ${c} ON ${c.id} = ${p.communityId}
      WHERE ${p.id} = ${postId} AND ${hasPageSql(p)}
      AND ${canReadSql(p.communityId, reader)}`,
  ),
)

const runningSql = (agent: SQLWrapper): SQL => sql`SELECT ${x.id} FROM ${activations} ${x}
  WHERE ${x.agentId} = ${agent} AND ${x.state} = 'running'`

/** The agent, and what holds its runs back. */
const agentFields = ({ postId, now }: Asked) => {
  const holds = holdsSql(g, now)
  return {
    id: a.id,
    name: a.name,
    kind: a.kind,
    displayName: a.displayName,
    model: g.model,
    etag: g.definitionEtag,
    answersMentions: g.answersMentions,
    isHubPaused: flag(sql`${isHubPausedSql}`),
    isPaused: flag(holds.isPaused),
    isStopped: flag(holds.isStopped),
    awaitsProvider: flag(holds.awaitsProvider),
    /** When its provider is tried again; null when it waits for none. */
    providerDueAt: sql<number | null>`(SELECT ${d.dueAt} FROM ${outageWaits} ${w}
      JOIN ${providerOutages} ${d} ON ${d.address} = ${w.address} WHERE ${w.agentId} = ${a.id})`,
    /** Its run in flight. */
    runningId: sql<string | null>`(${runningSql(a.id)})`,
    runningSince: sql<number | null>`(SELECT ${x.startedAt} FROM ${activations} ${x}
      WHERE ${x.agentId} = ${a.id} AND ${x.state} = 'running')`,
    /** Whether that run is of the thread. */
    isRunningHere: flag(sql`EXISTS (${runningSql(a.id)} AND ${x.postId} = ${postId})`),
    /** A call of its run requires approval: the oldest one, without a thread. */
    approvalSince: sql<number | null>`(SELECT min(${o.createdAt}) FROM ${activations} ${x}
      JOIN ${approvals} ${o} ON ${o.activationId} = ${x.id} AND ${o.status} = 'pending'
      WHERE ${x.agentId} = ${a.id} AND ${x.state} = 'parked')`,
    tasksWaiting: number(inboxDepthSql(a.id)),
    /** Time of its next scheduled task; null without a schedule. */
    scheduledAt: sql<
      number | null
    >`(SELECT min(${s.dueAt}) FROM ${schedules} ${s} WHERE ${s.accountId} = ${a.id})`,
    canRead: flag(
      canAccountReadSql(
        sql`(SELECT ${p.communityId} FROM ${posts} ${p} ${unfiltered('operator')} WHERE ${p.id} = ${postId})`,
        a,
      ),
    ),
    /** When a text of the thread mentioned it last; null: none does. */
    mentionedAt: sql<number | null>`(SELECT max(${k.createdAt}) FROM ${mentions} ${k}
      WHERE ${k.postId} = ${postId} AND ${k.accountId} = ${a.id})`,
  }
}

const selectAgent = prepare((v: Asked) =>
  oneSql(
    agentFields(v),
    sql`FROM ${accounts} ${a} JOIN ${agents} ${g} ON ${g.accountId} = ${a.id} WHERE ${a.name} = ${v.name}`,
  ),
)

/** The item of the thread that the answer is about: one that waits, or else the newest. */
const itemSql = (v: Asked): SQL => sql`FROM ${inboxItems} ${i}
  WHERE ${i.accountId} = ${agentIdSql(v)} AND ${i.postId} = ${v.postId} AND ${canReadPostSql(i.postId, v.reader)}
    AND ${i.type} IN ('mention', 'reply', 'task') AND (${i.isTask} = 1 OR ${i.refusal} IS NOT NULL OR ${i.type} = 'mention')
  ORDER BY ${isWaitingSql(i)} DESC, ${i.createdAt} DESC, ${i.id} DESC LIMIT 1`

/** The item of the thread that the agent answers, answered or was kept from answering, and its run. */
const itemFields = (v: Asked) => ({
  type: i.type,
  isTask: i.isTask,
  isWaiting: flag(isWaitingSql(i)),
  refusal: i.refusal,
  createdAt: i.createdAt,
  readAt: i.readAt,
  commentId: i.commentId,
  /** The model to use this once. */
  model: i.model,
  fromName: nullable(f.name),
  /** Calls by that external agent in the last hour, which a limit counts. */
  calls: number(
    sql`iif(${i.fromAccountId} IS NULL, 0, ${countCallsSql(i.fromAccountId, i.accountId, v.now)})`,
  ),
  /** For whom it is. */
  requesters: sql`${requestersOfItemSql(i)}`.mapWith((json: string): string[] => JSON.parse(json)),
  /** A requester is disabled, or banned or muted on the hub or in the community of the thread. */
  isRequesterStopped: flag(isItemStoppedSql(i, v.now)),
  /** Older tasks of the agent, which run first. */
  ahead: number(sql`(SELECT count(*) FROM ${unreadItemsSql(older)}
    WHERE ${older.accountId} = ${i.accountId} AND ${isWaitingSql(older)} AND ${isWaitingSql(i)}
      AND (${older.createdAt}, ${older.id}) < (${i.createdAt}, ${i.id})
      AND (${older.postId} IS NULL OR ${older.postId} <> ${i.postId}))`),
  runId: nullable(x.id),
  runState: nullable(x.state),
  runOutcome: nullable(x.outcome),
  replyId: nullable(x.replyCommentId),
  replyRefusal: nullable(x.replyRefusal),
  finishedAt: nullable(x.finishedAt),
  isAwaitingProvider: flag(isAwaitingProviderSql(x.id)),
  /** When the oldest call of its run that requires approval was requested; null: none. */
  approvalSince: sql<number | null>`(SELECT min(${o.createdAt}) FROM ${approvals} ${o}
    WHERE ${o.activationId} = ${x.id} AND ${o.status} = 'pending')`,
})

const selectItem = prepare((v: Asked) =>
  oneSql(
    itemFields(v),
    sql`FROM (SELECT * ${itemSql(v)}) ${i} LEFT JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
      LEFT JOIN ${activations} ${x} ON ${x.id} = ${i.claimedBy}`,
  ),
)

/** The item as a task to claim; without one a mention by nobody, which only the agent's own budgets pay for. */
const taskSql = (v: Asked): SQL => sql`
  SELECT * FROM (SELECT ${taskColumnsSql} ${itemSql(v)}) UNION ALL
  SELECT NULL, 'mention', NULL, nullif(${v.postId}, ''), NULL, NULL, NULL, NULL, NULL, '[]'
  WHERE NOT EXISTS (SELECT 1 FROM (SELECT ${taskColumnsSql} ${itemSql(v)}))`

const askedTask = (v: Asked) => ({ agentId: agentIdSql(v), now: v.now, task: taskSql(v) })

const selectAdmission = prepare((v: Asked) =>
  mapStatement(selectAdmissionsOf(askedTask(v)), ([first]) => first),
)
const selectPayingBudgets = prepare((v: Asked) => selectPayingBudgetsOf(askedTask(v)))

/** Returns the reads that say why an agent is quiet. */
export const quietStatements = (question: QuietQuestion) => ({
  thread: selectThread(question),
  agent: selectAgent(question),
  item: selectItem(question),
  admission: selectAdmission(question),
  budgets: selectPayingBudgets(question),
  ...explorerStatements(question),
  hub: selectHubState(question.now),
})

/** The answers of these reads. */
export type QuietFacts = Answers<ReturnType<typeof quietStatements>>

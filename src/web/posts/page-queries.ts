import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { accounts } from '../../hub/accounts/schema'
import { activations } from '../../hub/activations/schema'
import { isHubPausedSql } from '../../hub/activations/waiting-sql'
import { approvals } from '../../hub/approvals/schema'
import { commentFields } from '../../hub/comments/queries'
import { comments } from '../../hub/comments/schema'
import type { Cursor } from '../../hub/cursor'
import { agents } from '../../hub/definitions/schema'
import { inboxItems } from '../../hub/inbox/schema'
import { type Credential, viewer, viewerCte, viewerValues } from '../../hub/keys/queries'
import { mentions } from '../../hub/mentions/schema'
import {
  type PostRow,
  type PostSort,
  postFields,
  preparePostLists,
  selectPost,
  toPostCursor,
} from '../../hub/posts/queries'
import { posts } from '../../hub/posts/schema'
import { selectNotWoken } from '../../hub/reply-limits/queries'
import { selectOwnVotes } from '../../hub/votes/queries'
import { votes } from '../../hub/votes/schema'
import { limits } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement } from '../../shared/db/statement'

const p = alias(posts, 'p')
const a = alias(accounts, 'a')
const m = alias(comments, 'm')
const x = alias(activations, 'x')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')
const f = alias(accounts, 'f')
const v = alias(votes, 'v')
const o = alias(approvals, 'o')
const n = alias(mentions, 'n')

/** A subquery that returns a JSON list of texts. */
const textList = (query: SQL): SQL<string[]> =>
  sql`(${query})`.mapWith((json): string[] => JSON.parse(json)) as SQL<string[]>

const feedFields = {
  ...postFields,
  /** The beginning of the text. */
  content: sql<string>`substr(${p.content}, 1, 600)`,
  /** The viewer's own vote: 1, -1 or 0. */
  ownVote: number(sql`coalesce((SELECT ${v.value} FROM ${votes} ${v}
    WHERE ${v.accountId} = (SELECT ${viewer.id} FROM ${viewer}) AND ${v.postId} = ${p.id}
      AND ${v.commentId} = ''), 0)`),
}

export type FeedPageRow = RowOf<typeof feedFields>

export interface FeedPage {
  sort: PostSort
  cursor: Cursor | null
  /** All listed posts, those of one community, or those by one account. */
  within: { community?: string; author?: string }
  /** The viewer, whose own votes are shown. */
  viewer: { credential: Credential | null; now: number }
}

const selectFeedList = preparePostLists(feedFields, viewerCte)

/** One row more than a page shows, which shows whether there is a next page. */
const feedRowsMax = limits.page.postsDefault + 1

/** Selects one page of posts. */
export function selectFeedRows(page: FeedPage): Statement<FeedPageRow[]> {
  const { sort, cursor, within, viewer: of } = page
  return selectFeedList(
    { ...within, sort, cursor, limit: feedRowsMax },
    viewerValues(of.credential, of.now),
  )
}

/** Returns the cursor of the page after `rows`; null after the last page. */
export function computeNextCursor(page: FeedPage, rows: FeedPageRow[]): Cursor | null {
  const last = rows[limits.page.postsDefault - 1]
  return rows.length < feedRowsMax || !last ? null : toPostCursor(page.sort, last)
}

export type ThreadPost = PostRow

/** A comment with the activation that wrote it, if any. */
const threadCommentFields = {
  ...commentFields,
  outcome: nullable(x.outcome),
  tools: nullable(x.tools),
  startedAt: nullable(x.startedAt),
  finishedAt: nullable(x.finishedAt),
  tokens: sql<number | null>`${x.inputTokens} + ${x.outputTokens}`,
  costMicrousd: nullable(x.costMicrousd),
  isPriced: nullable(x.isPriced),
}

export type ThreadComment = RowOf<typeof threadCommentFields>

type OfPost = Params<{ postId: string }>

const selectNewestComments = prepare(({ postId }: OfPost) =>
  manySql(
    threadCommentFields,
    sql`FROM ${comments} ${m} JOIN ${accounts} ${a} ON ${a.id} = ${m.authorId}
      LEFT JOIN ${activations} ${x} ON ${x.id} = ${m.activationId}
      WHERE ${m.postId} = ${postId} ORDER BY ${m.createdAt} DESC, ${m.id} DESC
      LIMIT ${sql.raw(String(limits.page.commentsMax))}`,
  ),
)

const threadActivationFields = {
  id: x.id,
  agentName: a.name,
  state: x.state,
  startedAt: x.startedAt,
  replyRefusal: x.replyRefusal,
  isPriced: x.isPriced,
  /** Names of the requesters; empty once the activation is done. */
  requesters: textList(sql`iif(${x.state} = 'done', '[]',
    (SELECT json_group_array(${f.name}) FROM ${inboxItems} ${i}
     JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
     WHERE ${i.claimedBy} = ${x.id} AND ${i.type} <> 'approval_decision'))`),
  /** Tools whose approval a parked activation waits for. */
  waitsFor: textList(sql`iif(${x.state} <> 'parked', '[]',
    (SELECT json_group_array(DISTINCT ${o.tool}) FROM ${approvals} ${o}
     WHERE ${o.activationId} = ${x.id} AND ${o.status} = 'pending'))`),
}

/** An activation of an agent in a thread. */
export type ThreadActivation = RowOf<typeof threadActivationFields>

const selectThreadActivations = prepare(({ postId }: OfPost) =>
  manySql(
    threadActivationFields,
    sql`FROM ${activations} ${x} JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
      WHERE ${x.postId} = ${postId} ORDER BY ${x.startedAt} DESC LIMIT 200`,
  ),
)

/** The accounts that a thread mentions; their names in its text become links. */
const selectMentioned = prepare(({ postId }: OfPost) =>
  manySql(
    { name: a.name },
    sql`FROM (SELECT DISTINCT ${n.accountId} FROM ${mentions} ${n} WHERE ${n.postId} = ${postId} LIMIT 500) t
      CROSS JOIN ${accounts} ${a} ON ${a.id} = t.account_id`,
  ),
)

const pausedFields = { name: a.name, isHubPaused: flag(isHubPausedSql) }

/** An agent with an open task in a thread that is paused, alone or with all agents of the hub. */
export type PausedAgent = RowOf<typeof pausedFields>

/** Reads the tasks of paused agents only, so it reads no tasks when no agent is paused. */
const selectPaused = prepare(({ postId }: OfPost) =>
  manySql(
    pausedFields,
    sql`FROM ${agents} ${g} CROSS JOIN ${accounts} ${a} ON ${a.id} = ${g.accountId}
      WHERE (${g.isPaused} = 1 OR ${isHubPausedSql})
        AND EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.accountId} = ${g.accountId}
          AND ${i.postId} = ${postId} AND ${i.readAt} IS NULL AND ${i.isTask} = 1
          AND ${i.claimedBy} IS NULL
          AND ${i.createdAt} >= (SELECT ${p.createdAt} FROM ${posts} ${p} WHERE ${p.id} = ${postId}))
      ORDER BY ${a.name} LIMIT 20`,
  ),
)

/** Returns the statements for everything a thread's page shows; the newest comments come first. */
export const threadStatements = (postId: string, { credential, now }: FeedPage['viewer']) => ({
  post: selectPost(postId),
  comments: selectNewestComments({ postId }),
  activations: selectThreadActivations({ postId }),
  mentioned: selectMentioned({ postId }),
  paused: selectPaused({ postId }),
  agents: selectHostedAgents(),
  notWoken: selectNotWoken(postId),
  votes: selectOwnVotes(credential, now, postId),
})

const hostedAgentFields = {
  name: a.name,
  kind: a.kind,
  description: a.description,
  isPaused: g.isPaused,
}

/** An agent that runs on this hub, for lists and for completing mentions. */
export type HostedAgent = RowOf<typeof hostedAgentFields>

const preparedHostedAgents = prepare(() =>
  manySql(
    hostedAgentFields,
    // CROSS JOIN: the order by name would otherwise scan all accounts.
    sql`FROM ${agents} ${g} CROSS JOIN ${accounts} ${a} ON ${a.id} = ${g.accountId}
      ORDER BY ${a.name} LIMIT 50`,
  ),
)

/** Selects the agents that run on this hub, by name. */
export const selectHostedAgents = (): Statement<HostedAgent[]> => preparedHostedAgents({})

const runningActivationFields = {
  id: x.id,
  postId: x.postId,
  postTitle: nullable(p.title),
  agentName: a.name,
  task: x.task,
  startedAt: x.startedAt,
}

const preparedRunningActivations = prepare(() =>
  manySql(
    runningActivationFields,
    // The index is named, because the order would otherwise scan all activations there ever were.
    sql`FROM ${activations} ${x} INDEXED BY activations_running
      CROSS JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
      LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId}
      WHERE ${x.state} = 'running' ORDER BY ${x.startedAt} DESC LIMIT 50`,
  ),
)

/** Selects the running activations of the hub with their threads, newest first. */
export const selectRunningActivations = (): Statement<RowOf<typeof runningActivationFields>[]> =>
  preparedRunningActivations({})

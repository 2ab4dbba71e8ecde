import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { selectThreadApprovals, selectThreadDeciders } from '../../hub/approvals/queries'
import { commentFields, selectVisit } from '../../hub/comments/queries'
import { selectFollowing, selectUnreached } from '../../hub/inbox/queries'
import { selectWithdrawn } from '../../hub/inbox/stop-queries'
import { shownTextFields } from '../../hub/markdown/queries'
import { selectMayModerateThread, selectRemovals } from '../../hub/moderation/queue-queries'
import { selectLift, selectNotWoken } from '../../hub/moderation/reply-limit-queries'
import {
  type PostSort,
  postFields,
  postTables,
  preparePostLists,
  shownPostFields,
  toPostCursor,
} from '../../hub/posts/queries'
import { canReadPostSql, canReadSql, isPostReadableSql } from '../../hub/rules/readable-sql'
import { limitFieldsOf } from '../../hub/rules/reply-limits-sql'
import { hasPageSql, isCommentShownSql, isPostShownSql } from '../../hub/rules/shown-sql'
import { isForThreadSql, traceAccessColumns, unmetCallsSql } from '../../hub/rules/traces-sql'
import {
  isAwaitingProviderSql,
  isHubPausedSql,
  isRequestSql,
  isWaitingSql,
  unreadItemsSql,
} from '../../hub/rules/waiting-sql'
import { selectFeedbackInThread } from '../../hub/runs/feedback-queries'
import { resumeStatements } from '../../hub/runs/resume-queries'
import { accounts } from '../../hub/schema/accounts'
import { activations } from '../../hub/schema/activations'
import { approvals } from '../../hub/schema/approvals'
import { communities } from '../../hub/schema/communities'
import { agents, schedules } from '../../hub/schema/definitions'
import { inboxItems } from '../../hub/schema/inbox'
import { comments, mentions, posts, visits, votes } from '../../hub/schema/posts'
import { type Credential, viewer, viewerCte, viewerValues } from '../../hub/viewers/queries'
import { type Reader, requestReader } from '../../hub/viewers/reader'
import { selectOwnVotes } from '../../hub/votes/queries'
import { limits, renderedTexts } from '../../shared/config'
import { type Cursor, decodeCount, decodeKeyset } from '../../shared/cursor'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { AccountId, CommentId, PostId } from '../../shared/ids'

const p = alias(posts, 'p')
const a = alias(accounts, 'a')
const m = alias(comments, 'm')
const x = alias(activations, 'x')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')
const e = alias(activations, 'e')
const f = alias(accounts, 'f')
const o = alias(approvals, 'o')
const k = alias(mentions, 'k')
const n = alias(comments, 'n')
const l = alias(comments, 'l')
/** The community of `postTables`. */
const c = alias(communities, 'c')

/** A subquery that returns a JSON list of texts. */
const textList = (query: SQL): SQL<string[]> =>
  sql`(${query})`.mapWith((json): string[] => JSON.parse(json)) as SQL<string[]>

const threadPostFields = {
  ...shownPostFields,
  authorAvatarId: a.avatarId,
  visibility: c.visibility,
  limits: limitFieldsOf(c),
  html: sql<string | null>`iif(${isPostShownSql(p)}, ${p.html}, NULL)`,
  htmlVersion: p.htmlVersion,
}

/** The post of a thread with its HTML. */
export type ThreadPost = RowOf<typeof threadPostFields>

interface PostValues {
  postId: string
  reader: Reader
}

type OfPost = Params<PostValues>

const selectThreadPost = prepare(({ postId, reader }: OfPost) =>
  oneSql(
    threadPostFields,
    sql`FROM ${postTables}
      WHERE ${p.id} = ${postId} AND ${hasPageSql(p)} AND ${canReadSql(p.communityId, reader)}`,
  ),
)

/** What a thread's page shows, besides its viewer. */
interface ThreadView extends CommentWindow {
  /** Names that the linked comment, or the post, mentions and that reached nobody: a notice for its author. */
  unreached: string[]
}

/** Comments of one page of a thread: those before a row, those around a linked comment, or the newest. */
interface CommentWindow {
  before: Cursor | null
  /** Id of a comment; empty for none. An unknown one counts as none. */
  linked: string
}

interface WindowValues extends PostValues {
  linked: string
  beforeAt: number
  beforeId: string
}

const newestAt = Number.MAX_SAFE_INTEGER

/** A comment with the activation that wrote it, if any. The linked comment is shown first if the page is long. */
const threadCommentFields = (linked: SQLWrapper) => {
  const shown = {
    content: sql`iif(${isCommentShownSql(m)}, ${m.content}, '')`,
    html: sql`iif(${isCommentShownSql(m)}, ${m.html}, NULL)`,
    htmlVersion: m.htmlVersion,
  }
  return {
    ...commentFields,
    authorAvatarId: a.avatarId,
    ...shownTextFields(shown, sql`${m.id} = ${linked} DESC, ${m.createdAt} DESC, ${m.id} DESC`),
    /** Whether no newer comments exist than those of the page. */
    isNewest: flag(sql`bound.at = ${sql.raw(String(newestAt))}`),
    ...provenanceFields,
  }
}

export type ThreadComment = RowOf<ReturnType<typeof threadCommentFields>>

/** One row more than a page shows, which shows whether there are earlier comments. */
const commentRowsMax = renderedTexts.commentsPerPage + 1

/** The first comment after the page: the page ends before it. */
const boundSql = ({ postId, linked, beforeAt, beforeId }: Params<WindowValues>): SQL => sql`
  WITH bound (at, id) AS MATERIALIZED (
    SELECT coalesce(z.at, ${beforeAt}), coalesce(z.id, ${beforeId}) FROM (SELECT 1)
    LEFT JOIN (SELECT ${n.createdAt} AS at, ${n.id} AS id
      FROM ${comments} ${n} WHERE ${n.postId} = ${postId} AND (${n.createdAt}, ${n.id}) > (
        SELECT ${l.createdAt}, ${l.id} FROM ${comments} ${l} WHERE ${l.id} = ${linked} AND ${l.postId} = ${postId})
      ORDER BY ${n.createdAt}, ${n.id}
      LIMIT 1 OFFSET ${sql.raw(String(renderedTexts.commentsAfterLinked))}) z)`

const preparedComments = prepare((v: Params<WindowValues>) =>
  manySql(
    threadCommentFields(v.linked),
    sql`FROM bound CROSS JOIN (SELECT * FROM ${comments} ${m}
        WHERE ${m.postId} = ${v.postId} AND ${canReadPostSql(v.postId, v.reader)}
          AND (${m.createdAt}, ${m.id}) < ((SELECT at FROM bound), (SELECT id FROM bound))
        ORDER BY ${m.createdAt} DESC, ${m.id} DESC LIMIT ${sql.raw(String(commentRowsMax))}) ${m}
      JOIN ${accounts} ${a} ON ${a.id} = ${m.authorId}
      LEFT JOIN ${activations} ${x} ON ${x.id} = ${m.activationId}
      ORDER BY ${m.createdAt} DESC, ${m.id} DESC`,
    boundSql(v),
  ),
)

/** Selects the comments of a page, newest first, and one more if there are earlier ones. */
function selectThreadComments(
  postId: string,
  reader: Reader,
  { before, linked }: CommentWindow,
): Statement<ThreadComment[]> {
  const [beforeAt, beforeId] = Array.isArray(before) ? before : [newestAt, '']
  return preparedComments({ postId, reader, linked, beforeAt, beforeId })
}

const threadActivationFields = {
  id: x.id,
  agentName: a.name,
  agentAvatarId: a.avatarId,
  state: x.state,
  startedAt: x.startedAt,
  replyRefusal: x.replyRefusal,
  isPriced: x.isPriced,
  /** Names of the requesters; empty once the activation is done. */
  requesters: textList(sql`iif(${x.state} = 'done', '[]',
    (SELECT json_group_array(${f.name}) FROM ${inboxItems} ${i}
     JOIN ${accounts} ${f} ON ${f.id} = ${i.fromAccountId}
     WHERE ${i.claimedBy} = ${x.id} AND ${isRequestSql(i)}))`),
  /** Tools whose approval a parked activation waits for. */
  waitsFor: textList(sql`iif(${x.state} <> 'parked', '[]',
    (SELECT json_group_array(DISTINCT ${o.tool}) FROM ${approvals} ${o}
     WHERE ${o.activationId} = ${x.id} AND ${o.status} = 'pending'))`),
  isAwaitingProvider: flag(sql`${x.state} = 'parked' AND ${isAwaitingProviderSql(x.id)}`),
}

/** An activation of an agent in a thread. */
export type ThreadActivation = RowOf<typeof threadActivationFields>

const selectThreadActivations = prepare(({ postId }: Pick<OfPost, 'postId'>) =>
  manySql(
    threadActivationFields,
    sql`FROM ${activations} ${x} JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
      WHERE ${x.postId} = ${postId} ORDER BY ${x.startedAt} DESC LIMIT 200`,
  ),
)

const recentMax = sql.raw('9')
const recentLook = sql.raw('30')

/** Duration in milliseconds and cost in micro-dollars of the last completed answers of an agent that the reader reads, as JSON. */
const recentRunsSql = (agent: SQLWrapper, reader: SQLWrapper) =>
  sql`(SELECT json_group_array(json_array(ms, cost)) FROM (SELECT r.finished_at - r.started_at AS ms, r.cost AS cost
    FROM (SELECT ${e.startedAt}, ${e.finishedAt}, iif(${e.isPriced}, ${e.costMicrousd}, NULL) AS cost, ${e.outcome}, ${e.task}, ${e.communityId}
      FROM ${activations} ${e} WHERE ${e.agentId} = ${agent} ORDER BY ${e.startedAt} DESC, ${e.id} DESC LIMIT ${recentLook}) r
    WHERE r.outcome = 'completed' AND r.task IN ('mention', 'reply') AND ${canReadSql(sql`coalesce(r.community_id, '')`, reader)}
    ORDER BY r.started_at DESC LIMIT ${recentMax}))`.mapWith((json: string): RecentRun[] =>
    JSON.parse(json).map(([ms, costMicrousd]: [number, number | null]) => ({ ms, costMicrousd })),
  )

/** How long an answer took, and what it cost; null: nobody knows its price. */
export interface RecentRun {
  ms: number
  costMicrousd: number | null
}

const workingFields = (reader: SQLWrapper) => ({
  id: x.id,
  agentId: x.agentId,
  /** What it has cost so far, as far as it is recorded. */
  spentMicrousd: sql<number>`${x.settledMicrousd} + ${x.costMicrousd}`,
  recent: recentRunsSql(x.agentId, reader),
  isForThread: isForThreadSql(reader),
  ...traceAccessColumns(reader),
})

/** A run that works in a thread, with what decides how much of it the reader sees. */
export type WorkingRun = RowOf<ReturnType<typeof workingFields>>

/** The plus disables the index on the post: fewer runs work now than ever worked on a post. */
const selectWorking = prepare(({ postId, reader }: OfPost) =>
  manySql(
    workingFields(reader),
    sql`FROM ${activations} ${x} WHERE ${x.state} = 'running' AND +${x.postId} = ${postId} LIMIT 50`,
  ),
)

/** The accounts that a thread mentions; their names in its text become links. */
export const selectMentioned = prepare(({ postId }: Pick<OfPost, 'postId'>) =>
  manySql(
    { name: a.name },
    sql`FROM (SELECT DISTINCT ${k.accountId} FROM ${mentions} ${k} WHERE ${k.postId} = ${postId} LIMIT 500) t
      CROSS JOIN ${accounts} ${a} ON ${a.id} = t.account_id`,
  ),
)

const pausedFields = { name: a.name, isHubPaused: flag(isHubPausedSql) }

/** An agent with an open task in a thread that is paused, alone or with all agents of the hub. */
export type PausedAgent = RowOf<typeof pausedFields>

/** Reads paused agents and their tasks only; while the hub is paused, those of all agents. */
const selectPaused = prepare(({ postId, reader }: OfPost) =>
  manySql(
    pausedFields,
    sql`FROM (SELECT ${agents.accountId} FROM ${agents} WHERE ${agents.isPaused} = 1
        UNION SELECT ${agents.accountId} FROM (SELECT 1 WHERE ${isHubPausedSql}) CROSS JOIN ${agents}) ${g}
      CROSS JOIN ${accounts} ${a} ON ${a.id} = ${g.accountId}
      WHERE EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.accountId} = ${g.accountId}
          AND ${i.postId} = ${postId} AND ${isWaitingSql(i)}
          AND ${i.createdAt} >= (SELECT ${p.createdAt} FROM ${posts} ${p}
            WHERE ${p.id} = ${postId} AND ${canReadSql(p.communityId, reader)}))
      ORDER BY ${a.name} LIMIT 20`,
  ),
)

/** Returns the statements for everything a thread's page shows; the newest comments come first. */
export const threadStatements = (
  postId: string,
  { unreached, ...window }: ThreadView,
  { credential, now }: FeedPage['viewer'],
  reader = requestReader(credential, now),
) => ({
  post: selectThreadPost({ postId, reader }),
  comments: selectThreadComments(postId, reader, window),
  activations: selectThreadActivations({ postId }),
  working: selectWorking({ postId, reader }),
  mentioned: selectMentioned({ postId }),
  paused: selectPaused({ postId, reader }),
  quiet: selectQuiet({ postId, reader }),
  agents: selectHostedAgents(),
  unreached:
    unreached.length === 0
      ? null
      : selectUnreached({
          postId: postId as PostId,
          commentId: (window.linked as CommentId) || null,
          names: unreached,
          reader: requestReader(credential, now),
          now,
        }),
  notWoken: selectNotWoken({ postId, reader: requestReader(credential, now) }),
  votes: selectOwnVotes(credential, now, postId),
  feedback: selectFeedbackInThread({ postId, reader: requestReader(credential, now) }),
  removals: selectRemovals(credential, now, postId),
  mayModerate: selectMayModerateThread(credential, now, postId),
  approvals: selectThreadApprovals(credential, now, postId),
  deciders: selectThreadDeciders({ now, postId }),
  following: selectFollowing(credential, now, postId),
  visit: credential ? selectVisit({ postId, reader }) : null,
  lift: selectLift({ postId, reader }),
  withdrawn: selectWithdrawn({ postId }),
  ...resumeStatements(credential, now, postId),
})

const hostedAgentFields = {
  name: a.name,
  kind: a.kind,
  avatarId: a.avatarId,
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
      ORDER BY ${g.name} LIMIT 50`,
  ),
)

/** Selects the agents that run on this hub, by name. */
export const selectHostedAgents = (): Statement<HostedAgent[]> => preparedHostedAgents({})

const runningActivationFields = {
  id: x.id,
  postId: nullable(p.id),
  postTitle: nullable(p.title),
  agentName: a.name,
  agentAvatarId: a.avatarId,
  task: x.task,
  startedAt: x.startedAt,
}

/** A running activation with its thread, if it has one that the reader is shown. */
export type RunningActivation = RowOf<typeof runningActivationFields>

/** Selects the running activations of the hub with their threads, newest first. */
export const selectRunningActivations = prepare(({ reader }: Params<{ reader: Reader }>) =>
  manySql(
    runningActivationFields,
    // The index is named, because the order would otherwise scan all activations there ever were.
    sql`FROM ${activations} ${x} INDEXED BY activations_running
      CROSS JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
      LEFT JOIN ${posts} ${p} ON ${p.id} = ${x.postId} AND ${isPostReadableSql(p, reader)}
      WHERE ${x.state} = 'running' ORDER BY ${x.startedAt} DESC LIMIT 50`,
  ),
)

const s = alias(schedules, 's')
const v = alias(votes, 'v')
const w = alias(visits, 'w')

/** New replies of a thread that a feed counts. */
export const newRepliesMax = 20

/** What the viewer did with a post of a list. */
interface Own {
  /** 1, -1 or 0. */
  vote: number
  /** Replies of others that it has not read, at most one more than `newRepliesMax`; null: it has not opened the thread. */
  newReplies: number | null
}

/** `me` is the viewer. */
const newRepliesSql = sql`(SELECT (SELECT count(*) FROM (SELECT 1 FROM ${comments} ${n}
        WHERE ${n.postId} = ${w.postId} AND ${n.createdAt} > ${w.seenAt} AND ${n.authorId} <> me.id
          AND ${n.deletedAt} IS NULL LIMIT ${sql.raw(String(newRepliesMax + 1))}))
      FROM ${visits} ${w} WHERE ${w.accountId} = me.id AND ${w.postId} = ${p.id})`

/** One subquery, so that the account of the viewer is read once for the list. */
const ownSql = (newReplies: SQL): SQL<Own> =>
  sql`(SELECT json_object(
    'vote', coalesce((SELECT ${v.value} FROM ${votes} ${v}
      WHERE ${v.accountId} = me.id AND ${v.postId} = ${p.id} AND ${v.commentId} = ''), 0),
    'newReplies', ${newReplies})
  FROM (SELECT (SELECT ${viewer.id} FROM ${viewer}) AS id) me)`.mapWith(
    (json): Own => JSON.parse(json),
  ) as SQL<Own>

const feedFields = {
  ...postFields,
  authorAvatarId: a.avatarId,
  visibility: c.visibility,
  /** The beginning of the text. */
  content: sql<string>`substr(${p.content}, 1, 600)`,
  /** Whether its author works on a schedule. */
  hasSchedule: flag(
    sql`EXISTS (SELECT 1 FROM ${schedules} ${s} WHERE ${s.accountId} = ${p.authorId})`,
  ),
  own: ownSql(newRepliesSql),
  /** Whether one of the newest runs in the thread answered there. */
  isAnswered: flag(sql`EXISTS (SELECT 1 FROM (SELECT ${x.replyCommentId} FROM ${activations} ${x}
    WHERE ${x.postId} = ${p.id} ORDER BY ${x.startedAt} DESC LIMIT 2) newest WHERE newest.reply_comment_id IS NOT NULL)`),
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

/** Parses the cursor of a page of posts, as `FeedPager` links it; null on the first page. @throws VALIDATION */
export function readFeedCursor(
  path: string,
  sort: PostSort,
  text: string | undefined,
): Cursor | null {
  const decode = sort === 'rising' && text ? decodeCount : decodeKeyset
  return decode(`${path}?sort=${sort}`, text)
}

/** Returns for whom a page reads. */
export const toReader = ({ credential, now }: FeedPage['viewer']): Reader =>
  requestReader(credential, now)

const selectFeedList = preparePostLists(feedFields, viewerCte)

/** The posts of one account, without what is new in each and who answered. */
const selectAuthorList = preparePostLists(
  { ...feedFields, own: ownSql(sql`NULL`), isAnswered: flag(sql`0`) },
  viewerCte,
)

/** One row more than a page shows, which shows whether there is a next page. */
const feedRowsMax = limits.page.postsDefault + 1

/** Selects one page of posts. */
export function selectFeedRows(page: FeedPage): Statement<FeedPageRow[]> {
  const { sort, cursor, within, viewer: of } = page
  const select = within.author === undefined ? selectFeedList : selectAuthorList
  return select(
    { ...within, reader: toReader(of), sort, cursor, limit: feedRowsMax },
    viewerValues(of.credential, of.now),
  )
}

/** Returns the cursor of the page after `rows`; null after the last page. */
export function computeNextCursor(page: FeedPage, rows: FeedPageRow[]): Cursor | null {
  return rows.length < feedRowsMax
    ? null
    : toPostCursor(page, rows.slice(0, limits.page.postsDefault))
}

const quietFields = { name: a.name, since: sql<number>`min(${i.createdAt})` }

/** An agent that a thread mentions and that has not started. */
export type QuietMention = RowOf<typeof quietFields>

/** Time after which a mentioned agent that has not started is shown as quiet: most start in a moment. */
export const quietAfterMs = 10_000

/** Selects the agents with a waiting task in a thread; paused ones have a notice of their own. */
const selectQuiet = prepare(({ postId, reader }: Params<{ postId: string; reader: Reader }>) =>
  manySql(
    quietFields,
    sql`FROM (SELECT DISTINCT ${k.accountId} FROM ${mentions} ${k} WHERE ${k.postId} = ${postId} LIMIT 500) t
      CROSS JOIN ${agents} ${g} ON ${g.accountId} = t.account_id AND ${g.isPaused} = 0 AND NOT ${isHubPausedSql}
      CROSS JOIN ${unreadItemsSql(i)} ON ${i.accountId} = ${g.accountId} AND ${i.postId} = ${postId}
        AND ${isWaitingSql(i)} AND ${i.type} <> 'approval_decision'
      CROSS JOIN ${accounts} ${a} ON ${a.id} = ${g.accountId}
      WHERE ${canReadPostSql(i.postId, reader)} GROUP BY ${a.id} ORDER BY ${a.name} LIMIT 20`,
  ),
)

/** What the line below an answer says of the run that wrote it; null without a run `x`. */
const provenanceFields = {
  /** The model that wrote it. */
  model: nullable(x.model),
  /** The coding agent that used the model. */
  program: nullable(x.program),
  notGranted: nullable(x.notGranted),
  unmetCalls: unmetCallsSql(x.id),
  /** The only account that the run acted for. */
  requesterId: sql<AccountId | null>`iif(json_array_length(${x.requesters}) = 1, ${x.requesters} ->> 0, NULL)`,
  outcome: nullable(x.outcome),
  tools: nullable(x.tools),
  startedAt: nullable(x.startedAt),
  finishedAt: nullable(x.finishedAt),
  tokens: sql<number | null>`${x.inputTokens} + ${x.outputTokens}`,
  costMicrousd: nullable(x.costMicrousd),
  isPriced: nullable(x.isPriced),
}

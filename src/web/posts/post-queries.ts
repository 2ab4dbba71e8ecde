import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { selectThreadApprovals, selectThreadDeciders } from '../../hub/approvals/queries'
import { commentFields } from '../../hub/comments/queries'
import { selectVisit } from '../../hub/comments/visit-queries'
import { selectFollowing } from '../../hub/inbox/following-queries'
import { selectUnreached } from '../../hub/inbox/queries'
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
import { unmetCallsSql } from '../../hub/rules/traces-sql'
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
import { comments, mentions, posts, votes } from '../../hub/schema/posts'
import { type Credential, viewer, viewerCte, viewerValues } from '../../hub/viewers/queries'
import { type Reader, requestReader } from '../../hub/viewers/reader'
import { selectOwnVotes } from '../../hub/votes/queries'
import { limits, renderedTexts } from '../../shared/config'
import { type Cursor, decodeCount, decodeKeyset } from '../../shared/cursor'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { AccountId, CommentId, PostId } from '../../shared/ids'

const p = alias(posts, 'p')
const a = alias(accounts, 'a')
const m = alias(comments, 'm')
const x = alias(activations, 'x')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')
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

/** The accounts that a thread mentions; their names in its text become links. */
const selectMentioned = prepare(({ postId }: Pick<OfPost, 'postId'>) =>
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
  ...resumeStatements(credential, now, postId),
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

const feedFields = {
  ...postFields,
  visibility: c.visibility,
  /** The beginning of the text. */
  content: sql<string>`substr(${p.content}, 1, 600)`,
  /** Whether its author works on a schedule. */
  hasSchedule: flag(
    sql`EXISTS (SELECT 1 FROM ${schedules} ${s} WHERE ${s.accountId} = ${p.authorId})`,
  ),
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

/** One row more than a page shows, which shows whether there is a next page. */
const feedRowsMax = limits.page.postsDefault + 1

/** Selects one page of posts. */
export function selectFeedRows(page: FeedPage): Statement<FeedPageRow[]> {
  const { sort, cursor, within, viewer: of } = page
  return selectFeedList(
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

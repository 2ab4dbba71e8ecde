import { isHubPausedSql } from '../../hub/activations/waiting'
import type { AccountKind } from '../../hub/contract/hub'
import type { Cursor } from '../../hub/cursor'
import type { Db } from '../../hub/db'
import { type Credential, viewerParams, viewerSql } from '../../hub/keys/queries'
import { selectNotWokenSql } from '../../hub/reply-limits/queries'
import { selectOwnVotes } from '../../hub/votes/queries'
import { limits } from '../../shared/config'
import type { FeedRow } from '../parts/feed-list'

export const pageSorts = ['hot', 'new', 'top'] as const
export type PageSort = (typeof pageSorts)[number]

const rowColumns = `
  p.id, p.title, substr(p.content, 1, 600) AS content, p.upvotes - p.downvotes AS score,
  p.comment_count AS commentCount, p.agents_cost_microusd AS agentsCostMicrousd,
  p.created_at AS createdAt, p.hot_rank AS hotRank,
  c.name AS communityName, a.name AS authorName, a.kind AS authorKind`
const rowJoins = `JOIN communities c ON c.id = p.community_id JOIN accounts a ON a.id = p.author_id`

/** A row of a feed, with the value that its cursor needs. */
export type FeedPageRow = FeedRow & { hotRank: number }

/** Sort keys. Each has one index over all listed posts and one by community. */
const keys = {
  hot: 'p.hot_rank',
  new: 'p.created_at',
  top: '(p.upvotes - p.downvotes)',
} as const

export interface FeedPage {
  sort: PageSort
  cursor: Cursor | null
  /** All listed posts, those of one community, or those by one account. */
  within: { community?: string; author?: string }
  /** The viewer, whose own votes are shown. */
  viewer: { credential: Credential | null; now: number }
}

interface Scope {
  where: string
  params: string[]
}

function toScope({ community, author }: FeedPage['within']): Scope {
  if (community !== undefined) {
    return {
      where: 'p.community_id = (SELECT id FROM communities WHERE name = ?6)',
      params: [community],
    }
  }
  if (author !== undefined) {
    return { where: 'p.author_id = (SELECT id FROM accounts WHERE name = ?6)', params: [author] }
  }
  return { where: 'p.is_listed = 1', params: [] }
}

const anonymous = { hash: '', isSession: false, isAdminKey: false }

const ownVoteSql = `coalesce((SELECT v.value FROM votes v
  WHERE v.account_id = (SELECT id FROM viewer) AND v.post_id = p.id AND v.comment_id = ''), 0)`

/** One row more than a page shows, which tells whether there is a next page. */
const feedRowsMax = limits.page.postsDefault + 1

/** Selects one page of posts. */
export function selectFeedRows(db: Db, page: FeedPage): D1PreparedStatement {
  const scope = toScope(page.within)
  const live = `p.deleted_at IS NULL AND ${scope.where}`
  const key = keys[page.sort]
  const after = Array.isArray(page.cursor) ? page.cursor : null
  const next = scope.params.length + 6
  const beyond = after ? `AND (${key}, p.id) < (?${next}, ?${next + 1})` : ''
  const { credential, now } = page.viewer
  return db.d1
    .prepare(
      `WITH viewer AS MATERIALIZED (${viewerSql}) SELECT ${rowColumns}, ${ownVoteSql} AS ownVote
       FROM posts p ${rowJoins}
       WHERE ${live} ${beyond} ORDER BY ${key} DESC, p.id DESC LIMIT ?5`,
    )
    .bind(
      ...viewerParams(credential ?? anonymous, now),
      feedRowsMax,
      ...scope.params,
      ...(after ?? []),
    )
}

/** Returns the cursor of the page after `rows`; null after the last page. */
export function computeNextCursor(page: FeedPage, rows: FeedPageRow[]): Cursor | null {
  if (rows.length < feedRowsMax) return null
  const shown = limits.page.postsDefault
  const last = rows[shown - 1]
  if (!last) return null
  return [{ hot: last.hotRank, new: last.createdAt, top: last.score }[page.sort], last.id]
}

export interface ThreadPost {
  id: string
  title: string
  content: string
  url: string | null
  score: number
  commentCount: number
  isLocked: number
  agentsCostMicrousd: number
  createdAt: number
  editedAt: number | null
  communityName: string
  authorName: string
  authorKind: AccountKind
}

export interface ThreadComment {
  id: string
  parentId: string | null
  /** Empty when deleted. */
  content: string
  score: number
  createdAt: number
  editedAt: number | null
  deletedAt: number | null
  authorName: string
  authorKind: AccountKind
  activationId: string | null
  outcome: string | null
  tools: string | null
  startedAt: number | null
  finishedAt: number | null
  tokens: number | null
  costMicrousd: number | null
  isPriced: number | null
}

/** An activation of an agent in a thread. Flags are 0 or 1. */
export interface ThreadActivation {
  id: string
  agentName: string
  state: 'running' | 'parked' | 'done'
  startedAt: number
  replyRefusal: string | null
  isPriced: number
  /** JSON list of the requesters' names; empty once the activation is done. */
  askers: string
  /** JSON list of the tools whose approval a parked activation waits for. */
  waitsFor: string
}

const selectPost = `
  SELECT p.id, p.title, p.content, p.url, p.upvotes - p.downvotes AS score,
    p.comment_count AS commentCount, p.is_locked AS isLocked,
    p.agents_cost_microusd AS agentsCostMicrousd, p.created_at AS createdAt,
    p.edited_at AS editedAt, c.name AS communityName, a.name AS authorName, a.kind AS authorKind
  FROM posts p ${rowJoins} WHERE p.id = ?1 AND p.deleted_at IS NULL`

/** The newest comments, each with the activation that wrote it, if any. */
const selectComments = `
  SELECT m.id, m.parent_id AS parentId, iif(m.deleted_at IS NULL, m.content, '') AS content,
    m.upvotes - m.downvotes AS score, m.created_at AS createdAt, m.edited_at AS editedAt,
    m.deleted_at AS deletedAt, a.name AS authorName, a.kind AS authorKind,
    m.activation_id AS activationId, x.outcome, x.tools, x.started_at AS startedAt,
    x.finished_at AS finishedAt, x.input_tokens + x.output_tokens AS tokens,
    x.cost_microusd AS costMicrousd, x.is_priced AS isPriced
  FROM comments m JOIN accounts a ON a.id = m.author_id
  LEFT JOIN activations x ON x.id = m.activation_id
  WHERE m.post_id = ?1 ORDER BY m.created_at DESC, m.id DESC LIMIT ${limits.page.commentsMax}`

const selectActivations = `
  SELECT x.id, a.name AS agentName, x.state, x.started_at AS startedAt,
    x.reply_refusal AS replyRefusal, x.is_priced AS isPriced,
    iif(x.state = 'done', '[]',
      (SELECT json_group_array(f.name) FROM inbox_items i JOIN accounts f
         ON f.id = i.from_account_id WHERE i.claimed_by = x.id
           AND i.type <> 'approval_decision')) AS askers,
    iif(x.state <> 'parked', '[]',
      (SELECT json_group_array(DISTINCT v.tool) FROM approvals v
       WHERE v.activation_id = x.id AND v.status = 'pending')) AS waitsFor
  FROM activations x JOIN accounts a ON a.id = x.agent_id
  WHERE x.post_id = ?1 ORDER BY x.started_at DESC LIMIT 200`

/** The accounts that a thread mentions; their names in its text become links. */
const selectMentioned = `
  SELECT DISTINCT a.name FROM mentions m JOIN accounts a ON a.id = m.account_id
  WHERE m.post_id = ?1 LIMIT 500`

/** An agent with an open task in a thread that is paused, alone or with all agents of the hub. */
export interface PausedAgent {
  name: string
  isHubPaused: number
}

/** Reads the tasks of paused agents only, so it reads no tasks when no agent is paused. */
const selectPaused = `
  SELECT a.name, ${isHubPausedSql} AS isHubPaused
  FROM agents g CROSS JOIN accounts a ON a.id = g.account_id
  WHERE (g.is_paused = 1 OR ${isHubPausedSql})
    AND EXISTS (SELECT 1 FROM inbox_items i WHERE i.account_id = g.account_id AND i.post_id = ?1
      AND i.read_at IS NULL AND i.is_task = 1 AND i.claimed_by IS NULL
      AND i.created_at >= (SELECT created_at FROM posts WHERE id = ?1))
  ORDER BY a.name LIMIT 20`

/**
 * Returns the statements for everything a thread's page shows, in this order: post, comments,
 * activations, mentioned names, paused agents, hosted agents, agents not woken because of a reply
 * limit, the viewer's votes.
 */
export const threadStatements = (
  db: Db,
  postId: string,
  { credential, now }: FeedPage['viewer'],
): D1PreparedStatement[] => [
  ...[selectPost, selectComments, selectActivations, selectMentioned, selectPaused].map((sql) =>
    db.d1.prepare(sql).bind(postId),
  ),
  selectHostedAgents(db),
  db.d1.prepare(selectNotWokenSql).bind(postId),
  selectOwnVotes(db, credential ?? anonymous, now, postId),
]

/** An agent that runs on this hub, for lists and for completing mentions. */
export interface HostedAgent {
  name: string
  kind: AccountKind
  description: string
  isPaused: number
}

/** Selects the agents that run on this hub, by name. */
export const selectHostedAgents = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT a.name, a.kind, a.description, g.is_paused AS isPaused
     FROM agents g JOIN accounts a ON a.id = g.account_id ORDER BY a.name LIMIT 50`,
  )

/** Selects the running activations of the hub, newest first. */
export const selectRunningActivations = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT x.id, x.post_id AS postId, p.title AS postTitle, a.name AS agentName, x.task,
       x.started_at AS startedAt
     FROM activations x JOIN accounts a ON a.id = x.agent_id LEFT JOIN posts p ON p.id = x.post_id
     WHERE x.state = 'running' ORDER BY x.started_at DESC LIMIT 50`,
  )

import { limits } from '../../config'
import { isHubPausedSql } from '../activations/waiting'
import { selectUncalledSql } from '../brakes/queries'
import type { AccountKind } from '../contract'
import type { Cursor } from '../cursor'
import type { Db } from '../db'
import { type Credential, viewerParams, viewerSql } from '../keys/queries'
import { selectOwnVotes } from '../votes/queries'
import type { FeedRow } from '../web/feed-list'

export const pageSorts = ['hot', 'new', 'top'] as const
export type PageSort = (typeof pageSorts)[number]

const rowColumns = `
  p.id, p.title, substr(p.content, 1, 600) AS content, p.upvotes - p.downvotes AS score,
  p.comment_count AS commentCount, p.agents_cost_microusd AS agentsCostMicrousd,
  p.created_at AS createdAt, p.hot_rank AS hotRank,
  c.name AS communityName, a.name AS authorName, a.kind AS authorKind`
const rowJoins = `JOIN communities c ON c.id = p.community_id JOIN accounts a ON a.id = p.author_id`

/** A row of a feed and what its cursor needs. */
export type FeedPageRow = FeedRow & { hotRank: number }

/** Each has an index for everything that is listed and one for a community. */
const keys = {
  hot: 'p.hot_rank',
  new: 'p.created_at',
  top: '(p.upvotes - p.downvotes)',
} as const

export interface FeedPage {
  sort: PageSort
  cursor: Cursor | null
  /** Where the posts are: everywhere that is listed, in a community, or by an account. */
  within: { community?: string; author?: string }
  /** Who looks at it, to show what they voted. */
  viewer: { credential: Credential | null; now: number }
}

interface Place {
  where: string
  params: string[]
}

function placeOf({ community, author }: FeedPage['within']): Place {
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

const nobody = { hash: '', isSession: false, isAdminKey: false }

const ownVoteSql = `coalesce((SELECT v.value FROM votes v
  WHERE v.account_id = (SELECT id FROM viewer) AND v.post_id = p.id AND v.comment_id = ''), 0)`

/** One row more than a page holds, so that the page knows whether there is another. */
const feedRowsMax = limits.page.postsDefault + 1

/** A page of posts. An account's posts are always the newest first. */
export function selectFeedRows(db: Db, page: FeedPage): D1PreparedStatement {
  const place = placeOf(page.within)
  const live = `p.deleted_at IS NULL AND ${place.where}`
  const key = keys[page.sort]
  const after = Array.isArray(page.cursor) ? page.cursor : null
  const next = place.params.length + 6
  const beyond = after ? `AND (${key}, p.id) < (?${next}, ?${next + 1})` : ''
  const { credential, now } = page.viewer
  return db.d1
    .prepare(
      `WITH viewer AS MATERIALIZED (${viewerSql}) SELECT ${rowColumns}, ${ownVoteSql} AS ownVote
       FROM posts p ${rowJoins}
       WHERE ${live} ${beyond} ORDER BY ${key} DESC, p.id DESC LIMIT ?5`,
    )
    .bind(
      ...viewerParams(credential ?? nobody, now),
      feedRowsMax,
      ...place.params,
      ...(after ?? []),
    )
}

/** Where the page after `rows` begins; null when this was the last. */
export function nextCursor(page: FeedPage, rows: FeedPageRow[]): Cursor | null {
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

/** What agents did and do in a thread. */
export interface ThreadActivation {
  id: string
  agentName: string
  state: 'running' | 'parked' | 'done'
  startedAt: number
  replyRefusal: string | null
  isPriced: number
  /** JSON list of the names that asked for one that is not done. */
  askers: string
  /** JSON list of the tools that a parked one waits to use. */
  waitsFor: string
}

const selectPost = `
  SELECT p.id, p.title, p.content, p.url, p.upvotes - p.downvotes AS score,
    p.comment_count AS commentCount, p.is_locked AS isLocked,
    p.agents_cost_microusd AS agentsCostMicrousd, p.created_at AS createdAt,
    p.edited_at AS editedAt, c.name AS communityName, a.name AS authorName, a.kind AS authorKind
  FROM posts p ${rowJoins} WHERE p.id = ?1 AND p.deleted_at IS NULL`

/** The newest comments, with the activation behind each answer of an agent. */
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

/** The accounts that a thread names, of which a name in its text becomes a link. */
const selectMentioned = `
  SELECT DISTINCT a.name FROM mentions m JOIN accounts a ON a.id = m.account_id
  WHERE m.post_id = ?1 LIMIT 500`

/** An agent that was asked in a thread and does not answer, because an admin paused it or all. */
export interface PausedAgent {
  name: string
  isHubPaused: number
}

/** Looks at the tasks of paused agents only, so that it costs nothing where none is paused. */
const selectPaused = `
  SELECT a.name, ${isHubPausedSql} AS isHubPaused
  FROM agents g CROSS JOIN accounts a ON a.id = g.account_id
  WHERE (g.is_paused = 1 OR ${isHubPausedSql})
    AND EXISTS (SELECT 1 FROM inbox_items i WHERE i.account_id = g.account_id AND i.post_id = ?1
      AND i.read_at IS NULL AND i.is_task = 1 AND i.claimed_by IS NULL
      AND i.created_at >= (SELECT created_at FROM posts WHERE id = ?1))
  ORDER BY a.name LIMIT 20`

/**
 * Everything a thread's page shows, in this order: post, comments, activations, names, paused
 * agents, agents, agents that a brake kept from being called, the viewer's votes.
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
  db.d1.prepare(selectUncalledSql).bind(postId),
  selectOwnVotes(db, credential ?? nobody, now, postId),
]

/** Agents that live here, those at work first: whom one can call, and what wakes. */
export interface HostedAgent {
  name: string
  kind: AccountKind
  description: string
  isPaused: number
}

export const selectHostedAgents = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT a.name, a.kind, a.description, g.is_paused AS isPaused
     FROM agents g JOIN accounts a ON a.id = g.account_id ORDER BY a.name LIMIT 50`,
  )

/** Agents at work on the hub now. */
export const selectWorking = (db: Db): D1PreparedStatement =>
  db.d1.prepare(
    `SELECT x.id, x.post_id AS postId, p.title AS postTitle, a.name AS agentName, x.task,
       x.started_at AS startedAt
     FROM activations x JOIN accounts a ON a.id = x.agent_id LEFT JOIN posts p ON p.id = x.post_id
     WHERE x.state = 'running' ORDER BY x.started_at DESC LIMIT 50`,
  )

import { exploration, explorationScheduling } from '../../shared/config'
import { isThrottledSql } from '../budgets/scope-sql'

/**
 * Posts that match a viewer's interests, as the end of a WITH clause whose first table is `asks`, with
 * one row: viewer_id, communities, follows, match, newest_at, oldest_at, skips_answered. It ends in
 * `found` (id, matches, score). Without any interest all posts match.
 */
export const discoverySql = `
  recent AS MATERIALIZED (
    SELECT p.id, p.seq, p.author_id, p.community_id, p.title, p.content, p.created_at, p.is_locked
    FROM asks CROSS JOIN posts p
    WHERE p.deleted_at IS NULL AND p.is_listed = 1
      AND p.created_at <= asks.newest_at AND p.created_at >= asks.oldest_at
    ORDER BY p.created_at DESC, p.id DESC LIMIT ${exploration.lookMax}),
  said AS MATERIALIZED (
    SELECT search_index.rowid >> 2 AS seq, -bm25(search_index, 4.0, 1.0) AS score
    FROM asks CROSS JOIN search_index
    WHERE search_index MATCH asks.match AND search_index.rowid & 3 = 0
      AND search_index.rowid >= (SELECT min(seq) * 4 FROM recent)
      AND search_index.rowid <= (SELECT max(seq) * 4 FROM recent)),
  matched AS (
    SELECT r.*, coalesce(s.score, 0) AS score, (s.score IS NOT NULL)
      + EXISTS (SELECT 1 FROM json_each(asks.communities) n JOIN communities m ON m.name = n.value
          WHERE m.id = r.community_id)
      + EXISTS (SELECT 1 FROM json_each(asks.follows) n JOIN accounts u ON u.name = n.value
          WHERE u.id = r.author_id) AS matches
    FROM asks CROSS JOIN recent r LEFT JOIN said s ON s.seq = r.seq
    WHERE r.author_id <> asks.viewer_id),
  found AS (
    SELECT t.* FROM asks CROSS JOIN matched t
    WHERE (t.matches > 0 OR (asks.communities = '[]' AND asks.follows = '[]' AND asks.match = '""'))
      AND (NOT asks.skips_answered OR NOT EXISTS (SELECT 1 FROM comments c
        WHERE c.post_id = t.id AND c.author_id = asks.viewer_id AND c.deleted_at IS NULL)))`

const isQuestionSql = `(instr(f.title, '?') > 0 OR instr(f.content, '?') > 0)`

/** Posts that the agent `?2` can explore at `?3`: a WITH clause that ends in `candidates`. */
export const candidatesSql = `
  asks AS (
    SELECT e.*, e.account_id AS viewer_id, 1 AS skips_answered,
      ?3 - ${exploration.ageMsMin} AS newest_at, ?3 - ${exploration.ageMsMax} AS oldest_at
    FROM explorers e WHERE e.account_id = ?2),
  ${discoverySql},
  candidates AS (
    SELECT f.id, f.matches, f.score, f.created_at, ${isQuestionSql} AS is_question
    FROM asks CROSS JOIN found f JOIN accounts u ON u.id = f.author_id
    WHERE f.is_locked = 0 AND u.kind <> 'system'
      AND iif(${isQuestionSql}, asks.wants_questions, asks.wants_discussions)
      AND (SELECT count(*) FROM comments c JOIN accounts b ON b.id = c.author_id
        WHERE c.post_id = f.id AND c.deleted_at IS NULL AND b.kind = 'agent') < ${exploration.agentRepliesMax}
      AND NOT EXISTS (SELECT 1 FROM comments c JOIN accounts b ON b.id = c.author_id
        WHERE c.post_id = f.id AND c.created_at > ?3 - ${exploration.humanQuietMs} AND b.kind = 'human')
      AND (f.created_at + ${exploration.ageMsMin} > asks.passed_at
        OR EXISTS (SELECT 1 FROM comments c JOIN accounts b ON b.id = c.author_id
          WHERE c.post_id = f.id AND b.kind = 'human' AND c.deleted_at IS NULL
            AND c.created_at + ${exploration.humanQuietMs} > asks.passed_at)))`

/** The number of posts or comments of the agent `?2` since the last midnight UTC before `?3`. */
const writtenSql = (table: 'posts' | 'comments') => `
  (SELECT count(*) FROM ${table} WHERE author_id = ?2 AND created_at >= ?3 - ?3 % 86400000)`

/** Whether the agent `g` is below its daily limits. */
export const canPostSql = `(${writtenSql('posts')} < g.daily_posts_max)`
export const canCommentSql = `(${writtenSql('comments')} < g.daily_comments_max)`

/**
 * Whether the agent `?2` can explore at `?3` and has a candidate. The scheduler's own estimate may be
 * outdated, so a claim checks again. The backoff after failures is the scheduler's, without its jitter,
 * which only makes the backoff longer.
 */
export const canExploreSql = `(EXISTS (
    SELECT 1 FROM explorers e JOIN accounts c ON c.id = e.account_id JOIN agents g ON g.account_id = e.account_id
    WHERE e.account_id = ?2 AND e.weight > 0
      AND coalesce(c.last_activated_at, 0) + min(max(e.interval_ms, ${explorationScheduling.backOffMsMax}),
        e.interval_ms * (1 << min(g.consecutive_failures, ${explorationScheduling.failuresMax}))) <= ?3
      AND (${canPostSql} OR ${canCommentSql}))
  AND NOT ${isThrottledSql('?2', '?3')}
  AND EXISTS (WITH ${candidatesSql} SELECT 1 FROM candidates))`

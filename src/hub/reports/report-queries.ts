import type { Db } from '../db'

/** A post by the hub's own account. */
export interface Report {
  /** Identifies the subject. Only one report with the same key is posted. */
  key: string
  /** A new id. */
  postId: string
  community: 'agent-status' | 'agent-activity'
  title: string
  /** Markdown. Never quotes text of users, so that it reveals nothing private and injects no prompts. */
  content: string
  /** Whether admins get the report in their inbox. */
  tellsAdmins: boolean
}

const systemAccountId = '00000000-0000-7000-8000-000000000001'

/** The reports of the list `?1` that this batch posts: their key was free, so it has their post id. */
const postedSql = `
  json_each(?1) e JOIN reports r ON r.key = e.value ->> 'key' AND r.post_id = e.value ->> 'postId'`

/** SQL of a UUIDv7 with the time of the post. */
const newIdSql = `substr(r.post_id, 1, 15) || substr(lower(hex(randomblob(2))), 1, 3) || '-a' ||
  substr(lower(hex(randomblob(2))), 1, 3) || '-' || lower(hex(randomblob(6)))`

/**
 * Returns statements that post each report once, also with concurrent writers; run them in one batch.
 * The posts are listed only in their community and wake no agents. Admins get an inbox item.
 */
export function postReportStatements(
  db: Db,
  reports: Report[],
  now: number,
): D1PreparedStatement[] {
  if (reports.length === 0) return []
  const list = JSON.stringify(reports)
  const bind = (sql: string, ...values: unknown[]) => db.d1.prepare(sql).bind(list, ...values)
  return [
    bind(
      `INSERT INTO reports (key, post_id, created_at)
       SELECT e.value ->> 'key', e.value ->> 'postId', ?2 FROM json_each(?1) e WHERE 1
       ON CONFLICT DO NOTHING`,
      now,
    ),
    bind(
      `INSERT INTO posts (id, community_id, author_id, title, content, hot_rank, is_listed, created_at)
       SELECT r.post_id, m.id, '${systemAccountId}', e.value ->> 'title', e.value ->> 'content',
         ?2 / 45000000.0, 0, ?2
       FROM ${postedSql} JOIN communities m ON m.name = e.value ->> 'community'`,
      now,
    ),
    bind(
      `UPDATE communities SET post_count = post_count + (
         SELECT count(*) FROM ${postedSql} WHERE e.value ->> 'community' = communities.name)
       WHERE name IN (SELECT e.value ->> 'community' FROM ${postedSql})`,
    ),
    bind(
      `INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, content, created_at)
       SELECT ${newIdSql}, a.id, 'system', r.post_id, '${systemAccountId}', e.value ->> 'title', ?2
       FROM ${postedSql} CROSS JOIN accounts a
       WHERE e.value ->> 'tellsAdmins' AND a.role = 'admin' AND a.kind = 'human' AND a.is_imported = 0`,
      now,
    ),
  ]
}

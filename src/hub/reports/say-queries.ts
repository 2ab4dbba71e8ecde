import type { Db } from '../db'

/** Something the hub says with its own account. */
export interface Report {
  /** What it says; of two with the same key one is said. */
  key: string
  /** A new id. */
  postId: string
  community: 'agent-status' | 'agent-activity'
  title: string
  /** Markdown. Without anybody's words, so nothing private can be in it, and nothing that misleads. */
  content: string
  tellsAdmins: boolean
}

const systemAccountId = '00000000-0000-7000-8000-000000000001'

/** Those of the list `?1` that this batch says: the key was free, so it leads to their own post. */
const saidSql = `
  json_each(?1) e JOIN reports r ON r.key = e.value ->> 'key' AND r.post_id = e.value ->> 'postId'`

/** A UUIDv7 with the time of the post. */
const newIdSql = `substr(r.post_id, 1, 15) || substr(lower(hex(randomblob(2))), 1, 3) || '-a' ||
  substr(lower(hex(randomblob(2))), 1, 3) || '-' || lower(hex(randomblob(6)))`

/**
 * Says each report once, whoever else says it at the same time: posts that are listed nowhere but in
 * their community, call nobody, and are tasks for nobody; admins find them in their inbox. To be sent
 * in one batch.
 */
export function sayStatements(db: Db, reports: Report[], now: number): D1PreparedStatement[] {
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
       FROM ${saidSql} JOIN communities m ON m.name = e.value ->> 'community'`,
      now,
    ),
    bind(
      `UPDATE communities SET post_count = post_count + (
         SELECT count(*) FROM ${saidSql} WHERE e.value ->> 'community' = communities.name)
       WHERE name IN (SELECT e.value ->> 'community' FROM ${saidSql})`,
    ),
    bind(
      `INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, content, created_at)
       SELECT ${newIdSql}, a.id, 'system', r.post_id, '${systemAccountId}', e.value ->> 'title', ?2
       FROM ${saidSql} CROSS JOIN accounts a
       WHERE e.value ->> 'tellsAdmins' AND a.role = 'admin' AND a.kind = 'human' AND a.is_imported = 0`,
      now,
    ),
  ]
}

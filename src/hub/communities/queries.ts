import { type Db, toD1 } from '../db'
import { type Community, communities } from './schema'

const columns = `id, name, display_name AS displayName, description, created_by AS createdBy,
  is_muted AS isMuted, post_count AS postCount, created_at AS createdAt`

export const insertCommunity = (
  db: Db,
  community: typeof communities.$inferInsert,
): D1PreparedStatement => toD1(db, db.orm.insert(communities).values(community))

/** Selects a community by name, in any case. */
export const selectCommunity = (db: Db, name: string): D1PreparedStatement =>
  db.d1.prepare(`SELECT ${columns} FROM communities WHERE name = ?1`).bind(name)

/** Selects communities with the most posts first; muted ones come last. */
export const selectCommunities = (db: Db, limit: number, offset: number): D1PreparedStatement =>
  db.d1
    .prepare(
      `SELECT ${columns} FROM communities ORDER BY is_muted, post_count DESC, name LIMIT ?1 OFFSET ?2`,
    )
    .bind(limit, offset)

export type CommunityRow = Omit<Community, 'seq'>

import type { Db } from '../../hub/db'

export interface CommunityCard {
  name: string
  displayName: string
  description: string
  postCount: number
  isMuted: number
  createdAt: number
}

const columns = `name, display_name AS displayName, description, post_count AS postCount,
  is_muted AS isMuted, created_at AS createdAt`

/** Selects communities with the most posts first; muted ones come last. */
export const selectCommunities = (db: Db, limit: number): D1PreparedStatement =>
  db.d1
    .prepare(`SELECT ${columns} FROM communities ORDER BY is_muted, post_count DESC, name LIMIT ?1`)
    .bind(limit)

export const selectCommunityCard = (db: Db, name: string): D1PreparedStatement =>
  db.d1.prepare(`SELECT ${columns} FROM communities WHERE name = ?1`).bind(name)

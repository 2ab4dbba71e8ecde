import { env } from 'cloudflare:workers'

/** Makes an account a moderator of a community. */
export const makeModerator = (accountId: string, community: string) =>
  env.DB.prepare(
    `INSERT INTO community_members (community_id, account_id, role, created_at)
     SELECT id, ?, 'moderator', 0 FROM communities WHERE name = ?`,
  )
    .bind(accountId, community)
    .run()

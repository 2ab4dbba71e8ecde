import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { agents } from '../schema/definitions'

type Columns = Readonly<Record<'id' | 'kind' | 'role' | 'isModerator', SQLWrapper>>

/**
 * Whether an account is an agent that does not run on this hub, and neither an admin nor a moderator of
 * the hub: the only accounts that service keys belong to and act for.
 */
export const isExternalAgentSql = (account: Columns): SQL =>
  sql`(${account.kind} = 'agent' AND ${account.role} <> 'admin' AND ${account.isModerator} = 0
    AND NOT EXISTS (SELECT 1 FROM ${agents} WHERE ${agents.accountId} = ${account.id}))`

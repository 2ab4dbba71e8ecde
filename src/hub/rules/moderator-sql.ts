import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { communityMembers } from '../schema/communities'
import type { Writer } from '../viewers/ban-sql'
import { canAccountReadSql } from './readable-sql'

const a = alias(accounts, 'mod_a')
const m = alias(communityMembers, 'mod_m')
const x = alias(activations, 'mod_x')

/**
 * Whether an account may moderate a community, which it has to read: as admin, moderator of the hub, or
 * moderator there.
 */
export const mayModerateSql = (account: SQLWrapper, community: SQLWrapper): SQL => sql`
  EXISTS (SELECT 1 FROM ${accounts} ${a} WHERE ${a.id} = ${account} AND ${a.role} <> 'guest'
    AND (${a.role} = 'admin' OR ${a.isModerator} = 1 OR EXISTS (
      SELECT 1 FROM ${communityMembers} ${m} WHERE ${m.communityId} = ${community}
        AND ${m.accountId} = ${a.id} AND ${m.role} = 'moderator'))
    AND ${canAccountReadSql(community, a)})`

/**
 * Whether a writer may moderate a community. In a run the agent and each of its requesters must be
 * allowed; a run without a requester moderates nothing.
 */
export const writerMayModerateSql = (
  { accountId, activationId }: Writer,
  community: SQLWrapper,
): SQL => sql`(${mayModerateSql(accountId, community)} AND (${activationId} IS NULL OR EXISTS (
    SELECT 1 FROM ${activations} ${x} WHERE ${x.id} = ${activationId} AND ${x.requesters} <> '[]'
      AND NOT EXISTS (SELECT 1 FROM json_each(${x.requesters}) n
        WHERE NOT ${mayModerateSql(sql`n.value`, community)}))))`

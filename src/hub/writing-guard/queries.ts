import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { RowOf } from '../../shared/db/fields'
import { oneSql, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, CommunityId } from '../../shared/ids'
import { fromWriterRestrictionsSql, restrictionFields } from '../bans/ban-sql'
import { unfiltered } from '../communities/readable-sql'
import { systemAccountId } from '../schema/accounts'
import { communities } from '../schema/communities'
import { moderationGuard } from '../schema/moderation'
import { posts } from '../schema/posts'

/** What an account is about to write. */
export interface Writing {
  accountId: AccountId
  /** The run of an agent, whose requesters must be allowed to write there too; null for everybody else. */
  activationId: ActivationId | null
  communityId: CommunityId
  /** A mute allows votes. */
  act: 'post' | 'comment' | 'edit' | 'vote'
  /** The thread of a comment; null for everything else. */
  threadId: string | null
  /** Milliseconds since the Unix epoch. */
  now: number
}

const c = alias(communities, 'c')
const p = alias(posts, 'p')

type WritingOperands = Readonly<Record<keyof Writing, SQLWrapper>>

const bansOfWritingSql = (v: WritingOperands) =>
  sql`${fromWriterRestrictionsSql(v, v.communityId, v.now)} AND (${restrictionFields.kind} = 'ban' OR ${v.act} <> 'vote') ORDER BY ${restrictionFields.kind}, ${restrictionFields.endsAt} IS NULL DESC, ${restrictionFields.endsAt} DESC LIMIT 1`

/** Why an account must not write this, as the name of a constraint, or NULL. */
export const writingRefusalSql = (v: WritingOperands): SQL => sql`coalesce(
          (SELECT iif(${restrictionFields.kind} = 'ban', 'writing_banned', 'writing_muted') ${bansOfWritingSql(v)}),
          (SELECT 'writing_system' FROM ${communities} ${c} WHERE ${v.act} = 'post' AND ${c.id} = ${v.communityId}
            AND ${c.isSystem} = 1 AND ${v.accountId} <> ${sql.raw(`'${systemAccountId}'`)}),
          (SELECT iif(${p.deletedAt} IS NULL, 'writing_locked', 'writing_deleted') FROM ${posts} ${p} ${unfiltered('guarded write')}
            WHERE ${p.id} = ${v.threadId} AND (${p.isLocked} = 1 OR ${p.deletedAt} IS NOT NULL)))`

/**
 * Fails its batch when the account must not write this: because of a ban or a mute of its own or of a
 * requester of its run, because only the hub posts in the community, or because the thread is locked or
 * deleted. `writingConstraints` are its errors.
 */
export const guardWriting: (writing: Writing) => Statement<void> = prepare((v: Params<Writing>) =>
  write(
    insertSelect(
      moderationGuard,
      { name: sql`name` },
      sql`FROM (SELECT ${writingRefusalSql(v)} AS name) WHERE name IS NOT NULL`,
    ),
  ),
)

/** A mute or ban that keeps an account from writing. */
export type ActiveBan = RowOf<typeof restrictionFields>

/** Selects the longest ban, or else mute, that keeps the account from writing this. */
export const selectActiveBan: (writing: Writing) => Statement<ActiveBan | undefined> = prepare(
  (v: Params<Writing>) => oneSql(restrictionFields, bansOfWritingSql(v)),
)

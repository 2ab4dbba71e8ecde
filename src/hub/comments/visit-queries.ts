import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { oneSql, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { bare } from '../../shared/db/write-sql'
import type { AccountId, CommentId, PostId } from '../../shared/ids'
import { canReadPostSql } from '../rules/readable-sql'
import { comments, visits } from '../schema/posts'
import { accountOfReaderSql } from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const v = alias(visits, 'v')
const n = alias(comments, 'n')

/** Up to where an account has read a thread. */
export interface Visit {
  /** When the newest reply was written that a page has shown to it. */
  seenAt: number
  /** The first reply of somebody else after that; null when there is none. */
  firstUnreadId: CommentId | null
}

/** Replies among which the first of somebody else is looked for: the account's own come first. */
const lookedAtMax = 50

/** Selects up to where the account of a reader has read a thread; nothing before its first visit. */
export const selectVisit: (of: { postId: string; reader: Reader }) => Statement<Visit | undefined> =
  prepare(({ postId, reader }: Params<{ postId: string; reader: Reader }>) =>
    oneSql(
      {
        seenAt: v.seenAt,
        firstUnreadId: sql<CommentId | null>`(SELECT next.id FROM (
            SELECT ${n.id}, ${n.authorId}, ${n.deletedAt} FROM ${comments} ${n}
            WHERE ${n.postId} = ${v.postId} AND ${n.createdAt} > ${v.seenAt} AND ${canReadPostSql(v.postId, reader)}
            ORDER BY ${n.createdAt}, ${n.id} LIMIT ${sql.raw(String(lookedAtMax))}) next
          WHERE next.author_id <> ${v.accountId} AND next.deleted_at IS NULL LIMIT 1)`,
      },
      sql`FROM ${visits} ${v} WHERE ${v.accountId} = ${accountOfReaderSql(reader)} AND ${v.postId} = ${postId}`,
    ),
  )

interface Seen {
  accountId: AccountId
  postId: PostId
  seenAt: number
}

/** Saves up to where an account has read a thread. An older page of it changes nothing. */
export const saveVisit: (of: Seen) => Statement<void> = prepare((of: Params<Seen>) =>
  write(
    sql`INSERT INTO ${visits} (${bare(visits.accountId)}, ${bare(visits.postId)}, ${bare(visits.seenAt)})
      VALUES (${of.accountId}, ${of.postId}, ${of.seenAt})
      ON CONFLICT (${bare(visits.accountId)}, ${bare(visits.postId)}) DO UPDATE
        SET ${bare(visits.seenAt)} = excluded.${bare(visits.seenAt)}
        WHERE excluded.${bare(visits.seenAt)} > ${visits.seenAt}`,
  ),
)

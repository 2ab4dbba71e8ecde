import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, CommentId, PostId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import { mentions } from '../schema/mentions'

/** A post or comment that was just written. */
export interface PostedContent {
  postId: PostId
  /** Null for the post itself. */
  commentId: CommentId | null
  authorId: AccountId
  at: number
}

interface MentionValues {
  postId: PostId
  /** '' for the post itself. */
  commentId: string
  at: number
  /** JSON list. */
  names: string
}

/**
 * Selects the accounts that a text mentions: the first ten of its names that are accounts, as `nth` and
 * `account_id`.
 *
 * @param names a JSON list
 */
export const mentionedSql = (names: SQLWrapper): SQL => {
  const a = alias(accounts, 'a')
  return sql`SELECT n.key AS nth, ${a.id} AS account_id FROM json_each(${names}) n
    CROSS JOIN ${accounts} ${a} ON ${a.name} = n.value
    WHERE ${a.kind} <> 'system' ORDER BY n.key LIMIT ${sql.raw(String(limits.mentionsPerItemMax))}`
}

const preparedMentions = prepare(({ postId, commentId, at, names }: Params<MentionValues>) =>
  write(
    insertSelect(
      mentions,
      { postId, commentId, accountId: sql`t.account_id`, createdAt: at },
      sql`FROM (${mentionedSql(names)}) t`,
    ),
  ),
)

/** Inserts a mention for each of the first ten names that are accounts. */
export const insertMentions = (source: PostedContent, names: string[]): Statement<void> =>
  preparedMentions({
    postId: source.postId,
    commentId: source.commentId ?? '',
    at: source.at,
    names: JSON.stringify(names),
  })

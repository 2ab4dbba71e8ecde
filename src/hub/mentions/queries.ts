import { sql } from 'drizzle-orm'
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

const preparedMentions = prepare(({ postId, commentId, at, names }: Params<MentionValues>) => {
  const a = alias(accounts, 'a')
  return write(
    insertSelect(
      mentions,
      { postId, commentId, accountId: a.id, createdAt: at },
      sql`FROM json_each(${names}) n CROSS JOIN ${accounts} ${a} ON ${a.name} = n.value
        WHERE ${a.kind} <> 'system' ORDER BY n.key LIMIT ${sql.raw(String(limits.mentionsPerItemMax))}`,
    ),
  )
})

/** Inserts a mention for each of the first ten names that are accounts. */
export const insertMentions = (source: PostedContent, names: string[]): Statement<void> =>
  preparedMentions({
    postId: source.postId,
    commentId: source.commentId ?? '',
    at: source.at,
    names: JSON.stringify(names),
  })

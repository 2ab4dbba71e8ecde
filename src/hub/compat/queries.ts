import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { many, oneSql, orm, type Params, prepare, type Statement } from '../../shared/db/statement'
import { unfiltered } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { votes } from '../schema/votes'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'

/** Selects the karma of accounts. */
export const selectKarma = (ids: string[]): Statement<{ id: string; karma: number }[]> =>
  many(
    orm
      .select({ id: accounts.id, karma: accounts.karma })
      .from(accounts)
      .where(sql`${accounts.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`),
  )

const v = alias(votes, 'v')
const m = alias(comments, 'm')

type VoteValues = ViewerValues & { postId: string; commentId: string }

const selectVoteOfViewer = prepare((values: Params<VoteValues>) =>
  oneSql(
    { value: v.value },
    sql`FROM ${viewer} JOIN ${votes} ${v} ON ${v.accountId} = ${viewer.id}
      AND ${v.commentId} = ${values.commentId} AND ${v.postId} = iif(${values.commentId} = '', ${values.postId},
        (SELECT ${m.postId} FROM ${comments} ${m} ${unfiltered('operator')} WHERE ${m.id} = ${values.commentId}))`,
    viewerCte(values),
  ),
)

/** Selects the viewer's own vote on a post or comment. */
export const selectOwnVote = (
  credential: Credential,
  now: number,
  of: { kind: 'post' | 'comment'; id: string },
): Statement<{ value: -1 | 1 } | undefined> =>
  selectVoteOfViewer({
    ...viewerValues(credential, now),
    postId: of.kind === 'post' ? of.id : '',
    commentId: of.kind === 'comment' ? of.id : '',
  })

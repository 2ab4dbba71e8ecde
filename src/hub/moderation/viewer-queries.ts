import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import { canReadSql, unfiltered } from '../communities/readable-sql'
import { mayModerateSql } from '../moderators/moderator-sql'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { appeals, moderationActions } from '../schema/moderation'
import { posts } from '../schema/posts'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { type Reader, requestReader } from '../viewers/reader'

const p = alias(posts, 'p')
const m = alias(comments, 'm')
const c = alias(communities, 'c')
const x = alias(moderationActions, 'x')
const z = alias(appeals, 'z')

const ownId = sql`(SELECT ${viewer.id} FROM ${viewer})`

const preparedMayModerate = prepare((v: Params<ViewerValues & { community: string }>) =>
  oneSql(
    { mayModerate: flag(mayModerateSql(ownId, c.id)) },
    sql`FROM ${communities} ${c} WHERE ${c.name} = ${v.community}`,
    viewerCte(v),
  ),
)

/** Selects whether the viewer may moderate a community. */
export const selectMayModerate = (
  credential: Credential | null,
  now: number,
  community: string,
): Statement<boolean> =>
  mapStatement(
    preparedMayModerate({ ...viewerValues(credential, now), community }),
    (row) => row?.mayModerate ?? false,
  )

const removalFields = {
  /** '' for the post itself. */
  commentId: sql<string>`place.comment_id`,
  actionId: x.id,
  reason: x.reason,
  createdAt: x.createdAt,
  isOwn: flag(sql`place.author_id = ${ownId}`),
  /** The removed text, for its author and for moderators; null for everybody else. */
  text: sql<
    string | null
  >`iif(place.author_id = ${ownId} OR ${mayModerateSql(ownId, x.communityId)}, place.text, NULL)`,
  appealOutcome: nullable(z.outcome),
  isAppealed: flag(sql`${z.actionId} IS NOT NULL`),
}

/** What was removed of a thread. */
export type RemovalRow = RowOf<typeof removalFields>

const preparedRemovals = prepare((v: Params<ViewerValues & { postId: string; reader: Reader }>) =>
  manySql(
    removalFields,
    sql`${unfiltered('moderation')} FROM (SELECT '' AS comment_id, ${p.removalId} AS removal_id, ${p.authorId} AS author_id,
          ${p.title} || char(10, 10) || ${p.content} AS text
        FROM ${posts} ${p} WHERE ${p.id} = ${v.postId} AND ${p.removalId} IS NOT NULL
        UNION ALL SELECT ${m.id}, ${m.removalId}, ${m.authorId}, ${m.content}
        FROM ${comments} ${m} WHERE ${m.postId} = ${v.postId} AND ${m.removalId} IS NOT NULL) place
      JOIN ${moderationActions} ${x} ON ${x.id} = place.removal_id AND ${canReadSql(x.communityId, v.reader)} LEFT JOIN ${appeals} ${z} ON ${z.actionId} = ${x.id}
      LIMIT 200`,
    viewerCte(v),
  ),
)

/** Selects what moderators removed of a thread, with the texts that the viewer may see. */
export const selectRemovals = (
  credential: Credential | null,
  now: number,
  postId: string,
): Statement<RemovalRow[]> =>
  preparedRemovals({
    ...viewerValues(credential, now),
    postId,
    reader: requestReader(credential, now),
  })

const preparedThreadRole = prepare((v: Params<ViewerValues & { postId: string }>) =>
  oneSql(
    { mayModerate: flag(mayModerateSql(ownId, p.communityId)) },
    sql`${unfiltered('moderation')} FROM ${posts} ${p} WHERE ${p.id} = ${v.postId}`,
    viewerCte(v),
  ),
)

/** Selects whether the viewer may moderate a thread. */
export const selectMayModerateThread = (
  credential: Credential | null,
  now: number,
  postId: string,
): Statement<boolean> =>
  mapStatement(
    preparedThreadRole({ ...viewerValues(credential, now), postId }),
    (row) => row?.mayModerate ?? false,
  )

import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { homeLimits } from '../../shared/config'
import { number, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement } from '../../shared/db/statement'
import { isPostReadableSql } from '../rules/readable-sql'
import { isUnreadSql } from '../rules/shown-sql'
import { communities } from '../schema/communities'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { type Reader, requestReader } from '../viewers/reader'

const c = alias(communities, 'c')
const i = alias(inboxItems, 'i')
const p = alias(posts, 'p')

const fields = {
  postId: p.id,
  postTitle: p.title,
  communityId: c.id,
  communityName: c.name,
  communityDisplayName: c.displayName,
  newCount: number(sql`count(*)`),
  latestAt: number(sql`max(n.created_at)`),
}

/** A post of the viewer with unread items of the inbox. */
type ActivityRow = RowOf<typeof fields>

const ofViewer = sql`(SELECT ${viewer.id} FROM ${viewer})`
const literal = (value: number) => sql.raw(String(value))

const preparedActivity = prepare((v: Params<ViewerValues & { reader: Reader }>) =>
  manySql(
    fields,
    sql`FROM (SELECT ${i.postId}, ${i.createdAt} FROM ${inboxItems} ${i}
        WHERE ${i.accountId} = ${ofViewer} AND ${isUnreadSql(i)} AND ${i.postId} IS NOT NULL
        ORDER BY ${i.createdAt} DESC LIMIT ${literal(homeLimits.itemsMax)}) n
      CROSS JOIN ${posts} ${p} ON ${p.id} = n.post_id
      CROSS JOIN ${communities} ${c} ON ${c.id} = ${p.communityId}
      WHERE ${p.authorId} = ${ofViewer} AND ${isPostReadableSql(p, v.reader)}
      GROUP BY ${p.id} ORDER BY max(n.created_at) DESC LIMIT ${literal(homeLimits.postsMax)}`,
    viewerCte(v),
  ),
)

/** Selects the viewer's posts with the newest unread items of the inbox. */
export const selectActivity = (
  credential: Credential | null,
  now: number,
): Statement<ActivityRow[]> =>
  preparedActivity({
    ...viewerValues(credential, now),
    reader: requestReader(credential, now),
  })

import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { newIdSql } from '../../shared/db/new-id'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import { renderText } from '../markdown/render-text'
import { accounts, systemAccountId } from '../schema/accounts'
import { communities } from '../schema/communities'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { reports } from '../schema/reports'

/** A post by the hub's own account. */
export interface Report {
  /** Identifies the subject. Only one report with the same key is posted. */
  key: string
  /** A new id. */
  postId: string
  community: 'agent-status' | 'agent-activity'
  title: string
  /** Markdown. Never quotes text of users, so that it reveals nothing private and injects no prompts. */
  content: string
  /** Whether admins get the report in their inbox. */
  notifiesAdmins: boolean
}

const r = alias(reports, 'r')
const m = alias(communities, 'm')
const a = alias(accounts, 'a')

/** The reports to post as a JSON list. */
type List = Params<{ list: string }>['list']
type Reports = Params<{ list: string; now: number }>

/** The reports of the list that this batch posts: their key was free, so it has their post id. */
const postedSql = (list: List): SQL => sql`json_each(${list}) e JOIN ${reports} ${r}
  ON ${r.key} = e.value ->> 'key' AND ${r.postId} = e.value ->> 'postId'`

const insertReports = prepare((v: Reports) =>
  write(
    insertSelect(
      reports,
      {
        key: sql`e.value ->> 'key'`,
        postId: sql`e.value ->> 'postId'`,
        createdAt: v.now,
      },
      sql`FROM json_each(${v.list}) e WHERE 1 ON CONFLICT DO NOTHING`,
    ),
  ),
)

const insertPosts = prepare((v: Reports) =>
  write(
    insertSelect(
      posts,
      {
        id: r.postId,
        communityId: m.id,
        authorId: systemAccountId,
        title: sql`e.value ->> 'title'`,
        content: sql`e.value ->> 'content'`,
        html: sql`e.value ->> 'html'`,
        htmlVersion: sql`e.value ->> 'htmlVersion'`,
        hotRank: sql`${v.now} / 45000000.0`,
        isListed: false,
        createdAt: v.now,
      },
      sql`FROM ${postedSql(v.list)} JOIN ${communities} ${m} ON ${m.name} = e.value ->> 'community'`,
    ),
  ),
)

const countPosts = prepare(({ list }: Params<{ list: string }>) =>
  write(
    updateSet(
      communities,
      {
        postCount: sql`${communities.postCount} + (
          SELECT count(*) FROM ${postedSql(list)} WHERE e.value ->> 'community' = ${communities.name})`,
      },
      sql`WHERE ${communities.name} IN (SELECT e.value ->> 'community' FROM ${postedSql(list)})`,
    ),
  ),
)

const notifyAdmins = prepare((v: Reports) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(r.postId),
        accountId: a.id,
        type: 'system',
        postId: r.postId,
        fromAccountId: systemAccountId,
        content: sql`e.value ->> 'title'`,
        createdAt: v.now,
      },
      sql`FROM ${postedSql(v.list)} CROSS JOIN ${accounts} ${a}
        WHERE e.value ->> 'notifiesAdmins' AND ${a.role} = 'admin' AND ${a.kind} = 'human' AND ${a.isImported} = 0`,
    ),
  ),
)

/**
 * Returns statements that post each report once, also with concurrent writers; run them in one batch.
 * The posts are listed only in their community and wake no agents. Admins get an inbox item.
 */
export function postReportStatements(all: Report[], now: number): Statement<void>[] {
  if (all.length === 0) return []
  const list = JSON.stringify(
    all.map((each) => ({
      ...each,
      ...renderText('posts', { id: each.postId, content: each.content }).columns,
    })),
  )
  return [
    insertReports({ list, now }),
    insertPosts({ list, now }),
    countPosts({ list }),
    notifyAdmins({ list, now }),
  ]
}

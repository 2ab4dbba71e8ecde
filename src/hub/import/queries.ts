import { type SQL, sql } from 'drizzle-orm'
import { alias, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { Answers } from '../../shared/db/batch'
import { flag } from '../../shared/db/fields'
import { many, manySql, orm } from '../../shared/db/statement'
import type { AccountId, CommentId, PostId } from '../../shared/ids'
import { canReadSql, unfiltered } from '../communities/readable-sql'
import { accounts } from '../schema/accounts'
import { comments } from '../schema/comments'
import { communities } from '../schema/communities'
import { type ImportedKind, importedRecords } from '../schema/imported-records'
import { posts } from '../schema/posts'
import type { Reader } from '../viewers/reader'
import { writingRefusalSql } from '../writing-guard/queries'

/** A list that is longer than a statement can have parameters, bound as one JSON parameter. */
const isIn = <Column extends SQLiteColumn>(column: Column, values: Column['_']['data'][]): SQL =>
  sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`

/** Who imports, and the name that they gave the source. */
export interface Importer {
  accountId: AccountId
  reader: Reader
  source: string
}

/** Keys and names of what a group has. */
export interface GroupKeys {
  authors: string[]
  posts: string[]
  comments: string[]
  communities: string[]
  /** Names that accounts could get. */
  names: string[]
}

const a = alias(accounts, 'a')
const p = alias(posts, 'p')
const c = alias(comments, 'c')
const m = alias(communities, 'm')
const r = alias(importedRecords, 'r')

/** The records of a source that have one of the keys, for FROM: `r`. CROSS: the keys are looked up, one by one. */
const importedSql = (source: string, kind: ImportedKind, keys: string[]): SQL =>
  sql`json_each(${JSON.stringify(keys)}) j
    CROSS JOIN ${importedRecords} ${r} ON ${r.source} = ${source} AND ${r.kind} = ${kind} AND ${r.key} = j.value`

/** Selects what earlier imports of this source have made, and what of the hub the importer would write to. */
export const selectExisting = (
  { accountId, reader, source }: Importer,
  keys: GroupKeys,
  now: number,
) => {
  const refusal = sql<string | null>`${writingRefusalSql({
    accountId: sql`${accountId}`,
    activationId: sql`NULL`,
    communityId: m.id,
    act: sql`'post'`,
    threadId: sql`NULL`,
    now: sql`${now}`,
  })}`
  /** Whether the importer may write in the community. */
  const place = { canRead: flag(canReadSql(m.id, sql`${reader}`)), refusal }
  return {
    authors: manySql(
      { key: r.key, id: a.id, name: a.name, displayName: a.displayName },
      sql`FROM ${importedSql(source, 'author', keys.authors)} CROSS JOIN ${accounts} ${a} ON ${a.id} = ${r.id}`,
    ),
    // The row can have been deleted since.
    posts: manySql(
      {
        key: r.key,
        id: sql<PostId>`${r.id}`,
        title: sql<string | null>`${p.title}`,
        content: sql<string | null>`${p.content}`,
        createdAt: sql<number | null>`${p.createdAt}`,
        isLocked: flag(sql`coalesce(${p.isLocked}, 0)`),
        isDeleted: flag(sql`(${p.id} IS NULL OR ${p.deletedAt} IS NOT NULL)`),
        ...place,
      },
      sql`FROM ${importedSql(source, 'post', keys.posts)} LEFT JOIN ${posts} ${p} ON ${p.id} = ${r.id}
        LEFT JOIN ${communities} ${m} ON ${m.id} = ${p.communityId} ${unfiltered('import')}`,
    ),
    comments: manySql(
      {
        key: r.key,
        id: sql<CommentId>`${r.id}`,
        postId: sql<PostId | null>`${c.postId}`,
        parentId: sql<CommentId | null>`${c.parentId}`,
        depth: sql<number>`coalesce(${c.depth}, 0)`,
      },
      sql`FROM ${importedSql(source, 'comment', keys.comments)} LEFT JOIN ${comments} ${c} ON ${c.id} = ${r.id}
        ${unfiltered('import')}`,
    ),
    communities: manySql(
      { id: m.id, name: m.name, ...place },
      sql`FROM ${communities} ${m} WHERE ${isIn(m.name, keys.communities)}`,
    ),
    names: many(
      orm.select({ name: accounts.name }).from(accounts).where(isIn(accounts.name, keys.names)),
    ),
  }
}

export type Existing = Answers<ReturnType<typeof selectExisting>>

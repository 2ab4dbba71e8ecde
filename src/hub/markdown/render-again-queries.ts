import { sql } from 'drizzle-orm'
import { many, orm, type Statement, write } from '../../shared/db/statement'
import { comments } from '../schema/comments'
import { directMessages } from '../schema/dms'
import { posts } from '../schema/posts'
import { unfiltered } from '../unfiltered-sql'
import { type HeadingLevel, htmlVersion, renderText } from './render-markdown'

const tables = { posts, comments, messages: directMessages }

/** Level of the headings in the texts of each table. */
const headings: Record<TextTable, HeadingLevel> = { posts: 2, comments: 3, messages: 2 }

/** A table of texts that are stored with their HTML. */
export type TextTable = keyof typeof tables

const isOutdated = ({ htmlVersion: version }: (typeof tables)[TextTable]) =>
  sql`${version} < ${htmlVersion}`

/** Selects those of the given texts that an earlier version rendered, or none. */
export function selectOutdated(
  name: TextTable,
  ids: string[],
): Statement<{ id: string; content: string }[]> {
  const table = tables[name]
  return many(
    orm
      .select({ id: table.id, content: table.content })
      .from(table)
      .where(
        sql`${table.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)})) AND ${isOutdated(table)} ${unfiltered('guarded write')}`,
      ),
  )
}

/** Renders a text again, unless it was changed in the meantime. */
export function updateHtml(
  name: TextTable,
  { id, content }: { id: string; content: string },
): Statement<void> {
  const table = tables[name]
  return write(
    orm
      .update(table)
      .set(renderText(content, headings[name]))
      .where(sql`${table.id} = ${id} AND ${table.content} = ${content} AND ${isOutdated(table)}`),
  )
}

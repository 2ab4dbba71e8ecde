import { sql } from 'drizzle-orm'
import { many, orm, type Statement, write } from '../../shared/db/statement'
import { renderAsPlain } from '../../shared/markdown/render-markdown'
import { comments } from '../schema/comments'
import { directMessages } from '../schema/dms'
import { posts } from '../schema/posts'
import { unfiltered } from '../unfiltered-sql'
import { htmlVersion, renderText, type TextTable } from './render-text'

const tables = { posts, comments, messages: directMessages }

/** The version of a text while it is rendered again. A text keeps it when the process ends meanwhile. */
const versionMeanwhile = -htmlVersion

/** A text that an earlier version rendered, or none. */
interface OutdatedText {
  id: string
  content: string
  htmlVersion: number
}

/** Selects the outdated ones of the given texts. */
export function selectOutdated(name: TextTable, ids: string[]): Statement<OutdatedText[]> {
  const table = tables[name]
  return many(
    orm
      .select({ id: table.id, content: table.content, htmlVersion: table.htmlVersion })
      .from(table)
      .where(
        sql`${table.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)})) AND ${table.htmlVersion} < ${htmlVersion} ${unfiltered('rendering')}`,
      ),
  )
}

/**
 * Records that a text is about to be rendered again. One whose last rendering did not end is stored as plain text now,
 * so that it is not tried a third time.
 */
export function beginRendering(name: TextTable, text: OutdatedText): Statement<void> {
  const isSecondTry = text.htmlVersion === versionMeanwhile
  return updateHtml(
    name,
    text,
    isSecondTry
      ? { html: renderAsPlain(text.content).html, htmlVersion }
      : { htmlVersion: versionMeanwhile },
  )
}

/** Renders a text and stores its HTML, unless the text was changed in the meantime. */
export const finishRendering = (name: TextTable, text: OutdatedText): Statement<void> =>
  updateHtml(name, text, renderText(name, text).columns)

function updateHtml(
  name: TextTable,
  { id, content }: OutdatedText,
  columns: { html?: string; htmlVersion: number },
): Statement<void> {
  const table = tables[name]
  return write(
    orm
      .update(table)
      .set(columns)
      .where(sql`${table.id} = ${id} AND ${table.content} = ${content}`),
  )
}

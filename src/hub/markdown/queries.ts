import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { renderedTexts } from '../../shared/config'
import { flag } from '../../shared/db/fields'
import { many, orm, type Statement, write } from '../../shared/db/statement'
import { renderAsPlain } from '../../shared/markdown/render-markdown'
import { unfiltered } from '../database/unfiltered-sql'
import { directMessages } from '../schema/dms'
import { comments, posts } from '../schema/posts'
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

const pageHtmlCharsMax = sql.raw(String(renderedTexts.pageHtmlCharsMax))
const excerptChars = sql.raw(String(renderedTexts.excerptCharsMax))

interface TextColumns {
  content: SQLWrapper
  html: SQLWrapper
  htmlVersion: SQLWrapper
}

/**
 * Fields of texts on a page that shows many. `html` is null, and `content` an excerpt, for texts that would
 * make the page too long; otherwise only one of them is read.
 *
 * @param order the order in which texts use up the length of the page
 */
export function shownTextFields({ content, html, htmlVersion }: TextColumns, order: SQL) {
  const fits = sql`sum(length(coalesce(${html}, ${content}))) OVER (ORDER BY ${order}) <= ${pageHtmlCharsMax}`
  return {
    html: sql<string | null>`iif(${fits}, ${html}, NULL)`,
    content: sql<string>`iif(${fits}, iif(${html} IS NULL, ${content}, ''), substr(${content}, 1, ${excerptChars}))`,
    isExcerpt: flag(sql`NOT (${fits})`),
    htmlVersion: sql<number>`${htmlVersion}`,
  }
}

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { renderedTexts } from '../../shared/config'
import { flag } from '../../shared/db/fields'

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

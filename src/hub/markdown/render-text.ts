import { renderMarkdown } from '../../shared/markdown/render-markdown'
import { toSearchColumns } from '../../shared/search-text'

/**
 * Version of the stored HTML. Increase it with every change of what `renderText` returns: texts with an older
 * version are rendered again after a page has shown them. 0: not rendered yet.
 */
export const htmlVersion = 4

/** The columns of a text that is stored with its HTML. */
export interface RenderedText {
  html: string
  htmlVersion: number
}

/** Those of a text that search finds, too. */
export interface IndexedText extends RenderedText {
  searchContent: string | null
}

/** Level of the headings in the texts of each table. */
const headings = { posts: 2, comments: 3, messages: 2 } as const

/** A table of texts that are stored with their HTML. */
export type TextTable = keyof typeof headings

type ColumnsOf<Table> = Table extends 'messages' ? RenderedText : IndexedText

/**
 * Renders a text of a post, comment or message for storage, when it is written. Returns its columns, and the names that
 * it mentions in lower case, which are the links of its HTML, and the ids of the images that it shows.
 */
export function renderText<Table extends TextTable>(
  table: Table,
  { id, content }: { id: string; content: string },
): { columns: ColumnsOf<Table>; names: string[]; images: string[] }
export function renderText(table: TextTable, { id, content }: { id: string; content: string }) {
  const { html, names, images } = renderMarkdown(content, { heading: headings[table], id })
  const columns = { html, htmlVersion, ...(table !== 'messages' && toSearchColumns({ content })) }
  return { columns, names, images }
}

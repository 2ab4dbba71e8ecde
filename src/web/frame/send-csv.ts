import type { PageContext } from './send-page'

/** Sends a CSV file to save. */
export const sendCsv = (c: PageContext, filename: string, text: string): Response =>
  c.body(text, 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${filename}"`,
    'x-content-type-options': 'nosniff',
  })

type Cell = string | number | null

/** Formats rows as CSV (RFC 4180). */
export const formatCsv = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((row) => `${row.map(writeCell).join(',')}\r\n`).join('')

/** Formats a cell; prefixes a quote to text that a spreadsheet would evaluate as a formula. */
function writeCell(value: Cell): string {
  const text = value === null ? '' : String(value)
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

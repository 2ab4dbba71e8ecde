import type { UsageLine } from './page-queries'

const heads = [
  'day_utc',
  'agent',
  'model',
  'calls',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'cost_usd',
] as const

/** Usage as CSV (RFC 4180): money in dollars to the micro-dollar, empty where there is no price. */
export function writeUsageCsv(lines: UsageLine[]): string {
  const rows = lines.map((line) => [
    line.day,
    line.agent,
    line.model,
    line.calls,
    line.inputTokens,
    line.cachedTokens,
    line.outputTokens,
    line.isPriced === 1 ? (line.costMicrousd / 1_000_000).toFixed(6) : '',
  ])
  return [heads, ...rows].map((row) => `${row.map(writeCell).join(',')}\r\n`).join('')
}

/** A cell that a spreadsheet would take for a formula gets a quote in front. */
function writeCell(value: string | number): string {
  const text = String(value)
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

import type { StoredReport } from './program-event'

/** Returns the characters of a report that count toward what a program may write. */
export function countReportChars(report: StoredReport): number {
  switch (report.kind) {
    case 'text':
    case 'reasoning':
    case 'notice':
      return report.text.length
    case 'plan':
    case 'tool':
      return JSON.stringify(report).length
    case 'started':
    case 'ended':
      return 0
  }
}

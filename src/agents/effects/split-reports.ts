import { codingAgents } from '../../shared/config'
import type { RunReport } from '../../shared/runner-protocol'
import type { StoredReport } from '../loop/program-event'
import { countReportChars } from '../loop/report-size'

/** Splits reports so that each part fits a row of the journal. */
export function splitReports(reports: StoredReport[]): StoredReport[][] {
  const parts: StoredReport[][] = []
  let chars = Number.POSITIVE_INFINITY
  for (const report of reports) {
    const size = JSON.stringify(report).length
    chars += size
    if (chars > codingAgents.reportCharsAtOnce) {
      parts.push([])
      chars = size
    }
    parts.at(-1)?.push(report)
  }
  return parts
}

/**
 * Returns reports as the journal stores them: with the length of a patch only, and without texts, plans and tool calls
 * of a program that has written more than a run may, whatever its runner lets through.
 *
 * @param chars that are stored already
 */
export function toStoredReports(reports: RunReport[], chars: number): StoredReport[] {
  let stored = chars
  return reports.map((report) => {
    const whole = toStored(report)
    const kept = stored > codingAgents.outputChars ? withoutText(whole) : whole
    stored += countReportChars(kept)
    return kept
  })
}

function toStored(report: RunReport): StoredReport {
  if (report.kind !== 'ended') return report
  if (report.changes === null) return { ...report, changes: null }
  const { patch, ...changes } = report.changes
  return { ...report, changes: { ...changes, patchChars: patch.length } }
}

/** Returns what stands for a report that is not stored: reports are counted. */
const withoutText = (report: StoredReport): StoredReport =>
  countReportChars(report) === 0 ? report : { kind: 'notice', text: '' }

import { codingAgents } from '../../shared/config'
import type { RunReport } from '../../shared/runner-protocol'
import type { StoredReport } from '../loop/program-event'

/** Splits reports so that each part fits a row of the journal. */
export function splitReports(reports: RunReport[]): RunReport[][] {
  const parts: RunReport[][] = []
  let chars = Number.POSITIVE_INFINITY
  for (const report of reports) {
    const size = JSON.stringify(toStored(report, 0)).length
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
 * Returns a report as the journal stores it: with the length of the patch only, and without the texts of a program that has written
 * more than a run may, whatever its runner lets through.
 *
 * @param chars that are stored already
 */
export function toStored(report: RunReport, chars: number): StoredReport {
  if ('text' in report && chars > codingAgents.outputChars) return { ...report, text: '' }
  if (report.kind !== 'ended') return report
  if (report.changes === null) return { ...report, changes: null }
  const { patch, ...changes } = report.changes
  return { ...report, changes: { ...changes, patchChars: patch.length } }
}

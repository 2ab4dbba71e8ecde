import type { DefinitionFiles } from '../../agents/contract/agents'
import {
  createDiffBudget,
  type DiffLine,
  diffLines,
  toHunks,
  toLines,
} from '../../shared/diff-lines'
import type { ErrorDetail } from '../../shared/errors'
import { formatPlural } from '../../shared/format'

/** What differs in a file. */
export interface FileDiff {
  path: string
  /**
   * The changed lines; `null` among them stands for unchanged lines that are left out, and in their place for
   * files that differ too much.
   */
  lines: (DiffLine | null)[] | null
  /** Lines of the file in both versions. */
  linesBefore: number
  linesAfter: number
}

/** Lines of all files together that are shown of one difference. */
const linesShownMax = 4_000

/** Returns the files of a definition that differ, sorted by path. A missing file counts as empty. */
export function diffFiles(before: DefinitionFiles, after: DefinitionFiles): FileDiff[] {
  const budget = createDiffBudget()
  let linesLeft = linesShownMax
  const paths = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...paths].sort().flatMap((path) => {
    const [old, current] = [before[path] ?? '', after[path] ?? '']
    if (old === current) return []
    const compared = diffLines(old, current, budget)
    const hunks = compared && toHunks(compared)
    const lines = hunks && hunks.length <= linesLeft ? hunks : null
    linesLeft -= lines?.length ?? 0
    return [{ path, lines, linesBefore: toLines(old).length, linesAfter: toLines(current).length }]
  })
}

/** Says in place of the changed lines that there are too many. */
export const formatTooDifferent = ({ linesBefore, linesAfter }: FileDiff): string =>
  `Too different to show line by line: ${formatPlural(linesBefore, 'line', 'lines')} before, ${formatPlural(linesAfter, 'line', 'lines')} after.`

/** Formats the changed lines as text, one line each: `-` before the old, `+` before the new. */
const formatDiff = (diff: FileDiff): string =>
  diff.lines?.map((line) => (line === null ? '…' : `${line.sign} ${line.text}`)).join('\n') ??
  formatTooDifferent(diff)

/** Formats differences for the details of an error. */
export const toDiffDetails = (diffs: FileDiff[], version: number): ErrorDetail[] =>
  diffs.map((diff) => ({
    path: diff.path,
    message: `Differs from version ${version}:\n${formatDiff(diff)}`,
  }))

import type { DefinitionFiles } from '../../agents/contract/agents'
import { type DiffLine, diffHunks } from '../../shared/diff-lines'
import type { ErrorDetail } from '../../shared/errors'

/** The changed lines of a file; `null` stands for unchanged lines that are left out. */
export interface FileDiff {
  path: string
  lines: (DiffLine | null)[]
}

/** Returns the files of a definition that differ, sorted by path. A missing file counts as empty. */
export function diffFiles(before: DefinitionFiles, after: DefinitionFiles): FileDiff[] {
  const paths = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...paths].sort().flatMap((path) => {
    const [old, current] = [before[path] ?? '', after[path] ?? '']
    return old === current ? [] : [{ path, lines: diffHunks(old, current) }]
  })
}

/** Formats the changed lines as text, one line each: `-` before the old, `+` before the new. */
const formatDiff = ({ lines }: FileDiff): string =>
  lines.map((line) => (line === null ? '…' : `${line.sign} ${line.text}`)).join('\n')

/** Formats differences for the details of an error. */
export const toDiffDetails = (diffs: FileDiff[], version: number): ErrorDetail[] =>
  diffs.map((diff) => ({
    path: diff.path,
    message: `Differs from version ${version}:\n${formatDiff(diff)}`,
  }))

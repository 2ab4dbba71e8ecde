import { diffArrays } from 'diff'

export interface DiffLine {
  sign: ' ' | '-' | '+'
  text: string
}

/** Texts that differ in more lines are shown one below the other: comparing them would take too long. */
const changedLinesMax = 1_000

/** Returns the difference of two texts, line by line, including unchanged lines. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, current] = [before.split('\n'), after.split('\n')]
  const parts = diffArrays(old, current, { maxEditLength: changedLinesMax })
  if (!parts) return [...toSigned(old, '-'), ...toSigned(current, '+')]
  return parts.flatMap(({ value, added, removed }) =>
    toSigned(value, added ? '+' : removed ? '-' : ' '),
  )
}

const toSigned = (lines: string[], sign: DiffLine['sign']): DiffLine[] =>
  lines.map((text) => ({ sign, text }))

/** Unchanged lines that are kept around a change. */
const contextLines = 3

/**
 * Returns the changed lines of two texts with the lines around them; `null` stands for unchanged lines
 * that are left out.
 */
export function diffHunks(before: string, after: string): (DiffLine | null)[] {
  const lines = diffLines(before, after)
  const isNear = lines.map((_, index) =>
    lines
      .slice(Math.max(0, index - contextLines), index + contextLines + 1)
      .some(({ sign }) => sign !== ' '),
  )
  return lines.flatMap((line, index) => {
    if (isNear[index]) return [line]
    return index === 0 || isNear[index - 1] ? [null] : []
  })
}

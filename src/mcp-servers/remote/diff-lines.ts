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

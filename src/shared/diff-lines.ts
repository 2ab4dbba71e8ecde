import { diffArrays } from 'diff'

export interface DiffLine {
  sign: ' ' | '-' | '+'
  text: string
}

/**
 * What is left of the edits that all diffs of one answer can take. A diff of so many inserted and deleted lines
 * takes their square in time (Myers, 1986), so the budget is shared by all texts that one request compares.
 */
export interface DiffBudget {
  editsLeft: number
}

const editsMax = 1_000

export const createDiffBudget = (): DiffBudget => ({ editsLeft: editsMax })

/**
 * Returns the difference of two texts, line by line, including unchanged lines; null when they differ in more
 * lines than the budget allows.
 */
export const diffLines = (before: string, after: string, budget: DiffBudget): DiffLine[] | null =>
  diffParts(toLines(before), toLines(after), budget)

/** Returns the same of two texts in other parts than lines. */
export function diffParts(old: string[], current: string[], budget: DiffBudget): DiffLine[] | null {
  const start = countEqual(old, current)
  const end = countEqual(old.slice(start).reverse(), current.slice(start).reverse())
  const removed = old.slice(start, old.length - end)
  const added = current.slice(start, current.length - end)
  const changed = diffChanged(removed, added, budget)
  return (
    changed && [
      ...toSigned(old.slice(0, start), ' '),
      ...changed,
      ...toSigned(old.slice(old.length - end), ' '),
    ]
  )
}

/** Returns the lines of a text; an empty text has none. */
export const toLines = (text: string): string[] => (text === '' ? [] : text.split('\n'))

/** Returns how many lines two texts begin with in common. */
function countEqual(one: string[], other: string[]): number {
  const most = Math.min(one.length, other.length)
  let count = 0
  while (count < most && one[count] === other[count]) count++
  return count
}

/** Compares the lines between those that both texts begin and end with. */
function diffChanged(removed: string[], added: string[], budget: DiffBudget): DiffLine[] | null {
  if (removed.length === 0 || added.length === 0) {
    return [...toSigned(removed, '-'), ...toSigned(added, '+')]
  }
  const ids = new Map<string, number>()
  const toId = (line: string) => {
    const id = ids.get(line) ?? ids.size
    ids.set(line, id)
    return id
  }
  // Numbers, since two long lines would be compared again for each edit.
  const [old, current] = [removed.map(toId), added.map(toId)]
  if (countUnmatched(old, current) > budget.editsLeft) return null
  const parts = diffArrays(old, current, { maxEditLength: budget.editsLeft })
  if (!parts) {
    budget.editsLeft = 0
    return null
  }
  const lines = [...ids.keys()]
  return parts.flatMap(({ value, added: isAdded, removed: isRemoved }) => {
    if (isAdded || isRemoved) budget.editsLeft -= value.length
    return toSigned(
      value.map((id) => lines[id] ?? ''),
      isAdded ? '+' : isRemoved ? '-' : ' ',
    )
  })
}

/** Returns how many lines stand in one text and not in the other, which is the least number of edits. */
function countUnmatched(old: number[], current: number[]): number {
  const counts = new Map<number, number>()
  for (const id of old) counts.set(id, (counts.get(id) ?? 0) + 1)
  for (const id of current) counts.set(id, (counts.get(id) ?? 0) - 1)
  return [...counts.values()].reduce((total, count) => total + Math.abs(count), 0)
}

const toSigned = (lines: string[], sign: DiffLine['sign']): DiffLine[] =>
  lines.map((text) => ({ sign, text }))

/** Unchanged lines that are kept around a change. */
const contextLines = 3

/** Returns the changed lines of a diff with the lines around them; `null` stands for those that are left out. */
export function toHunks(lines: DiffLine[]): (DiffLine | null)[] {
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

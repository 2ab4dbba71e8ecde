import { cutText } from './cut-text'
import { type DiffBudget, type DiffLine, diffParts } from './diff-lines'

/** A line that changed in some words: what it says now, with what it said before. */
export interface ChangedLine {
  parts: DiffLine[]
}

/** Words, the space between them, and every other character alone. */
const wordParts = /[\p{L}\p{N}\p{M}_]+|\s+|./gsu

/** Characters of what did not change that are kept on each side of a change. */
const contextChars = 60

/** Share of the letters of a line that both texts have in common, from which it counts as changed and not replaced. */
const commonMin = 0.3

/**
 * Returns the lines of a difference, with a removed line and the added one in its place as one line when they differ in
 * some words only. What did not change is shortened to what stands next to a change.
 */
export function toWordDiff(
  lines: (DiffLine | null)[],
  budget: DiffBudget,
): (DiffLine | ChangedLine | null)[] {
  const shown: (DiffLine | ChangedLine | null)[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]
    if (line?.sign !== '-') {
      shown.push(line?.sign === ' ' ? { ...line, text: shorten(line.text, 'end') } : (line ?? null))
      continue
    }
    const removed = takeRun(lines, at, '-')
    const added = takeRun(lines, at + removed.length, '+')
    shown.push(...pairLines(removed, added, budget))
    at += removed.length + added.length - 1
  }
  return shown
}

/** Returns the lines with a sign that follow each other from a position on. */
function takeRun(lines: (DiffLine | null)[], from: number, sign: DiffLine['sign']): DiffLine[] {
  const end = lines.findIndex((line, at) => at >= from && line?.sign !== sign)
  return lines.slice(from, end < 0 ? lines.length : end).filter((line) => line !== null)
}

/** How many removed lines are looked at for the one that an added line has come from. */
const candidatesMax = 20

/** Compares each added line with the removed line that is most like it, in their order. */
function pairLines(
  removed: DiffLine[],
  added: DiffLine[],
  budget: DiffBudget,
): (DiffLine | ChangedLine)[] {
  const counts = removed.map(({ text }) => countWords(text))
  const shown: (DiffLine | ChangedLine)[] = []
  let from = 0
  let unpaired: DiffLine[] = []
  for (const current of added) {
    const at = findAlike(counts, from, current.text)
    const parts = diffWords(removed[at]?.text ?? '', current.text, budget)
    if (parts) {
      shown.push(...removed.slice(from, at), ...unpaired, { parts: shortenParts(parts) })
      unpaired = []
      from = at + 1
    } else unpaired.push(current)
  }
  return [...shown, ...removed.slice(from), ...unpaired]
}

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const word of text.match(wordParts) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/** Returns which of the next lines has most of its characters in common with a text. */
function findAlike(counts: Map<string, number>[], from: number, text: string): number {
  const wanted = countWords(text)
  let [best, most] = [from, 0]
  for (const [nth, other] of counts.slice(from, from + candidatesMax).entries()) {
    let common = 0
    for (const [word, count] of wanted) {
      common += word.length * Math.min(count, other.get(word) ?? 0)
    }
    if (common > most) [best, most] = [from + nth, common]
  }
  return best
}

function diffWords(before: string, after: string, budget: DiffBudget): DiffLine[] | null {
  const parts = diffParts(before.match(wordParts) ?? [], after.match(wordParts) ?? [], budget)
  const joined: DiffLine[] = []
  for (const { sign, text } of parts ?? []) {
    const last = joined.at(-1)
    if (last?.sign === sign) last.text += text
    else joined.push({ sign, text })
  }
  if (parts === null || before === '') return null
  const same = joined.filter(({ sign }) => sign === ' ').map(({ text }) => text)
  const common = countLetters(same.join(''))
  const most = Math.max(countLetters(before), countLetters(after))
  return common > 0 && common >= commonMin * most ? joined : null
}

/** Counts what words consist of: spaces and punctuation make no two lines alike. */
const countLetters = (text: string): number => text.match(/[\p{L}\p{N}]/gu)?.length ?? 0

const shortenParts = (parts: DiffLine[]): DiffLine[] =>
  parts.map((part, at) => {
    if (part.sign !== ' ') return part
    const side = at === 0 ? 'start' : at === parts.length - 1 ? 'end' : 'middle'
    return { ...part, text: shorten(part.text, side) }
  })

/** Returns a text without one of its sides or its middle, at the ends of words unless they are too long; the text itself if it is short. */
function shorten(text: string, side: 'start' | 'middle' | 'end'): string {
  if (text.length <= 3 * contextChars) return text
  const first = cutText(text, contextChars)
  const last = text.slice(-contextChars).replace(/^[\uDC00-\uDFFF]/, '')
  const head = /^.*\s/s.exec(first)?.[0] ?? first
  const tail = last.slice(Math.max(0, last.search(/\s/)))
  return `${side === 'start' ? '' : head}…${side === 'end' ? '' : tail}`
}

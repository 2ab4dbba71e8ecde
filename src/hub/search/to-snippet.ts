import { toTerms } from './stem'

/** Words of a snippet. */
const WORDS_MAX = 32
/** Of a longer text only the beginning is searched for the best part. */
export const SNIPPET_SOURCE_CHARS_MAX = 10_000
const MATCH_START = '\u2068'
const MATCH_END = '\u2069'

interface Word {
  start: number
  end: number
  /** The term of the search that it is; null for any other word. */
  term: string | null
}

/**
 * Returns the part of a text in which most of the terms occur, with the matches between U+2068 and
 * U+2069; the beginning of the text if none occurs.
 */
export function toSnippet(text: string, terms: ReadonlySet<string>): string {
  const initials = new Set([...terms].map(([initial]) => initial))
  const words: Word[] = [...text.matchAll(/[\p{L}\p{N}\p{M}\p{Co}]+/gu)].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    term: hasInitial(match[0], initials)
      ? (toTerms(match[0]).find((term) => terms.has(term)) ?? null)
      : null,
  }))
  const from = findBestStart(text, words)
  const shown = words.slice(from, from + WORDS_MAX)
  const isStart = from === 0
  const isEnd = from + WORDS_MAX >= words.length
  let at = isStart ? 0 : (shown[0]?.start ?? 0)
  let snippet = isStart ? '' : '…'
  for (const { start, end, term } of shown) {
    const word = text.slice(start, end)
    snippet += text.slice(at, start) + (term === null ? word : MATCH_START + word + MATCH_END)
    at = end
  }
  return snippet + (isEnd ? text.slice(at) : '…')
}

/**
 * Whether a word can be a term with one of these initials. The stemmer never changes the first letter of an
 * ASCII word, so that most words need no stemming.
 */
const hasInitial = (word: string, initials: ReadonlySet<string | undefined>): boolean =>
  /\P{ASCII}/u.test(word) || initials.has(word.charAt(0).toLowerCase())

/** The index of the first word of the best part, which begins with a sentence or a match. */
function findBestStart(text: string, words: Word[]): number {
  const matches = words.flatMap(({ term }, index) => (term === null ? [] : [index]))
  const lastStart = Math.max(0, words.length - WORDS_MAX)
  let best = { start: 0, score: scoreOf(words, 0) + 1 }
  for (const index of matches) {
    for (const start of new Set([findSentence(text, words, index), index])) {
      const within = Math.min(start, lastStart)
      const score = scoreOf(words, within) + (start === index ? 0 : 1)
      if (score > best.score) best = { start: within, score }
    }
  }
  return best.start
}

/** Different terms count most, then how often they occur. */
function scoreOf(words: Word[], start: number): number {
  const found = words.slice(start, start + WORDS_MAX).flatMap(({ term }) => term ?? [])
  return new Set(found).size * 1_000 + found.length * 2
}

/** The first word of the sentence of a word, unless that is so far that little would follow the word. */
function findSentence(text: string, words: Word[], index: number): number {
  for (let at = index; at > 0 && index - at < WORDS_MAX / 2; at--) {
    if (/[.!?:\n]/.test(text.slice(words[at - 1]?.end, words[at]?.start))) return at
  }
  return index
}

import { foldWord, partPattern } from '../../shared/search-text'
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
  /** The searched word that it is; null for any other. */
  found: string | null
}

/**
 * Returns the part of a text in which most of the searched words occur, with the matches between U+2068 and
 * U+2069; the beginning of the text if none occurs. Characters of the text itself that look like those are left out.
 *
 * @param phrases the terms of each searched word
 */
export function toSnippet(given: string, phrases: readonly (readonly string[])[]): string {
  const text = given.replace(/[\u2068\u2069]/g, '')
  const words = findWords(text, phrases)
  const from = findBestStart(text, words)
  const shown = words.slice(from, from + WORDS_MAX)
  const isStart = from === 0
  const isEnd = from + WORDS_MAX >= words.length
  let at = isStart ? 0 : (shown[0]?.start ?? 0)
  let snippet = isStart ? '' : '…'
  for (const { start, end, found } of shown) {
    const word = text.slice(start, end)
    snippet += text.slice(at, start) + (found === null ? word : MATCH_START + word + MATCH_END)
    at = end
  }
  return snippet + (isEnd ? text.slice(at) : '…')
}

/** Returns the words of a text; a match of several terms, such as in a script without spaces, is one word. */
function findWords(text: string, phrases: readonly (readonly string[])[]): Word[] {
  const initials = new Set(phrases.map(([term]) => term?.[0]))
  const parts = [...text.matchAll(partPattern)]
  const terms = new Map<number, string[]>()
  const termsOf = (index: number): string[] => {
    const known = terms.get(index) ?? toTerms(foldWord(parts[index]?.[0] ?? ''))
    terms.set(index, known)
    return known
  }
  const words: Word[] = []
  for (let index = 0; index < parts.length; ) {
    const part = parts[index]?.[0] ?? ''
    const match = mayBegin(part, initials) ? matchAt(index, phrases, termsOf) : null
    const last = index + (match?.parts ?? 1) - 1
    const start = parts[index]?.index ?? 0
    const end = (parts[last]?.index ?? 0) + (parts[last]?.[0].length ?? 0)
    words.push({ start, end, found: match?.phrase ?? null })
    index = last + 1
  }
  return words
}

interface Match {
  phrase: string
  /** How many parts of the text it takes. */
  parts: number
}

/** Returns the longest phrase that begins with a part of the text. */
function matchAt(
  index: number,
  phrases: readonly (readonly string[])[],
  termsOf: (index: number) => string[],
): Match | null {
  let longest: Match | null = null
  for (const phrase of phrases) {
    const terms: string[] = []
    let parts = 0
    while (terms.length < phrase.length) {
      const next = termsOf(index + parts)
      if (next.length === 0 || next.some((term, at) => term !== phrase[terms.length + at])) break
      terms.push(...next)
      parts++
    }
    if (terms.length === phrase.length && parts > (longest?.parts ?? 0)) {
      longest = { phrase: phrase.join(' '), parts }
    }
  }
  return longest
}

/** From here on are forms that fold to other letters. */
const compatibilityForms = '\uf900'

/**
 * Whether a part of a text can begin a phrase with one of these initials. The stemmer never changes the first letter of an
 * ASCII word, and nothing changes most letters that stand alone, so that few parts need stemming.
 */
function mayBegin(part: string, initials: ReadonlySet<string | undefined>): boolean {
  if (!/\P{ASCII}/u.test(part)) return initials.has(part.charAt(0).toLowerCase())
  const isLetterAlone = part.length === 1 && part > '\u2e80' && part < compatibilityForms
  return !isLetterAlone || initials.has(part)
}

/** The index of the first word of the best part, which begins with a sentence or a match. */
function findBestStart(text: string, words: Word[]): number {
  const matches = words.flatMap(({ found }, index) => (found === null ? [] : [index]))
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

/** Different words count most, then how often they occur. */
function scoreOf(words: Word[], start: number): number {
  const found = words.slice(start, start + WORDS_MAX).flatMap((word) => word.found ?? [])
  return new Set(found).size * 1_000 + found.length * 2
}

/** The first word of the sentence of a word, unless that is so far that little would follow the word. */
function findSentence(text: string, words: Word[], index: number): number {
  for (let at = index; at > 0 && index - at < WORDS_MAX / 2; at--) {
    if (/[.!?:。！？\n]/.test(text.slice(words[at - 1]?.end, words[at]?.start))) return at
  }
  return index
}

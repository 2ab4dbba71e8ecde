import { limits } from '../../shared/config'
import { foldWord, partPattern, wordPattern } from '../../shared/search-text'

/** What is searched for. */
export interface SearchTerms {
  /** `all` words must occur, or `any` of them. */
  match: 'all' | 'any'
  words: SearchWord[]
  /** The term of the last word of a person's search, as the beginning of others; null if it is too short. */
  prefix: string | null
}

interface SearchWord {
  /** The word as FTS5 reads it: in quotes, which keep it from using FTS5's own syntax. */
  phrase: string
  /** Its terms in the index; a word in a script without spaces has one for each letter. */
  terms: string[]
}

/** A shorter last word is not searched for as the beginning of others. */
const PREFIX_CHARS_MIN = 3

/** Returns the words of any text; null for a text without words. */
export function readSearchTerms(text: string, match: SearchTerms['match']): SearchTerms | null {
  const found = text.slice(0, limits.search.queryCharsMax).match(wordPattern) ?? []
  const words = [...new Set(found.map(foldWord))]
    .map((word) => ({ phrase: `"${word}"`, terms: toTerms(word) }))
    .filter(({ terms }) => terms.length > 0)
    .slice(0, limits.search.queryTermsMax)
  const [term = '', ...more] = words.at(-1)?.terms ?? []
  const canBegin = match === 'all' && more.length === 0 && term.length >= PREFIX_CHARS_MIN
  return words.length > 0 ? { match, words, prefix: canBegin ? term : null } : null
}

/** Limits in bytes, as FTS5's stemmer has them: a word outside of them is not stemmed. */
const STEMMED_BYTES_MIN = 3
const STEMMED_BYTES_MAX = 64

/** What is left of a word when a suffix is taken off: a condition on it. */
type Condition = (stem: string) => boolean

/** Suffix and its replacement. Of a list, the first suffix of the word decides, whether or not its condition holds. */
type Rule = readonly [suffix: string, replacement: string, condition?: Condition]

/** A letter for each letter of a word: `v` for vowels, `c` for others. A `y` after a consonant is a vowel. */
function toShape(word: string): string {
  let shape = ''
  for (const letter of word) {
    const isVowel = 'aeiou'.includes(letter) || (letter === 'y' && shape.endsWith('c'))
    shape += isVowel ? 'v' : 'c'
  }
  return shape
}

/** Porter's measure: how often consonants follow vowels. */
const measure = (stem: string): number => toShape(stem).match(/vc/g)?.length ?? 0

const isLong: Condition = (stem) => measure(stem) > 0
const isLonger: Condition = (stem) => measure(stem) > 1
const hasVowel: Condition = (stem) => /[aeiou]|(?<!^)y/.test(stem)
const isLongerInSorT: Condition = (stem) => /[st]$/.test(stem) && isLonger(stem)
/** Ends in consonant, vowel, consonant, the last one other than w, x and y. */
const endsShort: Condition = (stem) => !/[wxy]$/.test(stem) && toShape(stem).endsWith('cvc')

const plurals: Rule[] = [
  ['sses', 'ss'],
  ['ies', 'i'],
  ['ss', 'ss'],
  ['s', ''],
]
const restoredEnds: Rule[] = [
  ['at', 'ate'],
  ['bl', 'ble'],
  ['iz', 'ize'],
]

const toRules = (condition: Condition, pairs: string): Rule[] =>
  pairs.split(' ').map((pair) => {
    const [suffix = '', replacement = ''] = pair.split(':')
    return [suffix, replacement, condition]
  })

const secondStep = toRules(
  isLong,
  'ational:ate tional:tion enci:ence anci:ance izer:ize logi:log bli:ble alli:al entli:ent eli:e ousli:ous ' +
    'ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble',
)
const thirdStep = toRules(isLong, 'ical:ic ness icate:ic iciti:ic ful ative alize:al')
const fourthStep: Rule[] = [
  ...toRules(isLonger, 'al ance ence er ic able ible ant ement ment ent'),
  ['ion', '', isLongerInSorT],
  ...toRules(isLonger, 'ou ism ate iti ous ive ize'),
]

function apply(word: string, rules: Rule[]): string {
  const rule = rules.find(([suffix]) => word.length > suffix.length && word.endsWith(suffix))
  if (!rule) return word
  const [suffix, replacement, condition] = rule
  const stem = word.slice(0, -suffix.length)
  return !condition || condition(stem) ? stem + replacement : word
}

/** Takes off `ed` and `ing`, and restores the end of what is left. */
function withoutPast(word: string): string {
  if (/.eed$/.test(word)) return apply(word, [['eed', 'ee', isLong]])
  const stem = apply(word, [...toRules(hasVowel, 'ed ing')])
  if (stem === word) return word
  const restored = apply(stem, restoredEnds)
  if (restored !== stem) return restored
  if (/([^aeioulsz])\1$/.test(stem)) return stem.slice(0, -1)
  return measure(stem) === 1 && endsShort(stem) ? `${stem}e` : stem
}

function withoutFinalE(word: string): string {
  const stem = word.slice(0, -1)
  const isCut = word.endsWith('e') && (isLonger(stem) || (measure(stem) === 1 && !endsShort(stem)))
  const rest = isCut ? stem : word
  return rest.endsWith('ll') && isLonger(rest.slice(0, -1)) ? rest.slice(0, -1) : rest
}

/** Porter's algorithm, on a word of bytes. */
function stemBytes(word: string): string {
  const singular = withoutPast(apply(word, plurals))
  const root =
    singular.endsWith('y') && hasVowel(singular.slice(0, -1))
      ? `${singular.slice(0, -1)}i`
      : singular
  return withoutFinalE([secondStep, thirdStep, fourthStep].reduce(apply, root))
}

/** A letter in lower case; an accented Latin or Greek letter without its accents. */
function foldLetter(letter: string): string {
  const lower = letter === 'ς' ? 'σ' : letter.toLowerCase()
  const [base = ''] = lower.normalize('NFD')
  const isLatinOrGreek = /[a-z\u03b1-\u03c9]/.test(base)
  return isLatinOrGreek ? base : lower
}

/**
 * Returns the terms of a text as the full-text index has them: its tokenizer is
 * `porter unicode61 remove_diacritics 2`. Where the two differ, in letters that few languages use, a
 * term has no document frequency and its matches are not highlighted.
 */
export const toTerms = (text: string): string[] =>
  (text.match(/(?:[\p{L}\p{N}\p{Co}]|[\u0300-\u036f])+/gu) ?? [])
    .map(stem)
    .filter((term) => term !== '')

function stem(word: string): string {
  if (!/\P{ASCII}/u.test(word)) return stemWithin(word.toLowerCase())
  const folded = [...word.replace(/[\u0300-\u036f]/g, '')].map(foldLetter).join('')
  if (!/\P{ASCII}/u.test(folded)) return stemWithin(folded)
  // The stemmer of the index sees UTF-8: a letter beyond ASCII is several consonants.
  const bytes = new TextEncoder().encode(folded)
  const stemmed = stemWithin(String.fromCharCode(...bytes))
  return new TextDecoder().decode(Uint8Array.from(stemmed, (byte) => byte.charCodeAt(0)))
}

const stemWithin = (bytes: string): string =>
  bytes.length < STEMMED_BYTES_MIN || bytes.length > STEMMED_BYTES_MAX ? bytes : stemBytes(bytes)

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
 * @param prefix a term that matches words that begin with it; null for none
 */
export function toSnippet(
  given: string,
  phrases: readonly (readonly string[])[],
  prefix: string | null = null,
): string {
  const text = given.replace(/[\u2068\u2069]/g, '')
  const words = findWords(text, phrases, prefix)
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
function findWords(
  text: string,
  phrases: readonly (readonly string[])[],
  prefix: string | null,
): Word[] {
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
    const match = mayBegin(part, initials)
      ? (matchAt(index, phrases, termsOf) ?? matchPrefix(termsOf(index), prefix))
      : null
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

const matchPrefix = (terms: string[], prefix: string | null): Match | null =>
  prefix !== null && terms.length === 1 && terms[0]?.startsWith(prefix)
    ? { phrase: prefix, parts: 1 }
    : null

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

const DAY_MS = 86_400_000

/** Spans of time that a search can be limited to, in days. */
const spanDays = { day: 1, week: 7, month: 31, year: 366 } as const

export type SearchSpan = keyof typeof spanDays
export const searchSpans = Object.keys(spanDays) as SearchSpan[]

/** Returns when a span of time that ends now began; null for all time. */
export const toSince = (span: SearchSpan | null, now: number): number | null =>
  span === null ? null : now - spanDays[span] * DAY_MS

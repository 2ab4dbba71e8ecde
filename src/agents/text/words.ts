import { isCommonWord, isStopWord } from './stop-words'

/** A word of a question that its answer should contain. */
export interface Term {
  /** The folded word, used in search queries. */
  word: string
  stem: string
  /** How specific the word is: from 0.3 (common) to 1.4 (a name). */
  weight: number
}

const wordPattern = /[\p{L}\p{N}]+/gu
/** Scripts without spaces between words: pairs of characters are used as words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
const plainWord = /^[a-z]+$/

/** Returns a text in lower case and without diacritics, as the hub's index folds words. */
const fold = (text: string): string =>
  text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().normalize('NFC')

const urlPattern = /\bhttps?:\/\/\S+|\bwww\.\S+/gi
const mentionPattern = /(?<![\p{L}\p{N}])@[\w-]+|(?<![\p{L}\p{N}/])[mu]\/[\w-]+/gu

/** Returns the stems of a text's words, without links. */
export function toStems(text: string): Set<string> {
  const stems = new Set<string>()
  for (const [word] of fold(text.replace(urlPattern, ' ')).matchAll(wordPattern))
    for (const stem of stemsOfWord(word)) stems.add(stem)
  return stems
}

function stemsOfWord(word: string): string[] {
  // A name with a version also matches the name alone.
  const versioned = /^([a-z]{3,})\d+$/.exec(word)?.[1]
  if (versioned) return [word, stemWord(versioned)]
  if (!unspaced.test(word) || word.length < 3) return [stemWord(word)]
  return Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2))
}

const suffixes = [
  'izations',
  'ization',
  'ations',
  'ation',
  'ments',
  'ment',
  'nesses',
  'ness',
  'ities',
  'ity',
  'izing',
  'ized',
  'izes',
  'ize',
  'ings',
  'ing',
  'ions',
  'ion',
  'ies',
  'ied',
  'ers',
  'er',
  'ed',
  'es',
  'ly',
  's',
  'y',
  'e',
]

/**
 * Removes English suffixes, more aggressively than the index (Porter). Both sides of every comparison
 * are stemmed here, so this only has to be consistent. Words of other languages stay unchanged.
 */
function stemWord(word: string): string {
  if (word.length < 4 || !plainWord.test(word)) return word
  // decision: decide, extension: extend
  const verb = word.replace(/(?<=..)isions?$/, 'id').replace(/(?<=..)ensions?$/, 'end')
  if (verb !== word) return verb
  for (const suffix of suffixes) {
    if (word.endsWith(suffix) && word.length - suffix.length >= 3) {
      const stem = word.slice(0, -suffix.length)
      // planning, planned: plan
      return stem.length > 3 && /([bdfgmnprt])\1$/.test(stem) ? stem.slice(0, -1) : stem
    }
  }
  return word
}

/** Long words may be of an inflected language whatever their letters. */
const inflectedCharsMin = 8

/**
 * Whether a text with these stems has the term. Words of inflected languages match when all but
 * their last two letters are equal.
 */
export function hasTerm(stems: Set<string>, stem: string): boolean {
  if (stems.has(stem)) return true
  const isInflected = !plainWord.test(stem) || stem.length >= inflectedCharsMin
  if (!isInflected || stem.length < 3 || unspaced.test(stem)) return false
  const root = stem.slice(0, Math.max(2, stem.length - 2))
  for (const candidate of stems) {
    if (candidate.startsWith(root) && Math.abs(candidate.length - stem.length) <= 2) return true
  }
  return false
}

/** Returns a text's words in order, folded as in the index; without links, mentions and communities. */
export function toWords(text: string): string[] {
  const clean = text.replace(urlPattern, ' ').replace(mentionPattern, ' ')
  return fold(clean).match(wordPattern) ?? []
}

/** Returns the search terms of a question, highest weight first. */
export function extractTerms(text: string): Term[] {
  const clean = text.replace(urlPattern, ' ').replace(mentionPattern, ' ')
  const terms = new Map<string, Term>()
  for (const { 0: word, index } of clean.matchAll(wordPattern)) {
    const folded = fold(word)
    if (isStopWord(folded) || isStopWord(word.toLowerCase())) continue
    const weight = weigh(
      word,
      folded,
      isInSentence.test(clean.slice(Math.max(0, index - 8), index)),
    )
    for (const stem of stemsOfWord(folded)) keepHeavier(terms, { word: folded, stem, weight })
  }
  return [...terms.values()].sort((a, b) => b.weight - a.weight)
}

/** Matches text after which a capital does not start a sentence. */
const isInSentence = /[\p{L}\p{N},;]\s*["'\p{Pi}(*_]*$/u

function keepHeavier(terms: Map<string, Term>, term: Term): void {
  if (term.stem.length < 2) return
  const known = terms.get(term.stem)
  if (!known || known.weight < term.weight) terms.set(term.stem, term)
}

/** Minimum weight of a specific term. */
export const specificWeightMin = 0.7

/** Returns a word's weight. Length and spelling approximate rarity, as word counts are not available. */
function weigh(word: string, folded: string, isInSentence: boolean): number {
  if (isCommonWord(folded)) return 0.3
  if (/\p{N}/u.test(word)) return word.length < 3 ? 0.5 : 1.3
  const looksLikeName =
    /^\p{Lu}{2,}$|\p{Ll}\p{Lu}/u.test(word) || (isInSentence && /^\p{Lu}/u.test(word))
  if (looksLikeName) return 1.4
  if (word.length >= 9) return 1.2
  return word.length >= 4 ? 1 : specificWeightMin
}

const queryWordsMax = 16

/** Returns a search query of up to 16 terms, highest weight first. */
export function toQuery(terms: Term[]): string {
  const chosen = new Set(terms.map(({ word }) => word))
  return [...chosen].slice(0, queryWordsMax).join(' ')
}

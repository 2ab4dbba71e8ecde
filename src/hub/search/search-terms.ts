import { limits } from '../../shared/config'
import { foldWord, wordPattern } from '../../shared/search-text'
import { toTerms } from './stem'

/** What is searched for. */
export interface SearchTerms {
  /** `all` words must occur, or `any` of them. */
  match: 'all' | 'any'
  words: SearchWord[]
}

interface SearchWord {
  /** The word as FTS5 reads it: in quotes, which keep it from using FTS5's own syntax. */
  phrase: string
  /** Its terms in the index; a word in a script without spaces has one for each letter. */
  terms: string[]
}

/** Returns the words of any text; null for a text without words. */
export function readSearchTerms(text: string, match: SearchTerms['match']): SearchTerms | null {
  const found = text.slice(0, limits.search.queryCharsMax).match(wordPattern) ?? []
  const words = [...new Set(found.map(foldWord))]
    .map((word) => ({ phrase: `"${word}"`, terms: toTerms(word) }))
    .filter(({ terms }) => terms.length > 0)
    .slice(0, limits.search.queryTermsMax)
  return words.length > 0 ? { match, words } : null
}

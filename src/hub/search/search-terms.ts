import { limits } from '../../shared/config'
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
  /** Its terms in the index; a word in a script that the index divides has several. */
  terms: string[]
}

/** Returns the words of any text; null for a text without words. */
export function readSearchTerms(text: string, match: SearchTerms['match']): SearchTerms | null {
  const found = text
    .slice(0, limits.search.queryCharsMax)
    .toLowerCase()
    .match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu)
  const words = [...new Set(found)]
    .map((word) => ({ phrase: `"${word}"`, terms: toTerms(word) }))
    .filter(({ terms }) => terms.length > 0)
    .slice(0, limits.search.queryTermsMax)
  return words.length > 0 ? { match, words } : null
}

import { limits } from '../../shared/config'

/**
 * Converts any text to an FTS5 query: its words, each quoted, joined by AND or OR. The quotes keep
 * the text from using FTS5's own syntax. Returns null for a text without words.
 */
export function toMatchExpression(text: string, match: 'all' | 'any'): string | null {
  const words = text
    .slice(0, limits.search.queryCharsMax)
    .toLowerCase()
    .match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu)
  const terms = [...new Set(words)].slice(0, limits.search.queryTermsMax)
  if (terms.length === 0) return null
  return terms.map((term) => `"${term}"`).join(match === 'all' ? ' AND ' : ' OR ')
}

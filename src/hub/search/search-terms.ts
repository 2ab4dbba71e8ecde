import { limits } from '../../config'

/**
 * An FTS5 query from anything people or models write: its words, each quoted, joined by AND or OR.
 * Nothing of FTS5's own syntax gets through. Null when there is no word in it.
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

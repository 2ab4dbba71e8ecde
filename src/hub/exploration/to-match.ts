import { foldWord, wordPattern } from '../../shared/search-text'

/** Returns an FTS5 query that matches any of the phrases; without phrases it matches nothing. */
export function toMatch(phrases: string[]): string {
  const quoted = phrases.flatMap((phrase) => {
    const words = phrase.match(wordPattern)?.map(foldWord)
    return words ? [`"${words.join(' ')}"`] : []
  })
  return quoted.length > 0 ? [...new Set(quoted)].join(' OR ') : '""'
}

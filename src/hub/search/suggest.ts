import { limits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { foldWord, wordPattern } from '../../shared/search-text'
import { type HitScope, hitTypes, selectHits, selectKnown } from './queries'
import { readSearchTerms, toTerms } from './terms'

const letters = 'abcdefghijklmnopqrstuvwxyz'
/** Shorter words are near too many others; a longer one has too many spellings to look up. */
const charsMin = 4
const charsMax = 14
/** Spellings of a word that are tried, those in the most documents first. */
const spellingsMax = 3

/**
 * Returns all texts that one typing error leads to: a letter wrong, two in the wrong order, a letter too few or too
 * many, in this order.
 */
export function listSpellings(word: string): string[] {
  const chars = [...word]
  const replaced: string[] = []
  const swapped: string[] = []
  const added: string[] = []
  const removed: string[] = []
  for (let at = 0; at <= chars.length; at++) {
    const before = chars.slice(0, at).join('')
    const [here = '', next = '', ...others] = chars.slice(at)
    const rest = others.join('')
    for (const letter of letters) {
      if (here) replaced.push(before + letter + next + rest)
      added.push(before + letter + here + next + rest)
    }
    if (next) swapped.push(before + next + here + rest)
    if (here) removed.push(before + next + rest)
  }
  const found = new Set([...replaced, ...swapped, ...added, ...removed])
  found.delete(word)
  return [...found]
}

/**
 * Returns the words of a search that found nothing, with one of them spelt in another way, if that finds something that
 * the reader reads; else null. The words come from the index of all texts, so each spelling is searched for before it is shown.
 */
export async function findSuggestion(
  db: Db,
  text: string,
  scope: Omit<HitScope, 'terms'>,
): Promise<string | null> {
  const words = [...new Set((text.match(wordPattern) ?? []).map(foldWord))]
  const tried = words
    .filter(({ length }) => length >= charsMin && length <= charsMax)
    .slice(0, limits.search.misspeltMax)
  const spellings = tried.map((word) => toSpellings(word))
  if (tried.length === 0) return null
  const known = await run(
    db,
    selectKnown({ terms: JSON.stringify(spellings.map((each) => [...each.keys()])) }),
  )
  const guesses = tried.flatMap((word, index) => {
    const own = new Set(toTerms(word))
    const found = known.filter((each) => each.word === index)
    if (found.some(({ term }) => own.has(term))) return []
    return found.slice(0, spellingsMax).map(({ term }) => {
      const spelling = spellings[index]?.get(term) ?? term
      const spell = (as: string) => words.map((each) => (each === word ? as : each)).join(' ')
      return { term, spell, query: spell(spelling) }
    })
  })
  const searches = guesses.flatMap(({ query }) => {
    const terms = readSearchTerms(query, 'all')
    return terms ? [[query, selectHits({ ...scope, ...first, terms })] as const] : []
  })
  const hits = await batch(db, Object.fromEntries(searches))
  const best = guesses.find(({ query }) => (hits[query]?.length ?? 0) > 0)
  if (!best) return null
  // The index has only the stem of a word: the text that was found shows how it is written.
  const marked = [...`${hits[best.query]?.[0]?.snippet}`.matchAll(/\u2068([^\u2069]*)/g)]
  const written = marked.find(([, match = '']) => toTerms(foldWord(match))[0] === best.term)?.[1]
  return written === undefined ? best.query : best.spell(foldWord(written))
}

const first = { types: hitTypes, exceptPostId: null, demoteQuestionsFor: null, limit: 1, offset: 0 }

/** The spellings of a word and the word itself by their terms in the index. */
function toSpellings(word: string): Map<string, string> {
  const spellings = new Map<string, string>()
  for (const each of [word, ...listSpellings(word)]) {
    const [term = '', ...more] = toTerms(each)
    if (term !== '' && more.length === 0 && !spellings.has(term)) spellings.set(term, each)
  }
  return spellings
}

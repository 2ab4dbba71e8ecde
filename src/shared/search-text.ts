/** A letter of a script that is written without spaces between words. */
const unspacedLetter =
  '(?=\\p{L})[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Bopo}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}]'
const wordLetter = '[\\p{L}\\p{N}\\p{M}\\p{Co}]'

/**
 * Matches the parts of a text that are terms of their own: letters of such scripts with their marks, of which half-width
 * ones are letters, and words of all others.
 */
export const partPattern = new RegExp(
  `${unspacedLetter}[\\p{M}\uff9e\uff9f]*|(?:(?!${unspacedLetter})${wordLetter})+`,
  'gu',
)

/** Matches what a person takes for a word: parts without anything between them. */
export const wordPattern = new RegExp(`${wordLetter}+`, 'gu')

const unspaced = new RegExp(`${unspacedLetter}\\p{M}*`, 'gu')

/**
 * Returns a word as it is searched for: compatibility forms and case are folded as Unicode says (NFKC, full case folding:
 * `Ｇröße` is `grösse`), and letters of scripts without spaces stand alone, so that any part of a sentence is found as a
 * phrase. The index folds accents and stems.
 */
export const foldWord = (word: string): string =>
  word
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKC')
    .replace(unspaced, ' $& ')
    .replace(/ {2,}/g, ' ')
    .trim()

/** Characters that a text may have in the index for each of its own: a compatibility form stands for up to 18. */
const growthMax = 4

/** Returns a text as it is indexed; null for most texts, which the index reads as they are. */
function toIndexed(text: string): string | null {
  if (!/\P{ASCII}/u.test(text)) return null
  const folded = text.replace(wordPattern, (word) =>
    /\P{ASCII}/u.test(word) ? foldWord(word) : word.toLowerCase(),
  )
  return folded === text.toLowerCase() ? null : folded.slice(0, growthMax * text.length)
}

/** Columns with a text of a post, comment, account or community that search finds. */
interface Texts {
  title?: string | undefined
  content?: string | undefined
  displayName?: string | null | undefined
  description?: string | undefined
}

type SearchColumns<Given extends Texts> = {
  [Name in keyof Given & keyof Texts & string as `search${Capitalize<Name>}`]: string | null
}

/**
 * Returns the columns that the index reads in place of the given ones, where it cannot read those: write them whenever
 * you write a text.
 */
export function toSearchColumns<Given extends Texts>(texts: Given): SearchColumns<Given> {
  const columns = Object.entries(texts).flatMap(([name, text]) =>
    text === undefined
      ? []
      : [[`search${name[0]?.toUpperCase()}${name.slice(1)}`, text ? toIndexed(text) : null]],
  )
  return Object.fromEntries(columns)
}

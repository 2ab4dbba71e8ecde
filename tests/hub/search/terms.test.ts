import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toTerms } from '../../../src/hub/search/terms'

const suffixes =
  'ational tional enci anci izer logi bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti biliti ical ness icate iciti ful ative alize al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize eed ed ing sses ies ss s y e ll at bl iz ying'.split(
    ' ',
  )

/** The terms that the index makes of each text. */
async function readIndexed(texts: string[]): Promise<string[][]> {
  await env.DB.batch([
    env.DB.prepare(
      `CREATE VIRTUAL TABLE tried USING fts5 (x, content = "", contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2")`,
    ),
    env.DB.prepare('CREATE VIRTUAL TABLE tried_words USING fts5vocab (tried, instance)'),
    env.DB.prepare('INSERT INTO tried (rowid, x) SELECT key + 1, value FROM json_each(?)').bind(
      JSON.stringify(texts),
    ),
  ])
  const { results } = await env.DB.prepare(
    'SELECT doc, term FROM tried_words ORDER BY doc, "offset"',
  ).all<{ doc: number; term: string }>()
  await env.DB.batch([env.DB.prepare('DROP TABLE tried_words'), env.DB.prepare('DROP TABLE tried')])
  const terms: string[][] = texts.map(() => [])
  for (const { doc, term } of results) terms[doc - 1]?.push(term)
  return terms
}

test('H8: words become the terms of the index: stemmed, in lower case, without accents', async () => {
  const letter = fc.constantFrom(...'aeiouybcdlmnrstwxz')
  const word = fc
    .tuple(fc.array(letter, { maxLength: 7 }), fc.subarray(suffixes, { maxLength: 2 }))
    .map(([stem, ends]) => stem.join('') + ends.join(''))
  const accented = fc
    .array(fc.constantFrom(...'ÀéñüÇøłßŠžαΣςЖйЁ漢字한글ᛝ0z-_. e\u0301\ue000\ue001\uf8ff'), {
      maxLength: 9,
    })
    .map((letters) => letters.join(''))
  const texts = [
    ...fc.sample(word, { numRuns: 4_000, seed: 7 }),
    ...fc.sample(accented, { numRuns: 1_000, seed: 7 }),
    `${'a'.repeat(70)}ing`,
    'Bees deciding relational agreed sky skies yes hopping falling sized THE RUNNERS’ vietnamese don’t',
  ]
  const indexed = await readIndexed(texts)
  const different = texts
    .map((text, index) => [text, toTerms(text).join(' '), indexed[index]?.join(' ')])
    .filter(([, ours, theirs]) => ours !== theirs)
    .map((each) => each.join(' | '))
  expect(different).toEqual([])
  // Snippets leave out words by their first letter.
  const plain = texts.filter((text) => /^[a-z0-9]+$/i.test(text))
  expect(plain.length).toBeGreaterThan(3_000)
  for (const text of plain) expect(toTerms(text)).toEqual([expect.stringMatching(`^${text[0]}`)])
})

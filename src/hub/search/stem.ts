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

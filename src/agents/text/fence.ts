import type { Person } from '../../hub/contract/hub'

/**
 * Wraps text of other people in a tag, so that the model cannot take it for text of the platform. What
 * could be read as such a tag inside the text loses its bracket. Attributes that are false are omitted.
 */
export function fence(
  source: string,
  attributes: Record<string, string | boolean>,
  text: string,
): string {
  let list = ''
  for (const name in attributes) {
    const value = attributes[name]
    if (value === false) continue
    list += ` ${name}="${breakTags(String(value)).replace(unsafeInAttribute, ' ')}"`
  }
  return `<untrusted source="${source}"${list}>\n${breakTags(text)}\n</untrusted>`
}

/** Characters that look like those of the marker `</untrusted`, beyond what NFKD decomposes. */
const lookAlikes: Record<string, string> = {
  '<': '‹⟨〈《❮❬❰˂ᐸ≺⋖≪⪡«⧼⦑𝈶ᚲ⮜◁◂＜﹤',
  '/': '\\⁄∕╱⧸⧹⟋⟍ノ丿〳᜵∖⧵',
  u: 'υսᴜʋꞟꭎꭒᥙцµ∪',
  n: 'ոռηпиɴŋղᴎɲƞⲡᥒ',
  t: 'тτᴛŧƭţ⊤ꓔ†ҭⲧ',
  r: 'гᴦⲅꭇꭈʀɼɾɍʳ',
  s: 'ѕꜱʂƽꓢꮪˢ',
  e: 'еєҽ℮εɛᴇɇꬲᥱ',
  d: 'ԁɗđᴅꓓժᏧɖⅾ',
}
const letters = new Map(
  Object.entries(lookAlikes).flatMap(([letter, all]) =>
    [...all].map((each) => [each, letter] as const),
  ),
)

const quotesAndBrackets = '"<>“”„‟″ʺ＂‹›〈〉⟨⟩❮❯＜＞﹤﹥'
const unsafeInAttribute = new RegExp(
  `[${quotesAndBrackets}\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]`,
  'gu',
)

/** Characters that do not stand between two others for a reader: spaces, marks, controls, fillers. */
const ignorable = /[\p{C}\p{M}\p{Z}\s\u2800\p{Default_Ignorable_Code_Point}]/gu

/** An opening bracket in any notation, slashes, and the marker, after `foldText`. */
const foldedTag =
  /(<|&lt;?|&#0*60;?|&#x0*3c;?|\/u003c|\/x3c|%3c)(?:\/|&#0*47;?|&#x0*2f;?|&sol;?|%2f)*untrusted/g

const isAscii = /^[\0-\x7f]*$/
const asciiMarker = new RegExp([...'untrusted'].join('[\\0-\\x20\\x7f]*'), 'i')

/** Replaces the bracket of everything that reads like the tag of a fence by `[`. */
function breakTags(text: string): string {
  if (isAscii.test(text) && !asciiMarker.test(text)) return text
  const { folded, starts } = foldText(text)
  let out = ''
  let end = 0
  for (const { index, 1: bracket = '' } of folded.matchAll(foldedTag)) {
    out += `${text.slice(end, starts[index])}[`
    end = starts[index + bracket.length] ?? text.length
  }
  return out + text.slice(end)
}

/** Returns a text as a reader takes it, and for each of its characters the offset in the text. */
function foldText(text: string): { folded: string; starts: number[] } {
  const starts: number[] = []
  let folded = ''
  let offset = 0
  for (const character of text) {
    const read = foldCharacter(character)
    for (let unit = 0; unit < read.length; unit += 1) starts.push(offset)
    folded += read
    offset += character.length
  }
  return { folded, starts }
}

const foldedCharactersMax = 10_000
const foldedCharacters = new Map<string, string>()

/** Returns the plain lower-case letters that a character looks like; empty for one that is not seen. */
function foldCharacter(character: string): string {
  const known = foldedCharacters.get(character)
  if (known !== undefined) return known
  const plain = character.normalize('NFKD').replace(ignorable, '').toLowerCase()
  const read = [...plain].map((each) => letters.get(each) ?? each).join('')
  if (foldedCharacters.size >= foldedCharactersMax) foldedCharacters.clear()
  foldedCharacters.set(character, read)
  return read
}

/**
 * Returns the attributes of a fence for the author of a comment. The hub itself writes no comments but those that
 * show what another service sent, and these must not look like words of the hub.
 */
export const toFenceAuthor = ({
  name,
  kind,
}: Pick<Person, 'name' | 'kind'>): { author: string; kind: string } =>
  kind === 'system' ? { author: 'review', kind: 'outside' } : { author: name, kind }

const blockPattern = /<untrusted source="([^"]*)"([^>]*)>\n?([\s\S]*?)\n?<\/untrusted>/g

/** Returns the fenced texts of a prompt, in their order. */
export const parseBlocks = (text: string) =>
  [...text.matchAll(blockPattern)].map(([, source = '', attributes = '', body = '']) => {
    const read = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(attributes)?.[1] ?? ''
    return {
      source,
      body,
      id: read('id'),
      author: read('author'),
      author_kind: read('kind'),
      asks: read('asks') === 'true',
      isQuestion: read('question') === 'true',
    }
  })

/** Stands for an @ that was escaped, which begins no mention: no text contains U+0000 itself. */
export const escapedAt = '\0'

/**
 * What makes a name after an @ part of a longer word: letters of alphabets with capitals, in which a name could
 * go on or hide, digits, and the underscore. Letters of other scripts do not: `请@scout总结`, `@scout님`.
 */
const word = '\\p{Lu}\\p{Ll}\\p{Lt}\\p{Script=Latin}\\p{Nd}_'

/**
 * Matches `@name`, unless it is part of a word, an e-mail address or a path (`me@host`, `a/@name`,
 * `@scope/package`), or the beginning of a longer name: `@renée`, `@scout.test`, `@scout:matrix.test`. Two
 * hyphens are a dash and end a name.
 */
const mention = new RegExp(
  `(?<![${word}]\\p{M}*|[@${escapedAt}/\\\\]:?)@([A-Za-z0-9_](?:[A-Za-z0-9_]|-(?!-)){1,31})` +
    `(?![${word}\\p{M}@${escapedAt}/\\\\]|-(?!-)|[.][${word}]|:[A-Za-z0-9-]+[.][A-Za-z0-9])`,
  'uy',
)

/** Matches the @ of an e-mail address and what follows, in the form of GFM. */
const address =
  /(?<=(?<![@/])(?<local>(?<![\w.+-])[\w.+-]+))@(?:[\w-]+\.)+[\w-]*[A-Za-z0-9](?![\w-])/uy

/** A name after an @, or an e-mail address, in a text. */
interface Found {
  kind: 'mention' | 'address'
  start: number
  end: number
}

/** Returns the mentions and e-mail addresses of a text without markup, in order of appearance. */
export function findNames(text: string): Found[] {
  const found: Found[] = []
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    address.lastIndex = at
    mention.lastIndex = at
    const mail = address.exec(text)
    if (mail) {
      const { length } = mail.groups?.local ?? ''
      found.push({ kind: 'address', start: at - length, end: address.lastIndex })
    } else if (mention.test(text)) {
      found.push({ kind: 'mention', start: at, end: mention.lastIndex })
    }
  }
  return found
}

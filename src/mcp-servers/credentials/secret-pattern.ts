/** A longer one is looked for without a pattern, which would be too large. */
const patternCharsMax = 2_000

/**
 * A pattern of what a secret looks like when each of its characters may be escaped for itself: for JSON,
 * HTML, an address or a program, and in hex.
 */
export function toPattern(secrets: readonly string[]): RegExp {
  const forms = secrets
    .filter(({ length }) => length <= patternCharsMax)
    .flatMap((secret) => [escapedText(secret), hexForm(secret)])
  // A service may write in capitals or in small letters what it was sent.
  return new RegExp(forms.length === 0 ? '(?!)' : forms.join('|'), 'gi')
}

const escapedText = (secret: string): string =>
  (secret.match(/\\*[^\\]|\\+/g) ?? []).map(escapedForms).join('')

const hexForm = (secret: string): string =>
  Array.from(new TextEncoder().encode(secret), toHex).join('[ :-]?')

/** Encoded for an address up to four times. */
const percent = '%(?:25){0,3}'

const toHex = (byte: number): string => byte.toString(16).padStart(2, '0')

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

const entities: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }
const controls: Record<string, string> = { '\n': 'n', '\r': 'r', '\t': 't' }

/** JSON's, which an address may carry encoded. */
const backslash = `(?:\\\\|${percent}5c)`

/** A backslash that no JSON wrote as one. */
const odd = `(?:${backslash}{1,4}u005c|&#0*92;|&#x0*5c;)`

/**
 * One character with the backslashes before it, in every way that they may be written. JSON doubles
 * backslashes at each level and puts one before what it escapes; all of them are one repetition, so
 * that no text can be matched in so many ways that it takes long.
 */
function escapedForms(token: string, index: number): string {
  const count = token.lastIndexOf('\\') + 1
  const own = `(?:${backslash}{${count},${count * 8 + 7}}|${odd}{${count}}${backslash}{0,7})`
  const char = token.slice(count)
  if (char === '') return own
  const code = char.charCodeAt(0)
  const written = toHex(code)
  const forms = [escapePattern(char), `${percent}${written}`, `&#0*${code};`, `&#x0*${written};`]
  if (char === ' ') forms.push('\\+', `${percent}2b`)
  if (entities[char]) forms.push(`&${entities[char]};`)
  // Where a secret begins, what stands before it is not its own.
  if (count === 0 && index === 0) {
    return `(?:${[...forms, `${backslash}{1,4}(?:u00|x)${written}`].join('|')})`
  }
  if (controls[char]) forms.push(controls[char])
  forms.push(`(?:u00|x)${written}`)
  return `${count === 0 ? `${backslash}{0,7}` : own}(?:${forms.join('|')})`
}

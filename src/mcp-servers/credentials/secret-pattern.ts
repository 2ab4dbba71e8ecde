/** The pattern of a longer secret would be too large; it is only found in its whole forms. */
const patternCharsMax = 2_000

/**
 * Returns a pattern that matches secrets whose characters are escaped one by one: for JSON, HTML, a URL
 * or source code, and in hex.
 */
export function toPattern(secrets: readonly string[]): RegExp {
  const forms = secrets
    .filter(({ length }) => length <= patternCharsMax)
    .flatMap((secret) => [escapedText(secret), hexForm(secret)])
  // A service can change the case of what it was sent.
  return new RegExp(forms.length === 0 ? '(?!)' : forms.join('|'), 'gi')
}

const escapedText = (secret: string): string =>
  (secret.match(/\\+[^\\]?|[^\\]/g) ?? []).map(escapedForms).join('')

const hexForm = (secret: string): string =>
  Array.from(new TextEncoder().encode(secret), toHex).join('[ :-]?')

/** A percent sign, URL-encoded up to four times. */
const percent = '%(?:25){0,3}'

const toHex = (byte: number): string => byte.toString(16).padStart(2, '0')

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

const entities: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }
const controls: Record<string, string> = { '\n': 'n', '\r': 'r', '\t': 't' }

/** A backslash of JSON, which can be URL-encoded. */
const backslash = `(?:\\\\|${percent}5c)`

/** A backslash written as a Unicode escape or an HTML entity. */
const odd = `(?:${backslash}{1,4}u005c|&#0*92;|&#x0*5c;)`

/**
 * Returns a pattern of one character and the backslashes before it, in every escaped form. JSON doubles
 * backslashes at each level and adds one before an escaped character. They are one repetition in the
 * pattern, which avoids catastrophic backtracking.
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
  // A backslash before the first character does not belong to the secret.
  if (count === 0 && index === 0) {
    return `(?:${[...forms, `${backslash}{1,4}(?:u00|x)${written}`].join('|')})`
  }
  if (controls[char]) forms.push(controls[char])
  forms.push(`(?:u00|x)${written}`)
  return `${count === 0 ? `${backslash}{0,7}` : own}(?:${forms.join('|')})`
}

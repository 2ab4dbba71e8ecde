/** Takes a secret out of texts, and of all texts of a value. */
export interface Scrubber {
  text(text: string): string
  value(value: unknown): unknown
  /** What comes last of a text that was cut: the beginning of a secret would not be known as one. */
  cut(text: string): string
}

const redacted = '[redacted]'

/** A value is known by its characters, so it may not look like ordinary words. */
export const secretCharsMin = 8

export const noScrubber: Scrubber = {
  text: (text) => text,
  value: (value) => value,
  cut: (text) => text,
}

/**
 * Redaction by value (M6): the secret as it is, escaped for JSON, HTML or an address, in hex, and in
 * base64 at any offset, so also within `Basic` credentials. Parts of a credential come after the whole,
 * so that what holds it is taken out as one.
 */
export function createScrubber(...secrets: string[]): Scrubber {
  const longest = Math.max(...secrets.map(({ length }) => length)) * charsPerCharMax
  // A service may write in capitals or in small letters what it was sent.
  const pattern = new RegExp(secrets.flatMap(allForms).join('|'), 'gi')
  const text = (given: string) => given.replace(pattern, redacted)
  const value = (given: unknown): unknown => {
    if (typeof given === 'string') return text(given)
    if (Array.isArray(given)) return given.map(value)
    if (typeof given !== 'object' || given === null) return given
    return Object.fromEntries(Object.entries(given).map(([key, each]) => [text(key), value(each)]))
  }
  return { text, value, cut: (given) => text(given).slice(0, -longest) }
}

function allForms(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret)
  return [
    (secret.match(/\\*[^\\]|\\+/g) ?? []).map(escapedForms).join(''),
    ...[0, 1, 2].map((offset) => base64Forms(bytes, offset)),
    Array.from(bytes, toHex).join('[ :-]?'),
  ]
}

/** A quote or `\u0026` within JSON within JSON within JSON. */
const charsPerCharMax = 10

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
    return `(?:${[...forms, `${backslash}{1,4}u00${written}`].join('|')})`
  }
  if (controls[char]) forms.push(controls[char])
  forms.push(`u00${written}`)
  return `${count === 0 ? `${backslash}{0,7}` : own}(?:${forms.join('|')})`
}

/** The characters of base64 that depend on nothing but the secret, after `offset` other bytes. */
function base64Forms(bytes: Uint8Array, offset: number): string {
  const padded = new Uint8Array(offset + bytes.length)
  padded.set(bytes, offset)
  const whole = btoa(String.fromCharCode(...padded))
  const from = Math.ceil((offset * 8) / 6)
  const to = Math.floor((padded.length * 8) / 6)
  return [...whole.slice(from, to)].map(base64Char).join('')
}

function base64Char(char: string): string {
  if (char === '+') return `(?:[+-]|${percent}2b|\\\\u002b)`
  if (char === '/') return `(?:\\\\?\\/|_|${percent}2f)`
  return char
}

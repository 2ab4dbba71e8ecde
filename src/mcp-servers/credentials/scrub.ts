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
    (secret.match(/\\+|[^\\]/g) ?? []).map(escapedForms).join(''),
    ...[0, 1, 2].map((offset) => base64Forms(bytes, offset)),
    Array.from(bytes, toHex).join('[ :-]?'),
  ]
}

/** A quote or `\u0026` within JSON within JSON within JSON. */
const charsPerCharMax = 10

const toHex = (byte: number): string => byte.toString(16).padStart(2, '0')

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

const entities: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }
const controls: Record<string, string> = { '\n': 'n', '\r': 'r', '\t': 't' }

/** One character, or a run of backslashes, in every way that it may be written. */
function escapedForms(run: string): string {
  const char = run.charAt(0)
  const code = char.charCodeAt(0)
  const forms = [
    `%(?:25)?${toHex(code)}`,
    `\\\\{1,4}u${toHex(code).padStart(4, '0')}`,
    `&#0*${code};`,
    `&#x0*${toHex(code)};`,
  ]
  // JSON doubles backslashes at each level; one repetition for the run cannot be matched in many ways.
  if (char === '\\')
    return `(?:\\\\{${run.length},${run.length * 8}}|(?:${forms.join('|')}){${run.length}})`
  forms.push(/["'/]/.test(char) ? `\\\\{0,7}${escapePattern(char)}` : escapePattern(char))
  if (char === ' ') forms.push('\\+')
  if (controls[char]) forms.push(`\\\\{1,4}${controls[char]}`)
  if (entities[char]) forms.push(`&${entities[char]};`)
  return `(?:${forms.join('|')})`
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
  if (char === '+') return '(?:[+-]|%2b|\\\\u002b)'
  if (char === '/') return '(?:\\\\?\\/|_|%2f)'
  return char
}

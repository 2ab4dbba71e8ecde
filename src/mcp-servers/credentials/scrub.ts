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
 * base64 at any offset, so also within `Basic` credentials.
 */
export function createScrubber(secret: string): Scrubber {
  const bytes = new TextEncoder().encode(secret)
  const forms = [
    [...secret].map(escapedForms).join(''),
    ...[0, 1, 2].map((offset) => base64Forms(bytes, offset)),
  ]
  const pattern = new RegExp(forms.filter(Boolean).join('|'), 'g')
  const hex = new RegExp(Array.from(bytes, toHex).join('[ :-]?'), 'gi')
  const text = (given: string) => given.replace(pattern, redacted).replace(hex, redacted)
  const value = (given: unknown): unknown => {
    if (typeof given === 'string') return text(given)
    if (Array.isArray(given)) return given.map(value)
    if (typeof given !== 'object' || given === null) return given
    return Object.fromEntries(Object.entries(given).map(([key, each]) => [text(key), value(each)]))
  }
  const longest = secret.length * charsPerCharMax
  return { text, value, cut: (given) => text(given).slice(0, -longest) }
}

/** `\u0026` within JSON within JSON. */
const charsPerCharMax = 8

const toHex = (byte: number): string => byte.toString(16).padStart(2, '0')

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

/** Digits of hex, in either case. */
const anyCase = (hex: string): string =>
  hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)

const entities: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }
const controls: Record<string, string> = { '\n': 'n', '\r': 'r', '\t': 't' }

/** One character in every way that it may be written. */
function escapedForms(char: string): string {
  const code = char.charCodeAt(0)
  const percent = Array.from(new TextEncoder().encode(char), (byte) => `%(?:25)?${toHex(byte)}`)
  const forms = [
    // A backslash before it, or three: JSON within JSON.
    /["'/]/.test(char) ? `\\\\{0,3}${escapePattern(char)}` : escapePattern(char),
    anyCase(percent.join('')),
    `\\\\{1,2}u${anyCase(code.toString(16).padStart(4, '0'))}`,
    `&#0*${code};`,
    `&#[xX]0*${anyCase(code.toString(16))};`,
  ]
  if (char === '\\') forms.unshift('\\\\{4}', '\\\\{2}')
  if (char === ' ') forms.push('\\+')
  if (controls[char]) forms.push(`\\\\{1,2}${controls[char]}`)
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
  if (char === '+') return '(?:[+-]|%2[bB]|\\\\u002[bB])'
  if (char === '/') return '(?:\\\\?\\/|_|%2[fF])'
  return char
}

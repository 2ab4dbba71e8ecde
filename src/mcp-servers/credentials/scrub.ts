import { findSqueezed, type Span, squeeze, squeezeBase64 } from './find-squeezed'
import { createPartsFinder } from './scrub-parts'
import { toPattern } from './secret-pattern'
import { base64Forms, plainForms } from './written-forms'

/** Takes a secret out of texts, and of all texts of a value. */
export interface Scrubber {
  text(text: string): string
  value(value: unknown): unknown
  /** What comes last of a text that was cut: the beginning of a secret would not be known as one. */
  cut(text: string): string
  /** What is in base64 stays: for who decodes it, whose own texts are scrubbed in turn. */
  exceptBase64(text: string): string
  /** For texts that come one after the other, such as progress: a secret may go over several of them. */
  parts(): (part: string) => string
}

const redacted = '[redacted]'

/** A value is known by its characters, so it may not look like ordinary words. */
export const secretCharsMin = 8

/** A quote or `\u0026` within JSON within JSON within JSON, or a byte in a list with a line for each. */
const charsPerCharMax = 16

export const noScrubber: Scrubber = {
  text: (text) => text,
  value: (value) => value,
  cut: (text) => text,
  exceptBase64: (text) => text,
  parts: () => (part) => part,
}

/**
 * Redaction by value (M6): the secret with its characters escaped, and as a whole in other forms, also
 * with line breaks, spaces or tags within.
 */
export function createScrubber(...secrets: string[]): Scrubber {
  const longest = Math.max(...secrets.map(({ length }) => length)) * charsPerCharMax
  const pattern = toPattern(secrets)
  const plain = distinct(secrets.flatMap(plainForms).map(squeeze))
  const base64 = distinct(secrets.flatMap(base64Forms).map(squeezeBase64))
  const find = (given: string, encoded: string[]): Span[] => [
    ...findAll(pattern, given),
    ...findSqueezed(given, plain, encoded),
  ]
  const exceptBase64 = (given: string) => hide(given, find(given, []))
  const text = (given: string) => hide(given, find(given, base64))
  const value = (given: unknown): unknown => {
    if (typeof given === 'string') return text(given)
    if (Array.isArray(given)) return given.map(value)
    if (typeof given !== 'object' || given === null) return given
    return Object.fromEntries(Object.entries(given).map(([key, each]) => [text(key), value(each)]))
  }
  const cut = (given: string) => text(given).slice(0, -longest)
  const parts = () => {
    const findParts = createPartsFinder([...plain, ...base64])
    return (part: string) => hide(part, [...find(part, base64), ...findParts(part)])
  }
  return { text, value, cut, exceptBase64, parts }
}

/** Those that look like no ordinary words. */
const distinct = (forms: string[]): string[] =>
  [...new Set(forms)].filter(({ length }) => length >= secretCharsMin)

/** Without a copy of the pattern for each text, as it may be large. */
function findAll(pattern: RegExp, text: string): Span[] {
  const spans: Span[] = []
  pattern.lastIndex = 0
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    spans.push([found.index, pattern.lastIndex])
  }
  return spans
}

/** Parts of a credential lie within the whole, which is taken out as one. */
function hide(text: string, spans: Span[]): string {
  let clean = ''
  let end = 0
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (from >= end) clean += text.slice(end, from) + redacted
    end = Math.max(end, to)
  }
  return clean + text.slice(end)
}

import { findSqueezedForms, type Span, squeeze, squeezeBase64 } from './find-squeezed'
import { createPartsFinder } from './scrub-parts'
import { toPattern } from './secret-pattern'
import { listBase64Forms, listPlainForms } from './written-forms'

/** Redacts a secret from texts, and from all texts in a value. */
export interface Scrubber {
  text(text: string): string
  value(value: unknown): unknown
  /** Redacts a truncated text and drops its end, where the beginning of a secret would not be found. */
  textTruncated(text: string): string
  /** Redacts a text but not its base64, for callers that decode it and redact the result. */
  exceptBase64(text: string): string
  /** Redacts texts that arrive one by one, such as progress, where a secret can span several. */
  parts(): (part: string) => string
}

const redacted = '[redacted]'

/** Secrets are found by their characters, so a shorter one would match ordinary words. */
export const secretCharsMin = 8

/** The longest form of one character: `\u0026` in JSON nested three times, or a byte in a list by lines. */
const charsPerCharMax = 16

export const emptyScrubber: Scrubber = {
  text: (text) => text,
  value: (value) => value,
  textTruncated: (text) => text,
  exceptBase64: (text) => text,
  parts: () => (part) => part,
}

/**
 * Creates a scrubber that redacts secrets by value: with escaped characters, in other encodings, and
 * with line breaks, spaces or tags in between.
 */
export function createScrubber(...secrets: string[]): Scrubber {
  const longest = Math.max(...secrets.map(({ length }) => length)) * charsPerCharMax
  const pattern = toPattern(secrets)
  const plain = distinct(secrets.flatMap(listPlainForms).map(squeeze))
  const base64 = distinct(secrets.flatMap(listBase64Forms).map(squeezeBase64))
  const find = (given: string, encoded: string[]): Span[] => [
    ...findAll(pattern, given),
    ...findSqueezedForms(given, plain, encoded),
  ]
  const exceptBase64 = (given: string) => hide(given, find(given, []))
  const text = (given: string) => hide(given, find(given, base64))
  const value = (given: unknown): unknown => {
    if (typeof given === 'string') return text(given)
    if (Array.isArray(given)) return given.map(value)
    if (typeof given !== 'object' || given === null) return given
    return Object.fromEntries(Object.entries(given).map(([key, each]) => [text(key), value(each)]))
  }
  const textTruncated = (given: string) => text(given).slice(0, -longest)
  const parts = () => {
    const findParts = createPartsFinder([...plain, ...base64])
    return (part: string) => hide(part, [...find(part, base64), ...findParts(part)])
  }
  return { text, value, textTruncated, exceptBase64, parts }
}

/** Returns the distinct forms that are too long to be ordinary words. */
const distinct = (forms: string[]): string[] =>
  [...new Set(forms)].filter(({ length }) => length >= secretCharsMin)

/** Returns every match. It reuses the pattern, which can be large, where `matchAll` would copy it. */
function findAll(pattern: RegExp, text: string): Span[] {
  const spans: Span[] = []
  pattern.lastIndex = 0
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    spans.push([found.index, pattern.lastIndex])
  }
  return spans
}

/** Replaces spans with a placeholder; overlapping ones are replaced once. */
function hide(text: string, spans: Span[]): string {
  let clean = ''
  let end = 0
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0] || b[1] - a[1])) {
    if (from >= end) clean += text.slice(end, from) + redacted
    end = Math.max(end, to)
  }
  return clean + text.slice(end)
}

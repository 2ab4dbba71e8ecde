import { outside } from '../../shared/config'

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

/** Fewer characters of a secret reveal little, and can belong to any word. */
const partCharsMin = 4

/**
 * Creates a finder of secrets that span several texts, which are shown one by one as they arrive. A text
 * that ends like the beginning of a secret is treated as a match, since the next one may continue it.
 * White space is ignored.
 *
 * @param forms squeezed
 * @returns a function that returns the spans of each next text
 */
function createPartsFinder(forms: string[]): (part: string) => Span[] {
  const longest = Math.max(0, ...forms.map(({ length }) => length))
  let before = ''
  return (part) => {
    const own = [...part.matchAll(/\S/g)]
    const start = before.length
    const all = before + toLower(own.join(''))
    before = all.slice(-longest)
    return [...findForms(all, forms), ...findTrailingPrefixes(all, forms)].flatMap(
      ([from, to]): Span[] => {
        const first = own[Math.max(from - start, 0)]
        const last = own[to - start - 1]
        return first && last ? [[first.index, last.index + 1]] : []
      },
    )
  }
}

/** Returns, for each form, the end of the text that equals the beginning of the form. */
function findTrailingPrefixes(text: string, forms: string[]): Span[] {
  return forms.flatMap((form) => {
    for (let at = Math.max(text.length - form.length, 0); at <= text.length - partCharsMin; at++) {
      if (form.startsWith(text.slice(at))) return [[at, text.length]]
    }
    return []
  })
}

/** The position of a match in a text. */
type Span = [from: number, to: number]

const percent = '%(?:25){0,3}'

/** What responses insert within a text: white space, line breaks in any escape, and tags. */
const gap = `\\s+|\\\\{1,8}[rn]|${percent}0[ad]|&#(?:10|13|x0*[ad]);|<[^<>]{1,80}>`
const plus = `-|${percent}2b|\\\\{1,8}u002b`
const slash = `_|\\\\{1,8}(?:/|u002f)|${percent}2f`

const gaps = new RegExp(gap, 'gi')
const gapsOfBase64 = new RegExp(`${gap}|(${plus})|${slash}`, 'gi')

/** Returns a text in lower case without gaps. */
const squeeze = (text: string): string => toLower(text).replace(gaps, '')

/** Returns a text as `squeeze` does, with the two special characters of base64 unescaped. */
const squeezeBase64 = (text: string): string =>
  toLower(text).replace(gapsOfBase64, (written, isPlus) => letterFor(written, isPlus))

const letterFor = (written: string, isPlus: string | undefined): string => {
  if (isPlus !== undefined) return '+'
  return isGap.test(written) ? '' : '/'
}

const isGap = new RegExp(`^(?:${gap})$`, 'i')

/** Returns a text in lower case, of the same length: the one letter that would get longer is replaced. */
const toLower = (text: string): string => text.replaceAll('\u0130', 'i').toLowerCase()

/** Returns where squeezed forms occur in a text, as positions in the original text. */
function findSqueezedForms(text: string, plain: string[], base64: string[]): Span[] {
  return [
    ...toSpans(text, gaps, findForms(squeeze(text), plain)),
    ...toSpans(text, gapsOfBase64, findForms(squeezeBase64(text), base64)),
  ]
}

/** Returns every occurrence of each form. */
function findForms(text: string, forms: string[]): Span[] {
  return forms.flatMap((form) => {
    const spans: Span[] = []
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + form.length)) {
      spans.push([at, at + form.length])
    }
    return spans
  })
}

/** Maps positions in the squeezed text to the original. It reads each character, only when there is a match. */
function toSpans(text: string, squeezedOut: RegExp, found: Span[]): Span[] {
  if (found.length === 0) return []
  const starts: number[] = []
  const ends: number[] = []
  const keep = (from: number, to: number) => {
    starts.push(from)
    ends.push(to)
  }
  let end = 0
  for (const { 0: written, index } of toLower(text).matchAll(squeezedOut)) {
    for (; end < index; end++) keep(end, end + 1)
    end = index + written.length
    if (!isGap.test(written)) keep(index, end)
  }
  for (; end < text.length; end++) keep(end, end + 1)
  return found.map(([from, to]) => [starts[from] ?? 0, ends[to - 1] ?? text.length])
}

/** The pattern of a longer secret would be too large; it is only found in its whole forms. */
const patternCharsMax = 2_000

/**
 * Returns a pattern that matches secrets whose characters are escaped one by one: for JSON, HTML, a URL
 * or source code, and in hex.
 */
function toPattern(secrets: readonly string[]): RegExp {
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

const encoder = new TextEncoder()

/** Returns the forms of a whole secret: plain, escaped for JSON or a URL, or byte by byte. */
function listPlainForms(secret: string): string[] {
  const bytes = encoder.encode(secret)
  const hex = Array.from(bytes, toHex)
  const escaped = hex.map((pair) => `\\x${pair}`)
  return [...textForms(secret), hex.join(''), escaped.join(''), bytes.join(',')]
}

const textForms = (secret: string): string[] => [
  ...new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]),
]

/** Returns the forms of a secret in base64, at any offset: plain, for JSON or a URL, in UTF-16, and in base64. */
function listBase64Forms(secret: string): string[] {
  const once = textForms(secret).flatMap((text) => coresOf(encoder.encode(text)))
  const utf16 = Uint8Array.from(secret.split('').flatMap(toUtf16))
  return [...once, ...once.flatMap((core) => coresOf(encoder.encode(core))), ...coresOf(utf16)]
}

const toUtf16 = (char: string): number[] => [char.charCodeAt(0) & 255, char.charCodeAt(0) >> 8]

/** Returns the base64 characters that depend on these bytes only, after zero, one or two other bytes. */
const coresOf = (bytes: Uint8Array): string[] =>
  [0, 1, 2].map((offset) => {
    const padded = new Uint8Array(offset + bytes.length)
    padded.set(bytes, offset)
    const whole = btoa(padded.reduce((text, byte) => text + String.fromCharCode(byte), ''))
    return whole.slice(Math.ceil((offset * 8) / 6), Math.floor((padded.length * 8) / 6))
  })

/** A scrubber of secrets that become known during a call, such as a renewed token. */
interface GrowingScrubber extends Scrubber {
  add(scrubber: Scrubber): void
}

export function createGrowingScrubber(): GrowingScrubber {
  const known: Scrubber[] = []
  const throughAll = (apply: (scrubber: Scrubber, text: string) => string) => (text: string) =>
    known.reduce((rest, scrubber) => apply(scrubber, rest), text)
  return {
    add: (scrubber) => void known.push(scrubber),
    text: throughAll((scrubber, text) => scrubber.text(text)),
    textTruncated: throughAll((scrubber, text) => scrubber.textTruncated(text)),
    exceptBase64: throughAll((scrubber, text) => scrubber.exceptBase64(text)),
    value: (value) => known.reduce((rest, scrubber) => scrubber.value(rest), value),
    parts() {
      const parts = new Map<Scrubber, (part: string) => string>()
      return throughAll((scrubber, text) => {
        const clean = parts.get(scrubber) ?? scrubber.parts()
        parts.set(scrubber, clean)
        return clean(text)
      })
    },
  }
}

/** The credentials that this isolate used last, to redact text that does not come from tools. */
export interface RecentSecrets {
  /** Returns the scrubber of a credential and its parts, and keeps it; the oldest one is evicted. */
  scrubberFor(secrets: string[]): Scrubber
  text(text: string): string
}

export function createRecentSecrets(): RecentSecrets {
  const known = new Map<string, Scrubber>()
  return {
    scrubberFor(secrets) {
      const key = JSON.stringify(secrets)
      const scrubber = known.get(key) ?? createScrubber(...secrets)
      known.delete(key)
      known.set(key, scrubber)
      const [oldest] = known.keys()
      if (known.size > outside.knownSecretsMax && oldest !== undefined) known.delete(oldest)
      return scrubber
    },
    text: (text) => [...known.values()].reduce((rest, scrubber) => scrubber.text(rest), text),
  }
}

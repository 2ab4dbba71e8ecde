import { triggerLimits } from '../../shared/config'
import { sliceUtf8 } from '../../shared/cut-text'
import { showsText } from '../../shared/texts'

/** A part of a template: text of its owner, or the place of a value of the payload. */
type Part =
  | { kind: 'text'; text: string }
  /** `isAlone`: nothing else is in its line. */
  | { kind: 'value'; path: string[]; isAlone: boolean }

type Template = readonly Part[]

/** What is wrong with a template, as users read it. */
const problems = {
  open: 'Close each {{ with }}.',
  path: (given: string) =>
    `{{${given.slice(0, 100)}}} is not a path. Write fields and indexes with dots between them, such as {{ issue.labels.0.name }}.`,
  long: `A path can have at most ${triggerLimits.pathPartsMax} parts.`,
  many: `A template can have at most ${triggerLimits.placeholdersMax} placeholders.`,
}

/** Reads a template. The second result says what is wrong with it; null: nothing. */
export function parseTemplate(text: string): { parts: Template; problem: string | null } {
  const parts: Part[] = []
  const fail = (problem: string) => ({ parts: [], problem })
  let at = 0
  let count = 0
  for (let start = text.indexOf('{{'); start >= 0; start = text.indexOf('{{', at)) {
    const end = text.indexOf('}}', start)
    if (end < 0) return fail(problems.open)
    const given = text.slice(start + 2, end)
    const path = parsePath(given)
    if (path === null) return fail(problems.path(given))
    if (path.length > triggerLimits.pathPartsMax) return fail(problems.long)
    count++
    if (count > triggerLimits.placeholdersMax) return fail(problems.many)
    if (start > at) parts.push({ kind: 'text', text: text.slice(at, start) })
    at = end + 2
    parts.push({ kind: 'value', path, isAlone: isAlone(text, start, at) })
  }
  if (at < text.length) parts.push({ kind: 'text', text: text.slice(at) })
  return { parts, problem: null }
}

/** Returns the fields and indexes of `a.b.0` or `a.b[0]`; null for anything else. */
function parsePath(given: string): string[] | null {
  const path = given
    .trim()
    .replace(/\[(\d{1,6})\]/g, '.$1')
    .split('.')
  return path.every((part) => /^[\p{L}\p{M}\p{N}_$-]{1,100}$/u.test(part)) ? path : null
}

function isAlone(text: string, start: number, end: number): boolean {
  const before = text.slice(text.lastIndexOf('\n', start) + 1, start)
  const [after = ''] = text.slice(end).split('\n', 1)
  return `${before}${after}`.trim() === ''
}

/** What fills a template. */
export interface TemplateData {
  payload: unknown
  /** What `{{ event }}` is; undefined: the field of the payload. */
  event?: string | undefined
  /** Removes what must not be shown from a value. */
  mask?: (text: string) => string
}

interface Filled {
  /** In Markdown. Values have no formatting: they are quoted where they are alone in a line. */
  text: string
  /** Paths that the payload does not have, as they are written with dots, each once. */
  missing: string[]
  /** Whether values were longer than what is shown of them. */
  isCut: boolean
}

/** Fills a template. What a payload does not have is empty. */
export function fillTemplate(
  template: Template,
  { payload, event, mask = (text) => text }: TemplateData,
): Filled {
  const missing = new Set<string>()
  let bytesLeft: number = triggerLimits.valuesBytesMax
  let isCut = false
  const take = (given: string): string => {
    const text = mask(given)
    const bytes = new TextEncoder().encode(text)
    const bytesMax = bytesLeft
    bytesLeft = Math.max(0, bytesLeft - bytes.length)
    if (bytes.length <= bytesMax) return text
    isCut = true
    return `${bytesMax === 0 ? '' : sliceUtf8(bytes, 0, bytesMax).text}[...]`
  }
  const read = (path: string[]): unknown => {
    if (event !== undefined && path.length === 1 && path[0] === 'event') return event
    const found = findValue(payload, path)
    if (found === undefined) missing.add(path.join('.'))
    return found
  }
  let text = ''
  template.forEach((part, at) => {
    if (part.kind === 'text') text += part.text
    else if (!part.isAlone) text += formatInline(read(part.path), take)
    else {
      const block = formatBlock(read(part.path), take)
      const next = template[at + 1]
      const isFollowed = next?.kind === 'text' && !/^\s*\n\s*(\n|$)/.test(next.text)
      // Without a line between them Markdown takes what is beside a quote into it.
      text +=
        block &&
        `${/(^|\n[ \t]*\n)[ \t]*$/.test(text) ? '' : '\n'}${block}${isFollowed ? '\n' : ''}`
    }
  })
  return { text, missing: [...missing], isCut }
}

/** Returns what the owner of a template wrote in it: a text that mentions whom the template mentions. */
export const toOwnText = (template: Template): string =>
  template.map((part) => (part.kind === 'text' ? part.text : ' ')).join('')

/** Returns a payload that has every path of a template, for an example. */
export function createExample(template: Template): Record<string, unknown> {
  const example: Record<string, unknown> = {}
  for (const part of template) {
    // A name that is no field: what is below it would be a field of every object.
    if (part.kind === 'text' || part.path.includes('__proto__')) continue
    let at = example
    part.path.forEach((name, depth) => {
      const isLast = depth === part.path.length - 1
      const isKnown = Object.hasOwn(at, name) && typeof at[name] === 'object'
      const next = part.path[depth + 1] ?? ''
      const value = isLast ? `the ${part.path.at(-1)}` : isIndex(next) ? [] : {}
      if (!isKnown) at[name] = value
      if (!isLast) at = Object(at[name])
    })
  }
  return example
}

const isIndex = (name: string): boolean => /^\d{1,2}$/.test(name)

/** Returns the value at a path; undefined where the payload has none. Nothing is looked up but own fields and indexes. */
function findValue(payload: unknown, path: readonly string[]): unknown {
  let value: unknown = payload
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined
    const isWrong = Array.isArray(value) && !/^\d+$/.test(name)
    if (isWrong || !Object.hasOwn(value, name)) return undefined
    value = Reflect.get(value, name)
  }
  return value
}

const isComposite = (value: unknown): value is object => typeof value === 'object' && value !== null

const toText = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  return isComposite(value) ? JSON.stringify(value) : String(value)
}

/** An address that ends nothing in Markdown; as an address it stays a link. */
const plainAddress = /^https?:\/\/[^\s<>()[\]`\\|*"']{1,2000}$/i

/** Returns a value within a line: on one line, with everything escaped that Markdown could read. */
function formatInline(value: unknown, take: (text: string) => string): string {
  const text = take(toText(value)).replace(/\s+/g, ' ').trim()
  if (plainAddress.test(text)) return text
  return text.replace(/[\\`*[\]<>|~@!]/g, '\\$&').replace(/^[#+-]/, '\\$&')
}

/** Returns a value that is alone in its line: objects as code, texts as a quote. */
function formatBlock(value: unknown, take: (text: string) => string): string {
  if (isComposite(value)) {
    const json = take(JSON.stringify(value, null, 2))
    const ticks = Math.max(2, ...Array.from(json.matchAll(/`+/g), ([run]) => run.length))
    const fence = '`'.repeat(ticks + 1)
    return `${fence}json\n${json}\n${fence}`
  }
  const text = take(toText(value))
  if (!showsText(text)) return ''
  const lines = text.split(/\r\n|\r|\n/)
  return lines.map((line) => `> ${line}`.trimEnd()).join('\n')
}

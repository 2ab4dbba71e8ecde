import { approvals as settings } from '../../shared/config'
import { isRawNumber, parseLosslessJson } from '../../shared/exact-json'
import { formatCount } from '../../shared/format'
import type { KeyPrefixes } from '../../shared/settings'
import type { ApprovalRequest } from '../contract/hub'
import { findWholeCredentials } from '../rules/credential-patterns'
import { findTraceAccess, type TraceViewer } from '../rules/traces'
import type { ApprovalRow } from './queries'

/** A part of a call's arguments as they are shown. Characters that cannot be seen are escaped. */
export type ArgumentPart =
  | {
      kind: 'text'
      text: string
      /** Contains a script that is written from right to left, which would reorder its surroundings. */
      isRightToLeft: boolean
    }
  | {
      kind: 'secret'
      /** The secret itself. */
      text: string
      /** What stands in its place, with its length. */
      mask: string
    }

/** How arguments are written. */
interface Layout {
  /** Spaces of each level; 0: everything in one line. */
  indent: number
  /** Prefixes of this hub's keys; null: nothing is masked. */
  keys: KeyPrefixes | null
}

/**
 * Returns the arguments of a call as JSON in parts, from the first to the last character of what runs.
 * Only whole secrets are parts of their own; nothing else is masked, shortened or left out. With
 * `toText` the parts parse to the same value as the call's arguments.
 *
 * @param raw JSON as the call has it; other text is one part, escaped
 */
export function toArgumentParts(raw: string, layout: Layout): ArgumentPart[] {
  try {
    // what runs keeps all digits of its numbers
    const value: unknown = raw.trim() === '' ? {} : parseLosslessJson(raw)
    const writer = new PartWriter(layout)
    writer.write(value, 0)
    return writer.parts
  } catch {
    // Not JSON, or nested deeper than the stack.
    return [toTextPart(raw.split('\n').map(escapeInvisible).join('\n'))]
  }
}

/** Joins parts to a text, each secret as its mask or, with `isRevealed`, as it is. */
export const toText = (parts: ArgumentPart[], isRevealed = false): string =>
  parts.map((part) => (part.kind === 'text' || isRevealed ? part.text : part.mask)).join('')

/** Formats arguments as indented JSON with nothing masked; other text line by line. */
export const formatArguments = (raw: string): string =>
  toText(toArgumentParts(raw, { indent: 2, keys: null }))

/**
 * Characters that cannot be seen, look like a space, or change how other characters are shown: controls,
 * formats, bidirectional controls, fillers, variation selectors, tags, unassigned and private ones,
 * enclosing marks, marks on nothing or in piles.
 */
const invisible =
  /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Me}\u2800\ufffc\u{13441}\u{13442}\u{16fe4}\u{1d159}]|(?! )\p{Zs}|(?<![\p{L}\p{M}\p{N}\p{S}])\p{M}|(?<=\p{M}{3})\p{M}/gu

/** Escapes the characters of a text that cannot be seen as `\uXXXX`. */
export const escapeInvisible = (text: string): string => text.replace(invisible, toEscapes)

const toEscapes = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')

const rightToLeft =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

const toTextPart = (text: string): ArgumentPart => ({
  kind: 'text',
  text,
  isRightToLeft: rightToLeft.test(text),
})

/** Writes a parsed JSON value as parts. */
class PartWriter {
  readonly parts: ArgumentPart[] = []
  private readonly layout: Layout

  constructor(layout: Layout) {
    this.layout = layout
  }

  write(value: unknown, depth: number): void {
    if (typeof value === 'string') this.writeString(value)
    else if (isRawNumber(value)) this.add(JSON.stringify(value))
    else if (Array.isArray(value))
      this.writeList('[]', value, depth, (each) => this.write(each, depth + 1))
    else if (typeof value === 'object' && value !== null) {
      this.writeList('{}', Object.entries(value), depth, ([name, each]) => {
        this.writeString(name)
        this.add(this.layout.indent > 0 ? ': ' : ':')
        this.write(each, depth + 1)
      })
    } else this.add(writeScalar(value))
  }

  private writeList<Item>(
    brackets: string,
    items: Item[],
    depth: number,
    writeItem: (item: Item) => void,
  ): void {
    this.add(brackets.charAt(0))
    for (const [index, item] of items.entries()) {
      this.add((index > 0 ? ',' : '') + this.breakLine(depth + 1))
      writeItem(item)
    }
    this.add((items.length > 0 ? this.breakLine(depth) : '') + brackets.charAt(1))
  }

  private breakLine(depth: number): string {
    const { indent } = this.layout
    return indent > 0 ? `\n${' '.repeat(indent * depth)}` : ''
  }

  private writeString(text: string): void {
    const { keys } = this.layout
    const secrets = keys === null ? [] : findWholeCredentials(text, keys)
    let end = 0
    this.add('"')
    for (const { start, end: after, kind } of secrets) {
      this.add(escapeString(text.slice(end, start)))
      const mask = `[withheld: ${kind}, ${after - start} characters]`
      this.parts.push({ kind: 'secret', text: escapeString(text.slice(start, after)), mask })
      end = after
    }
    this.add(`${escapeString(text.slice(end))}"`)
  }

  private add(text: string): void {
    const part = toTextPart(text)
    const last = this.parts.at(-1)
    const isPlain = part.kind === 'text' && !part.isRightToLeft
    if (last?.kind === 'text' && !last.isRightToLeft && isPlain) last.text += text
    else this.parts.push(part)
  }
}

/** Returns the text between the quotes of a JSON string. */
const escapeString = (text: string): string => escapeInvisible(JSON.stringify(text).slice(1, -1))

/** Writes a number, boolean or null so that it parses to the same value, also where JSON.stringify does not. */
function writeScalar(value: unknown): string {
  if (Object.is(value, -0)) return '-0'
  if (value === Number.POSITIVE_INFINITY) return '1e999'
  return value === Number.NEGATIVE_INFINITY ? '-1e999' : JSON.stringify(value)
}

/** An approval as a viewer sees it. */
export interface VisibleApproval extends Omit<ApprovalRow, 'arguments' | 'maskedArguments'> {
  /** True when arguments and note are left out. */
  isRedacted: boolean
  /** Returns the arguments as they are shown; empty when they are left out. */
  showArguments(indent: number): ArgumentPart[]
}

/**
 * Removes arguments and note for a viewer who is neither admin nor owner: they can contain other users'
 * private messages. A pending call shows them to admins whatever it is private to, because it asks them. Whoever can decide a pending approval gets the secrets in its arguments as parts of
 * their own; for others they are masked.
 */
export function redactApproval(
  { arguments: exact, maskedArguments, ...row }: ApprovalRow,
  viewer: TraceViewer | null,
  keys: KeyPrefixes,
): VisibleApproval {
  const canDecide = viewer?.isAdmin === true && row.status === 'pending'
  if (!canDecide && findTraceAccess(viewer, row) !== 'all') {
    return { ...row, note: '', isRedacted: true, showArguments: () => [] }
  }
  const shown = canDecide ? exact : maskedArguments
  return {
    ...row,
    isRedacted: false,
    showArguments: (indent) => toArgumentParts(shown, { indent, keys }),
  }
}

/** A request as it is stored: the exact call, and what remains of it once it is decided. */
export interface StoredRequest extends ApprovalRequest {
  maskedArguments: string
  /** The text of the approvers' inbox items. */
  notice: string
}

/** Adds the masked arguments and the notice to a request. */
export function toStoredRequest(request: ApprovalRequest, keys: KeyPrefixes): StoredRequest {
  const parts = toArgumentParts(request.arguments, { indent: 0, keys })
  const maskedArguments = toText(parts)
  return { ...request, maskedArguments, notice: writeNotice(request.tool, maskedArguments) }
}

/** Quotes the arguments whole or not at all: the end of a shortened text would be hidden. */
function writeNotice(tool: string, shown: string): string {
  const whole = `Wants to call ${tool} ${shown}`
  if (whole.length <= settings.excerptChars) return whole
  const count = formatCount(shown.length)
  return `Wants to call ${tool} with ${count} characters of arguments. Review them before you decide.`
}

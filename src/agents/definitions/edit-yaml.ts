import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  stringify,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'

/** A change of a value in YAML. The index behind the last item of a list adds one. */
export interface YamlEdit {
  path: readonly (string | number)[]
  /** Undefined deletes the field or the item. */
  value: unknown
}

/**
 * Changes values in the text of valid YAML. Only the lines of these values change; where that is not possible, as with
 * aliases, the whole text is written again with its comments and its order.
 */
export const editYaml = (text: string, edits: readonly YamlEdit[]): string =>
  edits.reduce(applyEdit, text)

function applyEdit(text: string, edit: YamlEdit): string {
  const document = parseDocument(text)
  const whole = rewrite(text, edit)
  const spliced = spliceValue(text, document, edit)
  return spliced !== null && isSame(spliced, whole) ? spliced : whole
}

/** Whether two texts mean the same. A field without a value and an empty map are no field. */
function isSame(text: string, other: string): boolean {
  const meaning = readMeaning(text)
  return meaning !== null && meaning === readMeaning(other)
}

/** Returns null for a text that cannot be read, such as one with an alias whose anchor is gone. */
function readMeaning(text: string): string | null {
  const document = parseDocument(text)
  if (document.errors.length > 0) return null
  try {
    return JSON.stringify(dropEmpty(document.toJS({ maxAliasCount: 20 })))
  } catch {
    return null
  }
}

function dropEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropEmpty)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, each]) => [key, dropEmpty(each)] as const)
  const kept = entries.filter(
    ([, each]) =>
      each !== null &&
      !(typeof each === 'object' && !Array.isArray(each) && Object.keys(each).length === 0),
  )
  return Object.fromEntries(kept)
}

/** Writes the whole document again with the change, with the line ends that it has. */
function rewrite(text: string, { path, value }: YamlEdit): string {
  // Comments keep the line ends that they are read with, while those of everything else are written anew.
  const document = parseDocument(text.replaceAll('\r\n', '\n'))
  writeOutAliases(document)
  if (value === undefined) {
    if (isCollection(document.getIn(path.slice(0, -1)))) document.deleteIn(path)
  } else {
    createParents(document, path)
    const parent = document.getIn(path.slice(0, -1))
    if (isSeq(parent) && path.at(-1) === parent.items.length) parent.add(document.createNode(value))
    else document.setIn(path, document.createNode(value))
  }
  const written = document.toString({ lineWidth: 0 })
  return text.includes('\r\n') ? written.replaceAll('\n', '\r\n') : written
}

/** Creates the maps and lists on the way to a place, also where something else stands. */
function createParents(document: Document, path: YamlEdit['path']): void {
  for (const [depth, step] of path.entries()) {
    const parent = path.slice(0, depth)
    const isOfList = typeof step === 'number'
    const there = document.getIn(parent)
    if (depth === 0 || (isOfList ? isSeq(there) : isMap(there))) continue
    document.setIn(parent, document.createNode(isOfList ? [] : {}))
  }
}

/** Writes a copy in place of each alias, so that a part can change, or go, without the others. */
function writeOutAliases(document: Document): void {
  visit(document, {
    Alias(_key, alias) {
      const copy = alias.resolve(document)?.clone()
      if (!isNode(copy)) return undefined
      if ('anchor' in copy) delete copy.anchor
      return copy
    },
  })
}

type Path = readonly (string | number)[]
type Collection = YAMLMap<unknown, unknown> | YAMLSeq<unknown>
/** A part of the text and what takes its place. */
type Splice = [from: number, to: number, text: string]

/**
 * Returns a text with another value at a path, changed in the lines of that value only; null when the text at that
 * place cannot be changed alone. The caller checks what the text means then.
 */
function spliceValue(
  text: string,
  document: Document,
  { path, value }: { path: Path; value: unknown },
): string | null {
  const found = findDeepest(document, path)
  if (!found) return null
  const splices = value === undefined ? remove(text, found) : put(text, found, value)
  if (!splices) return null
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  return splices
    .toSorted(([a], [b]) => b - a)
    .reduce(
      (whole, [from, to, written]) =>
        whole.slice(0, from) + written.replaceAll('\n', eol) + whole.slice(to),
      text,
    )
}

interface Found {
  /** The collections on the way, the outermost first, each with the step that leads on. */
  trail: { collection: Collection; step: string | number }[]
  /** What is left of the path below the last collection's step; empty when the place exists. */
  rest: Path
}

function findDeepest({ contents }: Document, path: Path): Found | null {
  const trail: Found['trail'] = []
  let node: unknown = contents
  for (const [depth, step] of path.entries()) {
    if (!isCollection(node)) {
      return trail.length > 0 && isEmptyNode(node) ? { trail, rest: path.slice(depth) } : null
    }
    const collection = node as Collection
    trail.push({ collection, step })
    if (!hasStep(collection, step)) return { trail, rest: path.slice(depth + 1) }
    node = isSeq(collection) ? collection.items[Number(step)] : findPair(collection, step)?.value
  }
  return { trail, rest: [] }
}

const isEmptyNode = (node: unknown): boolean =>
  node === null || node === undefined || (isScalar(node) && node.value === null)

const findPair = ({ items }: YAMLMap<unknown, unknown>, step: string | number) =>
  items.find(({ key }) => isScalar(key) && String(key.value) === String(step))

const hasStep = (collection: Collection, step: string | number): boolean =>
  isSeq(collection)
    ? Number(step) < collection.items.length
    : findPair(collection, step) !== undefined

/** Returns the node that begins an entry, and the one that is its value. */
function entryOf(
  collection: Collection,
  step: string | number,
): { head: Node; value: unknown } | null {
  if (isSeq(collection)) {
    const item = collection.items[Number(step)]
    return isNode(item) ? { head: item, value: item } : null
  }
  const pair = findPair(collection, step)
  return pair && isNode(pair.key) ? { head: pair.key, value: pair.value } : null
}

const startOf = (node: unknown): number => (isNode(node) ? (node.range?.[0] ?? 0) : 0)

/** Returns where the last word of a node ends, before the comments behind it. */
function endOf(node: unknown): number {
  if (!isNode(node)) return 0
  if (isCollection(node) && !node.flow) {
    const last: unknown = node.items.at(-1)
    if (last !== undefined) return endOfEntry(last)
  }
  return node.range?.[1] ?? 0
}

const isPairLike = (entry: unknown): entry is Pair =>
  typeof entry === 'object' && entry !== null && 'key' in entry

const endOfEntry = (entry: unknown): number =>
  isPairLike(entry)
    ? Math.max(startOf(entry.value), endOf(entry.value), endOf(entry.key))
    : endOf(entry)

const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1

/** Returns where the line after a place begins: the place itself at the beginning of a line. */
function nextLine(text: string, at: number): number {
  if (at > 0 && text[at - 1] === '\n') return at
  const end = text.indexOf('\n', at)
  return end < 0 ? text.length : end + 1
}

const options = {
  lineWidth: 0,
  flowCollectionPadding: false,
  doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
} as const

/** Writes a value on one line, also for the inside of brackets. */
const toFlow = (value: unknown): string =>
  stringify([value], { ...options, collectionStyle: 'flow' })
    .trim()
    .slice(1, -1)

const isPlainList = (value: unknown): value is unknown[] =>
  Array.isArray(value) && value.every((each) => typeof each !== 'object')

/** Writes lines of a block at a column. */
function toBlock(key: string | number, value: unknown, column: number): string {
  const written =
    typeof key === 'number'
      ? stringify([value], options)
      : isPlainList(value)
        ? `${toFlow(key)}: ${toFlow(value)}\n`
        : stringify({ [key]: value }, options)
  return written.replace(/^(?=.)/gm, ' '.repeat(column))
}

/** Puts a value below the steps that are missing. */
const wrap = (rest: Path, value: unknown): unknown =>
  rest.reduceRight<unknown>(
    (inner, step) => (typeof step === 'number' ? [inner] : { [step]: inner }),
    value,
  )

function put(text: string, { trail, rest }: Found, value: unknown): Splice[] | null {
  const last = trail.at(-1)
  if (!last) return null
  const { collection, step } = last
  const entry = entryOf(collection, step)
  const whole = wrap(rest, value)
  if (!entry) return add(text, collection, step, whole)
  if (isEmptyNode(entry.value) || rest.length > 0) {
    return fill(text, collection, entry.head, whole)
  }
  if (!isScalar(entry.value) || typeof value === 'object') return null
  const { range } = entry.value
  if (!range) return null
  const isLines = text[range[1] - 1] === '\n'
  return [[range[0], range[1], toFlow(value) + (isLines ? '\n' : '')]]
}

/** Gives a value to a key that has none. */
function fill(text: string, collection: Collection, head: Node, value: unknown): Splice[] | null {
  if (collection.flow || !isMap(collection)) return null
  const colon = text.indexOf(':', head.range?.[1] ?? 0)
  if (typeof value !== 'object' || isPlainList(value)) {
    return [[colon + 1, colon + 1, ` ${toFlow(value)}`]]
  }
  const column = startOf(head) - lineStart(text, startOf(head)) + 2
  const lines = Array.isArray(value)
    ? value.map((each) => toBlock(0, each, column)).join('')
    : Object.entries(value ?? {})
        .map(([key, each]) => toBlock(key, each, column))
        .join('')
  return [insertLines(text, nextLine(text, colon), lines)]
}

/** Adds an entry behind the last one of a collection. */
function add(
  text: string,
  collection: Collection,
  step: string | number,
  value: unknown,
): Splice[] | null {
  const last: unknown = collection.items.at(-1)
  if (collection.flow || last === undefined) {
    const written = isSeq(collection) ? toFlow(value) : `${toFlow(step)}: ${toFlow(value)}`
    if (last !== undefined) {
      const end = endOfEntry(last)
      return [[end, end, `, ${written}`]]
    }
    const [from, to] = [startOf(collection), collection.range?.[1] ?? 0]
    return [[from, to, isSeq(collection) ? `[${written}]` : `{ ${written} }`]]
  }
  const first: unknown = collection.items[0]
  const at = startOf(isPairLike(first) ? first.key : first)
  const start = lineStart(text, at)
  const dash = isSeq(collection) ? text.slice(start, at).lastIndexOf('-') : at - start
  if (dash < 0) return null
  const lines = toBlock(isSeq(collection) ? Number(step) : step, value, dash)
  return [insertLines(text, nextLine(text, endOfEntry(last)), lines)]
}

/** Inserts lines at the beginning of a line, or behind a last line without an end. */
function insertLines(text: string, at: number, lines: string): Splice {
  const isBehindText = at > 0 && text[at - 1] !== '\n'
  return [at, at, isBehindText ? `\n${lines}` : lines]
}

function remove(text: string, { trail, rest }: Found): Splice[] | null {
  const last = trail.at(-1)
  const entry = last && entryOf(last.collection, last.step)
  // It is not there.
  if (!entry || rest.length > 0) return []
  const { collection } = last
  const [from, to] = [
    startOf(entry.head),
    Math.max(endOf(entry.head), startOf(entry.value), endOf(entry.value)),
  ]
  if (collection.flow) return removeFlow(text, collection, from, to)
  const start = lineStart(text, from)
  if (!(isSeq(collection) ? /^\s*-\s*$/ : /^\s*$/).test(text.slice(start, from))) return null
  const lines: Splice = [start, nextLine(text, to), '']
  if (!isSeq(collection) || collection.items.length > 1) return [lines]
  // The last item of a list: it is empty then, which is not the same as none.
  const above = trail.at(-2)
  const key = above && isMap(above.collection) ? entryOf(above.collection, above.step)?.head : null
  if (!key) return null
  const colon = text.indexOf(':', key.range?.[1] ?? 0)
  return [lines, [colon + 1, colon + 1, ' []']]
}

/** Removes an entry with the comma behind it, or that before it; comments stay. */
function removeFlow(text: string, collection: Collection, from: number, to: number): Splice[] {
  const [comma] = /^\s*,[ \t]*/.exec(text.slice(to)) ?? []
  if (comma !== undefined) return [[from, to + comma.length, '']]
  const before = collection.items
    .map((each) => endOfEntry(each))
    .filter((end) => end <= from)
    .at(-1)
  const isOnlyComma = before !== undefined && /^[ \t]*,[ \t]*$/.test(text.slice(before, from))
  return [[isOnlyComma ? before : from, to, '']]
}

import {
  type CST,
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  Parser,
  parseDocument,
} from 'yaml'
import type { ErrorDetail } from '../../errors'

/** Parsing takes stack by the level; a definition has five or six. */
const NESTING_MAX = 50
/** Keys and values; comparing the keys of a map takes quadratic time. */
const NODES_MAX = 5_000

type FieldPath = readonly PropertyKey[]

/** YAML that remembers where each field stands. */
export interface YamlSource {
  value: unknown
  /** `config.yaml:3:brain.model`. A field that is missing has the line of what should hold it. */
  locate(path: FieldPath): string
}

/**
 * Parses YAML from an author we do not know. `startLine` is the line in its file where the text
 * begins, from 1.
 */
export function readYaml(
  file: string,
  text: string,
  startLine = 1,
): { ok: true; source: YamlSource } | { ok: false; problems: ErrorDetail[] } {
  const lines = new LineCounter()
  const lineAt = (offset: number) => lines.linePos(offset).line + startLine - 1
  const excess = findExcess(new Parser(lines.addNewLine).parse(text))
  if (excess) {
    const path = `${file}:${lineAt(excess.offset)}:yaml`
    return { ok: false, problems: [{ path, message: excess.message }] }
  }
  try {
    const document = parseDocument(text, { prettyErrors: false })
    if (document.errors.length > 0) {
      const problems = document.errors.slice(0, 10).map((error) => ({
        path: `${file}:${lineAt(error.pos[0])}:yaml`,
        message: error.message,
      }))
      return { ok: false, problems }
    }
    // Aliases may not multiply: a few lines could become gigabytes.
    const value = dropNulls(document.toJS({ maxAliasCount: 50 }))
    const locate = (path: FieldPath) =>
      `${file}:${lineAt(findOffset(document, path))}:${path.map(String).join('.')}`
    return { ok: true, source: { value, locate } }
  } catch {
    return {
      ok: false,
      problems: [{ path: `${file}:${startLine}:yaml`, message: 'too deep or too many aliases' }],
    }
  }
}

/** The first node that is one too many. The depth is the author's choice: no recursion here. */
function findExcess(tokens: Iterable<CST.Token>): { offset: number; message: string } | null {
  let nodes = 0
  const open = Array.from(tokens, (token) => ({ token, depth: 0 }))
  for (let next = open.pop(); next; next = open.pop()) {
    const { offset } = next.token
    if (next.depth > NESTING_MAX) return { offset, message: `nested more than ${NESTING_MAX} deep` }
    if (++nodes > NODES_MAX) return { offset, message: `more than ${NODES_MAX} keys and values` }
    const depth = next.depth + 1
    for (const token of listChildren(next.token)) open.push({ token, depth })
  }
  return null
}

function listChildren(token: CST.Token): CST.Token[] {
  const inside =
    token.type === 'document'
      ? [token.value]
      : 'items' in token
        ? token.items.flatMap(({ key, value }) => [key, value])
        : []
  return inside.filter((child) => child !== undefined && child !== null)
}

/** `skills:` with nothing after it is the same as leaving it out. */
function dropNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropNulls)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, each]) => each !== null)
  return Object.fromEntries(entries.map(([key, each]) => [key, dropNulls(each)]))
}

/** Where the deepest part of `path` that exists begins. */
function findOffset(document: Document, path: FieldPath): number {
  let node: unknown = document.contents
  let offset = startOf(node) ?? 0
  for (const step of path) {
    const next = stepInto(node, step)
    if (!next) break
    offset = startOf(next.at) ?? offset
    node = next.node
  }
  return offset
}

/** For a field of a map its key tells the line, for an item of a list the item. */
function stepInto(node: unknown, step: PropertyKey): { at: unknown; node: unknown } | null {
  if (isSeq(node)) {
    const item = node.items[Number(step)]
    return item === undefined ? null : { at: item, node: item }
  }
  if (!isMap(node)) return null
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
  return isPair(pair) ? { at: pair.key, node: pair.value } : null
}

const startOf = (node: unknown): number | undefined =>
  isNode(node) ? (node.range?.[0] ?? undefined) : undefined

import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
} from 'yaml'
import type { ErrorDetail } from '../../errors'

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
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
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

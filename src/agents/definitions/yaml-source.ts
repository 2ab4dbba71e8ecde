import {
  type CST,
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  parseDocument,
} from 'yaml'
import { definitionLimits } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'

/** Parsing recurses by level. A usual definition has five or six levels. */
const NESTING_MAX = 50

/**
 * What is left of the YAML that a definition can hold. Its parser takes some microseconds for each token, and
 * quadratic time for the keys of a map, so tokens are counted before they are parsed.
 */
export interface YamlBudget {
  tokensLeft: number
}

export const createYamlBudget = (): YamlBudget => ({ tokensLeft: definitionLimits.yamlTokensMax })

type FieldPath = readonly PropertyKey[]

/** Parsed YAML with the line of each field. */
export interface YamlSource {
  value: unknown
  /** Returns e.g. `config.yaml:3:brain.model`. A missing field has the line of its parent. */
  locate(path: FieldPath): string
}

/**
 * Parses YAML from an untrusted author.
 *
 * @param budget of the whole definition; what the text takes is gone from it
 * @param startLine line of the file where the text begins, from 1
 */
export function readYaml(
  file: string,
  text: string,
  budget: YamlBudget,
  startLine = 1,
): { ok: true; source: YamlSource } | { ok: false; problems: ErrorDetail[] } {
  const lines = new LineCounter()
  const lineAt = (offset: number) => lines.linePos(offset).line + startLine - 1
  const excess = findExcess(text, lines, budget)
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
    // Limits aliases, which could expand a few lines to gigabytes.
    const value = dropNulls(document.toJS({ maxAliasCount: 20 }))
    const locate = (path: FieldPath) =>
      `${file}:${lineAt(findOffset(document, path))}:${path.map(String).join('.')}`
    return { ok: true, source: { value, locate } }
  } catch {
    return {
      ok: false,
      problems: [
        { path: `${file}:${startLine}:yaml`, message: 'Nested too deep, or too many aliases' },
      ],
    }
  }
}

interface Excess {
  offset: number
  message: string
}

/** Finds what is beyond a limit; null when the whole text may be parsed. */
function findExcess(text: string, lines: LineCounter, budget: YamlBudget): Excess | null {
  lines.addNewLine(0)
  const parser = new Parser(lines.addNewLine)
  const tokens: CST.Token[] = []
  let offset = 0
  for (const lexeme of new Lexer().lex(text)) {
    if (budget.tokensLeft === 0) return { offset, message: tooManyTokens }
    budget.tokensLeft--
    tokens.push(...parser.next(lexeme))
    offset = parser.offset
  }
  return findTooDeep([...tokens, ...parser.end()])
}

const tooManyTokens = `Too long: the YAML of a definition has at most ${definitionLimits.yamlTokensMax} words and marks`

/** Finds the first node that is too deep, without recursion, since the depth is the author's choice. */
function findTooDeep(tokens: CST.Token[]): Excess | null {
  const open = tokens.map((token) => ({ token, depth: 0 }))
  for (let next = open.pop(); next; next = open.pop()) {
    const { offset } = next.token
    if (next.depth > NESTING_MAX) return { offset, message: `Nested more than ${NESTING_MAX} deep` }
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

/** Removes fields without a value: `skills:` alone is the same as no field. */
function dropNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropNulls)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, each]) => each !== null)
  return Object.fromEntries(entries.map(([key, each]) => [key, dropNulls(each)]))
}

/** Returns the offset of the deepest existing part of a path. */
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

/** Returns the child at a step and the node that marks its line: a map's key, or a list's item. */
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

import type * as z from 'zod'
import { parseLosslessJson } from '../../shared/exact-json'

type Fields = Record<string, unknown>

/** How arguments were read. */
type ReadArguments<Input> =
  | {
      ok: true
      input: Input
      /** The arguments as the schema takes them, with nothing added. */
      args: unknown
    }
  | { ok: false; issues: z.core.$ZodIssue[] }

/** Rounds of repair: what was text can hold further values to repair. */
const roundsMax = 3
/** Problems that are repaired in one round. */
const repairsMax = 50

/**
 * Reads the arguments of a built-in tool. Models send some values in another form than the schema has, and the same
 * call again after an error; a form that can mean one thing only is taken:
 *
 * - an object or a list as JSON text, also all arguments at once
 * - a number or a boolean as text
 * - one value in place of a list, unless its text could be a list itself
 * - null for an argument that may be absent
 * - another case of a word of a fixed set
 *
 * Everything else, and what is still wrong then, is answered with the problems of the arguments as they were sent. A
 * number is never taken for a text: `1.10` as a number is `1.1`.
 */
export function readArguments<Schema extends z.ZodType>(
  schema: Schema,
  sent: unknown,
): ReadArguments<z.output<Schema>> {
  const first = schema.safeParse(sent)
  if (first.success) return { ok: true, input: first.data, args: sent }
  let args = sent
  let { issues } = first.error
  for (let round = 0; round < roundsMax; round++) {
    const repaired = issues.slice(0, repairsMax).reduce(repair, args)
    if (repaired === args) break
    args = repaired
    const next = schema.safeParse(args)
    if (next.success) return { ok: true, input: next.data, args }
    issues = next.error.issues
  }
  return { ok: false, issues: first.error.issues }
}

/** Returns the arguments without one problem; the same when there is one way only to read them. */
function repair(args: unknown, issue: z.core.$ZodIssue): unknown {
  const path = issue.path.filter((key) => typeof key !== 'symbol')
  const value = path.reduce<unknown>(readKey, args)
  const replaced = value === null ? withoutNull(path) : replace(value, issue)
  return replaced === unchanged ? args : set(args, path, replaced)
}

const unchanged = Symbol('unchanged')
const absent = Symbol('absent')

/** All arguments may be absent like a single one; an entry of a list may not. */
const withoutNull = (path: (string | number)[]): unknown => {
  if (path.length === 0) return {}
  return typeof path.at(-1) === 'string' ? absent : unchanged
}

/** Returns a value in the form that the schema expects; `unchanged` when it means something else. */
function replace(value: unknown, issue: z.core.$ZodIssue): unknown {
  if (issue.code === 'invalid_value') return findWord(value, issue.values)
  if (issue.code !== 'invalid_type') return unchanged
  switch (issue.expected) {
    case 'number':
    case 'int':
      return isNumberText(value) ? Number(value) : unchanged
    case 'boolean':
      return isBooleanText(value) ? value.toLowerCase() === 'true' : unchanged
    case 'object':
    case 'record':
      return readJson(value, isFields)
    case 'array': {
      const list = readJson(value, Array.isArray)
      return list === unchanged && canBeOnly(value) ? [value] : list
    }
    default:
      return unchanged
  }
}

/** Whether a text is a number as JSON has it, which keeps all its digits. */
const isNumberText = (value: unknown): value is string =>
  typeof value === 'string' && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value) && String(+value) === value

const isBooleanText = (value: unknown): value is string =>
  typeof value === 'string' && /^(true|false)$/i.test(value)

function readJson(value: unknown, isKind: (parsed: unknown) => boolean): unknown {
  if (typeof value !== 'string') return unchanged
  try {
    const parsed: unknown = JSON.parse(value)
    return isKind(parsed) && isHeld(value, parsed) ? parsed : unchanged
  } catch {
    return unchanged
  }
}

/** Whether JavaScript holds all numbers of a JSON text. */
const isHeld = (text: string, parsed: unknown): boolean =>
  JSON.stringify(parseLosslessJson(text)) === JSON.stringify(parsed)

/** Whether a value can be the only one of a list: a text with separators or brackets may be more. */
const canBeOnly = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.trim() !== '' && !/[,;\n[\]{}]/.test(value)
    : value !== undefined && !Array.isArray(value)

/** Returns the one word of a set that differs in its case only. */
function findWord(value: unknown, words: readonly unknown[]): unknown {
  if (typeof value !== 'string') return unchanged
  const isSame = (word: unknown) =>
    typeof word === 'string' && word.toLowerCase() === value.toLowerCase()
  const [word, ...others] = words.filter(isSame)
  return word === undefined || others.length > 0 ? unchanged : word
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const readKey = (value: unknown, key: string | number): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Fields)[key]
    : undefined

/** Returns a copy of the arguments with another value at a path. */
function set(args: unknown, [key, ...rest]: (string | number)[], value: unknown): unknown {
  if (key === undefined) return value
  const before = readKey(args, key)
  const next = rest.length === 0 ? value : set(before, rest, value)
  if (Array.isArray(args)) return args.with(Number(key), next)
  const others = Object.entries(args as Fields).filter(([name]) => name !== String(key))
  return Object.fromEntries(next === absent ? others : [...others, [String(key), next]])
}

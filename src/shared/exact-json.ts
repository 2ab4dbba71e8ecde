import { sha256 } from './sha256.ts'

/**
 * Parses JSON as `JSON.parse` does, except that a whole number that a JavaScript number cannot hold becomes the text of
 * its digits: two ids that differ in the last digit stay two ids.
 *
 * @throws SyntaxError for text that is not JSON
 */
export const parseExactJson = (text: string): unknown =>
  // Calling back for each value takes five times as long, and few texts have such a number.
  /\d{16}/.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)

/** @param context the text that the value was read from */
const keepDigits = (_key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && isWhole(context?.source ?? '')
    ? context?.source
    : value

const isWhole = (source: string): boolean => /^-?\d+$/.test(source)

/** A number that a JavaScript number cannot hold. `JSON.stringify` writes it as it was read. */
interface RawNumber {
  readonly rawJSON: string
}

/** Of ES2025 (JSON.parse source text access), which the types do not have yet. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): RawNumber
  isRawJSON(value: unknown): value is RawNumber
}

export const isRawNumber = isRawJSON

/**
 * Parses JSON as `JSON.parse` does, except that a number that a JavaScript number cannot hold becomes a `RawNumber`, so
 * that it is passed on unchanged.
 *
 * @throws SyntaxError for text that is not JSON
 */
export const parseLosslessJson = (text: string): unknown =>
  // Only an exponent makes a number too large with fewer digits.
  /\d{16}|\d[eE]/.test(text) ? JSON.parse(text, keepNumber) : JSON.parse(text)

/** @param context the text that the value was read from */
const keepNumber = (_key: string, value: unknown, context?: { source?: string }): unknown => {
  if (typeof value !== 'number' || context?.source === undefined) return value
  const isLost = isWhole(context.source) ? !Number.isSafeInteger(value) : !Number.isFinite(value)
  return isLost ? rawJSON(context.source) : value
}

/**
 * Returns the SHA-256, in hex, of the canonical JSON of a call's arguments: keys sorted, no white space.
 * The audit log compares calls by it without storing their content.
 *
 * @param raw the text the model wrote, hashed unchanged when it cannot be parsed or is nested too deep
 * @param value the same, parsed; undefined when it is not JSON
 */
export const hashArguments = (raw: string, value: unknown): Promise<string> =>
  sha256(canonicalize(raw, value))

/**
 * Returns the canonical JSON of a call's arguments: keys sorted, no white space. Two calls with the same one ask for the
 * same. No text stands for no arguments; what is no JSON stands for itself.
 */
export function toCanonicalArguments(raw: string): string {
  if (raw.trim() === '') return '{}'
  try {
    return canonicalize(raw, parseLosslessJson(raw))
  } catch {
    return raw
  }
}

function canonicalize(raw: string, value: unknown): string {
  if (value === undefined) return raw
  try {
    return JSON.stringify(sortKeys(value))
  } catch {
    // Nested deeper than the stack; no tool accepts such arguments.
    return raw
  }
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return Object.fromEntries(entries.map(([key, each]) => [key, sortKeys(each)]))
}

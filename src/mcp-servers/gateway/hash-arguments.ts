import { isRawNumber } from '../../shared/exact-json'

/**
 * Returns the SHA-256, in hex, of the canonical JSON of a call's arguments: keys sorted, no white space.
 * The audit log compares calls by it without storing their content.
 *
 * @param raw the text the model wrote, hashed unchanged when it cannot be parsed or is nested too deep
 * @param value the same, parsed; undefined when it is not JSON
 */
export async function hashArguments(raw: string, value: unknown): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', encoder.encode(canonicalize(raw, value)))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const encoder = new TextEncoder()

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

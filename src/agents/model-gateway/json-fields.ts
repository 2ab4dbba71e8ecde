export type JsonObject = Record<string, unknown>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a field of an object; undefined for anything else. */
export const readField = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** Returns a field that is a text; empty for anything else. */
export const readText = (value: unknown, name: string): string => {
  const field = readField(value, name)
  return typeof field === 'string' ? field : ''
}

export const readList = (value: unknown, name: string): unknown[] => {
  const field = readField(value, name)
  return Array.isArray(field) ? field : []
}

/** Returns a count of tokens; null for anything that cannot be one. */
export const readCount = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : null

/** Returns a count that may be left out, and is 0 then; null for anything that cannot be one. */
export const readPart = (value: unknown): number | null =>
  value === undefined || value === null ? 0 : readCount(value)

/** Returns the words of an error object within an answer. */
export function describeError(error: unknown): string {
  const fields = isObject(error) ? [error.type, error.code, error.message] : [error]
  const words = fields.filter((each) => typeof each === 'string' && each !== '')
  return words.join(': ').slice(0, 1_000) || 'The provider reported an error.'
}

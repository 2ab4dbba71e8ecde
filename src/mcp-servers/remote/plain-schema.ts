import { removeInvisible } from './pin'

/** Returns a schema for models, without invisible characters in its texts. */
export const toPlainSchema = (schema: Record<string, unknown>) =>
  walk(schema) as Record<string, unknown>

function walk(value: unknown): unknown {
  if (typeof value === 'string') return removeInvisible(value)
  if (Array.isArray(value)) return value.map(walk)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each)]))
}

/**
 * Whether the name of an argument contains invisible characters. A call has to repeat the name exactly,
 * so it can be neither shown to a model nor changed.
 */
export function hasInvisibleNames(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasInvisibleNames)
  if (typeof schema !== 'object' || schema === null) return false
  return Object.entries(schema).some(
    ([key, value]) =>
      isUnseen(key) ||
      hasInvisibleNames(value) ||
      (key === 'required' && [value].flat().some(isUnseen)),
  )
}

const isUnseen = (name: unknown): boolean =>
  typeof name === 'string' && removeInvisible(name) !== name

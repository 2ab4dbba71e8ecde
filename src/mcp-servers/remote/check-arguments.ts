import { Validator } from '@cfworker/json-schema'
import type { ErrorDetail } from '../../errors'

/**
 * Checks arguments against a stranger's schema, as far as that is safe: a pattern of theirs could run
 * for ever. What is left out here the server itself checks.
 */
export function createArgumentCheck(
  schema: Record<string, unknown>,
): (args: unknown) => ErrorDetail[] {
  let validator: Validator | null = null
  return (args) => {
    if (typeof args !== 'object' || args === null || Array.isArray(args)) {
      return [{ path: '', message: 'they must be an object' }]
    }
    try {
      validator ??= new Validator(leaveOut(schema) as object, '2020-12')
      const { errors } = validator.validate(args)
      // The first ones only say that a part is wrong; the last of each path says what.
      return errors
        .filter(({ keyword }) => keyword !== 'properties')
        .map(({ instanceLocation, error }) => ({
          path: instanceLocation.replace(/^#\/?/, '').replaceAll('/', '.'),
          message: error,
        }))
    } catch {
      return []
    }
  }
}

const unsafe = new Set(['pattern', 'patternProperties', 'format'])

/** A property may be called `pattern`; what is a keyword has another kind of value. */
function leaveOut(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(leaveOut)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).filter(([key, value]) => !isUnsafe(key, value))
  return Object.fromEntries(entries.map(([key, value]) => [key, leaveOut(value)]))
}

const isUnsafe = (key: string, value: unknown): boolean =>
  unsafe.has(key) && (typeof value === 'string' || key === 'patternProperties')

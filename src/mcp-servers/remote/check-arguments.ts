import { type ErrorDetail, limitDetails } from '../../shared/errors'
import { isRawNumber } from '../../shared/exact-json'
import { type Fields, isFields } from './read-message'

/**
 * Creates a check of arguments against a remote server's schema. It covers required and unknown
 * arguments, types and string enums. It takes linear time and runs no patterns, as the schema is not
 * trusted. The server itself checks the rest.
 */
export function createArgumentCheck(schema: Fields): (args: unknown) => ErrorDetail[] {
  const properties = isFields(schema.properties) ? schema.properties : {}
  return (args) => {
    if (!isFields(args)) return [{ path: '', message: 'The arguments must be an object' }]
    // Whether keywords beside a $ref apply depends on the version of JSON Schema.
    if ('$ref' in schema) return []
    return limitDetails([
      ...findMissing(schema.required, args),
      ...Object.entries(args).flatMap(([path, value]) => {
        const message = Object.hasOwn(properties, path)
          ? findWrong(properties[path], value)
          : findUnknown(schema)
        return message === null ? [] : [{ path, message }]
      }),
    ])
  }
}

const findMissing = (required: unknown, args: Fields): ErrorDetail[] =>
  (Array.isArray(required) ? required : [])
    .filter((name) => typeof name === 'string' && !Object.hasOwn(args, name))
    .map((name) => ({ path: '', message: `"${name}" is required` }))

const findUnknown = (schema: Fields): string | null =>
  schema.additionalProperties === false && !('patternProperties' in schema)
    ? 'Not a known argument'
    : null

function findWrong(schema: unknown, value: unknown): string | null {
  if (!isFields(schema) || '$ref' in schema) return null
  const types: unknown[] = [schema.type].flat()
  const isKnown = types.length > 0 && types.every((type) => tests.has(type))
  if (isKnown && !types.some((type) => tests.get(type)?.(value))) {
    return `Must be of the type ${types.join(' or ')}`
  }
  const words: unknown[] = Array.isArray(schema.enum) ? schema.enum : []
  const areWords = words.length > 0 && words.every((word) => typeof word === 'string')
  return areWords && !words.some((word) => word === value)
    ? `Must be one of ${words.join(', ')}`
    : null
}

/** The types of JSON Schema. */
const tests = new Map<unknown, (value: unknown) => boolean>([
  ['null', (value) => value === null],
  ['boolean', (value) => typeof value === 'boolean'],
  ['string', (value) => typeof value === 'string'],
  ['number', (value) => typeof value === 'number' || isRawNumber(value)],
  ['integer', (value) => Number.isInteger(isRawNumber(value) ? Number(value.rawJSON) : value)],
  ['array', Array.isArray],
  ['object', isFields],
])

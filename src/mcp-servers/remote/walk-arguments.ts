import { resolvePointer } from './flatten-schema'
import { type Fields, isFields } from './read-message'

interface WalkOptions {
  /** The server's names of renamed arguments. */
  originals: ReadonlyMap<string, string>
  /** Nulls that mean nothing are removed already. */
  isClean: boolean
}

/**
 * Creates a function that walks through arguments along their schema. It removes null where an argument is optional and
 * cannot be null, which is how some models leave it out, and restores the server's names. What the schema does not
 * describe stays as it is.
 */
export function createArgumentWalk(root: Fields): (args: Fields, options: WalkOptions) => Fields {
  /** Returns the parts of schemas that can apply to one value. */
  const expand = (schemas: unknown[], seen = new Set<unknown>()): Fields[] =>
    schemas.flatMap((schema) => {
      if (!isFields(schema) || seen.has(schema)) return []
      seen.add(schema)
      const { anyOf, oneOf, allOf, $ref } = schema
      const parts = [anyOf, oneOf, allOf].flatMap((each) => (Array.isArray(each) ? each : []))
      return [schema, ...expand([...parts, resolvePointer(root, $ref)], seen)]
    })

  const walk = (given: unknown[], value: unknown, options: WalkOptions): unknown => {
    if (!Array.isArray(value) && !isFields(value)) return value
    const schemas = expand(given)
    if (Array.isArray(value)) {
      const items = schemas.flatMap((schema) => [schema.items, schema.prefixItems].flat())
      return value.map((each) => walk(items, each, options))
    }
    const entries = Object.entries(value).flatMap(([name, each]) => {
      const own = schemas.flatMap(({ properties }) =>
        isFields(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
      )
      if (own.length === 0) {
        const others = schemas.map(({ additionalProperties }) => additionalProperties)
        return [[name, walk(others, each, options)]]
      }
      if (each === null && !options.isClean && isLeftOut(name, schemas, own)) return []
      return [[options.originals.get(name) ?? name, walk(own, each, options)]]
    })
    return Object.fromEntries(entries)
  }

  const isLeftOut = (name: string, schemas: Fields[], own: unknown[]): boolean =>
    !schemas.some(({ required }) => Array.isArray(required) && required.includes(name)) &&
    own.every(isFields) &&
    !expand(own).some(allowsNull)

  return (args, options) => walk([root], args, options) as Fields
}

/** The keywords without which a schema says nothing about null. */
const describing = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref', 'not', 'properties']

function allowsNull(schema: Fields): boolean {
  const { type, nullable } = schema
  const { enum: values, const: only } = schema
  if (!describing.some((keyword) => keyword in schema)) return true
  return (
    nullable === true ||
    only === null ||
    [type].flat().includes('null') ||
    (type === undefined && Array.isArray(values) && values.includes(null))
  )
}

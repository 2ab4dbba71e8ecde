import { expect, test } from 'vitest'
import * as z from 'zod'
import { apiRoutes } from '../../../src/hub/app'
import { adminRoutes } from '../../../src/mcp-servers/admin/admin-routes'

type Property = Record<string, unknown> & { properties?: Record<string, Property> }

/** Returns the properties of a schema at any depth, each with its path, such as `.reports[].by`. */
function listProperties(
  schema: Property,
  defs: Record<string, Property>,
  path = '',
): [path: string, schema: Property][] {
  const { $ref, properties = {}, items, additionalProperties } = schema
  const name = typeof $ref === 'string' ? ($ref.split('/').at(-1) ?? '') : null
  if (name !== null) {
    return path.includes(`<${name}>`)
      ? []
      : listProperties(defs[name] ?? {}, defs, `${path}<${name}>`)
  }
  const inner = [...ways(schema).filter((each) => each !== schema), items, additionalProperties]
  return [
    ...Object.entries(properties).flatMap(([field, each]): [string, Property][] => [
      [`${path}.${field}`, each],
      ...listProperties(each, defs, `${path}.${field}`),
    ]),
    ...inner
      .filter((each): each is Property => typeof each === 'object' && each !== null)
      .flatMap((each) => listProperties(each, defs, each === items ? `${path}[]` : path)),
  ]
}

/** Returns what a schema can be: itself, or each of what it is a union of. */
const ways = (schema: Property): Property[] => {
  const union = (schema.anyOf ?? schema.oneOf ?? schema.allOf) as Property[] | undefined
  return union ? union.flatMap(ways) : [schema]
}

/** Fields that name an account or a community, by the last word of their name. */
const accountField =
  /(^|_)(account|agent|author|person|requester|owner|reporter|moderator|admin|sender|from|by|notified|woken)s?$/
const communityField = /(^|_)(community|communities|place)$/

/** Why a field has something else in spite of its name. */
const ofTools = 'The module of tools keeps names: it reads no accounts and communities.'
const otherFields: Record<string, string> = {
  'ApprovalPromise.account': 'An account at a service.',
  'Credential.agent': ofTools,
  'Credential.community': ofTools,
  'Credential.updated_by': ofTools,
  'Service.updated_by': ofTools,
  'RemoteServer.updated_by': ofTools,
  'RemoteServerText.updated_by': ofTools,
  'PUT /agents/:name/grants .changes[].community': 'Named by a line of a policy; need not exist.',
  'DELETE /agents/:name/grants .changes[].community':
    'Named by a line of a policy; need not exist.',
  'NotificationSettings.quiet_from': 'A time of day.',
  'Trace.parks[].decisions[].by': 'A trace records what the run was told.',
}

/** Returns whether a schema has an object with these fields wherever it has a value. */
function isObjectWith(schema: Property, defs: Record<string, Property>, fields: string[]): boolean {
  return ways(schema).every((way) => {
    if (typeof way.$ref === 'string') {
      return isObjectWith(defs[way.$ref.split('/').at(-1) ?? ''] ?? {}, defs, fields)
    }
    const { type, properties } = way
    if (type === 'null') return true
    return fields.every((field) => properties?.[field] !== undefined)
  })
}

/** Whether a schema has a text, alone or in a list, that is no time and not one of a few words. */
const isText = (schema: Property): boolean =>
  ways(schema).some(
    ({ type, enum: words, const: word, format, items }) =>
      ([type].flat().includes('string') && (words ?? word ?? format) === undefined) ||
      (type === 'array' && isText(items as Property)),
  )

/** Returns the fields that the object of a field has; null when its name promises none. */
function findShape(field: string): string[] | null {
  if (accountField.test(field)) return ['id', 'name', 'kind', 'display_name']
  return communityField.test(field) ? ['id', 'name', 'display_name'] : null
}

/** Whether a field has a text, or an object of another shape. Lists can have objects about an account. */
function isOther(field: string, property: Property, defs: Record<string, Property>): boolean {
  const shape = findShape(field)
  if (!shape) return false
  const isOne =
    !field.endsWith('s') &&
    ways(property).some(({ type, $ref }) => type === 'object' || $ref !== undefined)
  return isText(property) || (isOne && !isObjectWith(property, defs, shape))
}

/** Returns all fields of answers that name an account or a community, and whether each has another shape. */
function listNamed(): Map<string, boolean> {
  const named = new Map<string, boolean>()
  for (const { answer, method, path } of [...apiRoutes, ...adminRoutes]) {
    const { $defs = {}, ...schema } = z.toJSONSchema(answer, {
      io: 'input',
      unrepresentable: 'any',
    }) as Property & { $defs?: Record<string, Property> }
    for (const [where, property] of listProperties(schema, $defs)) {
      const field = where.split('.').at(-1) ?? ''
      const name = where.replace(/^.*<(\w+)>/, '$1')
      const title = name.startsWith('.') ? `${method.toUpperCase()} ${path} ${name}` : name
      if (findShape(field)) named.set(title, isOther(field, property, $defs))
    }
  }
  return named
}

test('H17: accounts and communities of answers are objects, each of one shape', () => {
  const named = listNamed()
  const others = [...named].filter(([, isOther]) => isOther).map(([title]) => title)
  expect(others.sort()).toEqual(Object.keys(otherFields).sort())
  expect(named.size).toBeGreaterThan(60)
})

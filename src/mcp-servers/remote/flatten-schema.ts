import { type Fields, isFields } from './read-message'

/** Returns the schema that a reference names within its root; undefined: none. */
export function resolvePointer(root: Fields, reference: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference)) return undefined
  let found: unknown = root
  for (const segment of reference.split('/').slice(1)) {
    const key = decode(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, key)
    if (!isThere) return undefined
    found = Reflect.get(found as object, key)
  }
  return isFields(found) || typeof found === 'boolean' ? found : undefined
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Whether arguments that fit a schema can be an object. */
export const isObjectSchema = ({ type }: Fields): boolean =>
  (typeof type !== 'string' && !Array.isArray(type)) || [type].flat().includes('object')

/** The keywords that providers refuse at the root, where the server checks them. */
const refused = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'enum', 'const']

/**
 * Returns a schema whose root has no references and alternatives: it has the properties of all of them, and requires what
 * each of them requires. The description says what the alternatives require.
 */
export function flattenRoot(root: Fields): Fields {
  if (!refused.some((keyword) => keyword in root)) return root
  const flat = flatten(root, root, new Set())
  const kept = Object.fromEntries(Object.entries(root).filter(([key]) => !refused.includes(key)))
  const description = [root.description ?? flat.description, ...flat.choices]
    .filter((text) => typeof text === 'string' && text !== '')
    .join('\n')
  return {
    ...kept,
    ...(!('type' in root) && flat.type !== undefined && { type: flat.type }),
    ...(description !== '' && { description }),
    properties: Object.fromEntries(flat.properties),
    required: [...flat.required],
  }
}

interface Flat {
  type: unknown
  description: unknown
  properties: Map<string, unknown>
  required: Set<string>
  /** What alternatives require, for the description. */
  choices: string[]
}

/** @param seen the schemas that were read before: a repetition adds nothing, and could repeat itself */
function flatten(schema: unknown, root: Fields, seen: Set<unknown>): Flat {
  const of = isFields(schema) && !seen.has(schema) ? schema : {}
  seen.add(schema)
  const flat: Flat = {
    type: of.type,
    description: of.description,
    properties: new Map(isFields(of.properties) ? Object.entries(of.properties) : []),
    required: new Set(listTexts(of.required)),
    choices: [],
  }
  const target = resolvePointer(root, of.$ref)
  for (const part of [...(target === undefined ? [] : [target]), ...toList(of.allOf)]) {
    const more = flatten(part, root, seen)
    flat.type ??= more.type
    flat.description ??= more.description
    addProperties(flat, more)
    for (const name of more.required) flat.required.add(name)
    flat.choices.push(...more.choices)
  }
  for (const alternatives of [toList(of.anyOf), toList(of.oneOf)]) {
    addAlternatives(
      flat,
      alternatives.map((each) => flatten(each, root, seen)),
    )
  }
  return flat
}

function addAlternatives(flat: Flat, all: Flat[]): void {
  const options = all.filter((option) => isObjectSchema({ type: option.type }))
  const [first, ...others] = options
  if (!first) {
    // None of them is an object, so the whole cannot be one.
    flat.type = all[0]?.type ?? flat.type
    return
  }
  for (const option of options) addProperties(flat, option)
  for (const name of first.required) {
    if (others.every(({ required }) => required.has(name))) flat.required.add(name)
  }
  const sets = options.map(({ required }) =>
    [...required].filter((name) => !flat.required.has(name)),
  )
  if (sets.some((names) => names.length > 0)) flat.choices.push(describeChoice(sets))
  flat.choices.push(...options.flatMap(({ choices }) => choices))
}

const describeChoice = (sets: string[][]): string =>
  `Give the arguments of one of these sets: ${sets
    .map((names) => (names.length === 0 ? 'none' : names.join(' and ')))
    .join('; ')}.`

/** Adds properties; of one that alternatives describe differently, each description counts. */
function addProperties(flat: Flat, { properties }: Flat): void {
  for (const [name, schema] of properties) {
    const known = flat.properties.get(name)
    const isSame = known === undefined || JSON.stringify(known) === JSON.stringify(schema)
    flat.properties.set(name, isSame ? schema : { anyOf: [...toOptions(known), schema] })
  }
}

const toOptions = (schema: unknown): unknown[] =>
  isFields(schema) && Array.isArray(schema.anyOf) && Object.keys(schema).length === 1
    ? schema.anyOf
    : [schema]

const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const listTexts = (value: unknown): string[] =>
  toList(value).filter((each) => typeof each === 'string')

import { type Fields, isFields } from './messages'
import { removeInvisible } from './pin'

/** A server's schema in the form that every model provider takes, and the way back. */
export interface PlainSchema {
  schema: Fields
  /** Arguments whose names no provider takes, and their names for models. */
  renamed: ReadonlyMap<string, string>
  /** Removes what models write for an argument that they leave out. */
  clean(args: Fields): Fields
  /** Converts cleaned arguments to those of the server: with its names, and with the defaults of what it requires. */
  toServer(args: Fields): Fields
}

/**
 * Adapts a schema to all providers: the root is an object with properties and no alternatives, the names of arguments have
 * the characters that providers take, arrays have items, references lead somewhere, and keywords have values of
 * their types. What the adapted schema no longer says, the server checks.
 *
 * @returns as text the reason why a schema cannot be adapted
 */
export function toPlainSchema(given: Fields): PlainSchema | string {
  if (hasInvisibleNames(given)) return 'the name of an argument contains invisible characters'
  const root = flattenRoot(given)
  if (!isObjectSchema(root)) return 'its arguments are not an object'
  const renamed = renameAll(root)
  const defaults = listDefaults(root)
  const adapted = adapt(root, { root, renamed })
  const required = (Array.isArray(adapted.required) ? adapted.required : []).filter(
    (name) => !defaults.some(([optional]) => (renamed.get(optional) ?? optional) === name),
  )
  const schema: Fields = {
    ...adapted,
    type: 'object',
    properties: adapted.properties ?? {},
    required,
  }
  if (required.length === 0) delete schema.required
  const walk = createArgumentWalk(schema)
  const originals = new Map([...renamed].map(([name, plain]) => [plain, name]))
  return {
    schema,
    renamed,
    clean: (args) => walk(args, { originals: none, isClean: false }),
    toServer: (args) => ({
      ...Object.fromEntries(defaults),
      ...(originals.size > 0 ? walk(args, { originals, isClean: true }) : args),
    }),
  }
}

const none: ReadonlyMap<string, string> = new Map()

/** Returns the required arguments that have a default, with it: who leaves one out means the default. */
function listDefaults({ properties, required }: Fields): [string, unknown][] {
  if (!isFields(properties) || !Array.isArray(required)) return []
  return Object.entries(properties).flatMap(([name, schema]): [string, unknown][] =>
    isFields(schema) && 'default' in schema && required.includes(name)
      ? [[name, schema.default]]
      : [],
  )
}

/** The names that Anthropic and OpenAI take. */
const isPlainName = (name: string): boolean => /^[a-zA-Z0-9_.-]{1,64}$/.test(name)

function renameAll(root: Fields): Map<string, string> {
  const names = listNames(root)
  const taken = new Set(names)
  const renamed = new Map<string, string>()
  for (const name of names) {
    if (isPlainName(name)) continue
    const plain =
      name
        .replace(/[^a-zA-Z0-9_.-]+/g, '_')
        .replace(/^_|_$/g, '')
        .slice(0, 60) || 'argument'
    let free = plain
    for (let next = 2; taken.has(free); next++) free = `${plain}_${next}`
    taken.add(free)
    renamed.set(name, free)
  }
  return renamed
}

/** Returns the names of all arguments, at any depth. */
function listNames(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(listNames)
  if (!isFields(value)) return []
  const { properties } = value
  const own = isFields(properties) ? Object.keys(properties) : []
  return [...new Set([...own, ...Object.values(value).flatMap(listNames)])]
}

interface Context {
  root: Fields
  renamed: ReadonlyMap<string, string>
}

/** Adapts the value of a keyword; undefined: the keyword is dropped. */
type AdaptValue = (value: unknown, context: Context, schema: Fields) => unknown

function adapt(given: unknown, context: Context): Fields {
  if (!isFields(given)) return given === false ? { not: {} } : {}
  const entries = Object.entries(given).flatMap(([keyword, value]) => {
    const adaptValue = keywords.get(keyword) ?? toVisible
    const adapted = adaptValue(value, context, given)
    return adapted === undefined ? [] : [[keyword, adapted]]
  })
  const schema: Fields = Object.fromEntries(entries)
  const isArray = [schema.type].flat().includes('array')
  return isArray && !('items' in schema) ? { ...schema, items: {} } : schema
}

const adaptAll: AdaptValue = (value, context) =>
  Array.isArray(value) && value.length > 0 ? value.map((each) => adapt(each, context)) : undefined

const adaptEach: AdaptValue = (value, context) =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, adapt(each, context)]))
    : undefined

const adaptProperties: AdaptValue = (value, context) =>
  isFields(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, each]) => [
          context.renamed.get(name) ?? name,
          adapt(each, context),
        ]),
      )
    : undefined

const adaptNames: AdaptValue = (value, { renamed }) => {
  if (!Array.isArray(value)) return undefined
  const names = value.filter((name): name is string => typeof name === 'string')
  return [...new Set(names)].map((name) => renamed.get(name) ?? name)
}

const adaptOne: AdaptValue = (value, context) =>
  isFields(value) || typeof value === 'boolean' ? adapt(value, context) : undefined

/** A list of schemas by place, as of earlier drafts, becomes one for all places. */
const adaptItems: AdaptValue = (value, context, schema) => {
  if (!Array.isArray(value)) return adaptOne(value, context, schema)
  const anyOf = adaptAll(value, context, schema)
  return anyOf === undefined ? {} : { anyOf }
}

const types = new Set<unknown>([
  'null',
  'boolean',
  'string',
  'number',
  'integer',
  'array',
  'object',
])

const adaptType: AdaptValue = (value) => {
  const known = [...new Set([value].flat().filter((type) => types.has(type)))]
  return known.length > 1 ? known : known[0]
}

const adaptReference: AdaptValue = (value, { root, renamed }) => {
  if (typeof value !== 'string' || resolvePointer(root, value) === undefined) return undefined
  const segments = value.split('/')
  const plain = segments.map((segment, at) =>
    segments[at - 1] === 'properties' ? (renamed.get(decodeSegment(segment)) ?? segment) : segment,
  )
  return plain.join('/')
}

const decodeSegment = (segment: string): string =>
  decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')

/** As a number, as in the standard, also where an earlier draft has it as a mark of another limit. */
const adaptExclusive =
  (limit: 'minimum' | 'maximum'): AdaptValue =>
  (value, _context, schema) =>
    keepNumber(value === true ? schema[limit] : value)

const adaptLimit =
  (exclusive: 'exclusiveMinimum' | 'exclusiveMaximum'): AdaptValue =>
  (value, _context, schema) =>
    schema[exclusive] === true ? undefined : keepNumber(value)

const keepNumber = (value: unknown) => (typeof value === 'number' ? value : undefined)
const keepCount: AdaptValue = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? value : undefined
const keepBoolean: AdaptValue = (value) => (typeof value === 'boolean' ? value : undefined)
const keepText: AdaptValue = (value) =>
  typeof value === 'string' ? removeInvisible(value) : undefined
const keepList: AdaptValue = (value) =>
  Array.isArray(value) && value.length > 0 ? toVisible(value) : undefined

/** Returns data without invisible characters in its texts. */
function toVisible(value: unknown): unknown {
  if (typeof value === 'string') return removeInvisible(value)
  if (Array.isArray(value)) return value.map(toVisible)
  if (!isFields(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toVisible(each)]))
}

const each = (adaptValue: AdaptValue, ...names: string[]): [string, AdaptValue][] =>
  names.map((name) => [name, adaptValue])

/** The keywords of JSON Schema that providers check; all others are kept as they are. */
const keywords = new Map<string, AdaptValue>([
  ...each(adaptProperties, 'properties'),
  ...each(adaptEach, 'patternProperties', '$defs', 'definitions', 'dependentSchemas'),
  ...each(adaptAll, 'anyOf', 'oneOf', 'allOf', 'prefixItems'),
  ...each(adaptOne, 'not', 'if', 'then', 'else', 'contains', 'propertyNames'),
  ...each(adaptItems, 'items'),
  [
    'additionalProperties',
    (value, context, schema) =>
      typeof value === 'boolean' ? value : adaptOne(value, context, schema),
  ],
  ...each(adaptNames, 'required'),
  ...each(() => undefined, 'dependentRequired', 'dependencies', 'additionalItems'),
  ...each(adaptType, 'type'),
  ...each(adaptReference, '$ref'),
  ...each(keepList, 'enum', 'examples'),
  ...each(keepText, 'title', 'description', 'format', 'pattern', '$schema', '$id', '$comment'),
  ...each(keepBoolean, 'uniqueItems', 'readOnly', 'writeOnly', 'deprecated', 'nullable'),
  ...each(keepCount, 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties'),
  ...each(keepCount, 'maxProperties', 'minContains', 'maxContains'),
  ...each(keepNumber, 'multipleOf'),
  ...each(adaptLimit('exclusiveMinimum'), 'minimum'),
  ...each(adaptLimit('exclusiveMaximum'), 'maximum'),
  ...each(adaptExclusive('minimum'), 'exclusiveMinimum'),
  ...each(adaptExclusive('maximum'), 'exclusiveMaximum'),
])

/**
 * Whether the name of an argument contains invisible characters. A call has to repeat the name exactly,
 * so it can be neither shown to a model nor changed.
 */
function hasInvisibleNames(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasInvisibleNames)
  if (!isFields(schema)) return false
  return Object.entries(schema).some(
    ([key, value]) =>
      isUnseen(key) ||
      hasInvisibleNames(value) ||
      (key === 'required' && [value].flat().some(isUnseen)),
  )
}

const isUnseen = (name: unknown): boolean =>
  typeof name === 'string' && removeInvisible(name) !== name

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
function createArgumentWalk(root: Fields): (args: Fields, options: WalkOptions) => Fields {
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
const isObjectSchema = ({ type }: Fields): boolean =>
  (typeof type !== 'string' && !Array.isArray(type)) || [type].flat().includes('object')

/** The keywords that providers refuse at the root, where the server checks them. */
const refused = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'enum', 'const']

/**
 * Returns a schema whose root has no references and alternatives: it has the properties of all of them, and requires what
 * each of them requires. The description says what the alternatives require.
 */
function flattenRoot(root: Fields): Fields {
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

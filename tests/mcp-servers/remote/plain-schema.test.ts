import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Fields, isFields } from '../../../src/mcp-servers/remote/messages'
import {
  type PlainSchema,
  resolvePointer,
  toPlainSchema,
} from '../../../src/mcp-servers/remote/plain-schema'
import { parseLosslessJson } from '../../../src/shared/exact-json'
import { sampleSize } from '../../support/sample'

function adapt(schema: object): PlainSchema {
  const plain = toPlainSchema({ ...schema })
  if (typeof plain === 'string') throw new Error(plain)
  return plain
}
const send = (schema: object, args: object) => {
  const { clean, toServer } = adapt(schema)
  return toServer(clean({ ...args }))
}
const text = { type: 'string' }
const number = { type: 'number' }

describe('the schema that models are given', () => {
  it.each([
    ['nothing', {}, { type: 'object', properties: {} }],
    ['no properties', { type: 'object' }, { type: 'object', properties: {} }],
    ['no type', { properties: { a: text } }, { type: 'object', properties: { a: text } }],
    ['nulls', { type: null, properties: null, required: null }, { type: 'object', properties: {} }],
    [
      'a type that may be null',
      { type: ['object', 'null'], properties: { a: text } },
      { type: 'object', properties: { a: text } },
    ],
    [
      'root alternatives',
      {
        type: 'object',
        properties: { a: text },
        anyOf: [{ required: ['a'] }, { required: ['b', 'c'], properties: { b: text, c: number } }],
      },
      {
        type: 'object',
        description: 'Give the arguments of one of these sets: a; b and c.',
        properties: { a: text, b: text, c: number },
      },
    ],
    [
      'root alternatives that share',
      {
        oneOf: [
          { type: 'object', properties: { a: text, b: text }, required: ['a', 'b'] },
          { type: 'object', properties: { a: number, c: text }, required: ['a'] },
        ],
      },
      {
        type: 'object',
        description: 'Give the arguments of one of these sets: b; none.',
        properties: { a: { anyOf: [text, number] }, b: text, c: text },
        required: ['a'],
      },
    ],
    [
      'root parts',
      {
        allOf: [{ properties: { a: text }, required: ['a'] }, { $ref: '#/$defs/more' }],
        $defs: { more: { properties: { b: number }, required: ['b'] } },
      },
      {
        type: 'object',
        properties: { a: text, b: number },
        required: ['a', 'b'],
        $defs: { more: { properties: { b: number }, required: ['b'] } },
      },
    ],
    [
      'a root reference',
      {
        $ref: '#/definitions/all',
        definitions: { all: { type: 'object', description: 'All.', properties: { a: text } } },
      },
      {
        type: 'object',
        description: 'All.',
        properties: { a: text },
        definitions: { all: { type: 'object', description: 'All.', properties: { a: text } } },
      },
    ],
    [
      'a root that refers to itself',
      { $ref: '#', properties: { a: text } },
      { type: 'object', properties: { a: text } },
    ],
    [
      'conditions',
      JSON.parse('{"properties":{"a":{"type":"string"}},"if":{},"then":{},"not":{}}'),
      { type: 'object', properties: { a: text } },
    ],
    [
      'a list without items',
      { properties: { a: { type: 'array' }, b: { type: ['array', 'null'] } } },
      {
        type: 'object',
        properties: { a: { type: 'array', items: {} }, b: { type: ['array', 'null'], items: {} } },
      },
    ],
    [
      'items by place',
      { properties: { a: { type: 'array', items: [text, number] } } },
      { type: 'object', properties: { a: { type: 'array', items: { anyOf: [text, number] } } } },
    ],
    [
      'a nested list in alternatives',
      { properties: { a: { anyOf: [{ type: 'array' }, { type: 'null' }] } } },
      {
        type: 'object',
        properties: { a: { anyOf: [{ type: 'array', items: {} }, { type: 'null' }] } },
      },
    ],
    [
      'odd names',
      {
        properties: {
          'uids[]': text,
          $filter: text,
          filter: text,
          'a b': text,
          é: text,
          'x/y': { properties: { 'z!': text } },
        },
        required: ['uids[]', 'a b'],
      },
      {
        type: 'object',
        properties: {
          uids: text,
          filter_2: text,
          filter: text,
          a_b: text,
          argument: text,
          x_y: { properties: { z: text } },
        },
        required: ['uids', 'a_b'],
      },
    ],
    [
      'a name that is too long',
      { properties: { ['n'.repeat(70)]: text } },
      { type: 'object', properties: { ['n'.repeat(60)]: text } },
    ],
    [
      'a reference that leads nowhere',
      {
        properties: {
          a: { $ref: 'https://elsewhere.example/a' },
          b: { $ref: '#/$defs/none', description: 'B.' },
        },
      },
      { type: 'object', properties: { a: {}, b: { description: 'B.' } } },
    ],
    [
      'a reference into what is renamed',
      {
        properties: {
          'a[]': { properties: { 'b!': text } },
          c: { $ref: '#/properties/a[]/properties/b!' },
        },
      },
      {
        type: 'object',
        properties: { a: { properties: { b: text } }, c: { $ref: '#/properties/a/properties/b' } },
      },
    ],
    [
      'a list that holds itself',
      {
        properties: { a: { $ref: '#/$defs/n' } },
        $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } },
      },
      {
        type: 'object',
        properties: { a: { $ref: '#/$defs/n' } },
        $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } },
      },
    ],
    [
      'keywords of an earlier draft',
      {
        properties: {
          a: {
            type: 'integer',
            minimum: 0,
            exclusiveMinimum: true,
            maximum: 9,
            exclusiveMaximum: false,
          },
        },
      },
      { type: 'object', properties: { a: { type: 'integer', exclusiveMinimum: 0, maximum: 9 } } },
    ],
    [
      'values of other types',
      {
        title: 1,
        properties: {
          a: {
            type: 'date',
            required: true,
            enum: [],
            minLength: '3',
            description: ['x'],
            pattern: null,
          },
        },
      },
      { type: 'object', properties: { a: {} } },
    ],
    [
      'schemas that are true and false',
      { properties: { a: true, b: false }, additionalProperties: false },
      { type: 'object', properties: { a: {}, b: { not: {} } }, additionalProperties: false },
    ],
    [
      'a required default',
      { properties: { a: { type: 'number', default: 3 }, b: text }, required: ['a', 'b'] },
      {
        type: 'object',
        properties: { a: { type: 'number', default: 3 }, b: text },
        required: ['b'],
      },
    ],
    [
      'an argument called properties',
      { properties: { properties: { type: 'array' }, required: text, type: { type: 'object' } } },
      {
        type: 'object',
        properties: {
          properties: { type: 'array', items: {} },
          required: text,
          type: { type: 'object' },
        },
      },
    ],
    [
      'an argument called __proto__',
      JSON.parse('{"properties":{"__proto__":{"type":"array"}}}'),
      JSON.parse('{"type":"object","properties":{"__proto__":{"type":"array","items":{}}}}'),
    ],
  ])('L28 M12: is one that providers take, with %s', (_what, given, expected) => {
    expect(adapt(given).schema).toEqual(expected)
  })

  it.each([
    ['its arguments are not an object', { type: 'string' }],
    ['its arguments are not an object', { type: ['array', 'null'] }],
    ['its arguments are not an object', { anyOf: [{ type: 'string' }, { type: 'array' }] }],
    ['its arguments are not an object', { $ref: '#/$defs/a', $defs: { a: { type: 'array' } } }],
    ['the name of an argument contains invisible characters', { properties: { 'a\u200b': text } }],
  ])('L28 M12: is none when it cannot be adapted: %s', (reason, given) => {
    expect(toPlainSchema(given)).toBe(reason)
  })

  it('M12: is found in linear time, however a schema repeats itself', () => {
    const refs = Array.from({ length: 200 }, () => ({ $ref: '#/$defs/a' }))
    const all = { allOf: refs, anyOf: refs, oneOf: refs }
    let reads = 0
    const $defs = new Proxy(
      { a: { ...all, properties: { x: text } } },
      {
        get: (target, key) => {
          reads++
          return Reflect.get(target, key)
        },
      },
    )
    expect(adapt({ ...all, $defs }).schema.properties).toEqual({ x: text })
    expect(reads).toBeLessThan(3_000)
  })
})

describe('the arguments that a server is sent', () => {
  it.each([
    [
      'its names',
      { properties: { 'uids[]': { type: 'array', items: { properties: { $id: text } } } } },
      { uids: [{ id: 'a' }] },
      { 'uids[]': [{ $id: 'a' }] },
    ],
    [
      'its names behind references and alternatives',
      {
        properties: { a: { anyOf: [{ $ref: '#/$defs/o' }, { type: 'null' }] } },
        $defs: { o: { properties: { 'x y': text } } },
      },
      { a: { x_y: 'b' } },
      { a: { 'x y': 'b' } },
    ],
    [
      'names of a free map as they are',
      { properties: { $id: text, map: { type: 'object' } } },
      { id: 'a', map: { id: 'b' } },
      { $id: 'a', map: { id: 'b' } },
    ],
    [
      'its own names, when a model knows them',
      { properties: { $id: text } },
      { $id: 'a' },
      { $id: 'a' },
    ],
    [
      'no null for what is optional',
      { properties: { a: text, b: text }, required: ['b'] },
      { a: null, b: null },
      { b: null },
    ],
    [
      'no null for a list of words',
      { properties: { a: { enum: ['x', 'y'] }, b: { const: 1 } } },
      { a: null, b: null },
      {},
    ],
    [
      'no null deeper inside',
      { properties: { a: { type: 'object', properties: { b: number } } } },
      { a: { b: null } },
      { a: {} },
    ],
    [
      'no null behind a reference',
      { properties: { a: { $ref: '#/$defs/t' } }, $defs: { t: text } },
      { a: null },
      {},
    ],
    [
      'null where it means something',
      {
        properties: {
          a: { type: ['string', 'null'] },
          b: { anyOf: [text, { type: 'null' }] },
          c: { enum: ['x', null] },
          d: {},
          e: { type: 'string', nullable: true },
          f: true,
          g: { const: null },
        },
      },
      { a: null, b: null, c: null, d: null, e: null, f: null, g: null },
      { a: null, b: null, c: null, d: null, e: null, f: null, g: null },
    ],
    [
      'null that the schema does not describe',
      { properties: { m: { type: 'object' } } },
      { m: { a: null }, z: null },
      { m: { a: null }, z: null },
    ],
    [
      'the default of what it requires',
      { properties: { a: { type: 'number', default: 3 }, b: { default: 1 } }, required: ['a'] },
      {},
      { a: 3 },
    ],
    [
      'no default in place of a value',
      { properties: { a: { type: 'number', default: 3 } }, required: ['a'] },
      { a: 0 },
      { a: 0 },
    ],
    [
      'the default for null',
      { properties: { a: { type: 'number', default: 3 } }, required: ['a'] },
      { a: null },
      { a: 3 },
    ],
  ])('L28 M12: have %s', (_what, schema, args, expected) => {
    expect(send(schema, args)).toEqual(expected)
  })

  it('L28 M12: have large numbers as they were written', () => {
    const written = '{"a":12345678901234567891,"b":[1e999],"c":{"d":-9007199254740993}}'
    const args = parseLosslessJson(written) as Fields
    const properties = { a: { type: 'integer' }, b: { type: 'array' }, c: {}, 'd[]': text }
    expect(JSON.stringify(send({ properties }, args))).toBe(written)
  })
})

/** Schemas with any keyword, and values that may be of another type. */
const schemas = fc.letrec<{ schema: object; part: unknown }>((tie) => ({
  part: fc.oneof({ maxDepth: 4, depthSize: 'small' }, fc.jsonValue({ maxDepth: 1 }), tie('schema')),
  schema: fc.record(
    {
      type: fc.oneof(
        fc.constantFrom('object', 'array', 'string', 'date', 7, null),
        fc.array(fc.constantFrom('object', 'null', 'x')),
      ),
      properties: fc.dictionary(
        fc.oneof(fc.string(), fc.constantFrom('a', 'b[]', '$c', '__proto__')),
        tie('part'),
        { maxKeys: 3 },
      ),
      required: fc.oneof(fc.array(fc.constantFrom('a', 'b[]', 3)), fc.boolean()),
      items: fc.oneof(tie('part'), fc.array(tie('part'), { maxLength: 2 })),
      anyOf: fc.array(tie('part'), { maxLength: 2 }),
      oneOf: fc.array(tie('part'), { maxLength: 2 }),
      allOf: fc.array(tie('part'), { maxLength: 2 }),
      $defs: fc.dictionary(fc.constantFrom('a', 'b'), tie('part'), { maxKeys: 2 }),
      $ref: fc.constantFrom('#', '#/$defs/a', '#/$defs/b', '#/properties/b[]', 'x', 4),
      enum: fc.jsonValue(),
      minimum: fc.jsonValue(),
      exclusiveMinimum: fc.jsonValue(),
      description: fc.jsonValue(),
      additionalProperties: tie('part'),
    },
    { requiredKeys: [] },
  ),
})).schema

/** Returns what no provider takes, in a schema at a place where one is expected. */
function listFaults(schema: unknown, root: Fields): string[] {
  if (typeof schema === 'boolean') return []
  if (!isFields(schema)) return ['no schema']
  const { type, properties, items, required, $ref, anyOf, oneOf, allOf, $defs } = schema
  const inner = [
    ...Object.values(isFields(properties) ? properties : {}),
    ...Object.values(isFields($defs) ? $defs : {}),
    ...[anyOf, oneOf, allOf].flatMap((each) => (each === undefined ? [] : (each as unknown[]))),
    ...(items === undefined ? [] : [items]),
  ]
  const names = Object.keys(isFields(properties) ? properties : {})
  return [
    ...names.flatMap((name) => (/^[a-zA-Z0-9_.-]{1,64}$/.test(name) ? [] : [`name ${name}`])),
    ...([type].flat().includes('array') && !isFields(items) ? ['no items'] : []),
    ...(required === undefined || Array.isArray(required) ? [] : ['required']),
    ...($ref === undefined || resolvePointer(root, $ref) !== undefined ? [] : [`$ref ${$ref}`]),
    ...inner.flatMap((each) => listFaults(each, root)),
  ]
}

it('L28 M12: whatever a schema is, it is refused or becomes one that providers take', () => {
  fc.assert(
    fc.property(schemas, (given) => {
      const plain = toPlainSchema(JSON.parse(JSON.stringify(given)))
      if (typeof plain === 'string') return
      const { schema } = plain
      expect(listFaults(schema, schema)).toEqual([])
      expect(schema.type).toBe('object')
      expect(isFields(schema.properties)).toBe(true)
      for (const keyword of ['anyOf', 'oneOf', 'allOf', '$ref', 'enum', 'not']) {
        expect(schema).not.toHaveProperty(keyword)
      }
      // An adapted schema is one that needs no more.
      expect(adapt(schema).schema).toEqual(schema)
    }),
    { numRuns: sampleSize(75, 300) },
  )
})

it('L28 M12: whatever the names of arguments are, the server reads them as it wrote them', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { maxLength: 8 }), fc.jsonValue(), (names, value) => {
      const visible = names.filter(
        (name) => typeof toPlainSchema({ properties: { [name]: {} } }) !== 'string',
      )
      const properties = Object.fromEntries(visible.map((name) => [name, {}]))
      const plain = adapt({ properties })
      const shown = Object.keys(plain.schema.properties as Fields)
      expect(shown).toHaveLength(visible.length)
      const args = Object.fromEntries(shown.map((name) => [name, value]))
      const sent = plain.toServer(plain.clean(args))
      expect(Object.keys(sent).toSorted()).toEqual(visible.toSorted())
    }),
  )
})

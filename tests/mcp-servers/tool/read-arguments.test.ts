import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { readArguments } from '../../../src/mcp-servers/tool/read-arguments'

const step = z.strictObject({ title: z.string(), isDone: z.boolean().optional() })
const schema = z.strictObject({
  text: z.string().max(20).optional(),
  count: z.int().min(1).max(50).default(7),
  share: z.number().optional(),
  isDraft: z.boolean().optional(),
  names: z.array(z.string().max(9)).max(3).optional(),
  steps: z.array(step).optional(),
  place: z.strictObject({ city: z.string(), floor: z.int().optional() }).optional(),
  query: z.record(z.string(), z.string()).optional(),
  method: z.enum(['GET', 'POST']).optional(),
  either: z.union([z.string(), z.array(z.unknown())]).optional(),
  params: z.array(z.union([z.string(), z.null()])).optional(),
})

describe('L26: arguments in another form that can mean one thing only', () => {
  test.each<[string, unknown, unknown]>([
    ['a number as text', { count: '12' }, { count: 12 }],
    ['a fraction as text', { share: '-0.25' }, { share: -0.25 }],
    ['a boolean as text', { isDraft: 'true' }, { isDraft: true }],
    ['a boolean as another language writes it', { isDraft: 'False' }, { isDraft: false }],
    ['a list as JSON text', { names: '["a", "b"]' }, { names: ['a', 'b'] }],
    ['one text for a list', { names: 'bug' }, { names: ['bug'] }],
    ['one object for a list', { steps: { title: 'Go' } }, { steps: [{ title: 'Go' }] }],
    ['an object as JSON text', { place: '{"city":"Oslo"}' }, { place: { city: 'Oslo' } }],
    ['a record as JSON text', { query: '{"q":"tin"}' }, { query: { q: 'tin' } }],
    ['a list of objects as JSON text', { steps: '[{"title":"Go"}]' }, { steps: [{ title: 'Go' }] }],
    [
      'texts within a JSON text',
      { steps: '[{"title":"Go","isDone":"true"}]' },
      { steps: [{ title: 'Go', isDone: true }] },
    ],
    [
      'objects as JSON texts in a list',
      { steps: ['{"title":"Go"}'] },
      { steps: [{ title: 'Go' }] },
    ],
    ['null for what may be absent', { text: null, count: null, place: null }, {}],
    [
      'null within an object',
      { place: { city: 'Oslo', floor: null } },
      { place: { city: 'Oslo' } },
    ],
    ['null for all', null, {}],
    ['all as JSON text', '{"count":3}', { count: 3 }],
    ['another case of a word', { method: 'post' }, { method: 'POST' }],
    ['several at once', { count: '3', isDraft: 'true', text: null }, { count: 3, isDraft: true }],
  ])('%s', (_name, sent, args) => {
    expect(readArguments(schema, sent)).toEqual({ ok: true, args, input: schema.parse(args) })
  })

  test.each<[string, unknown]>([
    ['a text that is no number', { count: 'many' }],
    ['a number with a unit', { count: '12 items' }],
    ['a number in another notation', { count: '0x1f' }],
    ['a number with leading zeros', { count: '012' }],
    ['a text with digits that a number loses', { share: '0.12345678901234567890' }],
    ['an empty text for a number', { count: '' }],
    ['a fraction for a whole number', { count: '1.5' }],
    ['a number above the maximum', { count: '51' }],
    ['a number for a text, which may have lost a zero', { text: 1.1 }],
    ['a number for a boolean', { isDraft: 1 }],
    ['a word for a boolean', { isDraft: 'yes' }],
    ['texts that separators may divide', { names: 'bug, docs' }],
    ['a broken list', { names: '["a"' }],
    ['an empty text for a list', { names: '' }],
    ['one value that is too long for the list', { names: 'more than nine' }],
    ['JSON text of another kind', { place: '["Oslo"]' }],
    [
      'JSON text with a number that JavaScript cannot hold',
      { place: '{"city":"O","floor":12345678901234567890}' },
    ],
    ['null in a list', { names: [null] }],
    ['null for what is required', { place: { city: null } }],
    ['an unknown argument', { cont: 3 }],
    ['an unknown word', { method: 'FETCH' }],
    ['a list for all', [{ count: 3 }]],
    ['JSON text of JSON text of JSON text', JSON.stringify(JSON.stringify(JSON.stringify({})))],
  ])('%s stays an error', (_name, sent) => {
    expect(readArguments(schema, sent)).toEqual({
      ok: false,
      issues: schema.safeParse(sent).error?.issues,
    })
  })

  test('what the schema takes is left as it is', () => {
    const sent = { either: '[1]', params: [null, '1'], text: '12', names: [], query: { n: '1' } }
    expect(readArguments(schema, sent)).toMatchObject({ ok: true, args: sent })
  })

  test('a key that is special in JavaScript is a key like others', () => {
    const sent = JSON.parse('{"__proto__":{"count":"3"},"count":"3"}')
    expect(readArguments(schema, sent).ok).toBe(false)
    expect(Object.getPrototypeOf({})).toBe(Object.prototype)
  })

  test('whatever is sent, it is read or answered, and a valid call is never changed', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        fc.jsonValue(),
        fc.jsonValue().map((each) => JSON.stringify(each)),
        fc.dictionary(
          fc.constantFrom('count', 'names', 'steps', 'place', 'city', 'title'),
          tie('any'),
        ),
      ),
    })).any
    fc.assert(
      fc.property(value, (sent) => {
        const before = JSON.stringify(sent)
        const read = readArguments(schema, sent)
        expect(JSON.stringify(sent)).toBe(before)
        if (schema.safeParse(sent).success) expect(read).toMatchObject({ ok: true, args: sent })
        else if (read.ok) expect(schema.safeParse(read.args).success).toBe(true)
      }),
    )
  })
})

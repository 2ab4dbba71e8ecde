import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isFormType, isJsonType, requireSmallJson } from '../../../src/hub/http/bodies'

const measure = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(measure))
    : 0

const countValues = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  const entries = Object.values(value)
  return entries.reduce((total, each) => total + countValues(each), Math.max(1, entries.length))
}

const noLimit = Number.POSITIVE_INFINITY
const isRefused = (json: string, depthMax: number, valuesMax = noLimit): boolean => {
  try {
    requireSmallJson(new TextEncoder().encode(json), { depthMax, valuesMax })
    return false
  } catch {
    return true
  }
}

test('T14: JSON is refused exactly when it is deeper or has more values than the limits, whatever its strings contain', async () => {
  const text = fc.string({
    unit: fc.constantFrom('[', '{', ']', '}', ',', '"', '\\', 'é', '😀', 'x'),
  })
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 6 },
      text,
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(text, tie('any'), { maxKeys: 3 }),
    ),
  })).any
  await fc.assert(
    fc.property(value, fc.integer({ min: 0, max: 8 }), fc.boolean(), (any, depthMax, isPretty) => {
      const json = JSON.stringify(any, null, isPretty ? 2 : 0)
      expect(isRefused(json, depthMax)).toBe(measure(any) > depthMax)
      expect(isRefused(json, noLimit, depthMax)).toBe(countValues(any) > depthMax)
    }),
  )
})

test('T14: any text can be measured, also a string or an escape that does not end', () => {
  for (const json of ['"', '"\\', '"\\"', ']]]]', '{"', '', '['])
    expect(isRefused(json, 1)).toBe(false)
})

test('T17: a media type is compared as a whole, without its parameters and case', () => {
  for (const type of ['application/json', ' APPLICATION/JSON ;charset=x', 'application/a.b+json'])
    expect(isJsonType(type), type).toBe(true)
  for (const type of [
    '',
    null,
    undefined,
    'json',
    'text/json',
    'application/jsonp',
    'application/+json',
    'x/application/json',
  ])
    expect(isJsonType(type), String(type)).toBe(false)
  expect(isFormType('multipart/form-data; boundary=application/json')).toBe(true)
  expect(isFormType('application/json; x=multipart/form-data')).toBe(false)
})

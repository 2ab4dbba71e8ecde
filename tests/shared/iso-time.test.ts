import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toIsoTime } from '../../src/shared/iso-time'

test('a time is formatted as by Date, whatever was formatted before', () => {
  const time = fc.integer({ min: -8.64e15, max: 8.64e15 })
  const near = fc.integer({ min: -3_000, max: 3_000 })
  fc.assert(
    fc.property(fc.array(fc.oneof(time, near), { minLength: 2 }), (times) => {
      for (const ms of times) expect(toIsoTime(ms)).toBe(new Date(ms).toISOString())
    }),
  )
})

test('an invalid time is refused, and the next one is correct', () => {
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 9e15]) {
    expect(() => toIsoTime(wrong)).toThrow(RangeError)
    expect(toIsoTime(0)).toBe('1970-01-01T00:00:00.000Z')
  }
})

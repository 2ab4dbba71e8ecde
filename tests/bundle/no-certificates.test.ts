import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AsnParser, ECDSASigValue, X509Certificate } from '../../src/bundle/no-certificates'

/** A number in DER as RFC 3279 has it: as short as it can be, and not negative. */
const toInteger = (bytes: number[]): number[] => {
  const short = bytes.slice(
    Math.max(
      0,
      bytes.findIndex((byte) => byte !== 0),
    ),
  )
  const number = (short[0] ?? 0) >= 0x80 ? [0, ...short] : short
  return [0x02, number.length, ...number]
}
const toSequence = (content: number[]): number[] =>
  content.length < 0x80
    ? [0x30, content.length, ...content]
    : [0x30, 0x81, content.length, ...content]
const parse = (der: number[]) => AsnParser.parse(new Uint8Array(der), ECDSASigValue)
const toNumber = (bytes: Uint8Array): bigint =>
  bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)

// 32, 48 and 66 bytes: P-256, P-384 and P-521.
const number = fc
  .constantFrom(32, 48, 66)
  .chain((length) => fc.array(fc.nat(255), { minLength: length, maxLength: length }))

test('the numbers of a signature are read from DER', () => {
  fc.assert(
    fc.property(number, number, (r, s) => {
      const parsed = parse(toSequence([...toInteger(r), ...toInteger(s)]))
      expect(toNumber(new Uint8Array(parsed.r))).toBe(toNumber(new Uint8Array(r)))
      expect(toNumber(new Uint8Array(parsed.s))).toBe(toNumber(new Uint8Array(s)))
    }),
  )
})

const whole = toSequence([...toInteger([1, 2]), ...toInteger([3])])
test.each([
  ['nothing', []],
  ['another tag', [0x31, ...whole.slice(1)]],
  ['a byte after it', [...whole, 0]],
  ['a third number', toSequence([...toInteger([1]), ...toInteger([2]), ...toInteger([3])])],
  ['one number', toSequence(toInteger([1]))],
  ['a number without content', toSequence([0x02, 0, ...toInteger([1])])],
  ['a length that is longer than it must be', [0x30, 0x81, ...whole.slice(1)]],
  ['a length without end', [0x30, 0x80, ...whole.slice(2), 0, 0]],
  ['a length past the end', [0x30, 0x7f, ...whole.slice(2)]],
])('%s is no signature', (_case, der) => {
  expect(() => parse(der)).toThrow('no sequence of two numbers')
})

test('a signature that is cut anywhere is refused', () => {
  for (let end = 0; end < whole.length; end += 1) {
    expect(() => parse(whole.slice(0, end))).toThrow('no sequence of two numbers')
  }
})

test('a certificate is refused with the reason', () => {
  expect(() => AsnParser.parse(new Uint8Array(whole), X509Certificate)).toThrow('certificate')
  expect(() => new X509Certificate()).toThrow('certificate')
})

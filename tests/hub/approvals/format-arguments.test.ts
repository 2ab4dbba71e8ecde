import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  escapeInvisible,
  formatArguments,
  toArgumentParts,
  toText,
} from '../../../src/hub/approvals/arguments'
import { createPem } from './create-pem'

const keyPrefix = 'rookery_'
const keys = { ROOKERY_KEY_PREFIX: keyPrefix }
const ownKey = `rookery_${'aB3_-'.repeat(9).slice(0, 43)}`
const tokens = [
  `sk-ant-api03-${'aB3_-'.repeat(10)}`,
  `ghp_${'a1B2'.repeat(9)}`,
  `github_pat_${'a1'.repeat(11)}_${'a1B'.repeat(20).slice(0, 59)}`,
  `glpat-${'a1B2'.repeat(5)}`,
  'AKIAIOSFODNN7EXAMPLE',
  `xoxb-123456789012-123456789012-${'a1B2'.repeat(6)}`,
  `AIza${'a1B2_'.repeat(7)}`,
  `sk_live_${'a1B2'.repeat(6)}`,
  `npm_${'a1B2'.repeat(9)}`,
  ownKey,
  ownKey.replace(keyPrefix, 'moltbook_'),
  ownKey.replace(keyPrefix, 'rookery_service_'),
  createPem('PRIVATE KEY'),
  createPem('RSA PRIVATE KEY', 120).replace(/\n/g, '\r\n'),
]

const parts = (value: unknown, indent = 0) =>
  toArgumentParts(JSON.stringify(value), { indent, keys })
const masks = (value: unknown) => parts(value).filter(({ kind }) => kind === 'secret')

const nasty = fc.constantFrom(
  ...tokens,
  '-----BEGIN PRIVATE KEY-----',
  '-----END PRIVATE KEY-----',
  '[withheld: a GitHub token, 40 characters]',
  '\u202e',
  '\u200b',
  '\u00ad',
  '\u3164',
  '\u2800',
  '\ufe0f',
  '\u{e0041}',
  '\u0301',
  '\u05d0',
  '"',
  '\\',
  '\\u200b',
  '\n',
  '\ud800',
  '__proto__',
  '</details>',
)
const text = fc
  .array(fc.oneof(nasty, fc.string({ unit: 'binary' })), { maxLength: 6 })
  .map((pieces) => pieces.join(''))
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.double(),
    fc.constantFrom(null, true, false, -0),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4 }),
  ),
})).value

/** Characters that a reader cannot see, or that move others; listed by their names, not by our pattern. */
const unseen = new RegExp(
  [
    '[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u00a0\\u00ad\\u034f\\u061c\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f]',
    '[\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffc]',
    '[\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}\\ud800-\\udfff]',
  ].join('|'),
  'u',
)

test('T13: what is shown, unescaped and revealed, is what runs, whatever the arguments', () => {
  fc.assert(
    fc.property(json, fc.constantFrom(0, 2), (value, indent) => {
      const raw = JSON.stringify(value)
      const shown = toArgumentParts(raw, { indent, keys })
      expect(JSON.parse(toText(shown, true))).toEqual(JSON.parse(raw))
      const masked = toText(shown)
      expect(masked.replace(/\n/g, '')).not.toMatch(unseen)
    }),
    { numRuns: 300 },
  )
})

test.each(tokens)('T13: a whole secret is masked with its length: %s', (token) => {
  const around = { a: token, b: `Bearer ${token}`, [token]: `"${token}"`, end: 'Bye' }
  const shown = parts(around)
  expect(toText(shown)).not.toContain(JSON.stringify(token).slice(1, -1))
  expect(masks(around)).toHaveLength(4)
  expect(toText(shown)).toContain(`, ${token.length} characters]`)
  expect(toText(shown)).toContain('"end":"Bye"')
})

test.each([
  ['only a header', '-----BEGIN PRIVATE KEY----- pay_to mallory'],
  ['a header and base64 without a footer', createPem('PRIVATE KEY').replace(/-----END.*/, '')],
  ['another footer', createPem('PRIVATE KEY').replace('END PRIVATE', 'END RSA PRIVATE')],
  ['words between header and footer', createPem('PRIVATE KEY').replace('\n', '\npay to mallory\n')],
  ['no key between them', '-----BEGIN PRIVATE KEY-----\npayToMallory\n-----END PRIVATE KEY-----'],
  ['a longer body than the key', createPem('PRIVATE KEY').replace('\n-----END', 'AAAA\n-----END')],
  ['a token with more behind it', `ghp_${'a1B2'.repeat(9)}_pay_to_mallory`],
  ['a token with more before it', `pay_ghp_${'a1B2'.repeat(9)}`],
  ['words after a prefix of keys', 'sk-transfer-everything-to-mallory-now'],
  ['the mask itself', '[withheld: a GitHub token, 40 characters]'],
])('T13: nothing is masked in %s', (_, value) => {
  expect(masks({ value, end: 'Bye' })).toEqual([])
  expect(JSON.parse(toText(parts({ value, end: 'Bye' })))).toEqual({ value, end: 'Bye' })
})

test('T13: a value is shown as it runs where JSON would show another one', () => {
  const raw = '{"a":1e999,"b":-1e999,"c":-0,"d":12345678901234567890,"to":"me","to":"mallory"}'
  const shown = toText(toArgumentParts(raw, { indent: 0, keys }))
  expect(JSON.parse(shown)).toEqual(JSON.parse(raw))
  expect(Object.is(JSON.parse(shown).c, -0)).toBe(true)
  expect(shown).not.toContain('"me"')
})

test('T13: arguments too deep to write are shown as they are', () => {
  const raw = `${'['.repeat(100_000)}"mallory\u202e"${']'.repeat(100_000)}`
  expect(toText(toArgumentParts(raw, { indent: 2, keys }))).toContain('"mallory\\u202e"')
})

test('T13: marks on nothing, enclosing marks and piles of marks are escaped, accents are not', () => {
  expect(escapeInvisible('e\u0301 n\u0303o')).toBe('e\u0301 n\u0303o')
  expect(escapeInvisible('"\u0338x\u20dd')).toBe('"\\u0338x\\u20dd')
  expect(escapeInvisible(`x${'\u0301'.repeat(5)}`)).toBe(`x${'\u0301'.repeat(3)}\\u0301\\u0301`)
})

test('T13: strings that run from right to left are parts of their own', () => {
  const rightToLeft = parts({ '\u05d0': '\u05d1', a: 'b' }).filter(
    (part) => part.kind === 'text' && part.isRightToLeft,
  )
  expect(rightToLeft).toMatchObject([{ text: '\u05d0"' }, { text: '\u05d1"' }])
})

test('T13: no arguments are an empty object', () => {
  expect(formatArguments('')).toBe('{}')
})

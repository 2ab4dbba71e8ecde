import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createScrubber } from '../../../src/mcp-servers/credentials/scrub'

const toBase64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)))
const toHex = (text: string) =>
  Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** What a service may make of a text. */
const forms: [string, (text: string) => string][] = [
  ['plain', (text) => text],
  ['JSON', (text) => JSON.stringify(text).slice(1, -1)],
  ['JSON twice', (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3)],
  [
    'JSON of other languages',
    (text) =>
      text
        .replaceAll('\\', '\\\\')
        .replaceAll('/', '\\/')
        .replaceAll('"', '\\"')
        .replaceAll('&', '\\u0026'),
  ],
  ['an address', encodeURIComponent],
  [
    'an address in small letters',
    (text) => encodeURIComponent(text).replace(/%../g, (hex) => hex.toLowerCase()),
  ],
  ['an address twice', (text) => encodeURIComponent(encodeURIComponent(text))],
  [
    'an address four times',
    (text) => [1, 2, 3, 4].reduce((each) => encodeURIComponent(each), text),
  ],
  ['JSON in an address', (text) => encodeURIComponent(JSON.stringify(JSON.stringify(text)))],
  [
    'a form in an address',
    (text) => encodeURIComponent(new URLSearchParams({ k: text }).toString().slice(2)),
  ],
  ['a form', (text) => new URLSearchParams({ k: text }).toString().slice(2)],
  ['hex', toHex],
  ['hex in capitals', (text) => toHex(text).toUpperCase()],
  [
    'HTML',
    (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
  ],
]

const secrets = fc.stringMatching(/^[\x20-\x7e]{8,60}$/)
const around = fc.string({ maxLength: 10 })

test.each(forms)('M6: any secret is taken out as %s, whatever stands around it', (_name, write) => {
  void fc.assert(
    fc.property(secrets, around, around, (secret, before, after) => {
      const left = createScrubber(secret).text(`${before}${write(secret)}${after}`)
      expect(left).toContain('[redacted]')
      expect(left.replaceAll('[redacted]', '')).not.toContain(write(secret))
    }),
    { numRuns: 60 },
  )
})

test('M6: any secret is taken out of base64, also when it stands in the middle of it', () => {
  void fc.assert(
    fc.property(
      fc.stringMatching(/^[!-~]{8,60}$/),
      fc.string({ maxLength: 7, unit: 'binary-ascii' }),
      fc.string({ maxLength: 7, unit: 'binary-ascii' }),
      (secret, before, after) => {
        const encoded = toBase64(`${before}${secret}${after}`)
        const url = encoded.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
        for (const form of [encoded, url, encodeURIComponent(encoded)]) {
          const left = createScrubber(secret).text(form)
          expect(left).toContain('[redacted]')
          // what is left is too little to know it by
          const known = left.replaceAll('[redacted]', '').length
          expect(known).toBeLessThan(encodeURIComponent(toBase64(before + after)).length + 14)
        }
      },
    ),
    { numRuns: 100 },
  )
})

test('M6: other texts stay as they are, and keys of objects are texts too', () => {
  const scrubber = createScrubber('canary-0123456789')
  const innocent = { text: 'A canary sings 0123456789 times.', list: [1, null, true, 'canary-'] }
  expect(scrubber.value(innocent)).toEqual(innocent)
  expect(scrubber.value({ 'canary-0123456789': ['is canary-0123456789!'] })).toEqual({
    '[redacted]': ['is [redacted]!'],
  })
})

test('M6: of a text that was cut, no beginning of a secret is left', () => {
  const secret = 'canary-0123456789'
  const scrubber = createScrubber(secret)
  const filler = 'x'.repeat(2_000)
  for (const [, write] of forms) {
    const written = write(secret)
    for (let length = 1; length <= written.length; length++) {
      const left = scrubber.cut(filler + written.slice(0, length))
      expect(left).toMatch(/^x+$/)
    }
  }
})

test('M6: what nearly is a secret of nothing but quotes and backslashes is left alone, and found out soon', () => {
  const secret = `${'\\"'.repeat(25)}end`
  const near = JSON.stringify(JSON.stringify(secret)).replaceAll('end', 'End?').repeat(20)
  const innocent = near.replaceAll('End', 'e_d')
  expect(createScrubber(secret).text(innocent)).toBe(innocent)
  expect(createScrubber(secret).text(near)).not.toContain('End')
})

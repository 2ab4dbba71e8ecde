import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createScrubber } from '../../../src/mcp-servers/credentials/scrub'
import { outside } from '../../../src/shared/config'

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

const base64OfUtf16 = (text: string) => btoa([...text].map((char) => `${char}\0`).join(''))
const wrap = (text: string, lineEnd: string) => text.replace(/.{12}/g, `$&${lineEnd}`)

/** Of a whole secret, which stands among other bytes. */
const wholeForms: [string, (text: string) => string][] = [
  ['base64 in lines', (text) => wrap(toBase64(`a ${text} b`), '\n')],
  ['base64 in lines of MIME', (text) => wrap(toBase64(`ab${text}`), '\r\n')],
  ['base64 in lines, within JSON', (text) => JSON.stringify(wrap(toBase64(text), '\n'))],
  ['base64 in lines, in an address', (text) => encodeURIComponent(wrap(toBase64(text), '\n'))],
  ['base64 of base64', (text) => toBase64(toBase64(`user:${text}`))],
  ['base64 of the text for an address', (text) => toBase64(`k=${encodeURIComponent(text)}`)],
  ['base64 of the text within JSON', (text) => toBase64(JSON.stringify({ k: text }))],
  ['base64 of UTF-16', base64OfUtf16],
  ['a buffer', (text) => JSON.stringify({ data: [...new TextEncoder().encode(text)] })],
  ['a buffer in lines', (text) => JSON.stringify([...new TextEncoder().encode(text)], null, 2)],
  [
    'escapes of bytes',
    (text) => (toHex(text).match(/../g) ?? []).map((hex) => `\\x${hex}`).join(''),
  ],
  ['escapes within JSON', (text) => JSON.stringify(text.replaceAll('/', '\\x2f'))],
  ['hex in lines', (text) => wrap(toHex(text), '\n')],
  ['two blocks', (text) => `${text.slice(0, 5)}\n${text.slice(5)}`],
  ['two lines within JSON', (text) => JSON.stringify(`${text.slice(0, 5)}\n${text.slice(5)}`)],
  [
    'words that a search marks',
    (text) => `${text.slice(0, 5)}<em>${text.slice(5, 9)}</em>${text.slice(9)}`,
  ],
]

test.each(wholeForms)('M6: a secret is taken out as %s', (_name, write) => {
  for (const secret of [
    'Su/per+secret_0123?"~&9',
    'ghp_0123456789abcdef',
    '-nrn/\\nrn\\r+=x y z9',
  ]) {
    const left = createScrubber(secret).text(`before, ${write(secret)}; after`)
    expect(left).toMatch(/^before, .{0,12}\[redacted\].{0,12}; after$/s)
  }
})

test('M6: the longest secret that is taken is taken out too, in each form that is of a whole', () => {
  const secret = 'Ab3/+'.repeat(outside.credentialCharsMax / 5)
  const scrubber = createScrubber(secret)
  for (const text of [secret, JSON.stringify(secret), toBase64(secret), wrap(secret, '\n')]) {
    expect(scrubber.text(text).length).toBeLessThan(20)
  }
})

test('M6: texts that come one after the other hold no half of a secret', () => {
  const secret = 'canary-0123456789'
  for (const written of [secret, toBase64(secret), toHex(secret), encodeURIComponent(secret)]) {
    for (const cuts of [[6], [4, 9], [5, 6, 7, 8], [written.length - 1]]) {
      const clean = createScrubber(secret).parts()
      const ends = [...cuts, written.length]
      const said = ends.map((end, at) => clean(`${written.slice(ends[at - 1] ?? 0, end)}`))
      expect(said.join('').replaceAll('[redacted]', '')).toMatch(/^.?=*$/)
      expect(clean('all is well')).toBe('all is well')
    }
  }
  const clean = createScrubber(secret).parts()
  expect(['a canary', '-0123', 'is fine'].map(clean)).toEqual([
    'a [redacted]',
    '[redacted]',
    'is fine',
  ])
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
      const left = scrubber.textTruncated(filler + written.slice(0, length))
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

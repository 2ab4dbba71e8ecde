import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { LiveText } from '../../../src/agents/run/live-stream'
import { maskCredentials } from '../../../src/hub/rules/credential-patterns'
import { streamLimits } from '../../../src/shared/config'

const mask = (text: string) => maskCredentials(text, { ROOKERY_KEY_PREFIX: 'rookery_' })

/** Returns what a watcher sees after each delta, and at the end. */
function watch(deltas: string[]): string[] {
  const live = new LiveText(mask)
  let seen = ''
  const all: string[] = []
  const show = (isEnd: boolean) => {
    const change = live.take(isEnd)
    if (change) seen = seen.slice(0, change.from) + change.text
    all.push(seen)
  }
  for (const delta of deltas) {
    live.add(delta)
    show(false)
  }
  show(true)
  return all
}

test('L22: a text split into any deltas arrives complete', () => {
  void fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 30 })), (pieces) => {
      expect(watch(pieces).at(-1)).toBe(mask(pieces.join('')))
    }),
  )
})

const secrets = {
  'an API key': `sk-${'a1B2'.repeat(10)}`,
  'a key of this hub': `rookery_${'k'.repeat(40)}`,
  'an AWS key': 'AKIAABCDEFGHIJKLMNOP',
  'a private key': `-----BEGIN RSA PRIVATE KEY-----\n${'Zm9v'.repeat(40)}\n-----END RSA PRIVATE KEY-----`,
}

test.each(Object.entries(secrets))(
  'L22: %s is never shown, whole or in part, wherever the stream splits it',
  (_name, secret) => {
    const inner = secret.replace(/^-----BEGIN RSA PRIVATE KEY-----\n/, '')
    void fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 400 }), (sizes) => {
        const text = `Here it is: ${secret} and that was it.`
        const pieces: string[] = []
        let at = 0
        for (const size of sizes) {
          if (at < text.length) pieces.push(text.slice(at, at + size))
          at += size
        }
        const seen = watch(pieces)
        for (const each of seen) expect(each).not.toContain(inner.slice(0, 12))
        expect(seen.at(-1)).toBe('Here it is: [withheld] and that was it.')
      }),
      { numRuns: 60 },
    )
  },
)

test('L22: the shown part of a very long text is bounded', () => {
  const seen = watch(Array.from({ length: 300 }, () => 'many words '.repeat(20)))
  expect(seen.at(-1)?.length).toBeLessThanOrEqual(streamLimits.textCharsMax)
})

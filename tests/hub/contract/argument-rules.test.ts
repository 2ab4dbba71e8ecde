import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type ArgumentRule,
  matchesArguments,
  toArgumentRules,
} from '../../../src/hub/contract/calls'

const exact = (name: string, value: unknown): ArgumentRule => ({ name, kind: 'exact', value })
const prefix = (name: string, text: string): ArgumentRule => ({
  name,
  kind: 'prefix',
  prefix: text,
})

const name = fc.string({ minLength: 1, maxLength: 4 })
const records = fc.dictionary(name, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 })
const toJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('T20: a rule with exact values', () => {
  test('matches the call it was made from, in any order of its members, and no other call', () => {
    void fc.assert(
      fc.property(records, records, (made, other) => {
        const rules = toArgumentRules(toJson(made), {})
        if (rules === null) throw new Error('no rule')
        const turned = Object.fromEntries(Object.entries(toJson(made) as object).reverse())
        expect(matchesArguments(rules, turned)).toBe(true)
        const sort = (value: unknown): unknown => {
          if (Array.isArray(value)) return value.map(sort)
          if (typeof value !== 'object' || value === null) return value
          return Object.entries(value)
            .map(([key, each]) => [key, sort(each)])
            .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
        }
        const isEqual = JSON.stringify(sort(toJson(made))) === JSON.stringify(sort(toJson(other)))
        expect(matchesArguments(rules, toJson(other))).toBe(isEqual)
      }),
    )
  })

  test('matches no call with an argument more, less, or of another value, however deep', () => {
    void fc.assert(
      fc.property(records, name, fc.jsonValue(), fc.nat(), (made, extra, value, at) => {
        const args = toJson(made) as Record<string, unknown>
        const rules = toArgumentRules(args, {})
        fc.pre(rules !== null)
        if (!Object.hasOwn(args, extra)) {
          expect(matchesArguments(rules ?? [], { ...args, [extra]: value })).toBe(false)
        }
        const names = Object.keys(args)
        const chosen = names[at % Math.max(1, names.length)]
        if (chosen === undefined) return
        const { [chosen]: own, ...less } = args
        expect(matchesArguments(rules ?? [], less)).toBe(false)
        for (const wrapped of [[own], { own }, { ...args }]) {
          expect(matchesArguments(rules ?? [], { ...less, [chosen]: wrapped })).toBe(false)
        }
      }),
    )
  })

  test.each([
    ['a look-alike letter', { to: 'аcme' }],
    ['another case', { to: 'Acme' }],
    ['another normal form', { to: 'acme\u0301' }],
    ['a space', { to: 'acme ' }],
    ['a zero-width character', { to: 'ac\u200bme' }],
    ['a list with it', { to: ['acme'] }],
    ['a default left out', {}],
    ['an extra null', { to: 'acme', cc: null }],
    ['an extra argument of the prototype', JSON.parse('{"to":"acme","__proto__":{"to":"x"}}')],
    ['no object', 'acme'],
    ['a list', ['acme']],
    ['nothing', null],
  ])('does not match %s', (_, args) => {
    expect(matchesArguments([exact('to', 'acme')], args)).toBe(false)
  })

  test('tells numbers, texts, null and nesting apart', () => {
    const rule = [exact('n', { a: [1, { b: null }] })]
    expect(matchesArguments(rule, { n: { a: [1, { b: null }] } })).toBe(true)
    for (const n of [{ a: ['1', { b: null }] }, { a: [1, {}] }, { a: [1, { b: null, c: 1 }] }]) {
      expect(matchesArguments(rule, { n })).toBe(false)
    }
    expect(matchesArguments([exact('n', 0)], { n: -0 })).toBe(false)
    // `constructor` and `toString` are members of every object, but not its own.
    expect(matchesArguments([exact('toString', undefined)], {})).toBe(false)
    expect(matchesArguments([exact('toString', 1)], { x: 1 })).toBe(false)
  })
})

describe('T20: a rule with a prefix', () => {
  const boundary = fc.constantFrom(' ', '/', ': ', '#')
  test('matches only texts that begin with it, and still no other argument', () => {
    void fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z]{3,8}$/),
        boundary,
        fc.string(),
        fc.string(),
        (word, end, rest, other) => {
          const rules = [prefix('title', word + end), exact('m', 1)]
          const isMatch = (title: unknown, more: object = {}) =>
            matchesArguments(rules, { title, m: 1, ...more })
          if (isMatch(other)) expect(other.startsWith(word + end)).toBe(true)
          expect(isMatch(`${word}${end}letters and 2 numbers`)).toBe(true)
          expect(isMatch(rest + word)).toBe(rest.startsWith(word + end) && isMatch(rest + word))
          expect(isMatch(`${word}${end}${rest}`, { extra: rest })).toBe(false)
          expect(isMatch([`${word}${end}`])).toBe(false)
          expect(isMatch(`${word}${end}`, { m: 2 })).toBe(false)
        },
      ),
    )
  })

  test.each([
    ['a folder above', 'docs/', 'docs/../keys/a'],
    ['a folder above, further down', 'docs/', 'docs/a/../../keys'],
    ['an escaped folder above', 'docs/', 'docs/%2e%2e/keys'],
    ['a twice escaped one', 'docs/', 'docs/%252e%252e/keys'],
    ['a backslash', 'docs/', 'docs/..\\keys'],
    ['a full-width dot', 'docs/', 'docs/．．/keys'],
    ['a hidden character', 'docs/', 'docs/a\u202eb'],
    ['a NUL', 'docs/', 'docs/a\u0000.png'],
    ['dots that a URL parser joins', 'https://a.example/docs/', 'https://a.example/docs/.\t./keys'],
    ['a line break before dots', 'https://a.example/docs/', 'https://a.example/docs/\n../keys'],
    ['a mark on the slash', 'docs/', 'docs/\u0338evil'],
    ['a longer host', 'https://api.example', 'https://api.example.evil.net/'],
    ['a user name before the host', 'https://api.example:', 'https://api.example:x@evil.net/'],
    ['a URL with a prefix of its scheme alone', 'https:', 'https:evil.net'],
    ['a URL without its scheme', '//a.example/', '//a.example/'],
    ['a longer name', 'acme', 'acme-evil'],
    ['a name that only ends in a hyphen', 'acme-', 'acme-evil'],
    ['a longer host of a mail', 'bob@', 'bob@evil.net'],
    ['an empty prefix', '', 'anything'],
    ['a blank prefix', '    ', '    anything'],
    ['a short prefix', 'a/', 'a/b'],
  ])('does not match %s', (_, begin, text) => {
    expect(matchesArguments([prefix('text', begin)], { text })).toBe(false)
  })

  test.each([
    ['docs/', 'docs/a/b.md'],
    ['Weekly report ', 'Weekly report of week 47... with two lines\nand an end.'],
    ['https://api.example/v1/', 'https://api.example/v1/stars?limit=5'],
  ])('%s matches %s', (begin, text) => {
    expect(matchesArguments([prefix('text', begin)], { text })).toBe(true)
  })
})

describe('T20: rules are made from a call', () => {
  test('each argument has its exact value unless a prefix is given, and the call itself is covered', () => {
    const args = { community: 'general', title: 'Weekly report 47', tags: ['a'] }
    expect(toArgumentRules(args, { title: 'Weekly report ' })).toEqual([
      exact('community', 'general'),
      prefix('title', 'Weekly report '),
      exact('tags', ['a']),
    ])
    for (const prefixes of [
      { title: 'Daily report ' },
      { title: 'Weekly rep' },
      { title: '' },
      { tags: 'a/b/' },
      { other: 'Weekly report ' },
    ]) {
      expect(toArgumentRules(args, prefixes as Record<string, string>)).toBeNull()
    }
  })

  test('none is made where JSON does not keep the value, or for no object', () => {
    expect(toArgumentRules({ n: JSON.parse('1e999') }, {})).toBeNull()
    expect(toArgumentRules({ n: JSON.parse('-0') }, {})).toBeNull()
    for (const args of [null, [], 'text', 5]) expect(toArgumentRules(args, {})).toBeNull()
    expect(toArgumentRules({}, {})).toEqual([])
  })
})

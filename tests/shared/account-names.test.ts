import { expect, test } from 'vitest'
import { configSchema } from '../../src/agents/definitions/config-schema'
import { accountName, registerInput } from '../../src/hub/accounts/actions'
import { communityInput } from '../../src/hub/communities/actions'
import { policyLinePattern } from '../../src/hub/contract/policy-line'
import { limits } from '../../src/shared/config'
import { findNames } from '../../src/shared/markdown/mention'
import { findMentions } from '../../src/shared/markdown/render-markdown'
import mentionsScript from '../../src/web/client/mentions.client.js?raw'

/*
 * What a name is stands where names are given, and again where texts, lines of policies and the browser
 * look for them: each form is compared with the others.
 */

const { nameCharsMin, nameCharsMax } = limits.account

/** All strings of these characters up to a length. */
const listStrings = (chars: string[], length: number): string[] =>
  length === 0
    ? ['']
    : listStrings(chars, length - 1).flatMap((start) =>
        start.length === length - 1 ? [start, ...chars.map((char) => start + char)] : [start],
      )

const texts = [
  ...listStrings(['a', '7', '_', '-', 'A', '.', 'é'], 4),
  ...[nameCharsMin - 1, nameCharsMin, nameCharsMax - 1, nameCharsMax, nameCharsMax + 1].flatMap(
    (length) => [
      'a'.repeat(length),
      `${'a'.repeat(length - 1)}_`,
      `${'a-'.repeat(length)}`.slice(0, length),
    ],
  ),
]
const names = texts.filter((text) => accountName.safeParse(text).success)

test('H3: names of accounts are among the compared texts, and others', () => {
  expect(names.length).toBeGreaterThan(50)
  expect(texts.length - names.length).toBeGreaterThan(500)
})

test('H4: a text mentions each name that an account can have', () => {
  expect(names.filter((name) => findMentions(`Dear @${name}, hello`)[0] !== name)).toEqual([])
})

test('H4: what a text mentions in lower case is a name, unless it begins with an underscore', () => {
  const found = texts
    .flatMap((text) => findMentions(`Dear @${text} hello`))
    .filter((name) => !name.startsWith('_') && name === name.toLowerCase())
  expect(found.filter((name) => !accountName.safeParse(name).success)).toEqual([])
})

test('G3: a line of a policy can name each account and community', () => {
  expect(names.filter((name) => !policyLinePattern.test(`hub:read for @${name}`))).toEqual([])
  const communities = texts.filter((name) => communityInput.shape.name.safeParse(name).success)
  expect(communities.length).toBeGreaterThan(50)
  expect(
    communities.filter((name) => !policyLinePattern.test(`hub:read for moderators of m/${name}`)),
  ).toEqual([])
})

test('D3: a definition’s name is a name of an account without an underscore', () => {
  const shape = configSchema.shape.name
  expect(texts.filter((text) => shape.safeParse(text).success)).toEqual(
    names.filter((name) => !name.includes('_')),
  )
})

test('H3: the lengths of names are those of the limits', () => {
  const lengths = names.map(({ length }) => length)
  expect([Math.min(...lengths), Math.max(...lengths)]).toEqual([nameCharsMin, nameCharsMax])
  expect(registerInput.shape.name).toBe(accountName)
})

test('C1: the browser offers names after the same characters as a mention may follow', () => {
  const source = /const typed = \/(.*)\/(\w+)\n/.exec(mentionsScript)
  const typed = new RegExp(source?.[1] ?? '', source?.[2])
  const isMention = (before: string) =>
    findNames(`${before}@scout`).some(
      ({ kind, end }) => kind === 'mention' && end === before.length + 6,
    )
  const chars = Array.from({ length: 0x3000 }, (_, code) => String.fromCodePoint(code))
  const more = [
    '\u4f60',
    '\ub2d8',
    '\u{1d400}',
    '\u{10400}',
    '\u{1f600}',
    '\ua640',
    '\uff21',
    '\uff3f',
  ]
  const differing = [...chars, ...more]
    .filter((char) => char !== '\0')
    .flatMap((char) => [char, `(${char}`, `${char}:`, `${char}\u0301`])
    .filter((before) => typed.test(`${before}@sc`) !== isMention(before))
  expect(
    differing.map((before) => [...before].map((char) => char.codePointAt(0)?.toString(16))),
  ).toEqual([])
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findMentions } from '../../../src/hub/mentions/find-mentions'

test.each([
  ['a name in running text', 'Hi @scout, can you?', ['scout']],
  ['any case, each once', '@Scout and @SCOUT and @wren', ['scout', 'wren']],
  ['a name at the end of a sentence', 'Ask @scout.', ['scout']],
  [
    'a name in brackets and in bold',
    '(@scout) **@wren** _@robin_ ~~@ada~~',
    ['scout', 'wren', 'robin', 'ada'],
  ],
  ['a name with underscores and hyphens', '@a_b-c_d', ['a_b-c_d']],
  ['a name before a dash of two hyphens', '@scout--what?', ['scout']],
  ['a name in a list and a heading', '# @scout\n\n- @wren\n  - @robin', ['scout', 'wren', 'robin']],
  ['a name in a table', '| a | b |\n|---|---|\n| @scout | @wren |', ['scout', 'wren']],
])('H4: %s is a mention', (_, text, names) => {
  expect(findMentions(text)).toEqual(names)
})

test.each([
  ['in a code span', 'Use `@scout` here'],
  ['in a fenced block', '```\n@scout\n```'],
  ['in a fence that is never closed', '~~~ts\n@scout'],
  ['in an indented block', 'So:\n\n    @scout'],
  ['in a quote', '> @scout said so\nand on'],
  ['in the text of a link', '[@scout](https://x.test)'],
  ['in the address of a link', '[he](https://x.test/@scout)'],
  ['in a bare address', 'see https://x.test/@scout and www.x.test/@scout'],
  ['in an e-mail address', 'mail me@scout or a.b@scout.test'],
  ['in an automatic link', '<https://x.test/@scout> <me@scout.test>'],
  ['in an image', '![@scout](a.png "@scout")'],
  ['in HTML', '<b title="@scout">x</b>\n\n<div>\n@scout\n</div>'],
  ['as an address on another server', 'follow @scout@social.test'],
  ['as the scope of a package', 'npm i @scout/core'],
  ['behind a backslash', '\\@scout'],
  ['that is too long', `@${'a'.repeat(33)}`],
  ['that is too short', '@a'],
  ['in a definition', '[x]: https://x.test/@scout "@scout"'],
])('H4: a name %s is not a mention', (_, text) => {
  expect(findMentions(text)).toEqual([])
})

test('H4: offsets hold after a byte order mark, tabs, CRLF and astral characters', () => {
  expect(findMentions('\uFEFF`x`\t@scout\r\n😀 `@no` @wren')).toEqual(['scout', 'wren'])
})

test('H4: names found in any text are valid and occur in it after an @', () => {
  const piece = fc.constantFrom(
    '@',
    '`',
    '```\n',
    '> ',
    '[',
    ']',
    '(',
    ')',
    '<',
    '>',
    '\n',
    ' ',
    '_',
    '*',
    '-',
    'scout',
    'a',
    '\t',
    '\\',
    '/',
    '.',
    '😀',
    '|',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.array(piece, { maxLength: 60 }).map((all) => all.join('')),
      ),
      (text) => {
        for (const name of findMentions(text)) {
          expect(name).toMatch(/^[a-z0-9_-]{2,32}$/)
          expect(text.toLowerCase()).toContain(`@${name}`)
        }
      },
    ),
    { numRuns: 500 },
  )
})

test('H4: text in a code span or a quote never mentions', () => {
  const words = fc.string({
    unit: fc.constantFrom('@', 's', 'c', 'o', ' ', '_', '-', '.'),
    maxLength: 40,
  })
  fc.assert(
    fc.property(words, (text) => {
      expect(findMentions(`\`${text}x\``)).toEqual([])
      expect(findMentions(`> ${text}`)).toEqual([])
      expect(findMentions(`\`\`\`\n${text}\n\`\`\``)).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test.each(['[', '_', '@_', '@a', '> ', '*a_ ', '`', '<', '- ', '@a ', '![', '\n\n    ', '|'])(
  'H4: 40,000 characters of %j are parsed quickly',
  (unit) => {
    const startedAt = Date.now()
    findMentions(`@scout ${unit.repeat(40_000 / unit.length)}`.slice(0, 40_000))
    expect(Date.now() - startedAt).toBeLessThan(3_000)
  },
)

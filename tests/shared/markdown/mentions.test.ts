import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findMentions, renderMarkdown } from '../../../src/shared/markdown/render-markdown'
import { sampleSize } from '../../support/sample'

// Many of these were reported as faults of GitHub, Gitea, Mattermost, Discourse, NodeBB and others.
test.each([
  ['in running text', 'Hi @scout, can you?', ['scout']],
  ['in any case, each once', '@Scout and @SCOUT and @wren', ['scout', 'wren']],
  ['at the end of a sentence', 'Ask @scout.', ['scout']],
  ['before an ellipsis', 'Hey @scout... what is up?', ['scout']],
  ['before an ellipsis without a space', '@scout...any news', ['scout']],
  [
    'before a comma, colon, semicolon',
    '@scout, @wren: @robin; @ada!',
    ['scout', 'wren', 'robin', 'ada'],
  ],
  ['in the possessive', "@scout's and @wren’s", ['scout', 'wren']],
  ['at the end of a parenthesis', '(by @scout.)', ['scout']],
  [
    'in all kinds of brackets',
    '(@scout) [@wren] {@robin} <@ada>',
    ['scout', 'wren', 'robin', 'ada'],
  ],
  ['in quotation marks', '"@scout" \'@wren\' «@robin» „@ada“', ['scout', 'wren', 'robin', 'ada']],
  ['after a colon', '(cc:@scout) Re:@wren', ['scout', 'wren']],
  ['after a full stop or dots', 'Thanks.@scout ...@wren', ['scout', 'wren']],
  ['after a dash', '-@scout —@wren', ['scout', 'wren']],
  ['after a plus or equals sign', '+@scout owner=@wren', ['scout', 'wren']],
  ['after a comma without a space', '@scout,@wren', ['scout', 'wren']],
  ['after other special spaces', '\u3000@scout \u00a0@wren', ['scout', 'wren']],
  ['after a byte order mark', '\uFEFF@scout', ['scout']],
  ['after an emoji', '👍@scout ❤️@wren', ['scout', 'wren']],
  ['between Chinese words', '请@scout总结', ['scout']],
  ['between Japanese words', '日本語で@scoutさん、ラーメン@wrenへ', ['scout', 'wren']],
  ['before a Korean particle', '@scout님 확인 부탁, 그리고@wren에게', ['scout', 'wren']],
  ['between Thai words', 'ขอให้@scoutช่วยสรุป นี่@wren', ['scout', 'wren']],
  ['after an Arabic or Hebrew prefix', 'و@scout ל@wren', ['scout', 'wren']],
  ['after a Hindi word', 'कृपया@scout को', ['scout']],
  ['beside Chinese punctuation', '你好，@scout。“@wren”', ['scout', 'wren']],
  ['after a numbered sign', '①@scout ②@wren', ['scout', 'wren']],
  [
    'in bold, italics and deleted text',
    '**@scout** _@wren_ ~~@robin~~ __@ada__ ~@mira~',
    ['scout', 'wren', 'robin', 'ada', 'mira'],
  ],
  ['in bold and italics at once', '***@scout*** _**@wren**_', ['scout', 'wren']],
  ['at the end of an emphasis', '_please answer, @scout_', ['scout']],
  ['at the end of an emphasis over lines', '_please\nanswer @scout_', ['scout']],
  ['in bold between Chinese words', '请**@scout**总结', ['scout']],
  ['with underscores and hyphens', '@a_b-c_d', ['a_b-c_d']],
  ['with an escaped underscore', '@sam\\_lee', ['sam_lee']],
  ['with an underscore as an entity', '@sam&#95;lee @sam&lowbar;b', ['sam_lee', 'sam_b']],
  ['with underscores beside hyphens', '@a-_-b and @c-_-d', ['a-_-b', 'c-_-d']],
  ['with an underscore at its end', '@ab_ *@cd_*', ['ab_', 'cd_']],
  ['with two underscores', '@a__b @c__d', ['a__b', 'c__d']],
  ['before a dash of two hyphens', '@scout--what?', ['scout']],
  ['with digits', '@1a @a1', ['1a', 'a1']],
  ['with as many characters as a name may have', `@${'a'.repeat(32)}`, ['a'.repeat(32)]],
  [
    'in a heading, a list and a task',
    '# @scout\n\n- @wren\n  - @robin\n- [ ] @ada',
    ['scout', 'wren', 'robin', 'ada'],
  ],
  ['in a heading with a line below it', '@scout\n---\n\n@wren\n===', ['scout', 'wren']],
  ['in a table', '| a | b |\n|---|---|\n| @scout | @wren |', ['scout', 'wren']],
  ['in a footnote', 'a[^1]\n\n[^1]: ask @scout', ['scout']],
  ['beside code', '`x`@scout`y`', ['scout']],
  ['beside a link', '[x](y)@scout[z](y)', ['scout']],
  ['before a hard break', '@scout\\\n@wren  \n@ada', ['scout', 'wren', 'ada']],
  [
    'between lines of CRLF, tabs and astral characters',
    '`x`\t@scout\r\n😀 `@no` @wren',
    ['scout', 'wren'],
  ],
  ['after a quote', '> @no\n\n@scout', ['scout']],
  ['beside raw HTML, which is text', '<b>@scout</b>', ['scout']],
  ['in a link that is none', '[@scout](x y) [@wren][nowhere]', ['scout', 'wren']],
  ['behind an escaped backslash that is not one', 'a \\*@scout', ['scout']],
])('H4: a name %s is a mention', (_, text, names) => {
  expect(findMentions(text)).toEqual(names)
})

test.each([
  ['in a code span', 'Use `@scout` here'],
  ['in a code span over lines', '`a\n@scout`'],
  ['in a code span of two backticks', '`` ` @scout ``'],
  ['in a fenced block', '```\n@scout\n```'],
  ['in a block fenced with tildes', '~~~\n@scout\n~~~'],
  ['in a fence that is never closed', '~~~ts\n@scout'],
  ['in a fence in a list', '- a\n  ```\n  @scout\n  ```'],
  ['in the language of a fence', '``` @scout\n```'],
  ['in an indented block', 'So:\n\n    @scout'],
  ['in a quote', '> @scout said so\nand on'],
  ['in a quote in a list', '- > @scout'],
  ['in a list in a quote', '> - @scout'],
  ['in the text of a link', '[@scout](https://x.test)'],
  ['in the emphasized text of a link', '[**@scout**](/x)'],
  ['in the text of a reference', '[@scout][x]\n\n[x]: /y'],
  ['in the address of a link', '[he](https://x.test/@scout)'],
  ['in a bare address', 'see https://x.test/@scout and www.x.test/@scout'],
  ['in the query of a bare address', 'https://x.test/?by=@scout'],
  ['of a user in a bare address', 'https://me:pw@scout/x http://me@scout'],
  ['in another address', 'redis://:@scout ssh://git@scout'],
  ['in an e-mail address', 'mail me@scout or a.b@scout.test'],
  ['in an e-mail address of another alphabet', 'josé@scout почта@scout αλφα@scout'],
  ['in an e-mail address after Chinese', '用户@scout.test'],
  ['in a quoted e-mail address', '"a b"@scout.test'],
  ['in an emphasized e-mail address', '_me_@scout'],
  ['in an automatic link', '<https://x.test/@scout> <me@scout.test>'],
  ['in an image', '![@scout](a.png "@scout")'],
  ['in a definition', '[x]: https://x.test/@scout "@scout"'],
  ['in a footnote that nothing refers to', 'a\n\n[^1]: @scout'],
  ['as an address on another server', 'follow @scout@social.test'],
  ['as an address of Matrix', '@scout:matrix.test'],
  ['as a domain', '@scout.test and @scout.js'],
  ['as the scope of a package', 'npm i @scout/core'],
  ['as the scope of a package on Windows', '@scout\\\\core'],
  ['in a path', 'src/@scout'],
  ['after another @', '@@scout \\@@scout @scout\\@wren'],
  ['behind a backslash', '\\@scout'],
  ['with its @ as an entity', '&#64;scout &commat;scout'],
  ['with a space of no width after its @', '@\u200Bscout'],
  ['of which only a part is emphasized', '@sco**ut** @**scout**'],
  ['with an accent', '@renée @scouté'],
  ['with an accent of its own', '@scoute\u0301'],
  ['with a letter of another alphabet', '@scоut @scoutа @scoutα'],
  ['with a letter of full width', '@scoutａ @scout２'],
  ['after a letter or digit', 'a@scout 3@scout é@scout'],
  ['after an underscore', 'a_@scout'],
  ['that is too long', `@${'a'.repeat(33)}`],
  ['that is too short', '@a @-a'],
])('H4: a name %s is not a mention', (_, text) => {
  expect(findMentions(text)).toEqual([])
})

const words = [
  '@scout',
  '@Wren',
  '@sam\\_lee',
  '@a_b',
  '@ren',
  'scout',
  'a',
  '请',
  'さん',
  '님',
  'é',
  '1',
  '👍',
  '\u0301',
]
const markup = [
  '*',
  '**',
  '_',
  '__',
  '~~',
  '`',
  '``',
  '```\n',
  '~~~\n',
  '[',
  ']',
  '](x)',
  '][a]',
  '![',
  '<',
  '>',
  '\\',
  '&#95;',
  '&#64;',
  '&amp;',
]
const blocks = [
  '> ',
  '- ',
  '1. ',
  '- [ ] ',
  '# ',
  '    ',
  '|',
  '|-|\n',
  '[a]: b\n',
  '[^1]',
  '\n[^1]: ',
  '---\n',
  '\n',
  '\n\n',
  '\r\n',
  '\t',
]
const others = [
  'https://x.test/',
  'www.x.test',
  'me@x.test',
  '.',
  ',',
  ':',
  '-',
  '--',
  '/',
  '(',
  ')',
  '"',
  ' ',
  ' ',
  '@',
  '\0',
  '\u200B',
]
const markdown = fc
  .array(fc.constantFrom(...words, ...words, ...markup, ...blocks, ...others), { maxLength: 40 })
  .map((parts) => parts.join(''))

const linked = (html: string): string[] => [
  ...new Set(
    Array.from(
      html.matchAll(/<a class="at" href="\/a\/([^"]*)">@([^<]*)<\/a>/g),
      ([, name, shown]) => {
        expect(shown?.toLowerCase()).toBe(name)
        return name ?? ''
      },
    ),
  ),
]

test('H4: the names that are notified are the links of the HTML, whatever the text', () => {
  fc.assert(
    fc.property(fc.oneof(markdown, fc.string({ unit: 'binary' })), (text) => {
      const { html, names } = renderMarkdown(text)
      expect(names).toEqual(linked(html))
      expect(findMentions(text)).toEqual(names)
      for (const name of names) expect(name).toMatch(/^[a-z0-9_-]{2,32}$/)
    }),
    { numRuns: sampleSize(500, 3_000) },
  )
})

test('H4: no name is a mention that a reader sees in code, a quote, a link or a longer word', () => {
  const names = /@(?:[a-z0-9_]|-(?!-))+/gi
  fc.assert(
    fc.property(markdown, (text) => {
      const { html } = renderMarkdown(text)
      const shown = html
        .replace(/<a class="at"[^>]*>(.*?)<\/a>/g, '\uE000$1\uE001')
        .replace(/<\/?(?:em|strong|del)>/g, '')
      for (const [element] of shown.matchAll(/<(code|blockquote|a)\b[^>]*>.*?<\/\1>/gs)) {
        expect(element).not.toContain('\uE000')
      }
      for (const [, before = '', name = '', after = ''] of shown.matchAll(
        /(.|^)\uE000(.*?)\uE001(.?)/gsu,
      )) {
        expect(name).toMatch(/^@[a-z0-9_-]+$/i)
        expect(before).not.toMatch(/[\p{Script=Latin}\p{Script=Cyrillic}\p{Nd}_@/]/u)
        expect(after).not.toMatch(/[\p{Script=Latin}\p{Script=Cyrillic}\p{Nd}\p{M}_@/]/u)
      }
      expect(shown.match(names)?.length ?? 0).toBeGreaterThanOrEqual(linked(html).length)
    }),
    { numRuns: sampleSize(400, 2_000) },
  )
})

test('H4: text in a code span or a quote never mentions', () => {
  const piece = fc.string({
    unit: fc.constantFrom('@', 's', 'c', 'o', ' ', '_', '-', '.'),
    maxLength: 40,
  })
  fc.assert(
    fc.property(piece, (text) => {
      expect(findMentions(`\`${text}x\``)).toEqual([])
      expect(findMentions(`> ${text}`)).toEqual([])
      expect(findMentions(`\`\`\`\n${text}\n\`\`\``)).toEqual([])
    }),
    { numRuns: 300 },
  )
})

test('H4: at most a hundred names of a text are mentions, and no more are links', () => {
  const { html, names } = renderMarkdown(
    Array.from({ length: 150 }, (_, n) => `@name${n} @name0`).join(' '),
  )
  expect(names).toHaveLength(100)
  expect(linked(html)).toEqual(names)
})

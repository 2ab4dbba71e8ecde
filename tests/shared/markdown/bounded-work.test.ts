import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { limits } from '../../../src/shared/config'
import {
  findMentions,
  renderMarkdown,
  renderTotals,
} from '../../../src/shared/markdown/render-markdown'
import { sampleSize } from '../../support/sample'

const charsMax = limits.post.contentCharsMax
const note = 'Shown as plain text: its formatting is too complex.'
const fill = (part: string): string =>
  part.repeat(Math.ceil(charsMax / part.length)).slice(0, charsMax)

test.each([
  ['a quote of 101 levels', `${'> '.repeat(101)}@scout`],
  ['a list of 51 levels', `${'- '.repeat(51)}@scout`],
  ['a deep quote of lines without a marker', `@scout ${'\n'}\n${'> '.repeat(60)}a\n${fill('b\n')}`],
  [
    'a table with more cells than characters',
    `@scout\n\n${`${'|a'.repeat(2_000)}|\n${'|-'.repeat(2_000)}|\n${fill('|a\n')}`.slice(0, charsMax)}`,
  ],
  [
    'a long address that many references repeat',
    `@scout [a]\n\n[a]: /${'x'.repeat(charsMax / 2)}\n\n${fill('[a]').slice(0, charsMax / 2)}`,
  ],
  ['more HTML than may be stored', `@scout ${fill('- [ ] a\n').replace('- ', '\n\n- ')}`],
])('markdown: %s is shown as plain text with a note, and its mentions count', (_, text) => {
  const { html, names } = renderMarkdown(text)
  expect(html).toContain(note)
  expect(html.length).toBeLessThan(7 * text.length + 1_000)
  expect(names).toEqual(['scout'])
  expect(html).toContain('<a class="at" href="/a/scout">@scout</a>')
  expect(findMentions(text)).toEqual(names)
})

test('markdown: in plain text addresses and paths are no mentions either', () => {
  const deep = `${'> '.repeat(101)}x\n\n`
  const { html, names } = renderMarkdown(
    `${deep}me@scout.test https://x.test/@scout https://x.test?u=@scout \`@wren\` a/@ada`,
  )
  expect(names).toEqual(['wren'])
  expect(html).not.toContain('href="http')
})

test('markdown: thirty levels of quotes and twenty of lists keep their markup', () => {
  const html = renderMarkdown(`${'> '.repeat(30)}a\n\n${'- '.repeat(20)}b`).html
  expect(html).not.toContain(note)
  expect(html.match(/<blockquote>/g)).toHaveLength(30)
  expect(html.match(/<ul>/g)).toHaveLength(20)
})

test.each([
  [
    'lines of a log with brackets that nothing closes',
    fill('\u001b[32m[INFO\u001b[0m [main a started in 3 ms\n'),
  ],
  ['a long quoted mail', fill('> > > so he wrote\n> > that\nand on\n')],
  ['a quote and 10,000 short lines', `> a\n${fill('b\n')}`.slice(0, charsMax)],
  ['a list and 10,000 short lines', `- a\n${fill('b\n')}`.slice(0, charsMax)],
  ['HTML that nothing closes', `x<![CDATA[${fill('a*')}`.slice(0, charsMax)],
  ['JSON', fill('{"a": [1, [2, "b*_c"], {"d": "<x>"}]},\n')],
  ['code outside of a fence', fill('if (a[i] < b && *p > 0) { x_y = `z`; } // @param\n')],
  [
    'a table of 8 columns',
    `|a|b|c|d|e|f|g|h|\n${'|-'.repeat(8)}|\n${fill('|12|34|56|78|90|12|34|56|\n').slice(0, 14_000)}`,
  ],
])('markdown: %s keep their markup', (_, text) => {
  expect(renderMarkdown(text).html).not.toContain(note)
})

test('markdown: a long text in normal use keeps all of its markup', () => {
  const section = [
    '## Heading',
    'Some *words*, **more**, `code`, a [link](https://example.com/a) and @mira.',
    '> A quote\n> of two lines',
    '- one\n  - two\n    1. three',
    '| a | b |\n|---|---|\n| 1 | 2 |',
    '```js\nconst a = b[1] < 2 // _x_\n```',
    'Title\n-----',
    'See [docs][d], https://example.com and a@b.example.',
  ].join('\n\n')
  const text = `${Array.from({ length: 120 }, () => section).join('\n\n')}\n\n[d]: /docs`
  expect(text.length).toBeGreaterThan(30_000)
  const { html } = renderMarkdown(text)
  expect(html).not.toContain(note)
  expect(html.match(/<a href="\/docs"/g)).toHaveLength(120)
})

const parts = fc.constantFrom(
  '*',
  '_',
  '~~',
  '[',
  ']',
  '](',
  ')',
  '!',
  '<',
  '>',
  '`',
  '```\n',
  '|',
  '|-|\n',
  '> ',
  '- ',
  '1. ',
  '[^1]',
  '[^1]: ',
  '[a]: ',
  'a',
  ' ',
  '\n',
  '\n\n',
  '"',
  "'",
  '&',
  '&#x6a;',
  '\\',
  '=\n',
  '<script>',
  '</script>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=x>',
  '<a href="',
  'javascript:alert(1)',
  'JAVASCRIPT:x',
  'java&#10;script:x',
  'data:text/html,x',
  'vbscript:x',
  '" onmouseover="x',
  'http://a.b/',
  'www.a.b',
  'x@y.zz',
  '@scout',
  '<http://a',
  '\u0000',
  '```js\n',
  '~~~html\n',
  '~~~\n',
  '// ',
  '/*',
  '<!--',
  'if 1 ',
  'javascript&colon;x',
  '\\:',
  '\t',
  '\u0001',
  '](<',
  '>)',
  '\ud800',
  '- [x] ',
)

const references = { amp: '&', quot: '"', lt: '<', gt: '>' } as const

/** The protocol of an attribute's URL, as a browser resolves it on a page of the hub; null for none. */
function protocolOf(attribute: string): string | null {
  const address = attribute.replace(
    /&(amp|quot|lt|gt);/g,
    (_, name: string) => references[name as keyof typeof references],
  )
  return URL.parse(address, 'https://hub.example/p/1')?.protocol ?? null
}

test.each([
  ['javascript:alert(1)', 'javascript:'],
  [' JaVa\nScript:x', 'javascript:'],
  ['data:text/html,x', 'data:'],
  ['*', 'https:'],
])('markdown: the address %j is known for what it is', (address, protocol) => {
  expect(protocolOf(address)).toBe(protocol)
})

test('markdown: no script, handler or script address comes out, however much markup goes in', async () => {
  const text = fc
    .tuple(fc.array(parts, { maxLength: 12 }), fc.array(parts, { maxLength: 3 }), fc.nat(120))
    .map(([first, again, times]) => first.join('') + again.join('').repeat(times))
  await fc.assert(
    fc.property(text, (given) => {
      const { html } = renderMarkdown(given)
      expect(html).not.toMatch(/<\/?(script|img|svg|iframe|style|object|form|base|link|meta)/i)
      for (const [tag] of html.matchAll(/<[^>]*>?/g)) {
        expect(tag).toMatch(/^<\/?[a-z][a-z0-9]*(?: [a-z-]+(?:="[^"<>]*")?)*>$/)
        expect(tag).not.toMatch(/ (on[a-z]+|style|src|srcdoc|formaction)=/i)
        for (const [, address = ''] of tag.matchAll(/ href="([^"]*)"/g)) {
          expect(address).not.toMatch(/&(?!amp;|quot;|lt;|gt;)/)
          expect([null, 'http:', 'https:', 'mailto:']).toContain(protocolOf(address))
        }
      }
    }),
    { numRuns: sampleSize(200, 1_000), examples: [['*[a]: *\n\n[a]: *\n\n']] },
  )
  expect(renderTotals.disallowed).toBe(0)
})

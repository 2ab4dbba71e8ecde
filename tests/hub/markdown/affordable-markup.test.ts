import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { limitMarkup } from '../../../src/hub/markdown/limit-markup'
import { renderMarkdown, renderTotals } from '../../../src/hub/markdown/render-markdown'
import { findMentions } from '../../../src/hub/mentions/find-mentions'
import { limits } from '../../../src/shared/config'

const charsMax = limits.post.contentCharsMax
const fill = (part: string): string =>
  part.repeat(Math.ceil(charsMax / part.length)).slice(0, charsMax)
const leftOut = (text: string): string[] => limitMarkup(text).disable?.null ?? []

const wideTable = `${'|a'.repeat(2_000)}|\n${'|-'.repeat(2_000)}|\n${fill('|a\n')}`

test.each([
  ['*a_ ', 'attention'],
  ['~a~*', 'strikethrough'],
  [']', 'labelEnd'],
  ['[^a]', 'gfmFootnoteCall'],
  ['[^a]:\n\nx|-|\n', 'gfmFootnoteDefinition'],
  ['a\n-\n', 'setextUnderline'],
  ['>', 'blockQuote'],
  ['1. ', 'list'],
  ['> a\n', 'blockQuote'],
  ['1. - a\n', 'list'],
  ['- [ ] a\n', 'list'],
  ['|a|b|\n', 'table'],
  ['_www.', 'wwwAutolink'],
  ['a://', 'protocolAutolink'],
  ['a@', 'emailAutolink'],
  ['```\\', 'codeText'],
  ['<!-- ', 'htmlText'],
])('markdown: %j again and again stays text, without %s', (part, construct) => {
  expect(leftOut(fill(part))).toContain(construct)
})

test('markdown: a shallow quote with many lines stays text', () => {
  expect(leftOut(`${'> '.repeat(20)}a\n${'b\n'.repeat(10_000)}`)).toContain('blockQuote')
})

test('markdown: neither tables nor definitions make a text many times longer', () => {
  const definition = `[a]: ${'x'.repeat(charsMax / 2)}\n\n${fill('[a]').slice(0, charsMax / 2)}`
  for (const text of [wideTable.slice(0, charsMax), definition]) {
    expect(renderMarkdown(text).length).toBeLessThan(40 * charsMax)
  }
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
  const text = Array.from({ length: 120 }, () => section)
    .join('\n\n')
    .slice(0, charsMax)
  expect(text.length).toBeGreaterThan(30_000)
  expect(leftOut(`${text}\n\n[d]: https://example.com/docs`)).toEqual([])
})

test('H4: mentions in a text with too much markup are still found', () => {
  expect(findMentions(`@scout ${'*a_ '.repeat(5_000)}${']'.repeat(5_000)} @mira`)).toEqual([
    'scout',
    'mira',
  ])
})

const parts = fc.constantFrom(
  ...['*', '_', '~~', '[', ']', '](', ')', '!', '<', '>', '`', '```\n', '|', '|-|\n', '> ', '- '],
  ...[
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
  ],
  ...['<script>', '</script>', '<img src=x onerror=alert(1)>', '<svg/onload=x>', '<a href="'],
  ...['javascript:alert(1)', 'JAVASCRIPT:x', 'java&#10;script:x', 'data:text/html,x', 'vbscript:x'],
  ...['" onmouseover="x', 'http://a.b/', 'www.a.b', 'x@y.zz', '@scout', '<http://a', '\u0000'],
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
      const html = renderMarkdown(given)
      expect(html).not.toMatch(/<\/?(script|img|svg|iframe|style|object|form|base|link|meta)/i)
      for (const [tag] of html.matchAll(/<[^>]*>?/g)) {
        expect(tag).toMatch(/^<\/?[a-z][a-z0-9]*(?: [a-z-]+(?:="[^"<>]*")?)* ?\/?>$/)
        expect(tag).not.toMatch(/ (on[a-z]+|style|src|srcdoc|formaction)=/i)
        for (const [, address = ''] of tag.matchAll(/ href="([^"]*)"/g)) {
          expect(address).not.toMatch(/&(?!amp;|quot;|lt;|gt;)/)
          expect([null, 'http:', 'https:', 'mailto:']).toContain(protocolOf(address))
        }
      }
    }),
    { numRuns: 200, examples: [['*[a]: *\n\n[a]: *\n\n']] },
  )
  expect(renderTotals.disallowed).toBe(0)
})

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { renderedTexts } from '../../../src/shared/config'
import { isAllowedHtml } from '../../../src/shared/markdown/html-rules'
import { renderMarkdown } from '../../../src/shared/markdown/render-markdown'

const fence = '~'.repeat(60)
const show = (language: string, code: string): string =>
  renderMarkdown(`${fence}${language}\n${code}\n${fence}`).html

/** Returns what has a color, as class and text. */
const listColored = (language: string, code: string): string[] =>
  Array.from(
    show(language, code).matchAll(/<span class="t(.)">([^<]*)<\/span>/g),
    ([, kind, text]) => `${kind}:${text}`,
  )

test.each([
  [
    'ts',
    "const a = `b c` // d 'e'\nreturns(0xff, 'f\\'g')",
    ['k:const', 's:`b c`', "c:// d 'e'", 'n:0xff', "s:'f\\'g'"],
  ],
  ['js', '/* a\n "b" */ x = "c\nlet', ['c:/* a\n &quot;b&quot; */', 's:&quot;c', 'k:let']],
  ['Go', 'func main() { x := `a\nb` }', ['k:func', 's:`a\nb`']],
  ['rust', "fn f<'a>(x: &'a str) { '\\'' }", ['k:fn', 'k:str', "s:'\\''"]],
  [
    'python',
    'def f(x):  # it\'s\n  """a\n b"""\n  return f"{x}" if x else 1.5',
    [
      'k:def',
      "c:# it's",
      's:&quot;&quot;&quot;a\n b&quot;&quot;&quot;',
      'k:return',
      's:f&quot;{x}&quot;',
      'k:if',
      'k:else',
      'n:1.5',
    ],
  ],
  ['yaml', "a: it's fine # b\nc: true", ['c:# b', 'k:true']],
  [
    'sh',
    'if [ $# -gt 1 ]; then echo "a"; fi',
    ['k:if', 'n:1', 'k:then', 'k:echo', 's:&quot;a&quot;', 'k:fi'],
  ],
  [
    'sql',
    "SELECT a FROM b -- c\nwhere d = 'e'",
    ['k:SELECT', 'k:FROM', 'c:-- c', 'k:where', "s:'e'"],
  ],
  ['json', '{"a": [1, true]}', ['s:&quot;a&quot;', 'n:1', 'k:true']],
  [
    'html',
    '<!-- a --><a href="b">it\'s &amp; </a>',
    [
      'c:&lt;!-- a --&gt;',
      'k:&lt;a',
      's:&quot;b&quot;',
      'k:&gt;',
      'n:&amp;amp;',
      'k:&lt;/a',
      'k:&gt;',
    ],
  ],
  [
    'css',
    '@media (a) { b { c: #fff; d: 1.5rem } } /* e */',
    ['k:@media', 'n:#fff', 'n:1.5rem', 'c:/* e */'],
  ],
  ['diff', '@@ -1 @@\n+a\n-b\n c', ['c:@@ -1 @@', 's:+a', 'n:-b']],
  ['', 'const a = 1', []],
  ['brainfuck', 'const a = 1', []],
  ['constructor', 'const a = 1', []],
])('code in %s has colors', (language, code, colored) => {
  expect(listColored(language, code)).toEqual(colored)
})

const languages = 'js go rust py yaml sh sql html css diff c json none'.split(' ')
const pieces = fc.constantFrom(
  '"',
  "'",
  '`',
  '"""',
  "'''",
  '\\',
  '/*',
  '*/',
  '//',
  '#',
  '--',
  '<!--',
  '-->',
  '<a',
  '</a>',
  '=',
  '\n',
  ' ',
  'a',
  'if',
  'f',
  '1',
  '0x',
  '@',
  '+',
  '-',
  '&',
  '&amp;',
  '<',
  '>',
  '<script>',
  'é',
  '\u0000',
)

test('code keeps its text whatever it contains, and gets no other elements than those of colors', async () => {
  await fc.assert(
    fc.property(
      fc.constantFrom(...languages),
      fc.array(pieces, { maxLength: 40 }),
      (language, all) => {
        const code = all.join('').replaceAll('\u0000', '\uFFFD')
        const html = show(language, code)
        expect(isAllowedHtml(html)).toBe(true)
        expect(html.replace(/<span class="t[cksn]">|<\/span>/g, '')).toBe(
          show('none', code).replace('language-none', `language-${language}`),
        )
      },
    ),
    { numRuns: 1_000 },
  )
})

test('colors make no text longer than may be stored, and so never cost it its formatting', () => {
  const many = `*a*\n\n~~~js\n${'1 '.repeat(10_000)}\n~~~\n\n~~~js\nif\n~~~`
  const { html } = renderMarkdown(many)
  expect(html.match(/<span/g)).toHaveLength(renderedTexts.codeSpansMax)
  expect(html).toContain('<em>a</em>')
  const long = `*a*\n\n~~~js\n${'""'.repeat(19_000)}\n~~~`
  const { html: plain } = renderMarkdown(long)
  expect(plain).toContain('<em>a</em>')
  expect(plain).not.toContain('<span')
  expect(plain.length).toBeLessThanOrEqual(renderedTexts.htmlCharsMax)
})

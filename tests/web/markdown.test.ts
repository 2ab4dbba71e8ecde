import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { renderedTexts } from '../../src/shared/config'
import { isAllowedHtml } from '../../src/shared/markdown/html-rules'
import {
  renderAsPlain,
  renderMarkdown,
  renderTotals,
  unlinkUnknownNames,
} from '../../src/shared/markdown/render-markdown'
import { excerpt } from '../../src/web/parts/prose'

const known = new Set(['scout', 'mira'])
const render = (text: string) => unlinkUnknownNames(renderMarkdown(text).html, known)

test('markdown: known names become links, unknown ones stay text', () => {
  expect(render('@Scout and @nobody')).toBe(
    '<p><a class="at" href="/a/scout">@Scout</a> and @nobody</p>',
  )
})

test('H4: a name in code, a quote, a link or an address is not a mention', () => {
  for (const text of [
    '`@scout`',
    '```\n@scout\n```',
    '> @scout',
    '[@scout](/x)',
    'me@scout',
    'a/@scout',
  ]) {
    expect(render(text)).not.toContain('class="at"')
  }
})

test('markdown: links keep safe targets only and are marked as user content', () => {
  expect(render('[a](https://example.com)')).toContain(
    '<a href="https://example.com" rel="nofollow ugc noopener">',
  )
  expect(render('[a](/p/1)')).toContain('href="/p/1"')
  expect(render('[a](mailto:a@example.com)')).toContain('href="mailto:')
  for (const target of [
    'javascript:alert(1)',
    'JaVaScRiPt:x',
    'data:text/html,x',
    'vbscript:x',
    'irc://x',
    '&#106;avascript:x',
  ]) {
    expect(render(`[a](${target})`)).not.toContain('href')
  }
})

test('markdown: images become links, raw HTML stays text, headings keep the outline', () => {
  expect(render('![cat](https://example.com/c.png)')).toContain('>cat</a>')
  expect(render('<b>bold</b>')).toContain('&lt;b&gt;')
  expect(render('# One\n\n#### Two')).toBe('<h3>One</h3>\n<h3>Two</h3>')
  expect(renderMarkdown('# One', { heading: 2, id: 'a' }).html).toBe('<h2>One</h2>')
})

test('markdown: footnotes link, and two texts with footnotes share no ids', () => {
  const text =
    'a[^1] b[^Two] c[^1] d[^none]\n\n[^1]: note[^two]\n[^two]:\n    more\n\n    still\n[^x]: no'
  const idsOf = (id: string) => {
    const { html } = renderMarkdown(text, { heading: 3, id })
    const ids = Array.from(html.matchAll(/ id="([^"]*)"/g), ([, each]) => each)
    const targets = Array.from(html.matchAll(/ href="#([^"]*)"/g), ([, each]) => each)
    expect(new Set(ids).size).toBe(ids.length)
    for (const target of targets) expect(ids).toContain(target)
    expect(ids).toHaveLength(6)
    expect(html).toContain('d[^none]')
    expect(html).not.toContain('no</')
    return ids
  }
  const first = idsOf('p1')
  expect(idsOf('p2').filter((id) => first.includes(id))).toEqual([])
})

test('markdown: a wide table and code can be scrolled with the keyboard and have a name', () => {
  const html = render('| a | b |\n|---|---|\n| 1 | @scout |')
  expect(html).toContain('<div class="wide" tabindex="0" role="group" aria-label="Table"><table>')
  expect(html).toMatch(/class="at".*<\/table><\/div>$/s)
  expect(render('    code')).toContain('<pre tabindex="0" role="group" aria-label="Code">')
})

const allowed =
  /^<\/?(div|p|a|b|em|strong|del|code|pre|ul|ol|li|blockquote|h3|hr|br|table|thead|tbody|tr|th|td|input|sup|section|span)(?=[\s>/])/

test('markdown: any input renders to known elements without handlers', async () => {
  const pieces = fc.constantFrom(
    '<script>',
    '<img src=x onerror=1>',
    '[a](',
    'javascript:x',
    ')',
    '![',
    ']',
    '`',
    '\n',
    '@scout',
    '<',
    '>',
    '"',
    "'",
    '&',
    '&#x6a;',
    '*',
    '_',
    '~~',
    '|',
    '#',
    '> ',
    '- [ ] ',
    'http://a.b',
    'www.a.b',
    '[^1]',
    '[^1]: x',
    '~~~js\n',
    '~~~html\n',
    'if 1 ',
    '\\',
    ' ',
  )
  await fc.assert(
    fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
      const html = render(parts.join(''))
      for (const [tag] of html.matchAll(/<[^>]*>?/g)) {
        expect(tag).toMatch(allowed)
        expect(tag).not.toMatch(/\son[a-z]+=|style=|href="\s*(javascript|data|vbscript):/i)
      }
    }),
    { numRuns: 500 },
  )
  // the check before storage is a second line: what the renderer makes passes it
  expect(renderTotals.disallowed).toBe(0)
})

test('T15: HTML that would be too long or is not allowed is not stored; the text is stored as it is', () => {
  const names = '@ab '.repeat(10_000).trim()
  const { html: short } = renderMarkdown(names)
  expect(short).toContain('Shown as plain text')
  expect(short.match(/class="at"/g)).toHaveLength(1)
  const quotes = `${'"'.repeat(39_990)}\n<b>`
  const { html } = renderAsPlain(quotes)
  expect(html.length).toBeLessThanOrEqual(renderedTexts.htmlCharsMax)
  expect(html).toMatch(/&quot;<br>\n&lt;b&gt;<\/p>$/)
})

test.each([
  '<script>x</script>',
  '<p onclick="x">a</p>',
  '<a href="javascript:x">a</a>',
  '<a href="/x" rel="nofollow ugc noopener" style="x">a</a>',
  '<img src="x">',
  '<div class="wide">',
  '<p',
  'a > b',
])('T15: %j is not HTML that may be stored', (html) => {
  expect(isAllowedHtml(html)).toBe(false)
})

test('T15: all that the renderer can make is allowed', () => {
  const text =
    '~~~js\nif (1) "2" // 3\n~~~\n\n# A\n\n1. a\n\n3. b\n\n- [x] c\n- [ ] d\n\n| a | b |\n|:-|-:|\n| 1 | ~~2~~ |\n\n```js\nx\n```\n\na  \nb ![c](/d) <http://e.f> [g](</h "i">)[^1]\n\n---\n\n> *j* **k** `l`\n\n[^1]: note\n\n7) x'
  const { html } = renderMarkdown(text)
  expect(isAllowedHtml(html)).toBe(true)
  for (const tag of [
    '<ol start="7">',
    '<div class="wide"',
    '<input disabled',
    '<sup>',
    '<hr>',
    '<span class="tk">',
  ])
    expect(html).toContain(tag)
})

test('markdown: an excerpt is plain and ends at a word', () => {
  expect(excerpt('**One** [two](https://x.example) three', 100)).toBe('One two three')
  expect(excerpt('one two three four', 10)).toBe('one two …')
})

test('markdown: an excerpt of a text truncated within a link shows the link’s text', () => {
  expect(excerpt('One. See [Context is t', 100)).toBe('One. See Context is t')
  expect(excerpt('One. See [Context](/p/12', 100)).toBe('One. See Context')
  expect(excerpt('One [note] stays', 100)).toBe('One [note] stays')
  expect(excerpt('> > # Two\n\n## Three\n> four', 100)).toBe('Two Three four')
  expect(excerpt('Issue #12: a <tag> where 3 > 2', 100)).toBe('Issue #12: a <tag> where 3 > 2')
})

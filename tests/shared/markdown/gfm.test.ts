import { expect, test } from 'vitest'
import { renderMarkdown } from '../../../src/shared/markdown/render-markdown'

// Cases after the sections "Tables" and "Task list items" of the GFM specification and of cmark-gfm's `extensions.txt`.

/** Returns HTML without line ends between tags, and without what makes a table scroll. */
const compact = (html: string): string =>
  html.replace(/<div class="wide"[^>]*>|<\/div>/g, '').replace(/\n?(<[^>]*>)\n?/g, '$1')

const row = (tag: 'th' | 'td', cells: string[]): string =>
  `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`
const table = (head: string[], ...body: string[][]): string =>
  `<table><thead>${row('th', head)}</thead>${
    body.length === 0 ? '' : `<tbody>${body.map((cells) => row('td', cells)).join('')}</tbody>`
  }</table>`

test.each([
  ['| foo | bar |\n| --- | --- |\n| baz | bim |', table(['foo', 'bar'], ['baz', 'bim'])],
  ['abc | def\n--- | ---\nxyz | ghi', table(['abc', 'def'], ['xyz', 'ghi'])],
  [
    '| f\\|oo  |\n| ------ |\n| b `\\|` az |\n| b **\\|** im |',
    table(['f|oo'], ['b <code>|</code> az'], ['b <strong>|</strong> im']),
  ],
  [
    '| abc | def |\n| --- | --- |\n| bar | baz |\n> bar',
    `${table(['abc', 'def'], ['bar', 'baz'])}<blockquote><p>bar</p></blockquote>`,
  ],
  [
    '| abc | def |\n| --- | --- |\n| bar | baz |\nbar\n\nbar',
    `${table(['abc', 'def'], ['bar', 'baz'], ['bar', ''])}<p>bar</p>`,
  ],
  ['| abc | def |\n| --- |\n| bar |', '<p>| abc | def |\n| --- |\n| bar |</p>'],
  [
    '| abc | def |\n| --- | --- |\n| bar |\n| bar | baz | boo |',
    table(['abc', 'def'], ['bar', ''], ['bar', 'baz']),
  ],
  ['| abc | def |\n| --- | --- |', table(['abc', 'def'])],
  ['| a | b |\n\n| c | d |\n| e | f |', '<p>| a | b |</p><p>| c | d |\n| e | f |</p>'],
  ['| ---- | --- |', '<p>| ---- | --- |</p>'],
  ['|x|\n|-|', table(['x'])],
  ['| a |\n--- |', table(['a'])],
  [
    '| _abc_ | セン |\n| ----- | ---- |\n| 1. no block | | \n| But _**inline**_. | x |',
    table(
      ['<em>abc</em>', 'セン'],
      ['1. no block', ''],
      ['But <em><strong>inline</strong></em>.', 'x'],
    ),
  ],
  [
    "| a | b |\n| --- | --- |\n| _**`c\\|`**_ \\| complex\n| don't **\\_reparse\\_**",
    table(
      ['a', 'b'],
      ['<em><strong><code>c|</code></strong></em> | complex', ''],
      ["don't <strong>_reparse_</strong>", ''],
    ),
  ],
  [
    'a | b | c\n:-- | :-: | --:\nd | e | f',
    '<table><thead><tr><th align="left">a</th><th align="center">b</th><th align="right">c</th></tr></thead>' +
      '<tbody><tr><td align="left">d</td><td align="center">e</td><td align="right">f</td></tr></tbody></table>',
  ],
])('GFM: the table %j', (text, html) => {
  expect(compact(renderMarkdown(text).html)).toBe(html)
})

const todo = '<input disabled type="checkbox" aria-label="to do">'
const done = '<input disabled type="checkbox" checked aria-label="done">'

test.each([
  ['- [ ] foo\n- [x] bar', `<ul><li>${todo} foo</li><li>${done} bar</li></ul>`],
  [
    '- [x] foo\n  - [ ] bar\n  - [X] baz\n- [ ] bim',
    `<ul><li>${done} foo<ul><li>${todo} bar</li><li>${done} baz</li></ul></li><li>${todo} bim</li></ul>`,
  ],
  [
    '- [x] foo\n    - [ ] bar\n- [@] bim',
    `<ul><li>${done} foo<ul><li>${todo} bar</li></ul></li><li>[@] bim</li></ul>`,
  ],
  ['1. [x] foo\n2. [ ] bar', `<ol><li>${done} foo</li><li>${todo} bar</li></ol>`],
  ['- [ ] foo\n\n- [x] bar', `<ul><li><p>${todo} foo</p></li><li><p>${done} bar</p></li></ul>`],
  ['- [ ]foo\n- [] bar\n- a [ ] b', '<ul><li>[ ]foo</li><li>[] bar</li><li>a [ ] b</li></ul>'],
  ['- [ ] [a](/b)', `<ul><li>${todo} <a href="/b" rel="nofollow ugc noopener">a</a></li></ul>`],
  ['- # [ ] foo', '<ul><li><h3>[ ] foo</h3></li></ul>'],
  ['[ ] foo', '<p>[ ] foo</p>'],
])('GFM: the tasks %j', (text, html) => {
  expect(compact(renderMarkdown(text).html)).toBe(html)
})

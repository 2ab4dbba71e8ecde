import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findBlockEnd, LiveHtml } from '../../../src/agents/run/live-stream'
import { renderMarkdown } from '../../../src/shared/markdown/render-markdown'

/** Writes a text in pieces, and returns the HTML that a watcher has, and up to where it reaches. */
function write(text: string, sizes: readonly number[]) {
  const live = new LiveHtml()
  let html = ''
  let end = 0
  const take = (length: number, from: number) => {
    const change = live.take(text.slice(0, length), from)
    if (!change) return
    expect(change.from === 0 || change.from === end).toBe(true)
    html = change.from === 0 ? change.html : `${html}\n${change.html}`
    end = change.to
  }
  let at = 0
  for (const size of [...sizes, text.length]) {
    const next = Math.min(text.length, at + size)
    take(next, at)
    at = next
  }
  return { html, end, live }
}

test('L22: a block is HTML once the next one begins, what is after it is not', () => {
  const { html, end } = write('# Tides\n\nTwice **a day**.\n\nThe alm', [3, 4])
  expect(html).toBe('<h3>Tides</h3>\n<p>Twice <strong>a day</strong>.</p>')
  expect(end).toBe('# Tides\n\nTwice **a day**.\n\n'.length)
})

test.each([
  ['an empty line in code', '```js\na\n\nb\n', 0],
  ['code that has ended', '```js\na\n\nb\n```\n\nText', 16],
  ['code in a longer fence', '````\n```\n\nb\n```\n\nText', 0],
  ['what is indented', '- one\n\n  more', 0],
  ['no empty line', 'one\ntwo\nthree', 0],
  ['an empty line without what follows', 'one\n\n', 0],
  ['nothing', '', 0],
])('L22: the last complete block ends right: %s', (_case, text, end) => {
  expect(findBlockEnd(text)).toBe(end)
})

test('L22: raw HTML of a model is text, and a mention is no link', () => {
  const { html } = write('<img src=x onerror=alert(1)> @mira\n\nSo', [])
  expect(html).toBe('<p>&lt;img src=x onerror=alert(1)&gt; @mira</p>')
})

test('L22: who comes first to a text gets its complete blocks at once, and then what follows them', () => {
  const live = new LiveHtml()
  expect(live.readAll('One')).toBeNull()
  expect(live.readAll('One\n\nTwo')).toEqual({ from: 0, to: 5, html: '<p>One</p>' })
  const next = live.take('One\n\nTwo\n\nThree', 8)
  expect(next).toEqual({ from: 5, to: 10, html: '<p>Two</p>' })
})

test('L22: a change in what was rendered is rendered again from the beginning', () => {
  const live = new LiveHtml()
  live.take('The key is sk-1.\n\nMore', 0)
  expect(live.take('The key is [withheld].\n\nMore', 11)).toEqual({
    from: 0,
    to: 24,
    html: '<p>The key is [withheld].</p>',
  })
})

test('L22: however a text is cut into pieces, its blocks are those of the whole text', () => {
  const blocks = fc.constantFrom(
    '# A',
    'b *c*',
    '> d',
    '```\ne\n\nf\n```',
    'g | h',
    '---',
    '**i**\nj',
  )
  fc.assert(
    fc.property(
      fc.array(blocks, { minLength: 1, maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 30 }),
      (list, sizes) => {
        const text = `${list.join('\n\n')}\n\nEnd`
        const { html, end, live } = write(text, sizes)
        expect(end).toBe(text.length - 3)
        expect(html).toBe(renderMarkdown(text.slice(0, end)).html)
        expect(live.readAll(text)).toEqual({ from: 0, to: end, html })
      },
    ),
    { seed: 22 },
  )
})

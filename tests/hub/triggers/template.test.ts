import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createExample,
  fillTemplate,
  parseTemplate,
  type TemplateData,
  toOwnText,
} from '../../../src/hub/triggers/template'
import { findMentions, renderMarkdown } from '../../../src/shared/markdown/render-markdown'

const fill = (template: string, payload: unknown, data: Partial<TemplateData> = {}) => {
  const { parts, problem } = parseTemplate(template)
  expect(problem).toBeNull()
  return fillTemplate(parts, { payload, ...data })
}
const textOf = (template: string, payload: unknown) => fill(template, payload).text

describe('O2: templates', () => {
  test('names of fields can have letters of every script', () => {
    expect(textOf('{{ größe.عنوان }} {{ 件名 }}', { größe: { عنوان: 'A' }, 件名: 'B' })).toBe('A B')
  })

  test('fields and indexes of the payload fill them; what is missing is empty and named', () => {
    const payload = {
      issue: { title: 'It is slow', labels: [{ name: 'bug' }], n: 7, ok: false, no: null },
    }
    expect(textOf('New: {{ issue.title }} ({{issue.labels.0.name}})', payload)).toBe(
      'New: It is slow (bug)',
    )
    expect(textOf('{{ issue.labels[0].name }}!', payload)).toBe('bug!')
    expect(textOf('{{ issue.n }} {{ issue.ok }}', payload)).toBe('7 false')
    expect(textOf('a {{ issue.labels }}', payload)).toBe('a \\[{"name":"bug"}\\]')
    expect(fill('x{{ issue.no }}y', payload)).toEqual({ text: 'xy', missing: [], isCut: false })
    expect(fill('x{{ issue.url }}{{ issue.url }}{{ a.b }}y', payload)).toMatchObject({
      text: 'xy',
      missing: ['issue.url', 'a.b'],
    })
    for (const path of [
      'issue.title.length',
      'issue.labels.length',
      'issue.labels.1',
      'issue.constructor',
      '__proto__',
      'issue.labels.00x',
      'toString',
    ]) {
      expect(fill(`x{{ ${path} }}y`, payload), path).toMatchObject({ text: 'xy', missing: [path] })
    }
    for (const nothing of [null, 'text', 7, []]) expect(textOf('x{{ a }}y', nothing)).toBe('xy')
    expect(textOf('no placeholder } { }}', {})).toBe('no placeholder } { }}')
  })

  test('an event is of the sender where there is one, and a field elsewhere', () => {
    const payload = { event: 'of the payload', a: { event: 'inner' } }
    expect(fill('e {{ event }} {{ a.event }}', payload, { event: 'push' }).text).toBe(
      'e push inner',
    )
    expect(textOf('e {{ event }}', payload)).toBe('e of the payload')
  })

  test('what is no path is refused with what to write', () => {
    for (const wrong of [
      '{{',
      '{{ a',
      '{{}}',
      '{{ }}',
      '{{ a..b }}',
      '{{ a b }}',
      '{{ a() }}',
      '{{ a[x] }}',
      '{{ a["b"] }}',
      '{{{ a }}}',
      '{{ 1 + 1 }}',
      '{{ a | upper }}',
    ]) {
      expect(parseTemplate(`x ${wrong} y`).problem, wrong).toEqual(expect.any(String))
    }
    expect(parseTemplate(`{{ ${'a.'.repeat(10)}a }}`).problem).toMatch(/10 parts/)
    expect(parseTemplate('{{ a }}'.repeat(51)).problem).toMatch(/50 placeholders/)
    expect(parseTemplate('{{ a }}'.repeat(50)).problem).toBeNull()
  })

  test('a value alone in its line is quoted, or code; text behind it is not in the quote', () => {
    const payload = { body: 'One\r\n# Two\n\n@mira', list: ['```', 1] }
    const text = textOf('@scout please look:\n{{ body }}\nThanks, @finch', payload)
    expect(text).toBe('@scout please look:\n\n> One\n> # Two\n>\n> @mira\n\nThanks, @finch')
    expect(findMentions(text)).toEqual(['scout', 'finch'])
    expect(textOf('{{ list }}', payload)).toBe('````json\n[\n  "```",\n  1\n]\n````')
    expect(textOf('a\n\n{{ body }}\n\nb', { body: 'x' })).toBe('a\n\n> x\n\nb')
    expect(textOf('a\n  {{ none }}\nb', payload)).toBe('a\n  \nb')
  })

  test('an address stays a link; anything else in a line is plain text', () => {
    const shown = (value: string) => renderMarkdown(textOf('See {{ v }}.', { v: value })).html
    expect(shown('https://example.com/a_b?c=d')).toContain('href="https://example.com/a_b?c=d"')
    expect(shown('[x](https://evil.example)')).not.toContain('>x</a>')
    expect(shown('line one\n\n# line two')).toBe('<p>See line one # line two.</p>')
  })

  test('values are cut at 64 KiB together, between characters', () => {
    const long = 'é'.repeat(40_000)
    const { text, isCut } = fill('{{ a }} and {{ b }}!', { a: long, b: 'x' })
    expect(isCut).toBe(true)
    expect(text).toBe(`${'é'.repeat(32_768)}\\[...\\] and \\[...\\]!`)
    expect(fill('{{ a }}!', { a: 'x'.repeat(65_536) }).isCut).toBe(false)
  })

  test('values are masked before they are shown', () => {
    const { text } = fill(
      'a {{ v }}',
      { v: 'secret' },
      { mask: (value) => value.replace('secret', '***') },
    )
    expect(text).toBe('a \\*\\*\\*')
  })
})

const nasty = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({
    unit: fc.constantFrom(
      '@',
      'm',
      'i',
      'r',
      'a',
      '\n',
      '`',
      '>',
      '\\',
      '[',
      ']',
      '(',
      ')',
      '*',
      '_',
      '!',
      '<',
      '&',
      '#',
      ' ',
      '~',
      '/',
      ':',
      '-',
      ';',
      '64',
    ),
    maxLength: 60,
  }),
  fc.constantFrom(
    '@mira',
    '\n@mira',
    '`@mira',
    '\\@mira',
    '&#64;mira',
    '![x](/media/00000000-0000-7000-8000-000000000001)',
    '</p>@mira',
    '\n\n@mira\n\n',
    '> \n\n@mira',
    '[@mira](x)',
    'https://e.x/@mira',
  ),
)
const templates = [
  '{{ v }}',
  'Hi {{ v }} there',
  'Ask:\n{{ v }}\nThanks, @scout',
  '- {{ v }}\n- @scout',
  '@scout {{ v }}',
  '**{{ v }}** @scout',
  '{{ v }}{{ v }}',
  '`{{ v }}` @scout',
]

test('O2: no payload mentions whom the template does not mention', () => {
  void fc.assert(
    fc.property(fc.constantFrom(...templates), nasty, (template, v) => {
      const { parts } = parseTemplate(template)
      const { text } = fillTemplate(parts, { payload: { v } })
      const own = new Set(findMentions(toOwnText(parts)))
      for (const name of findMentions(text))
        expect(own, JSON.stringify({ text, v })).toContain(name)
    }),
    { numRuns: 500 },
  )
})

test('O2: the example of a template has all that the template has', () => {
  const template =
    '{{ a.b.0.c }} {{ a.b.1 }} {{ a }} {{ d[1] }} {{ constructor.x }} {{ e }} {{ e.f }}'
  const { parts } = parseTemplate(template)
  const example = createExample(parts)
  expect(fillTemplate(parts, { payload: JSON.parse(JSON.stringify(example)) }).missing).toEqual([])
  expect(
    createExample(parseTemplate('{{ __proto__.polluted }}{{ a.0 }}{{ a.__proto__.p }}').parts),
  ).toEqual({ a: ['the 0'] })
  expect(Reflect.get({}, 'polluted') ?? Reflect.get([], 'p')).toBeUndefined()
})

test('O2: any template is read or refused, and any payload fills it within its bounds', () => {
  const payloads = fc.oneof(
    fc.jsonValue(),
    fc.record({ v: fc.jsonValue(), a: fc.array(fc.jsonValue()) }),
  )
  const texts = fc
    .array(
      fc.oneof(
        fc.string(),
        fc.constantFrom('{{ v }}', '{{ a.0 }}', '{{', '}}', '\n', '{{ v.v.v }}'),
      ),
    )
    .map((parts) => parts.join(''))
  void fc.assert(
    fc.property(texts, payloads, (template, payload) => {
      const { parts, problem } = parseTemplate(template)
      expect(problem === null || parts.length === 0).toBe(true)
      if (problem !== null) return
      const own = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
      const { text, missing } = fillTemplate(parts, { payload })
      if (!template.includes('{{')) expect(text).toBe(template)
      expect(own.length).toBeLessThanOrEqual(template.length)
      expect(missing.length).toBeLessThanOrEqual(50)
      expect(fillTemplate(parts, { payload })).toEqual({ text, missing, isCut: false })
    }),
  )
})

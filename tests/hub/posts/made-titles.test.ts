import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeTitle } from '../../../src/hub/posts/actions'
import { limits } from '../../../src/shared/config'
import { showsText } from '../../../src/shared/texts'
import { createTestHub } from '../create-test-hub'

const hub = createTestHub()

describe('a title that is made from a text', () => {
  const long = `${'word '.repeat(30)}end`
  test.each([
    ['@scout what did people here say about memory?', 'what did people here say about memory?'],
    ['@scout, @mira: is it *really* done? I doubt it.', 'is it really done?'],
    ['@scout, @mira: hello', 'hello'],
    ['@scout, @mira:\n\nIs it done?', 'Is it done?'],
    ['@scout @mira\nIs it done?', 'Is it done?'],
    ['@scout,@mira: is it done?', 'is it done?'],
    ['@scout and @mira: is it done?', 'is it done?'],
    ['@scout & @mira; is it done?', 'is it done?'],
    ['**@scout**, @mira: is it done?', 'is it done?'],
    ["@scout's list is long.", "@scout's list is long"],
    ['@scout, @mira', '@scout, @mira'],
    ['The harbour is closed today. Boats stay in.', 'The harbour is closed today'],
    ['Hi! The harbour is closed. Boats stay in.', 'Hi! The harbour is closed'],
    ['# Release **notes** for `v2`\n\nFirst.', 'Release notes for v2'],
    ['- [ ] water [the plants](https://plants.example)\n- more', 'water the plants'],
    ['\n\n---\n\n> what ~~they~~ we said\nsecond line', 'what they we said'],
    ['```ts\n\nconst a = 1\n```', 'const a = 1'],
    ['![a chart](https://a.example/x.png)', 'a chart'],
    ['| Name | Age |\n| --- | --- |\n| Mira | 7 |', 'Name'],
    [
      'See https://a.example/watch?v=abc&x=1 for more',
      'See https://a.example/watch?v=abc&x=1 for more',
    ],
    [`${'\n\u200b'.repeat(2_000)}The harbour is closed. Boats stay in.`, 'The harbour is closed'],
    ['---', '---'],
    ['@scout', '@scout'],
    [
      '今日は良い天気ですね、港まで歩きましょう。明日は雨です。',
      '今日は良い天気ですね、港まで歩きましょう。',
    ],
    [long, `${'word '.repeat(19)}word…`],
    ['x'.repeat(150), `${'x'.repeat(99)}…`],
  ])('%j', (text, title) => expect(makeTitle(text)).toBe(title))

  test('any text: a line that shows something, short enough, or a refusal', () => {
    const part = fc.constantFrom(
      'a',
      '. ',
      '\n',
      '#',
      '*',
      '`',
      '@scout ',
      '👩‍👩‍👧',
      '> ',
      '\u200b',
      '[',
      '](b)',
    )
    const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.array(part, { maxLength: 200 }))
    fc.assert(
      fc.property(text, (parts) => {
        const content = typeof parts === 'string' ? parts : parts.join('')
        if (!showsText(content)) {
          expect(() => makeTitle(content)).toThrow('A post needs a title or a text.')
          return
        }
        const title = makeTitle(content)
        expect(title.length).toBeLessThanOrEqual(limits.post.madeTitleCharsMax)
        expect(showsText(title)).toBe(true)
        expect(title).toBe(title.trim())
        expect(title).not.toMatch(/[\r\n]/)
        expect(title.isWellFormed()).toBe(true)
      }),
    )
  })
})

test('the API makes a title where there is none, and notifies nobody whom only the title seems to mention', async () => {
  const ada = await hub.join('ada', 'human')
  const bob = await hub.join('bob', 'human')
  const post = (body: object) =>
    hub.call('/posts', { key: ada.key, body: { community: 'general', ...body } })
  const made = await post({ content: 'Write `@bob` or @nobody' })
  expect(made).toMatchObject({
    status: 201,
    body: { post: { title: 'Write @bob or @nobody' } },
  })
  expect((await hub.call('/inbox', { key: bob.key })).body.items).toEqual([])
  expect((await post({ title: '  ', content: 'Hello @bob' })).body.post.title).toBe('Hello @bob')
  expect((await hub.call('/inbox', { key: bob.key })).body.items).toHaveLength(1)
  for (const body of [
    {},
    { title: '' },
    { title: ' ', content: '\u200b' },
    { url: 'https://a.example' },
  ]) {
    expect(await post(body)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION', details: [{ path: 'body.title' }] },
    })
  }
  const path = `/posts/${made.body.post.id}`
  const emptied = await hub.call(path, { method: 'PATCH', key: ada.key, body: { title: ' ' } })
  expect(emptied).toMatchObject({ status: 400, body: { code: 'VALIDATION' } })
})

import { describe, expect, test } from 'vitest'
import { answerOf, fakeModel } from './fake-provider'

const ask = async (text: string, pieceChars: number, fault?: 'end') => {
  const { model } = await fakeModel('openai-compatible', [
    { text, pieceChars, ...(fault && { fault }) },
  ])
  const told = { text: '', reasoning: '' }
  const answer = await answerOf(model, {
    onDelta: ({ kind, text: piece, isWhole }) => {
      told[kind] = isWhole ? piece : told[kind] + piece
    },
  })
  expect(told).toEqual({ text: answer.text, reasoning: answer.reasoning })
  return answer
}

describe.each([1, 3, 7, 1_000])('in pieces of %d characters', (pieceChars) => {
  test('L25: <think> text of an open model becomes reasoning, not text', async () => {
    const thoughts = '\nA tin. Is </thin> a tag? No: 1 < 2.\n'
    const answer = await ask(`\n<think>${thoughts}</think>\n\nIn the cellar.`, pieceChars)
    expect(answer.reasoning).toBe(thoughts)
    expect(answer.text.trim()).toBe('In the cellar.')
  })

  test.each(['think', 'thinking', 'thought', 'reasoning'])(
    'L25: <%s> text, and what stands before its closing tag, is reasoning',
    async (name) => {
      const thoughts = 'A tin. Is </thin> a tag?\n\nNo: `1 < 2`. They say "the cellar".\n'
      for (const opening of [`<${name}>`, `\n\n<${name}>`, '']) {
        const answer = await ask(`${opening}${thoughts}</${name}>\n\nIn the cellar.`, pieceChars)
        expect(answer.reasoning).toBe(thoughts)
        expect(answer.text.trim()).toBe('In the cellar.')
      }
    },
  )

  test('L25: only the first closing tag ends reasoning, at once or at the end', async () => {
    expect(await ask('</think>In the cellar. </think> is a tag.', pieceChars)).toMatchObject({
      text: 'In the cellar. </think> is a tag.',
      reasoning: '',
    })
    const nothing = await ask('A tin.</think>', pieceChars)
    expect(nothing).toMatchObject({ text: '', reasoning: 'A tin.' })
  })

  test.each([
    'Models end their thoughts with `</think>`, and then answer.',
    '```html\n<p>\n</think>\n```\nThat is wrong.',
    'Write "</think>" at the end.',
    '<p>A tin</p> </thinker> </',
    'In the cellar. <think>Or not?</think> There.',
    '<thinker> is no tag.',
    '<thi',
    ' < 3 tins',
    '',
  ])('L25: "%s" stays text', async (text) => {
    expect(await ask(text, pieceChars)).toMatchObject({ text, reasoning: '' })
  })

  test('L25: unclosed <think> text is not posted', async () => {
    const answer = await ask('<think>A tin, or perhaps a </th', pieceChars, 'end')
    expect(answer).toMatchObject({ text: '', reasoning: 'A tin, or perhaps a </th' })
  })
})

test.each([
  'reasoning_content',
  'reasoning',
  'thinking',
  'thought',
  'reasoning_text',
  'reasoning_details',
])(
  'L25: reasoning in the field %s is kept as reasoning, and no part of the text',
  async (reasoningField) => {
    const reasoning = 'A tin, or perhaps a box. It is in the cellar.'
    const { model } = await fakeModel('openai-compatible', [
      { text: 'In the cellar.', reasoning, reasoningField },
    ])
    expect(await answerOf(model)).toMatchObject({ text: 'In the cellar.', reasoning })
  },
)

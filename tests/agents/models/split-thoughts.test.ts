import { describe, expect, test } from 'vitest'
import { answerOf, fakeModel } from './fake-provider'

const ask = async (text: string, pieceChars: number, fault?: 'end') => {
  const { model } = await fakeModel('openai-compatible', [
    { text, pieceChars, ...(fault && { fault }) },
  ])
  const told = { text: '', reasoning: '' }
  const answer = await answerOf(model, {
    onDelta: ({ kind, text: piece }) => {
      told[kind] += piece
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

  test.each([
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

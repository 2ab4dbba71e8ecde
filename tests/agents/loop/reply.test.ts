import { describe, expect, test } from 'vitest'
import { composeReply } from '../../../src/agents/loop/reply'
import { addMentions } from '../../../src/shared/markdown/render-markdown'
import { Scenario } from './scenario'

describe('names', () => {
  test('L6: every requester is mentioned once', () => {
    expect(addMentions('Here it is.', ['mira', 'tomas'])).toBe('@mira @tomas Here it is.')
    expect(addMentions('@mira Here it is.', ['mira'])).toBe('@mira Here it is.')
    expect(addMentions('> quoted', ['mira'])).toBe('@mira\n\n> quoted')
  })

  test('L6: a name within another name, an address or a path mentions no requester', () => {
    for (const text of [
      '@bobby knows.',
      '@bob-b knows.',
      'Write to x@bob or a@bob.org.',
      '@bob/x',
    ]) {
      expect(addMentions(text, ['bob'])).toMatch(/^@bob\s/)
    }
    for (const text of ['Ask @Bob.', '(@bob)', '**@bob** knows', '@bob--he knows', '_@bob_, see']) {
      expect(addMentions(text, ['bob'])).toBe(text)
    }
  })
})

test('L9: a text so far as long as a comment leaves room for the limit that stopped it', () => {
  const limits = { iterations: 1, tokens: 100_000, durationMs: 60_000, contextTokens: 1_000_000 }
  const { state, events } = new Scenario()
    .wake()
    .load({ limits })
    .answer(`The herons. ${'x'.repeat(12_000)}`, ['a'])
    .returnTool('a')
  const requesters = Array.from({ length: 20 }, (_, id) => `${'n'.repeat(30)}${10 + id}`)
  const reply = (state.ending && composeReply(state.ending, events, requesters)) ?? ''
  expect(reply.length).toBeLessThanOrEqual(10_000)
  expect(reply).toContain('The herons. x')
  expect(reply).toContain('[...]')
  expect(reply).toMatch(/`behavior\.max_iterations` .*\*$/)
})

test.each([
  ['PROVIDER_BUSY', true],
  ['PROVIDER_AUTH', false],
] as const)('L35: the reply states whether asking again may help: %s', (code, isRecoverable) => {
  const { state, events } = new Scenario().wake().load().failModel({ code, isRetryable: false })
  const reply = state.ending && composeReply(state.ending, events, ['mira'])
  expect(reply?.includes('Asking me again may help.')).toBe(isRecoverable)
})

describe('L34: what was written when a run is stopped is posted', () => {
  const stopped = (
    text?: string,
    type: 'cancel_requested' | 'time_ran_out' = 'cancel_requested',
  ) => {
    const scenario = new Scenario().wake().load().answer('I look.', ['a']).returnTool('a')
    scenario.apply({ type, at: 9, charge: null, ...(text !== undefined && { text }) })
    const { state, events } = scenario
    return state.ending && composeReply(state.ending, events, ['mira'])
  }

  test('with the reason after it, by a person or by the time limit', () => {
    expect(stopped('The tide comes in')).toBe('@mira The tide comes in\n\n*I was asked to stop.*')
    expect(stopped('The tide', 'time_ran_out')).toMatch(/^@mira The tide\n\n\*.*60 s/)
  })

  test('without a text what was said before it counts', () => {
    expect(stopped()).toBe('@mira I look.\n\n*I was asked to stop.*')
    expect(stopped('  \n')).toBe('@mira I look.\n\n*I was asked to stop.*')
  })

  test('a truncated answer is joined with the part that was being written', () => {
    const scenario = new Scenario().wake().load().answer('One, ', [], 'length')
    scenario.apply({ type: 'cancel_requested', at: 9, charge: null, text: 'two' })
    const { state, events } = scenario
    expect(state.ending && composeReply(state.ending, events, [])).toMatch(/^One, two\n\n/)
  })

  test.each([
    ['Run:\n```js\nlet a = 1', '\n```\n\n*I was'],
    ['~~~~\n```\nx', 'x\n~~~~\n\n*I was'],
    ['```\na\n```\nb', '```\nb\n\n*I was'],
    ['```\na\n````', '````\n\n*I was'],
    ['`one` line', '`one` line\n\n*I was'],
    ['1. Run:\n\n   ```bash\n   npm start', 'npm start\n   ```\n\n*I was'],
    ['```npm start``` starts it', 'starts it\n\n*I was'],
  ])('a code block that is open ends before the reason: %j', (text, end) => {
    expect(stopped(text)).toContain(end)
  })
})

import { describe, expect, test } from 'vitest'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import { Scenario } from './scenario'

const started = (over: Parameters<Scenario['load']>[0] = {}) => new Scenario().wake().load(over)

describe('an answer that was truncated before any text', () => {
  test('L21 L26: the model gets a note on the length limit, not on an empty answer', () => {
    const scenario = started().answer('', [], 'length')
    expect(scenario.pendingTypes()).toEqual(['call_model'])
    const note = buildTranscript(scenario.events).at(-1)
    expect(note).toMatchObject({ role: 'user', text: expect.stringContaining('length limit') })
    expect(note).not.toEqual(buildTranscript(started().answer('').events).at(-1))
  })

  test('L21 L26: the second one ends it with an error that names the limit and how to raise it', () => {
    const { ending } = started().answer('', [], 'length').answer(' ', [], 'length').state
    expect(ending).toMatchObject({ outcome: 'failed', error: { code: 'EMPTY_RESPONSE' } })
    for (const text of [ending?.error?.message, ending?.text]) {
      expect(text).toContain('`brain.max_tokens`')
      expect(text).toContain('after 5 tokens')
    }
  })

  test('L26: an answer that was empty by itself names no limit', () => {
    const { ending } = started().answer('', [], 'length').answer('').state
    expect(ending).toMatchObject({ outcome: 'failed', error: { code: 'EMPTY_RESPONSE' } })
    expect(ending?.error?.message).not.toContain('max_tokens')
  })

  test('L7 L21: an exploring agent has not declined when its answer was truncated', () => {
    const explorer = started({ task: 'exploration', answer: null })
    explorer.answer('', ['a']).returnTool('a').answer('', [], 'length')
    expect(explorer.pendingTypes()).toEqual(['call_model'])
  })

  test('L21: when the context window truncates each answer, it compacts, and ends with a context-limit error', () => {
    const scenario = started({
      limits: { iterations: 20, tokens: 1_000_000, durationMs: 60_000, contextTokens: 1_000 },
    })
    let compactions = 0
    for (let round = 0; round < 10 && !scenario.state.ending; round++) {
      if (scenario.pendingTypes().includes('compact')) {
        compactions++
        scenario.compact({ tokens: 500 })
      } else scenario.answer('', [], 'length', 900)
    }
    expect(compactions).toBe(3)
    expect(scenario.state.ending).toMatchObject({
      outcome: 'context_limit',
      error: { code: 'CONTEXT_LIMIT' },
    })
  })
})

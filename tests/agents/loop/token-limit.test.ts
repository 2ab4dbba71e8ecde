import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { outputTokensFloor } from '../../../src/agents/loop/message'
import { composeReply } from '../../../src/agents/loop/reply'
import { Scenario } from './scenario'

/** Of 1,000 tokens in total, as in `facts`. */
const limit = 1_000

describe('the token limit of an activation', () => {
  test('B5 L8: a call whose prompt does not fit into what is left is not begun', () => {
    const scenario = new Scenario().wake().load()
    scenario.answer('', ['a'], 'tool-calls', 600).returnTool('a')
    expect(scenario.pendingTypes()).toEqual(['commit'])
    expect(scenario.state.tokens).toBe(605)
    expect(scenario.state.ending).toMatchObject({ outcome: 'max_tokens', reply: 'partial' })
    expect(scenario.state.ending?.text).toMatch(
      /used 605 of the 1000 .* need about \d+.*max_tokens/,
    )
  })

  test('B5 L8: a first prompt that does not fit costs nothing, and the requester gets a reply', () => {
    const scenario = new Scenario().wake().load({ promptTokens: limit })
    expect(scenario.pendingTypes()).toEqual(['commit'])
    expect(scenario.state).toMatchObject({ tokens: 0, modelCalls: 0 })
    for (const name of ['`behavior.max_tokens`', '`brain.max_tokens_per_activation`']) {
      expect(scenario.state.ending?.text).toContain(name)
    }
  })

  test('L9 B5: when the hub refuses more tokens, the text names the limit to raise too', () => {
    const scenario = new Scenario()
      .wake()
      .load()
      .answer('So far: two herons.', ['a'])
      .returnTool('a')
    const effectId = scenario.only('call_model')
    scenario.apply({ type: 'model_refused', at: 9, effectId, reason: 'max_tokens' })
    const { ending } = scenario.state
    expect(ending).toMatchObject({ outcome: 'max_tokens', reply: 'partial' })
    const reply = ending && composeReply(ending, scenario.events, [])
    expect(reply).toMatch(/^So far: two herons\.\n\n\*I used 15 tokens, .*`behavior\.max_tokens`/)
  })

  test('B5 L8: whenever a call is begun, its prompt and a short answer fit into what is left', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 4 }), (prompts) => {
        const scenario = new Scenario().wake().load()
        for (const tokens of prompts) {
          if (!scenario.pendingTypes().includes('call_model')) break
          const { state } = scenario
          expect(state.tokens + state.promptTokens + outputTokensFloor).toBeLessThanOrEqual(limit)
          scenario.answer('', ['a'], 'tool-calls', tokens)
          for (const id of scenario.runningCalls()) scenario.returnTool(id)
        }
      }),
    )
  })
})

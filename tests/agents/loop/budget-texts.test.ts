import { expect, test } from 'vitest'
import { endingTexts } from '../../../src/agents/loop/ending-texts'
import { composeReply } from '../../../src/agents/loop/reply'
import { Scenario } from './scenario'

const shortage = {
  scope: 'agent',
  period: 'day',
  kind: 'microusd',
  left: 4_100,
  needs: 9_200,
  resetsAt: Date.UTC(2026, 10, 23, 23),
} as const

test('T4: a refusal says what is left, what the call needs and when the budget resets', () => {
  const run = new Scenario().wake().load()
  run.apply({
    type: 'model_refused',
    at: run.at++,
    effectId: run.only('call_model'),
    reason: 'budget_exhausted',
    shortage,
  })
  const { ending } = run.state
  const reply = ending && composeReply(ending, run.events, ['mira'])
  expect(ending?.outcome).toBe('budget_exhausted')
  // the call was not made
  expect(run.state.iteration).toBe(0)
  for (const part of ['daily', '$0.004100', '$0.009200', '2026-11-23 at 23:00 UTC']) {
    expect(reply).toContain(part)
  }
})

test('T4: a refusal before the prompt is known says so too', () => {
  const used = { ...shortage, kind: 'tokens', left: 120, needs: null, resetsAt: null } as const
  const run = new Scenario().wake().load({ admission: 'budget_exhausted', shortage: used })
  const { ending } = run.state
  expect(ending && composeReply(ending, run.events, ['mira'])).toContain('has 120 tokens left')
})

test('L8: a reply that stopped at a limit says who can raise it, because whoever reads it may not', () => {
  const limited = [
    endingTexts.iterationLimit(8),
    endingTexts.tokensUsedUp(900),
    endingTexts.answerLimit(),
    endingTexts.timedOut(),
  ]
  for (const text of limited) {
    expect(text).toMatch(/An admin or my owner can raise `(behavior|brain)\./)
    expect(text).not.toMatch(/(^|\. )Raise /)
  }
  expect(endingTexts.iterationLimit(1)).toContain('after 1 step,')
})

import { describe, expect, test } from 'vitest'
import type { LoopEvent } from '../../../src/agents/loop/event'
import { composeReply } from '../../../src/agents/loop/reply'
import { describeProgress } from '../../../src/agents/run/run-log'
import { activationLimits } from '../../../src/shared/config'
import { facts, Scenario, woken } from './scenario'

const exploring = () => new Scenario().wake().load({ task: 'exploration', answer: null })

describe('tasks', () => {
  test('S1 L2: an exploration is offered to one LOAD, not to later ones', () => {
    const scenario = new Scenario()
    scenario.apply({ ...woken(), mayExplore: true } as ReturnType<typeof woken>)
    expect(scenario.state.pending).toMatchObject([{ type: 'load', mayExplore: true }])
    scenario.apply({
      type: 'load_waited',
      at: 2,
      effectId: scenario.only('load'),
      retryAt: 5,
      reason: 'capacity',
    })
    scenario.sleep()
    expect(scenario.state.pending[0]).not.toHaveProperty('mayExplore')
  })

  const offer = () => ({ ...woken(5), mayExplore: true }) as LoopEvent
  const begin = () => {
    const scenario = new Scenario().wake()
    return { scenario, effectId: scenario.only('load') }
  }
  const failure = { code: 'HUB_UNREACHABLE', message: 'No answer.', isHopeless: false } as const

  test('S1: an offer that comes while LOAD is on its way goes with the next one', () => {
    const { scenario, effectId } = begin()
    scenario.apply(offer())
    scenario.apply({ type: 'load_found_nothing', at: 6, effectId })
    expect(scenario.state.pending).toMatchObject([{ type: 'load', mayExplore: true }])
    scenario.apply({ type: 'load_found_nothing', at: 7, effectId: scenario.only('load') })
    expect(scenario.state).toMatchObject({ phase: 'idle', mayExplore: false })
  })

  test('S1: an offer outlives a wait for capacity that began before it', () => {
    const { scenario, effectId } = begin()
    scenario.apply(offer())
    scenario.apply({ type: 'load_waited', at: 6, effectId, retryAt: 9, reason: 'capacity' })
    scenario.sleep()
    expect(scenario.state.pending).toMatchObject([{ type: 'load', mayExplore: true }])
  })

  test('S1: an offer that comes during the wait is made at once', () => {
    const { scenario, effectId } = begin()
    scenario.apply({ type: 'load_waited', at: 6, effectId, retryAt: 9, reason: 'capacity' })
    scenario.apply(offer())
    expect(scenario.state.pending).toMatchObject([{ type: 'load', mayExplore: true }])
  })

  test('S1: a LOAD that failed has not answered its offer', () => {
    const scenario = new Scenario()
    scenario.apply(offer())
    scenario.apply({ type: 'load_failed', at: 6, effectId: scenario.only('load'), ...failure })
    scenario.sleep()
    expect(scenario.state.pending).toMatchObject([{ type: 'load', mayExplore: true }])
  })

  test('S1: the commit of a run answers an offer that came during it; a run that parks keeps it', () => {
    const { scenario } = begin()
    scenario.load()
    scenario.apply(offer())
    expect(scenario.state.mayExplore).toBe(true)
    scenario.answer('Yes.').commit()
    expect(scenario.state).toMatchObject({ phase: 'idle', mayExplore: false, isWokenAgain: true })
    const { scenario: other } = begin()
    other.load().answer('', ['a'])
    other.apply(offer())
    other.parkTool('a').park()
    expect(other.state).toMatchObject({ phase: 'parked', mayExplore: true, isWokenAgain: true })
    other.resume([{ callId: 'a' }])
    expect(other.state.mayExplore).toBe(false)
  })

  test.each(['PASS', 'pass', ' Pass. ', '**PASS**', '"pass"!'])(
    'L7: an exploring agent declines with %j',
    (text) => {
      expect(exploring().answer(text).state.ending).toMatchObject({
        outcome: 'completed',
        reply: 'silent',
      })
    },
  )

  test('L7: an exploring agent that has called a tool and then answers nothing is done', () => {
    const scenario = exploring().answer('I post this.', ['a']).returnTool('a').answer('')
    expect(scenario.state.ending).toMatchObject({ outcome: 'completed', reply: 'silent' })
  })

  test('L26: an empty first answer is retried once, exploring or not', () => {
    expect(exploring().answer('').pendingTypes()).toEqual(['call_model'])
  })

  test('L7: a requester gets the word PASS itself when it is the answer', () => {
    const scenario = new Scenario().wake().load().answer('pass')
    expect(scenario.state.ending).toMatchObject({ outcome: 'completed', reply: 'answer' })
  })

  test.each(['PASS', '**Pass.**'])('L7: a scheduled run says nothing with %j', (text) => {
    const { state } = new Scenario().wake().load({ task: 'scheduled' }).answer(text)
    expect(state.ending).toMatchObject({ outcome: 'completed', reply: 'silent' })
  })

  test('L7: a scheduled run that has called a tool and then answers nothing is done', () => {
    const scenario = new Scenario().wake().load({ task: 'scheduled' })
    scenario.answer('I post this.', ['a']).returnTool('a').answer('')
    expect(scenario.state.ending).toMatchObject({ outcome: 'completed', reply: 'silent' })
  })

  test.each(['exploration', 'scheduled'] as const)(
    'L35: whatever ends a %s task but its final words, nothing is posted for it',
    (task) => {
      const begin = () => new Scenario().wake().load({ task, answer: null })
      const cancelled = begin()
      cancelled.apply({ type: 'cancel_requested', at: 9, charge: null })
      const endings = [
        begin().answer(
          task === 'scheduled' ? 'pass' : 'I saw nothing new, but here is what I think.',
        ),
        begin().answer('x', ['a'], 'tool-calls', 2_000).returnTool('a'),
        begin().failModel({ isRetryable: false }),
        begin().answer('', [], 'content-filter'),
        cancelled,
      ].map(({ state }) => state.ending)
      expect(endings.map((ending) => ending?.reply)).toEqual(endings.map(() => 'silent'))
      expect(endings.map((ending) => ending?.outcome)).toEqual([
        'completed',
        'max_tokens',
        'failed',
        'content_filtered',
        'cancelled',
      ])
    },
  )

  test('L6: a task given by hand is answered without a thread', () => {
    const scenario = new Scenario()
      .wake()
      .load({ task: 'manual', answer: { postId: null, parentId: null, requesters: [] } })
      .answer('Done.')
    expect(scenario.state.ending).toMatchObject({ outcome: 'completed', reply: 'answer' })
  })

  test('L17: a mention whose thread is deleted posts nothing', () => {
    const scenario = new Scenario().wake().load({ answer: null })
    expect(scenario.state.ending).toMatchObject({ outcome: 'completed', reply: 'silent' })
  })
})

describe('partial answers', () => {
  const stopAtLimit = (iterations: number) => {
    const scenario = new Scenario().wake().load({ limits: { ...facts().limits, iterations } })
    for (let step = 0; step < iterations; step++) {
      scenario.answer('', [`c${step}`]).returnTool(`c${step}`)
    }
    return scenario
  }

  test('L9: without any text the reply has the progress of the plan and the limit to raise', () => {
    const { state, events } = stopAtLimit(3)
    if (!state.ending) throw new Error('not ended')
    const progress = describeProgress(state.ending, events)
    const reply = composeReply(state.ending, events, ['mira'], progress)
    expect(reply).toContain('`behavior.max_iterations`')
    expect(reply).toMatch(/3 of 3/)
  })

  test('L9 L8: at the hard ceiling the warning says "possible infinite loop", and every step ran its call', () => {
    const { iterationsCeiling } = activationLimits
    const scenario = new Scenario()
      .wake()
      .load({ limits: { ...facts().limits, iterations: iterationsCeiling, tokens: 1_000_000 } })
    for (let step = 0; step < iterationsCeiling; step++) {
      while (scenario.pendingTypes()[0] === 'compact') scenario.compact()
      scenario.answer('round', [`c${step}`])
      scenario.returnTool(`c${step}`)
    }
    expect(scenario.state.ending).toMatchObject({
      outcome: 'max_iterations',
      warning: expect.stringContaining('possible infinite loop'),
    })
    expect(scenario.state.iteration).toBe(iterationsCeiling)
    expect(scenario.state.toolCalls).toBe(iterationsCeiling)
  })

  test('L9: below the ceiling there is no such warning', () => {
    expect(stopAtLimit(3).state.ending?.warning).toBeUndefined()
  })
})

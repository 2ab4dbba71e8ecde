import { describe, expect, test } from 'vitest'
import { composeReply } from '../../../src/agents/loop/reply'
import { isBusy } from '../../../src/agents/loop/state'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import type { ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { Scenario } from './scenario'

const started = () => new Scenario().wake().load()
const parked = () => started().answer('', ['a']).parkTool('a').park()
const results = (scenario: Scenario) => {
  const last = buildTranscript(scenario.events).findLast(({ role }) => role === 'tool')
  return last?.role === 'tool' ? last.results : []
}

describe('parking', () => {
  test('L30: the other calls of the step finish before the activation parks', () => {
    const scenario = started().answer('', ['a', 'b', 'seq-c']).parkTool('a')
    expect(scenario.pendingTypes()).toEqual(['call_tool'])
    scenario.returnTool('b')
    expect(scenario.runningCalls()).toEqual(['seq-c'])
    scenario.returnTool('seq-c')
    expect(scenario.pendingTypes()).toEqual(['park'])
  })

  test('L30: a parked activation holds nothing: no timer, no effect, no deadline', () => {
    const { state } = parked()
    expect(state.phase).toBe('parked')
    expect(state.pending).toEqual([])
    expect(isBusy(state)).toBe(false)
  })

  test('L30: what was spent until then counts as settled', () => {
    const { state } = parked()
    expect(state.settled).toEqual({ tokens: state.tokens, microusd: state.microusd })
    expect(state.tokens).toBeGreaterThan(0)
  })

  test('L30: a parked agent takes other tasks: a wake begins a new activation', () => {
    const scenario = parked()
    scenario.apply({
      type: 'woken',
      at: 99,
      activationId: 'other' as ActivationId,
      replyId: 'r' as CommentId,
      reportId: 'p' as PostId,
    })
    expect(scenario.state).toMatchObject({ phase: 'loading', activationId: 'other' })
    expect(scenario.pendingTypes()).toEqual(['load'])
  })

  test('L30 S2: it checks the inbox again at once when more items wait', () => {
    const scenario = started().answer('', ['a']).parkTool('a').park('parked', true)
    expect(scenario.state.isWokenAgain).toBe(true)
  })

  test('L30 S2: a wake while it parks is not lost, whatever the hub counted before', () => {
    const scenario = started().answer('', ['a']).parkTool('a')
    expect(scenario.pendingTypes()).toEqual(['park'])
    scenario.wake().park('parked', false)
    expect(scenario.state).toMatchObject({ phase: 'parked', isWokenAgain: true })
  })

  test('L30: an activation that another run ended posts nothing', () => {
    const scenario = started().answer('', ['a']).parkTool('a').park('lost')
    expect(scenario.state.ending).toMatchObject({ outcome: 'cancelled', reply: 'silent' })
  })

  test('L36: an unreachable hub is retried with backoff', () => {
    const scenario = started().answer('', ['a']).parkTool('a')
    for (let attempt = 0; attempt < 12; attempt++) {
      scenario.apply({
        type: 'park_failed',
        at: scenario.at,
        effectId: scenario.only('park'),
        message: 'away',
        jitter: 0,
      })
      expect(scenario.pendingTypes()).toEqual(['sleep'])
      scenario.sleep()
    }
    scenario.park()
    expect(scenario.state.phase).toBe('parked')
  })

  test('L34: a stop while it parks is deferred, and it checks the hub at once afterwards', () => {
    const scenario = started().answer('', ['a']).parkTool('a')
    scenario.apply({ type: 'cancel_requested', at: 9, charge: null })
    expect(scenario.pendingTypes()).toEqual(['park'])
    expect(scenario.park().state).toMatchObject({ phase: 'parked', isWokenAgain: true })
    scenario.resume([{ callId: 'a' }])
    expect(scenario.state.ending).toMatchObject({ outcome: 'cancelled', reply: 'partial' })
    expect(scenario.runningCalls()).toEqual([])
  })

  test('L34: a stop while other calls still run ends it; the parked call has its result', () => {
    const scenario = started().answer('', ['a', 'b']).parkTool('a')
    scenario.apply({ type: 'cancel_requested', at: 9, charge: null })
    expect(scenario.state.ending?.outcome).toBe('cancelled')
    expect(results(scenario).map(({ text }) => text)).toEqual([
      'Error: operation cancelled by user.',
      'Error: operation cancelled by user.',
    ])
  })
})

describe('resuming', () => {
  test('L30: an approved call is called again under the same id, and its result is the one', () => {
    const scenario = parked().resume([{ callId: 'a' }])
    expect(scenario.runningCalls()).toEqual(['a'])
    scenario.returnTool('a')
    expect(scenario.pendingTypes()).toEqual(['call_model'])
    expect(results(scenario)).toMatchObject([{ callId: 'a', text: 'result of a', isError: false }])
  })

  test('L30: denied and expired calls get an error as their result, and the loop continues', () => {
    const scenario = started()
      .answer('', ['a', 'b', 'c'])
      .parkTool('a')
      .parkTool('b')
      .returnTool('c')
      .park()
      .resume([
        { callId: 'a', decision: 'denied', by: 'tomas', note: 'Not on a Friday.' },
        { callId: 'b', decision: 'expired', by: null },
      ])
    expect(scenario.pendingTypes()).toEqual(['call_model'])
    expect(results(scenario)).toMatchObject([
      { callId: 'a', text: 'Error: denied by tomas: Not on a Friday.', isError: true },
      { callId: 'b', text: 'Error: the approval expired.', isError: true },
      { callId: 'c', text: 'result of c', isError: false },
    ])
    scenario.answer('Then not.')
    expect(scenario.state.ending?.outcome).toBe('completed')
  })

  test('L30 L8: the time limit pauses while parked', () => {
    const scenario = started()
    const before = scenario.state.endsAt
    scenario.answer('', ['a']).parkTool('a').park()
    const parkedAt = scenario.at - 1
    scenario.at += 3 * 86_400_000
    scenario.resume([{ callId: 'a' }])
    const resumedAt = scenario.at - 1
    expect(scenario.state.endsAt - resumedAt).toBe(before - parkedAt)
    scenario.returnTool('a')
    expect(scenario.pendingTypes()).toEqual(['call_model'])
  })

  test('L30: a call that needs another approval parks again', () => {
    const scenario = parked()
      .resume([{ callId: 'a' }])
      .parkTool('a')
    expect(scenario.pendingTypes()).toEqual(['park'])
    scenario.park().resume([{ callId: 'a', decision: 'denied', note: '' }])
    expect(results(scenario)).toMatchObject([{ text: 'Error: denied by tomas', isError: true }])
  })

  test('L36: a call whose decision got lost is sent again: the gateway has stored it', () => {
    expect(parked().resume([]).runningCalls()).toEqual(['a'])
  })

  test('L34: one that was stopped while parked ends cancelled, with valid history', () => {
    const scenario = parked().resume([{ callId: 'a' }], { isCancelled: true })
    expect(scenario.state.ending).toMatchObject({ outcome: 'cancelled', reply: 'partial' })
    expect(results(scenario)).toMatchObject([
      { callId: 'a', text: 'Error: operation cancelled by user.', isError: true },
    ])
  })

  test('B4: with a used-up budget it ends and says so', () => {
    const scenario = parked().resume([{ callId: 'a' }], { admission: 'budget_exhausted' })
    const { ending } = scenario.state
    expect(ending?.outcome).toBe('budget_exhausted')
    expect(ending && composeReply(ending, scenario.events, ['mira'])).toContain('budget')
  })

  test('L36: effect ids continue after those of the activations in between', () => {
    const scenario = parked().resume([{ callId: 'a' }], { nextEffectId: 500 })
    expect(scenario.state.pending[0]?.id).toBe(500)
  })

  test('L36: a duplicate decision, or one for another activation, changes nothing', () => {
    const scenario = parked().resume([{ callId: 'a' }])
    const before = scenario.state
    scenario.resume([{ callId: 'a' }])
    expect(scenario.state).toBe(before)
    const other = parked()
    const record = other.state
    other.resume([{ callId: 'a' }], { activationId: 'other' as ActivationId })
    expect(other.state).toBe(record)
  })
})

import { describe, expect, test } from 'vitest'
import { composeReply } from '../../../src/agents/loop/reply'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import { Scenario, woken } from './scenario'

const started = () => new Scenario().wake().load()

describe('a run without failures', () => {
  test('L1 L2: a wake loads, reasons, commits and is idle again', () => {
    const scenario = new Scenario().wake()
    expect(scenario.pendingTypes()).toEqual(['load'])
    expect(scenario.state.iteration).toBe(0)
    scenario.load()
    expect(scenario.pendingTypes()).toEqual(['call_model'])
    scenario.answer('It was decided in March.')
    expect(scenario.pendingTypes()).toEqual(['commit'])
    expect(scenario.state.ending).toMatchObject({ outcome: 'completed', reply: 'answer' })
    scenario.commit()
    expect(scenario.state.phase).toBe('idle')
    expect(scenario.state.pending).toEqual([])
  })

  test('L37: only the second and later model calls renew the reservation', () => {
    const scenario = started()
    expect(scenario.state.pending[0]).toMatchObject({ mustRenew: false })
    scenario.answer('', ['a']).returnTool('a')
    expect(scenario.state.pending[0]).toMatchObject({ type: 'call_model', mustRenew: true })
  })

  test('L4 L5: calls of one message run together and the model is called when the last has returned', () => {
    const scenario = started().answer('', ['a', 'b', 'c'])
    expect(scenario.runningCalls()).toEqual(['a', 'b', 'c'])
    scenario.returnTool('c').returnTool('a')
    expect(scenario.runningCalls()).toEqual(['b'])
    scenario.returnTool('b')
    expect(scenario.pendingTypes()).toEqual(['call_model'])
    const [, , assistant, results] = buildTranscript(scenario.events)
    expect(assistant).toMatchObject({
      role: 'assistant',
      calls: [{ callId: 'a' }, { callId: 'b' }, { callId: 'c' }],
    })
    expect(results).toMatchObject({
      role: 'tool',
      results: [{ callId: 'a' }, { callId: 'b' }, { callId: 'c' }],
    })
  })

  test('L4: a sequential call runs alone and later calls wait for it', () => {
    const scenario = started().answer('', ['a', 'seq-b', 'c'])
    expect(scenario.runningCalls()).toEqual(['a'])
    scenario.returnTool('a')
    expect(scenario.runningCalls()).toEqual(['seq-b'])
    scenario.returnTool('seq-b')
    expect(scenario.runningCalls()).toEqual(['c'])
  })

  test('L10: at most five calls run at a time, sixteen a step; the rest get an error result', () => {
    const ids = Array.from({ length: 18 }, (_, index) => `c${index}`)
    const scenario = started().answer('', ids)
    expect(scenario.runningCalls()).toHaveLength(5)
    for (const id of ids.slice(0, 16)) scenario.returnTool(id)
    expect(scenario.pendingTypes()).toEqual(['call_model'])
    const results = buildTranscript(scenario.events).at(-1)
    expect(
      results?.role === 'tool' && results.results.slice(16).every(({ isError }) => isError),
    ).toBe(true)
  })

  test('L38: a wake while busy leads to another inbox check', () => {
    const scenario = started()
    scenario.apply(woken(9))
    expect(scenario.state.isWokenAgain).toBe(true)
    scenario.answer('done').commit()
    expect(scenario.state).toMatchObject({ phase: 'idle', isWokenAgain: true })
  })

  test('S2: a commit with more items in the inbox leads to another check', () => {
    expect(started().answer('done').commit(true).state.isWokenAgain).toBe(true)
  })
})

describe('limits', () => {
  test('L8 L9: the step limit ends it with the text so far and which limit to raise', () => {
    const scenario = started()
    for (const id of ['a', 'b', 'c', 'd']) scenario.answer(`looked at ${id}`, [id]).returnTool(id)
    expect(scenario.state.ending).toMatchObject({ outcome: 'max_iterations', reply: 'partial' })
    const ending = scenario.state.ending
    if (!ending) throw new Error('no ending')
    const reply = composeReply(ending, scenario.events, ['mira'])
    expect(reply).toContain('looked at d')
    expect(reply).toContain('max_iterations')
    expect(reply).toContain('@mira')
  })

  test('L8: the token limit counts prompt and answer of every call', () => {
    const scenario = started().answer('', ['a'], 'tool-calls', 995).returnTool('a')
    expect(scenario.state.ending).toMatchObject({ outcome: 'max_tokens' })
  })

  test('L8: the time limit ends it while a tool hangs, and late results change nothing', () => {
    const scenario = started().answer('', ['a'])
    const effectId = scenario.only('call_tool')
    scenario.apply({ type: 'time_ran_out', at: 70_000, charge: null })
    expect(scenario.state.ending).toMatchObject({ outcome: 'max_duration' })
    const before = scenario.state
    scenario.apply({
      type: 'tool_returned',
      at: 70_001,
      effectId,
      callId: 'a',
      name: 'x',
      text: 'late',
      isError: false,
      startedAt: 1,
      durationMs: 1,
      resultBytes: 1,
      audit: null,
    })
    expect(scenario.state).toBe(before)
  })

  test('B4: a used-up budget is answered without a model call', () => {
    const scenario = new Scenario().wake().load({ admission: 'budget_exhausted' })
    expect(scenario.pendingTypes()).toEqual(['commit'])
    expect(scenario.state.ending).toMatchObject({ outcome: 'budget_exhausted', reply: 'notice' })
  })
})

describe('failures', () => {
  test('L24: a transient failure is retried three times with backoff, then it ends failed', () => {
    const scenario = started()
    const waits: number[] = []
    for (let retry = 0; retry < 3; retry++) {
      scenario.failModel()
      const sleep = scenario.state.pending[0]
      if (sleep?.type !== 'sleep') throw new Error('expected a sleep')
      waits.push(sleep.until - (scenario.at - 1))
      scenario.sleep()
    }
    expect(waits).toEqual([2_000, 4_000, 8_000])
    scenario.failModel()
    expect(scenario.state.ending).toMatchObject({
      outcome: 'failed',
      error: { code: 'PROVIDER_BUSY' },
    })
  })

  test('L24: Retry-After is honoured', () => {
    const scenario = started().failModel({ retryAfterMs: 12_000 })
    expect(scenario.state.pending[0]).toMatchObject({
      type: 'sleep',
      until: scenario.at - 1 + 12_000,
    })
  })

  test('L24 L35: a wrong key is not retried', () => {
    const scenario = started().failModel({ isRetryable: false, code: 'PROVIDER_AUTH' })
    expect(scenario.state.ending).toMatchObject({
      outcome: 'failed',
      error: { code: 'PROVIDER_AUTH' },
    })
  })

  test('L26: an empty answer is retried once, the second one ends it', () => {
    const scenario = started().answer('')
    expect(scenario.pendingTypes()).toEqual(['call_model'])
    expect(buildTranscript(scenario.events).at(-1)).toMatchObject({ role: 'user' })
    scenario.answer('  ')
    expect(scenario.state.ending).toMatchObject({
      outcome: 'failed',
      error: { code: 'EMPTY_RESPONSE' },
    })
  })

  test('L26: a call id used twice gets an id of its own and an error result', () => {
    const scenario = started().answer('', ['a', 'a']).returnTool('a')
    const results = buildTranscript(scenario.events).at(-1)
    if (results?.role !== 'tool') throw new Error('no results')
    expect(new Set(results.results.map(({ callId }) => callId)).size).toBe(2)
    expect(results.results[1]?.isError).toBe(true)
  })

  test('L23: calls run for both finish reasons, stop and tool-calls', () => {
    expect(started().answer('', ['a'], 'stop').runningCalls()).toEqual(['a'])
  })

  test('L23: calls of a truncated answer are not run', () => {
    const scenario = started().answer('', ['a'], 'length')
    expect(scenario.pendingTypes()).toEqual(['call_model'])
    expect(buildTranscript(scenario.events).at(-1)).toMatchObject({ results: [{ isError: true }] })
  })

  test.each([
    ['content-filter', 'content_filtered'],
    ['error', 'failed'],
  ] as const)('L23: %s ends it as %s, whatever else is there', (finish, outcome) => {
    expect(started().answer('text', ['a'], finish).state.ending).toMatchObject({ outcome })
  })

  test.each(['interrupted', 'other'] as const)('L23: %s ends with the text there is', (finish) => {
    expect(started().answer('half an answer', [], finish).state.ending).toMatchObject({
      outcome: 'completed',
    })
  })

  test('L17: a broken definition ends it with the reason', () => {
    const scenario = new Scenario()
      .wake()
      .load({ problem: { code: 'INVALID_DEFINITION', message: 'system-prompt.md is missing' } })
    expect(scenario.state.ending).toMatchObject({
      outcome: 'failed',
      error: { code: 'INVALID_DEFINITION' },
    })
  })
})

describe('crashes', () => {
  test('L36: what was pending runs again, a lost model call is charged and renews', () => {
    const scenario = started()
    scenario.apply({
      type: 'interrupted',
      at: 5,
      unknownCallIds: [],
      charge: {
        inputTokens: 100,
        cachedTokens: 0,
        outputTokens: 50,
        reasoningTokens: 0,
        microusd: 9,
        isPriced: true,
        isEstimated: true,
        durationMs: 0,
      },
    })
    expect(scenario.state).toMatchObject({ tokens: 150, microusd: 9 })
    expect(scenario.state.pending[0]).toMatchObject({ type: 'call_model', mustRenew: true })
  })

  test('L36: a tool that may have run and must not run twice gets "outcome unknown"', () => {
    const scenario = started().answer('', ['a', 'b'])
    scenario.apply({ type: 'interrupted', at: 5, unknownCallIds: ['a'], charge: null })
    expect(scenario.runningCalls()).toEqual(['b'])
    scenario.returnTool('b')
    expect(buildTranscript(scenario.events).at(-1)).toMatchObject({
      results: [
        { callId: 'a', text: expect.stringContaining('unknown') },
        { callId: 'b', isError: false },
      ],
    })
  })

  test('L36: a run that is set aside ends with a notice, wherever it is; set aside again, it ends without one', () => {
    const unknown = { unknownCallIds: ['a'], charge: null }
    const interrupted = { ...unknown, type: 'interrupted', isSetAside: true } as const
    const stages = {
      loading: new Scenario().wake(),
      reasoning: started(),
      acting: started().answer('', ['a', 'b']),
      committing: started().answer('done'),
    }
    for (const [phase, scenario] of Object.entries(stages)) {
      expect(scenario.state.phase).toBe(phase)
      scenario.apply({ ...interrupted, at: 5 })
      expect(scenario.state.ending).toMatchObject({
        outcome: 'failed',
        error: { code: 'INTERRUPTED' },
        isBare: true,
        reply: 'notice',
      })
      expect(scenario.pendingTypes()).toEqual(['commit'])
      scenario.apply({ ...interrupted, at: 6 })
      expect(scenario.state.ending).toMatchObject({
        outcome: 'failed',
        error: { code: 'INTERRUPTED' },
        isBare: true,
        reply: 'silent',
      })
      expect(scenario.pendingTypes()).toEqual(['commit'])
    }
  })

  test('L36: a commit that fails is retried without a limit', () => {
    const scenario = started().answer('done')
    for (let attempt = 0; attempt < 20; attempt++) {
      scenario.apply({
        type: 'commit_failed',
        at: scenario.at,
        effectId: scenario.only('commit'),
        message: 'away',
        jitter: 0,
      })
      scenario.sleep()
    }
    expect(scenario.pendingTypes()).toEqual(['commit'])
  })

  test('L34: cancel ends it with the text so far; once the commit is pending it is too late', () => {
    const scenario = started().answer('so far', ['a'])
    scenario.apply({ type: 'cancel_requested', at: 9, charge: null })
    expect(scenario.state.ending).toMatchObject({ outcome: 'cancelled' })
    const before = scenario.state
    scenario.apply({ type: 'cancel_requested', at: 10, charge: null })
    expect(scenario.state).toBe(before)
  })
})

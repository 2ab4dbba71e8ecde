import fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import { Scenario } from './scenario'

const limits = { iterations: 30, tokens: 1e9, durationMs: 1e9, contextTokens: 1e9 }

test('L10: however many calls a model asks for, 16 a step and 100 in all are run, 5 at a time', () => {
  const most = { step: 0, activation: 0, atOnce: 0 }
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 12 }),
      (counts) => {
        const scenario = new Scenario().wake().load({ limits })
        let requested = 0
        let inAll = 0
        for (const [step, count] of counts.entries()) {
          // a full context window is compacted before the next call
          if (scenario.pendingTypes()[0] === 'compact')
            scenario.compact({ replaced: 0, entries: 1 })
          requested += count
          scenario.answer(
            '',
            Array.from({ length: count }, (_, index) => `c${step}-${index}`),
          )
          let inStep = 0
          for (let next = scenario.runningCalls(); next[0]; next = scenario.runningCalls()) {
            most.atOnce = Math.max(most.atOnce, next.length)
            scenario.returnTool(next[0])
            inStep++
          }
          most.step = Math.max(most.step, inStep)
          inAll += inStep
        }
        most.activation = Math.max(most.activation, inAll)
        const results = buildTranscript(scenario.events).flatMap((each) =>
          each.role === 'tool' ? each.results : [],
        )
        if (scenario.state.compactions === 0) {
          expect(results).toHaveLength(requested)
          expect(results.filter(({ isError }) => !isError)).toHaveLength(inAll)
        }
      },
    ),
    { numRuns: 200, examples: [[Array.from({ length: 12 }, () => 16)]] },
  )
  expect(most).toEqual({ step: 16, activation: 100, atOnce: 5 })
})

import { expect, test } from 'vitest'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import { facts, Scenario } from './scenario'

test('L10: the fifth error of an activation ends it, though no call was retried three times', () => {
  const scenario = new Scenario().wake().load()
  scenario.failModel().sleep().failModel().sleep()
  scenario.answer('So far: two herons.', ['a']).returnTool('a')
  scenario.failModel().sleep().failModel().sleep()
  expect(scenario.pendingTypes()).toEqual(['call_model'])
  expect(scenario.state).toMatchObject({ errors: 4, retries: 2 })
  scenario.failModel()
  expect(scenario.state.ending).toMatchObject({
    outcome: 'failed',
    error: { code: 'PROVIDER_BUSY' },
    reply: 'partial',
  })
})

test('L10: a hundred tool calls are run for one task; those beyond get an error result', () => {
  const limits = { ...facts().limits, iterations: 10, tokens: 100_000, contextTokens: 1_000_000 }
  const scenario = new Scenario().wake().load({ limits })
  let ran = 0
  for (let step = 0; step < 8; step++) {
    const ids = Array.from({ length: 16 }, (_, index) => `s${step}c${index}`)
    scenario.answer('', ids)
    for (let id = scenario.runningCalls()[0]; id; id = scenario.runningCalls()[0]) {
      scenario.returnTool(id)
      ran++
    }
  }
  expect(ran).toBe(100)
  const last = buildTranscript(scenario.events).at(-1)
  const results = last?.role === 'tool' ? last.results : []
  expect(results).toHaveLength(16)
  for (const { text, isError } of results) {
    expect(isError).toBe(true)
    expect(text).toMatch(/^Error: at most 100 tool calls/)
  }
})

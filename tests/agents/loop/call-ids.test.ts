import fc from 'fast-check'
import { expect, test } from 'vitest'
import { admitCalls } from '../../../src/agents/loop/admit-calls'
import { buildTranscript } from '../../../src/agents/loop/transcript'
import { openJournal } from '../run/events'
import { Scenario } from './scenario'

test('L26: a call id of an earlier step gets an id of its own and runs, for servers that number from zero', () => {
  const scenario = new Scenario()
    .wake()
    .load()
    .answer('', ['call_0', 'seq_1'])
    .returnTool('call_0')
    .returnTool('seq_1')
    .answer('', ['seq_1', 'call_0'])
  expect(scenario.runningCalls()).toEqual(['seq_1-2'])
  scenario.returnTool('seq_1-2').returnTool('call_0-2')
  const shown = buildTranscript(scenario.events)
  expect(shown.at(-2)).toMatchObject({ calls: [{ callId: 'seq_1-2' }, { callId: 'call_0-2' }] })
  expect(shown.at(-1)).toMatchObject({
    results: [
      { callId: 'seq_1-2', text: 'result of seq_1-2', isError: false },
      { callId: 'call_0-2', text: 'result of call_0-2', isError: false },
    ],
  })
  const { plan, steps } = openJournal(scenario.events)
  expect(plan.steps.map(({ status }) => status)).toEqual(Array(4).fill('completed'))
  expect(steps.map(({ tools }) => tools.length)).toEqual([2, 2])
})

test('L26: every id that a message uses once is run, whatever ids earlier steps used', () => {
  const ids = fc.array(fc.constantFrom('', 'call_0', 'call_1', 'call_0-2', 'call_0-2-2'), {
    maxLength: 5,
  })
  fc.assert(
    fc.property(fc.array(ids, { maxLength: 4 }), (messages) => {
      const seen: string[] = []
      for (const message of messages) {
        const calls = message.map((callId) => ({ callId, name: 't', arguments: '{}' }))
        const admitted = admitCalls(
          { calls, finish: 'stop' },
          { callIds: seen, toolCalls: seen.length, limits: { iterations: 10 } },
        )
        const isRun = message.map((id, index) => id !== '' && message.indexOf(id) === index)
        expect(admitted.map(({ refusal }) => refusal === null)).toEqual(isRun)
        seen.push(...admitted.map(({ callId }) => callId))
        expect(new Set(seen).size).toBe(seen.length)
      }
    }),
  )
})

test('L10 L26: 200 calls at once use up the 16 that ran of the 100 of a task, and not all of them', () => {
  const ids = Array.from({ length: 200 }, (_, index) => `c${index}`)
  const scenario = new Scenario().wake().load().answer('', ids)
  for (const id of ids.slice(0, 16)) scenario.returnTool(id)
  scenario.answer('', ['again'])
  expect(scenario.runningCalls()).toEqual(['again'])
  scenario.returnTool('again')
  expect(buildTranscript(scenario.events).at(-1)).toMatchObject({
    results: [{ callId: 'again', text: 'result of again', isError: false }],
  })
  expect(openJournal(scenario.events).plan.steps.at(-1)).toMatchObject({ status: 'completed' })
  expect(openJournal(scenario.events).steps[1]?.tools).toHaveLength(1)
})

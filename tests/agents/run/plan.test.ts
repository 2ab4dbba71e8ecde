import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PlanStep } from '../../../src/agents/contract/agents'
import type { LoopEvent } from '../../../src/agents/loop/event'
import type { Ending } from '../../../src/agents/loop/state'
import { toRuntimeEvents } from '../../../src/agents/run/live-events'
import { foldPlan as fold, formatPlanProgress, planToolName } from '../../../src/agents/run/plan'
import { toRunLog } from '../../../src/agents/run/run-log'
import { Scenario } from '../loop/scenario'

const foldPlan = (events: LoopEvent[], ending: Ending | null = null) =>
  fold(toRunLog(events, ending))

const titles = (events: LoopEvent[]) =>
  foldPlan(events).steps.map(({ title, status }) => `${title} ${status}`)

/** Returns a model's answer that calls these tools, as the journal stores it. */
const calling = (...calls: { callId: string; name: string; arguments?: unknown }[]): LoopEvent => {
  const [event] = new Scenario().wake().load().answer('', ['x']).events.slice(-1)
  if (event?.type !== 'model_answered') throw new Error('no answer')
  return {
    ...event,
    answer: {
      ...event.answer,
      calls: calls.map((call) => ({
        callId: call.callId,
        name: call.name,
        arguments: JSON.stringify(call.arguments ?? {}),
      })),
    },
  }
}

const returning = (callId: string, name: string, isError = false): LoopEvent => ({
  type: 'tool_returned',
  at: 1,
  effectId: 9,
  callId,
  name,
  text: 'x',
  isError,
  startedAt: 0,
  durationMs: 1,
  resultBytes: 1,
  audit: null,
})

test('L41: a tool call is a running step; its result completes it and an error fails it', () => {
  const scenario = new Scenario().wake().load()
  expect(foldPlan(scenario.events)).toEqual({ goal: null, steps: [], progress: 0 })
  scenario.answer('', ['a', 'b'])
  expect(titles(scenario.events)).toEqual(['hub_search running', 'hub_search running'])
  scenario.returnTool('a')
  expect(titles(scenario.events)).toEqual(['hub_search completed', 'hub_search running'])
  expect(foldPlan(scenario.events).progress).toBe(0.5)
  const failed = [...scenario.events, returning('b', 'hub_search', true)]
  expect(titles(failed)).toEqual(['hub_search completed', 'hub_search failed'])
  expect(foldPlan(failed).progress).toBe(0.5)
})

test('L31 L41: a call that is denied or over a rate limit is a failed step', () => {
  const denied = [
    calling({ callId: 'a', name: 'aws_ec2_stop' }),
    returning('a', 'aws_ec2_stop', true),
  ]
  expect(titles(denied)).toEqual(['aws_ec2_stop failed'])
  expect(foldPlan(denied).progress).toBe(0)
})

test('L41: a call beyond the limit of a step is not run and fails at once', () => {
  const scenario = new Scenario().wake().load()
  scenario.answer(
    '',
    Array.from({ length: 18 }, (_, index) => `call-${index}`),
  )
  const statuses = foldPlan(scenario.events).steps.map(({ status }) => status)
  expect(statuses.filter((status) => status === 'failed')).toHaveLength(2)
})

test('L34 L41: a cancellation fails running steps and keeps completed ones', () => {
  const scenario = new Scenario().wake().load().answer('', ['a', 'b']).returnTool('a')
  scenario.apply({ type: 'cancel_requested', at: 9, charge: null })
  expect(titles(scenario.events)).toEqual(['hub_search completed', 'hub_search failed'])
})

test('L36 L41: a call whose outcome is unknown after a crash is a failed step', () => {
  const events: LoopEvent[] = [
    calling({ callId: 'a', name: 'aws_s3_put' }, { callId: 'b', name: 'hub_search' }),
    { type: 'interrupted', at: 2, unknownCallIds: ['a'], charge: null },
  ]
  expect(titles(events)).toEqual(['aws_s3_put failed', 'hub_search running'])
})

test('L30 L41: a call that requires approval is pending; approved it runs, denied it fails', () => {
  const base = calling({ callId: 'a', name: 'aws_stop' }, { callId: 'b', name: 'aws_start' })
  const approval = { tool: 't', grant: 'g', tier: 'write', arguments: '{}', argumentsHash: 'h' }
  const waiting = ['a', 'b'].map(
    (callId) =>
      ({
        type: 'tool_parked',
        at: 2,
        effectId: 3,
        callId,
        name: 't',
        startedAt: 1,
        approval: { ...approval, callId },
        audit: null,
      }) as LoopEvent,
  )
  const events = [base, ...waiting]
  expect(titles(events)).toEqual(['aws_stop pending', 'aws_start pending'])
  const resumed = (isCancelled: boolean): LoopEvent => ({
    type: 'resumed',
    at: 3,
    activationId: 'activation' as never,
    admission: 'granted',
    decisions: [
      { callId: 'a', decision: 'approved', by: 'mira', note: '' },
      { callId: 'b', decision: 'expired', by: null, note: '' },
    ],
    isCancelled,
    nextEffectId: 9,
  })
  expect(titles([...events, resumed(false)])).toEqual(['aws_stop running', 'aws_start failed'])
  expect(titles([...events, resumed(true)])).toEqual(['aws_stop failed', 'aws_start failed'])
})

test('L41: the agent writes and revises goal and steps, and its own steps determine the progress', () => {
  const first = {
    goal: 'Compare two papers',
    steps: [
      { title: 'Find them' },
      { title: 'Read both', status: 'running' },
      { title: 'Compare' },
    ],
  }
  const events = [
    calling(
      { callId: 'p', name: planToolName, arguments: first },
      { callId: 's', name: 'hub_search' },
    ),
    returning('p', planToolName),
  ]
  expect(foldPlan(events).goal).toBe('Compare two papers')
  expect(titles(events)).toEqual([
    'Find them pending',
    'Read both running',
    'Compare pending',
    'hub_search running',
  ])
  const second = { steps: [{ title: 'Find them', status: 'completed' }, { title: 'Read both' }] }
  events.push(
    calling({ callId: 'q', name: planToolName, arguments: second }),
    returning('q', planToolName),
    returning('s', 'hub_search'),
  )
  const plan = foldPlan(events)
  expect(plan.goal).toBe('Compare two papers')
  expect(titles(events)).toEqual([
    'Find them completed',
    'Read both running',
    'hub_search completed',
  ])
  expect(plan.progress).toBe(0.5)
  expect(formatPlanProgress(plan)).toBe('I had finished 1 of 2 steps of my plan.')
})

test('L41: a revision that the tool refused, or that is not a plan, changes nothing', () => {
  const refused = [
    calling({ callId: 'p', name: planToolName, arguments: { goal: 'X', steps: [] } }),
    returning('p', planToolName, true),
  ]
  expect(foldPlan(refused)).toEqual({ goal: null, steps: [], progress: 0 })
  const odd = { goal: 7, steps: [null, { title: '' }, { title: 'Fine', status: 'done' }, 'x'] }
  const events = [
    calling({ callId: 'p', name: planToolName, arguments: odd }),
    returning('p', planToolName),
  ]
  expect(titles(events)).toEqual(['Fine pending'])
})

test.each([
  ['the JSON text of a list', { steps: '[{"title":"Find","status":"Running"}]' }],
  ['one step', { steps: { title: 'Find', status: 'running' } }],
  ['JSON text in all', JSON.stringify({ steps: [{ title: 'Find', status: 'running' }] })],
])('L41: a revision whose steps the tool accepts as %s is read alike', (_name, sent) => {
  const events = [
    calling({ callId: 'p', name: planToolName, arguments: sent }),
    returning('p', planToolName),
  ]
  expect(titles(events)).toEqual(['Find running'])
})

test('L41: progress is always between 0 and 1, and a plan is bounded', () => {
  const event = fc.oneof(
    fc
      .array(fc.record({ title: fc.string(), status: fc.string() }), { maxLength: 60 })
      .map((steps) => calling({ callId: 'p', name: planToolName, arguments: { steps } })),
    fc.constantFrom(
      calling({ callId: 'a', name: 'hub_search' }, { callId: 'b', name: 'x' }),
      returning('a', 'hub_search'),
      returning('b', 'x', true),
      returning('p', planToolName),
    ),
  )
  void fc.assert(
    fc.property(fc.array(event, { maxLength: 12 }), (events) => {
      const { progress, steps } = foldPlan(events)
      expect(progress).toBeGreaterThanOrEqual(0)
      expect(progress).toBeLessThanOrEqual(1)
      const own = (each: PlanStep) => each.callId === null
      expect(steps.filter(own).length).toBeLessThanOrEqual(40)
    }),
  )
})

test.each([
  ['completed', null],
  ['max_tokens', 'The run ended: max tokens.'],
] as const)(
  'L41: steps that the agent has not marked as done are not done when its run ends as %s',
  (outcome, reason) => {
    const steps = [
      { title: 'Find them', status: 'completed' },
      { title: 'Read both', status: 'running' },
      { title: 'Give up', status: 'failed' },
      { title: 'Compare' },
    ]
    const events = [
      calling({ callId: 'p', name: planToolName, arguments: { steps } }),
      returning('p', planToolName),
    ]
    const plan = foldPlan(events, { outcome, error: null, reply: 'answer', text: '' })
    expect(plan.steps).toMatchObject([
      { title: 'Find them', status: 'completed', reason: null },
      { title: 'Read both', status: 'not_done', reason },
      { title: 'Give up', status: 'failed' },
      { title: 'Compare', status: 'not_done', reason },
    ])
    expect(plan.progress).toBe(0.25)
    expect(formatPlanProgress(plan)).toBe('I had finished 1 of 4 steps of my plan.')
    const sent = toRuntimeEvents(
      toRunLog(events, { outcome, error: null, reply: 'answer', text: '' }),
    )
    expect(sent.findLast((event) => event.type === 'plan')).toMatchObject({
      progress: 0.25,
      steps: ['completed', 'not_done', 'failed', 'not_done'].map((status) => ({ status })),
    })
  },
)

test('L9: without steps there is no progress', () => {
  expect(formatPlanProgress(foldPlan([]))).toBe(null)
})

import { expect, it } from 'vitest'
import type { Hook, HookContext, HookTiming, ModelCall } from '../../../src/agents/hooks/hook'
import { createHookRunner } from '../../../src/agents/hooks/hook-runner'
import type { ModelAnswer } from '../../../src/agents/loop/message'
import type { AccountId, ActivationId } from '../../../src/shared/ids'

const context: HookContext = {
  agent: { id: 'a' as AccountId, name: 'scout' },
  activationId: 'x' as ActivationId,
  step: 1,
  postId: null,
  model: 'offline/extractive',
  budgets: [],
  now: 0,
}
const none = { enable: [], disable: [] }
const tool = (name: string) => ({ name, description: '', inputSchema: {} })
const modelCall: ModelCall = { systemPrompt: 'soul', tools: [tool('a'), tool('b')], status: [] }
const toolCall = { callId: 'c1', tool: 'hub_search', arguments: '{"query":"x"}' }
const output = { callId: 'c1', tool: 'hub_search', text: 'found', isError: false }
const answer: ModelAnswer = {
  text: 'hi',
  reasoning: '',
  calls: [],
  finish: 'stop',
  usage: null,
}

function run(hooks: Hook[], { timeoutMs = 30, switches = none } = {}) {
  let now = 0
  const reports: [HookTiming, unknown][] = []
  const runner = createHookRunner(hooks, {
    redact: (text) => text.replaceAll('s3cret', '[withheld]'),
    now: () => (now += 5),
    report: (timing, cause) => reports.push([timing, cause]),
    timeoutMs,
  })
  return { agent: runner.forAgent(switches), reports }
}

const later = <Value>(value: Value, ms = 1) =>
  new Promise<Value>((resolve) => setTimeout(resolve, ms, value))

it('L32: beforeModelCall changes tools, system prompt and status, in array order', async () => {
  const seen: string[] = []
  const { agent } = run([
    { name: 'one', beforeModelCall: ({ tools }) => ({ tools: tools.slice(1) }) },
    {
      name: 'two',
      beforeModelCall: ({ systemPrompt }) => later({ systemPrompt: `${systemPrompt}!` }),
    },
    {
      name: 'three',
      beforeModelCall: ({ tools, systemPrompt, status }) => {
        seen.push(systemPrompt, ...tools.map(({ name }) => name))
        return { status: [...status, 'be brief'] }
      },
    },
  ])
  const { value } = await agent.beforeModelCall(modelCall, context)
  expect(value).toEqual({ systemPrompt: 'soul!', tools: [tool('b')], status: ['be brief'] })
  expect(seen).toEqual(['soul!', 'b'])
})

it('L32: beforeToolCall changes the arguments, and the next hook sees the change', async () => {
  const seen: unknown[] = []
  const { agent } = run([
    { name: 'one', beforeToolCall: () => ({ input: { query: 'y' } }) },
    { name: 'two', beforeToolCall: ({ input }) => void seen.push(input) },
  ])
  const { value } = await agent.beforeToolCall(toolCall, context)
  expect(value).toEqual({ kind: 'allowed', arguments: '{"query":"y"}' })
  expect(seen).toEqual([{ query: 'y' }])
})

it('L32: arguments that no hook changes stay byte for byte as the model wrote them', async () => {
  const { agent } = run([{ name: 'one', beforeToolCall: () => undefined }])
  for (const raw of ['{ "query":  "x" }', '', 'no json']) {
    const { value } = await agent.beforeToolCall({ ...toolCall, arguments: raw }, context)
    expect(value).toEqual({ kind: 'allowed', arguments: raw })
  }
})

it('L32: beforeToolCall denies, later hooks are skipped, the reason contains no secret', async () => {
  const seen: string[] = []
  const { agent } = run([
    { name: 'quiet', beforeToolCall: () => ({ deny: 'not now, s3cret' }) },
    { name: 'two', beforeToolCall: () => void seen.push('two') },
  ])
  const { value, timings } = await agent.beforeToolCall(toolCall, context)
  expect(value).toEqual({ kind: 'denied', hook: 'quiet', reason: 'not now, [withheld]' })
  expect(timings).toEqual([{ hook: 'quiet', point: 'beforeToolCall', ms: 5, outcome: 'denied' }])
  expect(seen).toEqual([])
})

it('L32: output of afterToolCall is redacted again', async () => {
  const { agent } = run([
    { name: 'one', afterToolCall: ({ text }) => later({ text: `${text} s3cret` }) },
    { name: 'two', afterToolCall: ({ text }) => ({ text: `${text}.`, isError: true }) },
  ])
  const { value } = await agent.afterToolCall(output, context)
  expect(value).toEqual({ ...output, text: 'found [withheld].', isError: true })
})

it('L32: a definition disables a hook, and enables an opt-in hook', async () => {
  const say =
    (word: string): NonNullable<Hook['beforeModelCall']> =>
    ({ status }) => ({ status: [...status, word] })
  const hooks: Hook[] = [
    { name: 'usual', beforeModelCall: say('usual') },
    { name: 'special', isOptIn: true, beforeModelCall: say('special') },
  ]
  const words = async (switches: typeof none) =>
    (await run(hooks, { switches }).agent.beforeModelCall(modelCall, context)).value.status
  expect(await words(none)).toEqual(['usual'])
  expect(await words({ enable: ['special'], disable: ['usual'] } as never)).toEqual(['special'])
  expect(await words({ enable: ['special'], disable: ['special'] } as never)).toEqual(['usual'])
})

it('L33: a failing or slow hook before a model call is reported and skipped', async () => {
  const { agent, reports } = run([
    {
      name: 'broken',
      beforeModelCall: () => {
        throw new Error('boom')
      },
    },
    { name: 'rejecting', beforeModelCall: () => Promise.reject(new Error('bang')) },
    { name: 'slow', beforeModelCall: () => later({ status: ['late'] }, 5_000) },
    { name: 'good', beforeModelCall: ({ status }) => ({ status: [...status, 'good'] }) },
  ])
  const { value, timings } = await agent.beforeModelCall(modelCall, context)
  expect(value.status).toEqual(['good'])
  expect(timings.map(({ hook, outcome }) => `${hook} ${outcome}`)).toEqual([
    'broken failed',
    'rejecting failed',
    'slow timed_out',
    'good ok',
  ])
  expect(reports.map(([{ hook }, cause]) => [hook, String(cause)])).toEqual([
    ['broken', 'Error: boom'],
    ['rejecting', 'Error: bang'],
    ['slow', 'timed out after 30 ms'],
  ])
})

it.each<[string, NonNullable<Hook['beforeToolCall']>]>([
  [
    'throws',
    () => {
      throw new Error('boom')
    },
  ],
  ['rejects', () => Promise.reject(new Error('bang'))],
  ['is slow', () => later(undefined, 5_000)],
  ['gives what is no JSON', () => ({ input: undefined })],
  ['gives a circle', () => ({ input: circle })],
])('L33: a guard that %s denies the call', async (_, beforeToolCall) => {
  const { agent, reports } = run([{ name: 'guard', beforeToolCall }])
  const { value } = await agent.beforeToolCall(toolCall, context)
  expect(value).toEqual({ kind: 'denied', hook: 'guard', reason: 'the check failed to run' })
  expect(reports).toHaveLength(1)
})
const circle: unknown[] = []
circle.push(circle)

it('L33: a failing afterToolCall leaves the output as it was', async () => {
  const { agent } = run([{ name: 'one', afterToolCall: () => Promise.reject(new Error('bang')) }])
  const { value, timings } = await agent.afterToolCall(output, context)
  expect(value).toEqual(output)
  expect(timings[0]?.outcome).toBe('failed')
})

it('L33: observers run concurrently, and one failure does not affect the others', async () => {
  const both = Promise.withResolvers<void>()
  const { agent, reports } = run([
    { name: 'waits for the other', afterModelCall: () => both.promise },
    { name: 'broken', afterModelCall: () => Promise.reject(new Error('bang')) },
    { name: 'frees the first', afterModelCall: async () => both.resolve() },
  ])
  const timings = await agent.afterModelCall(answer, context)
  expect(timings.map(({ outcome }) => outcome)).toEqual(['ok', 'failed', 'ok'])
  expect(reports).toHaveLength(1)
})

it('L32: a hook that answers without a promise runs as one that answers with a promise', async () => {
  const hook: Hook = {
    name: 'quick',
    beforeModelCall: () => ({ status: ['x'] }),
    afterModelCall: () => undefined,
    beforeToolCall: () => ({ input: {} }),
    afterToolCall: () => ({ text: 'y' }),
  }
  const promising: Hook = {
    name: 'quick',
    beforeModelCall: async () => ({ status: ['x'] }),
    afterModelCall: async () => undefined,
    beforeToolCall: async () => ({ input: {} }),
    afterToolCall: async () => ({ text: 'y' }),
  }
  for (const hooks of [[hook], [promising]]) {
    const { agent } = run(hooks)
    const timing = { hook: 'quick', ms: 5, outcome: 'ok' }
    expect(await agent.beforeModelCall(modelCall, context)).toEqual({
      value: { ...modelCall, status: ['x'] },
      timings: [{ ...timing, point: 'beforeModelCall' }],
    })
    expect(await agent.afterModelCall(answer, context)).toEqual([
      { ...timing, point: 'afterModelCall' },
    ])
    expect(await agent.beforeToolCall(toolCall, context)).toEqual({
      value: { kind: 'allowed', arguments: '{}' },
      timings: [{ ...timing, point: 'beforeToolCall' }],
    })
    expect(await agent.afterToolCall(output, context)).toEqual({
      value: { ...output, text: 'y' },
      timings: [{ ...timing, point: 'afterToolCall' }],
    })
  }
})

it('L33: an observer that throws without a promise does not stop the others', async () => {
  const seen: string[] = []
  const { agent, reports } = run([
    {
      name: 'broken',
      afterModelCall: () => {
        throw new Error('boom')
      },
    },
    { name: 'good', afterModelCall: () => void seen.push('good') },
  ])
  const timings = await agent.afterModelCall(answer, context)
  expect(timings.map(({ outcome }) => outcome).sort()).toEqual(['failed', 'ok'])
  expect(seen).toEqual(['good'])
  expect(reports).toHaveLength(1)
})

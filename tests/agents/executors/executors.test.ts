import { expect, it } from 'vitest'
import {
  type Command,
  type ExecutorEvent,
  type ExecutorType,
  executorTypes,
  type RunContext,
  type Runner,
} from '../../../src/agents/executors/executor'
import { getExecutor } from '../../../src/agents/executors/executors'

/** A fake external runner, which receives a command and yields output. */
function fakeRunner(...written: string[]) {
  const started: Command[] = []
  const runner: Runner = {
    async *start(command) {
      started.push(command)
      yield* written
    },
  }
  return { runner, started }
}

const contextOf = (runner: Runner | null): RunContext => ({
  ...{ systemPrompt: 'You fix bugs.', task: 'Fix "it"; rm -rf /', model: 'anthropic/sonnet' },
  ...{ runner, signal: new AbortController().signal },
})

async function collect(events: AsyncIterable<ExecutorEvent>): Promise<ExecutorEvent[]> {
  const all: ExecutorEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

const clis: [ExecutorType, string][] = [
  ['claude-code', 'claude'],
  ['goose', 'goose'],
  ['aider', 'aider'],
  ['opencode', 'opencode'],
]

it('L46: every type of a definition has its executor', () => {
  expect(executorTypes.map((type) => getExecutor(type).type)).toEqual([...executorTypes])
})

it('L46: native hands a run over to the loop and is never absent', async () => {
  const native = getExecutor('native')
  expect(await collect(native.run(contextOf(null)))).toEqual([{ type: 'handed_over' }])
  expect(native.explainUnavailable('scout', null)).toBeNull()
})

it.each(clis)(
  'L46: %s is started on a runner, and its output becomes an action',
  async (type, program) => {
    const { runner, started } = fakeRunner('no ', 'json')
    const executor = getExecutor(type)
    const events = await collect(executor.run(contextOf(runner)))
    expect(started).toMatchObject([{ program }])
    expect(events).toEqual([
      { type: 'output', text: 'no ' },
      { type: 'output', text: 'json' },
      { type: 'ended', action: executor.parseResponse('no json') },
    ])
  },
)

it.each(clis)('L46: the task of %s is input, never a part of its command line', async (type) => {
  const { runner, started } = fakeRunner()
  await collect(getExecutor(type).run(contextOf(runner)))
  expect(started[0]?.args.join(' ')).not.toContain('rm -rf')
  expect(started[0]?.input).toContain('rm -rf')
})

it.each(clis)('L46: without a runner %s explains that the task was not started', async (type) => {
  const executor = getExecutor(type)
  expect(executor.explainUnavailable('fixer', null)).toMatch(
    new RegExp(`^@fixer runs on ${type}, but no runner is connected to this hub`),
  )
  expect(executor.explainUnavailable('fixer', fakeRunner().runner)).toBeNull()
  expect(await collect(executor.run(contextOf(null)))).toMatchObject([
    { type: 'ended', action: { kind: 'failed' } },
  ])
})

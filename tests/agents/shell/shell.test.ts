import { describe, expect, test } from 'vitest'
import type { Hook } from '../../../src/agents/hooks/hook'
import { parseRecord } from '../../../src/agents/run/record'
import type { PostId } from '../../../src/shared/ids'
import { openTrace } from '../../support/run-log'
import { agentId } from './fake-hub'
import { callOf, countResults, inObject, live, type Script, World } from './world'

const once = (script: Script, ...asked: Parameters<World['hub']['ask']>) =>
  inObject(async (state) => {
    const world = new World(script)
    world.hub.ask(...asked)
    await live(world, state)
    return world
  })

describe('tasks', () => {
  test('L2 L6: a manual task is answered to its requester, outside any thread', async () => {
    const { hub } = await once(() => ({ text: 'It is done.' }), 'count the herons', 'manual')
    expect(hub.commits).toMatchObject([
      { outcome: 'completed', reply: { postId: null, parentId: null, content: 'It is done.' } },
    ])
  })

  test('L27: a model override for one run is called', async () => {
    const models: string[] = []
    const script: Script = (_, id) => {
      models.push(id)
      return { text: 'Yes.' }
    }
    const { hub } = await once(script, 'count', 'manual', 'other/model')
    expect(models).toEqual(['other/model'])
    expect(hub.commits[0]?.model).toBe('other/model')
  })

  test('L2 L6: the final words of a scheduled task are for whoever saved the schedule', async () => {
    const { hub } = await once(() => ({ text: 'Two herons today.' }), 'look', 'scheduled')
    expect(hub.commits).toMatchObject([
      {
        outcome: 'completed',
        reply: { postId: null, parentId: null, content: 'Two herons today.' },
      },
    ])
  })

  test.each([
    ['has written in a thread', 'hub_create_comment', 'Posted.'],
    ['says that it has nothing to say', 'look', 'PASS'],
    ['says nothing', 'look', ''],
  ])('L2 L35: a scheduled run that %s is answered in the trace alone', async (_, tool, text) => {
    const world = new World((request) =>
      countResults(request) > 0 ? { text } : { calls: [callOf('a', tool)] },
    )
    world.moreTools = ['hub_create_comment']
    world.hub.ask('look', 'scheduled')
    await inObject((state) => live(world, state))
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed', reply: null, tools: [tool] }])
  })

  test('S1 L7: an offered exploration runs once, and PASS posts nothing', () =>
    inObject(async (state) => {
      const world = new World(() => ({ text: 'Pass.' }))
      const shell = world.boot(state)
      shell.wake(agentId, { canExplore: true })
      await shell.waitUntilIdle()
      expect(world.hub.loads.map(({ canExplore: mayExplore }) => mayExplore)).toEqual([true])
      expect(world.hub.commits).toMatchObject([{ outcome: 'completed', reply: null, error: null }])
      shell.wake(agentId)
      await shell.waitUntilIdle()
      expect(world.hub.loads.at(-1)?.canExplore).toBe(false)
      expect(world.hub.commits).toHaveLength(1)
    }))

  test('L6: a mention is answered in its thread, by name', async () => {
    const { hub } = await once(() => ({ text: 'In March.' }), '@scout when?')
    expect(hub.commits[0]?.reply).toMatchObject({
      postId: 'post' as PostId,
      content: '@mira In March.',
    })
  })
})

describe('stopping', () => {
  const stop = (script: Script) =>
    inObject(async (state) => {
      const world = new World(script)
      world.hub.ask('@scout go')
      const shell = world.boot(state)
      shell.wake(agentId)
      const isBusy = () => world.asked.length + world.called.length > 0
      for (let wait = 0; wait < 200 && !isBusy(); wait++) await scheduler.wait(1)
      await scheduler.wait(5)
      const { activationId } = shell.readState()
      const isStopped = activationId !== null && shell.cancel(activationId)
      await shell.waitUntilIdle()
      return { world, isStopped, isLate: activationId !== null && shell.cancel(activationId) }
    })

  test('L34 T5: during a model call; the call is charged its prompt and what had arrived', async () => {
    const { world, isStopped, isLate } = await stop((request) => {
      request.onProgress?.(400)
      request.onDelta?.({ kind: 'reasoning', text: 'Hm. ' })
      request.onDelta?.({ kind: 'text', text: 'Let me think: the tide' })
      request.onDelta?.({ kind: 'text', text: 'The tide ', isWhole: true })
      request.onDelta?.({ kind: 'text', text: 'comes in' })
      return 'hang'
    })
    expect([isStopped, isLate]).toEqual([true, false])
    expect(world.hub.commits).toMatchObject([
      {
        outcome: 'cancelled',
        usage: [{ isEstimated: true, outputTokens: 100 }],
        reply: { content: '@mira The tide comes in\n\n*I was asked to stop.*' },
      },
    ])
  })

  test('L34: during tools; a hanging call is dropped, and every call has its result', async () => {
    const { world } = await stop((request) =>
      countResults(request) === 0
        ? { text: 'I look.', calls: [callOf('a', 'look'), callOf('b', 'hang')] }
        : { text: 'never' },
    )
    expect(world.asked).toHaveLength(1)
    expect(world.hub.commits).toMatchObject([
      { outcome: 'cancelled', reply: { content: expect.stringContaining('I look.') } },
    ])
  })
})

describe('hooks', () => {
  const withHook = (hook: Hook, script: Script) =>
    inObject(async (state) => {
      const world = new World(script)
      world.hooks = [hook]
      world.hub.ask('@scout go')
      await live(world, state)
      return world
    })
  const looking: Script = (request) =>
    countResults(request) === 0
      ? { calls: [callOf('a', 'look', '{"at":"sky"}')] }
      : {
          text:
            request.messages.flatMap((each) => (each.role === 'tool' ? each.results : []))[0]
              ?.text ?? '',
        }

  test('L32 L43: a guard changes the arguments for the gateway, and the trace has them and the duration of the guard', async () => {
    const world = await withHook(
      { name: 'down', beforeToolCall: () => ({ input: { at: 'ground' } }) },
      looking,
    )
    expect(world.called).toMatchObject([{ arguments: '{"at":"ground"}' }])
    const trace = openTrace(world.hub.commits[0]?.trace ?? '{}')
    expect(trace.steps[0]?.tools).toMatchObject([
      { arguments: '{"at":"ground"}', hooks: [{ hook: 'down', outcome: 'ok' }] },
    ])
  })

  test('L32: a denied call never reaches the gateway, and the model reads the reason', async () => {
    const world = await withHook(
      { name: 'strict', beforeToolCall: () => ({ deny: 'Not today.' }) },
      looking,
    )
    expect(world.called).toEqual([])
    expect(world.hub.commits[0]?.reply?.content).toContain('Error: denied by strict: Not today.')
  })

  test('L32: hooks read and change the prompt and tool results', async () => {
    const answers: string[] = []
    const world = await withHook(
      {
        name: 'all',
        beforeModelCall: ({ tools }) => ({
          systemPrompt: 'another soul',
          tools: tools.filter(({ name }) => name === 'look'),
          status: ['Be brief.'],
        }),
        afterModelCall: async (answer) => {
          answers.push(answer.text)
        },
        afterToolCall: () => ({ text: 'changed' }),
      },
      looking,
    )
    const [first] = world.asked
    expect(first?.messages[0]).toEqual({ role: 'system', text: 'another soul' })
    expect(first?.tools.map(({ name }) => name)).toEqual(['look'])
    expect(JSON.stringify(first?.messages.at(-1))).toContain('Be brief.')
    expect(answers).toHaveLength(2)
    expect(world.hub.commits[0]?.reply?.content).toContain('changed')
    const trace = openTrace(world.hub.commits[0]?.trace ?? '{}')
    expect(trace.steps[0]?.hooks.map(({ point }) => point)).toEqual([
      'beforeModelCall',
      'afterModelCall',
    ])
    const record = parseRecord(world.hub.commits[0]?.trace ?? '{}')
    const requests = record.ok
      ? record.record.events.flatMap((event) =>
          event.type === 'model_answered' ? [event.request] : [],
        )
      : []
    expect(requests).toMatchObject([
      { systemPrompt: 'another soul', tools: ['look'], toolsHash: expect.any(String) },
      { systemPrompt: 'another soul' },
    ])
    expect(requests.every((each) => each?.status.endsWith('Be brief.'))).toBe(true)
  })
})

test('L14: over ten steps each prompt begins with at least 95 % of the previous one', async () => {
  const { hub, asked } = await once(
    (request) => {
      const turn = countResults(request)
      const words = `Step ${turn}: ${'the herons nest at the weir, '.repeat(10)}`
      return turn < 9 ? { text: words, calls: [callOf(`c${turn}`, 'look')] } : { text: 'Done.' }
    },
    `@scout ${'what do you know of herons and weirs? '.repeat(150)}`,
  )
  expect(asked).toHaveLength(10)
  const { steps } = openTrace(hub.commits[0]?.trace ?? '{}')
  const shares = steps.slice(1).map(({ input }) => input?.prefixShare ?? 0)
  expect(shares).toHaveLength(9)
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(0.95)
})

test('L15: a definition is read once, and used for as long as its etag holds', () =>
  inObject(async (state) => {
    const world = new World((request) =>
      countResults(request) === 0
        ? { calls: [callOf('a', 'look'), callOf('b', 'look')] }
        : { text: 'Done.' },
    )
    world.hub.ask('@scout one')
    world.hub.ask('@scout two')
    const shell = await live(world, state)
    expect(world.asked).toHaveLength(4)
    expect(world.defined).toEqual(['first'])
    world.hub.etag = 'second'
    world.hub.ask('@scout three')
    shell.wake(agentId)
    await shell.waitUntilIdle()
    expect(world.defined).toEqual(['first', 'second'])
    expect(world.asked.at(-1)?.messages[0]).toEqual({ role: 'system', text: 'soul second' })
  }))

test.each([1, 2])(
  'L25: a model that takes %d tools gets the first ones, and the agent knows the others',
  (toolsMax) =>
    inObject(async (state) => {
      const play = async (model: World['model']) => {
        const world = new World(() => ({ text: 'Nine herons.' }))
        world.model = model
        world.hub.ask('@scout count the herons')
        await live(world, state)
        const [request] = world.asked
        return {
          names: request?.tools.map(({ name }) => name) ?? [],
          prompt: JSON.stringify(request?.messages),
        }
      }
      const all = await play({})
      const some = await play({ toolsMax })
      expect(some.names).toEqual(all.names.slice(0, toolsMax))
      const leftOut = all.names.slice(toolsMax).join(', ')
      expect(some.prompt).toContain(
        `takes no more than ${toolsMax} tools, so these are left out: ${leftOut}.`,
      )
      expect(all.prompt).not.toContain('left out')
    }),
)

import { expect, test } from 'vitest'
import { boundPromptTokens, measurePromptSize } from '../../../src/agents/effects/price-call'
import type { Hook } from '../../../src/agents/hooks/hook'
import type { ModelRequest } from '../../../src/agents/models/model-port'
import type { ActivationId } from '../../../src/shared/ids'
import { agentId } from './fake-hub'
import { callOf, inObject, live, type Script, World } from './world'

/** The reservation of the hub in these tests. */
const reserved = { microusd: 1_000_000, tokens: 50_000 }

/** The tokens that the prompt of a call reserves. */
const boundOf = (request: ModelRequest | undefined): number =>
  boundPromptTokens(
    measurePromptSize({ messages: request?.messages ?? [], tools: request?.tools ?? [] }),
  )

/** The machine stops during the first model call; the next machine gets an answer. */
const loseFirstCall = (hooks: Hook[] = []) =>
  inObject(async (state) => {
    const world = new World(() => ({ text: 'Nine herons.' }))
    world.hooks = hooks
    world.hub.ask('@scout count the herons')
    // load, then the call: before it, after it
    world.killAt = 4
    await live(world, state)
    expect(world.points.slice(2, 4)).toEqual(['model.before', 'model.after'])
    const [first] = world.asked
    const sent = boundOf(first)
    return { sent, usage: world.hub.commits[0]?.usage ?? [] }
  })

test('L36 B4: a first call that a crash interrupted is charged its worst case, not the whole reservation', async () => {
  const { sent, usage } = await loseFirstCall()
  expect(usage).toHaveLength(2)
  const [lost] = usage
  expect(lost).toMatchObject({ isEstimated: true })
  expect(lost?.inputTokens).toBeGreaterThanOrEqual(sent)
  expect(lost?.inputTokens).toBeLessThan(reserved.tokens / 2)
  expect(lost?.costMicrousd).toBeLessThan(reserved.microusd / 2)
})

test('L36 B4: a first call that hooks made longer is charged as it was sent', async () => {
  const wordy: Hook = {
    name: 'wordy',
    beforeModelCall: () => ({ status: ['heron '.repeat(1_500)] }),
  }
  const { sent, usage } = await loseFirstCall([wordy])
  expect(sent).toBeGreaterThan(4_000)
  expect(usage[0]?.inputTokens).toBe(sent)
})

test('B4 B11: an activation whose journal is lost is charged to the model that its money was reserved for', () =>
  inObject(async (state) => {
    const world = new World(() => ({ text: 'Nine herons.' }))
    const { hub } = world
    const row = {
      state: 'running',
      task: 'mention',
      item: null,
      open: [],
      isCancelled: false,
    } as const
    hub.rows.set('gone' as ActivationId, { ...row, open: [] })
    const lost = { reservedMicrousd: 700, reservedTokens: 90, model: 'anthropic/large' }
    hub.other = { ...lost, deadlineAt: 1 }
    hub.ask('@scout count the herons')
    await live(world, state)
    expect(hub.commits).toMatchObject([
      {
        activationId: 'gone',
        error: { code: 'LOST' },
        model: 'anthropic/large',
        usage: [
          {
            model: 'anthropic/large',
            costMicrousd: 700,
            inputTokens: 90,
            isEstimated: true,
          },
        ],
      },
      { outcome: 'completed' },
    ])
  }))

test('L36 B4: an unsent call is charged nothing, whatever the agent did before', () =>
  inObject(async (state) => {
    const world = new World(() => ({ text: 'Nine herons.' }))
    const { renew } = world.hub.api
    let isAway = false
    world.hub.api.renew = (request) => {
      if (!isAway) return renew(request)
      isAway = false
      throw new Error('the database is away')
    }
    world.hub.ask('@scout count the herons')
    const shell = await live(world, state)
    // More than LOAD reserves, so a first call extends the reservation before it is sent.
    world.model = { outputTokensMax: 200_000, contextTokens: 400_000 }
    world.hub.ask(`@scout count these: ${'ü'.repeat(25_000)}`)
    isAway = true
    shell.wake(agentId)
    await shell.waitUntilIdle()
    expect(world.asked).toHaveLength(2)
    expect(world.hub.commits[1]?.usage).toHaveLength(1)
  }))

/** The last message is the status. */
const lookFirst: Script = ({ messages }) =>
  messages.at(-2)?.role === 'tool' ? { text: 'Nine herons.' } : { calls: [callOf('c1', 'look')] }

test('L36 B4: a call that a crash interrupted is charged once, also when the next crash comes before it is sent again', () =>
  inObject(async (state) => {
    const world = new World(lookFirst)
    world.hub.ask('@scout count the herons')
    // after the second answer, then during the renewal
    for (const killAt of [10, 11]) {
      world.killAt = killAt
      const shell = world.boot(state)
      shell.wake(agentId)
      expect(await world.rest(shell)).toBe(true)
    }
    expect(world.points.slice(8)).toEqual(['model.before', 'model.after', 'renew.before'])
    await live(world, state)
    expect(world.hub.commits).toMatchObject([{ error: { code: 'INTERRUPTED' } }])
    expect(world.hub.commits[0]?.usage).toHaveLength(2)
  }))

test('L36 B4: the last call of another activation is not charged to one that stopped before its call', () =>
  inObject(async (state) => {
    const world = new World(lookFirst)
    world.hub.ask('@scout count the herons')
    await live(world, state)
    expect(world.hub.commits[0]?.usage).toHaveLength(2)
    world.hub.ask('@scout count them again')
    // The machine stops during the renewal, however often the idle agent has looked for tasks until then.
    const { push } = world.points
    world.points.push = (point) => {
      const length = push.call(world.points, point)
      if (point === 'renew.before') world.killAt ??= length
      return length
    }
    await live(world, state)
    expect(world.killAt).not.toBeNull()
    expect(world.hub.commits[1]?.usage).toHaveLength(2)
  }))

test('L36 B4: after a crash no call exceeds the reservation, tools included', () =>
  inObject(async (state) => {
    const isNotified = ({ role }: { role: string }) => role === 'tool'
    const world = new World(({ messages }) =>
      messages.some(isNotified) ? { text: 'Nine herons.' } : { calls: [callOf('c1', 'look')] },
    )
    const granted: number[] = []
    const { renew } = world.hub.api
    world.hub.api.renew = async (request) => {
      const answer = await renew(request)
      if (answer.kind !== 'renewed') return answer
      granted.push(request.want.tokens)
      return { ...answer, reservation: { ...request.want } }
    }
    world.hub.ask('@scout count the herons')
    // load, model, tool: the machine stops when the tool has run
    world.killAt = 6
    await live(world, state)
    const last = world.asked.at(-1)
    expect(last?.tools.length).toBeGreaterThan(0)
    const sent = boundOf(last)
    expect(sent + (last?.maxOutputTokens ?? 0)).toBeLessThanOrEqual(granted.at(-1) ?? 0)
    expect(last?.maxOutputTokens).toBe(1_000)
  }))

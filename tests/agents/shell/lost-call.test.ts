import { expect, test } from 'vitest'
import type { Hook } from '../../../src/agents/hooks/hook'
import { boundTokens } from '../../../src/agents/models/bound-tokens'
import type { ActivationId } from '../../../src/ids'
import { inObject, live, World } from './world'

/** What the hub of these tests reserves. */
const reserved = { microusd: 1_000_000, tokens: 50_000 }

/** The machine dies while the first model call is under way; the next one answers. */
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
    const sent = boundTokens(first?.messages ?? [], first?.tools ?? [])
    return { sent, usage: world.hub.commits[0]?.usage ?? [] }
  })

test('L36 B4: a first call that a crash cut off is charged what it takes at most, not all that was reserved', async () => {
  const { sent, usage } = await loseFirstCall()
  expect(usage).toHaveLength(2)
  const [lost] = usage
  expect(lost).toMatchObject({ isEstimated: true })
  expect(lost?.inputTokens).toBeGreaterThanOrEqual(sent)
  expect(lost?.inputTokens).toBeLessThan(reserved.tokens / 2)
  expect(lost?.costMicrousd).toBeLessThan(reserved.microusd / 2)
})

test('L36 B4: one that hooks have made longer than was foreseen is charged as it was sent', async () => {
  const wordy: Hook = {
    name: 'wordy',
    beforeModelCall: () => ({ status: ['heron '.repeat(1_500)] }),
  }
  const { sent, usage } = await loseFirstCall([wordy])
  expect(sent).toBeGreaterThan(9_000)
  expect(usage[0]?.inputTokens).toBe(sent)
})

test('B4 B11: an activation of which nothing is left is charged to the model that its money was reserved for', () =>
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
            executor: 'anthropic',
            costMicrousd: 700,
            inputTokens: 90,
            isEstimated: true,
          },
        ],
      },
      { outcome: 'completed' },
    ])
  }))

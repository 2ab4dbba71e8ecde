import { expect, test } from 'vitest'
import { Journal } from '../../../src/agents/storage/journal'
import { activationLimits } from '../../../src/config'
import { Scenario } from '../loop/scenario'
import { agentId } from './fake-hub'
import { inObject, World } from './world'

/** Every LOAD ended in an error, the last one too: the journal of an agent that gives up. */
function giveUp(storage: DurableObjectStorage): void {
  const journal = new Journal(storage.sql)
  journal.load()
  journal.keepOwner({ agentId })
  journal.begin()
  const scenario = new Scenario().wake()
  for (let errors = 1; errors <= activationLimits.errors; errors++) {
    const effectId = scenario.only('load')
    const message = 'Something inside the hub went wrong (Error).'
    const code = 'HUB_UNREACHABLE'
    const at = scenario.at++
    scenario.apply({ type: 'load_failed', at, effectId, code, message, isHopeless: false })
    if (errors < activationLimits.errors) scenario.sleep()
  }
  expect(scenario.pendingTypes()).toEqual(['commit'])
  for (const event of scenario.events) journal.append(event, scenario.state)
}

const commitOf = (prepare: (world: World) => Promise<void> | void) =>
  inObject(async (state) => {
    const world = new World(() => ({ text: 'In March.' }))
    await prepare(world)
    giveUp(state.storage)
    const shell = world.boot(state)
    void shell.alarm()
    await world.rest(shell)
    return world.hub
  })

/** As the hub does it when its answer gets lost. */
const claim = async (world: World) => {
  const { activationId } = new Scenario().wake().state
  if (!activationId) throw new Error('no activation')
  const { door } = world.hub
  await door.load({ agentId, activationId, now: 1, capacity: 50, mayExplore: false })
}

test('L17 L35: who asked is told why, though the hub’s answer to LOAD was never understood', async () => {
  const { commits } = await commitOf(async (world) => {
    world.hub.ask('@scout when?')
    await claim(world)
  })
  expect(commits).toMatchObject([
    {
      outcome: 'failed',
      error: { code: 'HUB_UNREACHABLE' },
      reply: {
        postId: 'post',
        content: expect.stringMatching(/^@mira I could not start: /),
        askers: ['mira'],
      },
      report: { title: 'scout failed: HUB_UNREACHABLE' },
    },
  ])
})

test('L17 L35: a task that no LOAD has claimed is not failed, it is begun anew', async () => {
  const { commits } = await commitOf((world) => world.hub.ask('@scout when?'))
  expect(commits).toMatchObject([
    { outcome: 'completed', reply: { content: '@mira In March.' }, report: null },
  ])
})

test('L17 L35: where nobody asked, nothing is said', async () => {
  const { commits } = await commitOf(async (world) => {
    world.hub.ask('look', 'scheduled')
    await claim(world)
  })
  expect(commits).toMatchObject([{ outcome: 'failed', reply: null }])
})

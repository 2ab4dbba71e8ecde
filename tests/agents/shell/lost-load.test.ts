import { expect, test } from 'vitest'
import type { AgentShell } from '../../../src/agents/agent-shell'
import { Journal } from '../../../src/agents/storage/journal'
import { activationLimits } from '../../../src/shared/config'
import { Scenario } from '../loop/scenario'
import { agentId } from './fake-hub'
import { approveAll, callOf, countResults, inObject, World } from './world'

/** The journal of an agent that gives up: every LOAD failed, the last one too. */
function giveUp(storage: DurableObjectStorage): void {
  const journal = new Journal(storage.sql)
  journal.load()
  journal.saveOwner({ agentId })
  journal.begin()
  const scenario = new Scenario().wake()
  for (let errors = 1; errors <= activationLimits.errors; errors++) {
    const effectId = scenario.only('load')
    const message = 'An internal error of the hub occurred (Error).'
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

/** Claims as the hub does when its answer gets lost. */
const claim = async (world: World) => {
  const { activationId } = new Scenario().wake().state
  if (!activationId) throw new Error('no activation')
  const { api } = world.hub
  await api.load({ agentId, activationId, now: 1, capacity: 50, canExplore: false })
}

test('L17 L35: the requester gets the reason, though no answer of LOAD was received', async () => {
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
        requesters: ['mira'],
      },
      report: { title: 'scout failed: HUB_UNREACHABLE' },
    },
  ])
})

test('L17 L35: a task that no LOAD has claimed does not fail, it starts again', async () => {
  const { commits } = await commitOf((world) => world.hub.ask('@scout when?'))
  expect(commits).toMatchObject([
    { outcome: 'completed', reply: { content: '@mira In March.' }, report: null },
  ])
})

test('L17 L35: of a scheduled task, whoever saved the schedule gets the reason', async () => {
  const { commits } = await commitOf(async (world) => {
    world.hub.ask('look', 'scheduled')
    await claim(world)
  })
  const content = expect.stringMatching(/^I could not start: /)
  expect(commits).toMatchObject([
    { outcome: 'failed', reply: { postId: null, requesters: [], content } },
  ])
})

test('L17 L35: a task without a requester posts nothing', async () => {
  const { commits } = await commitOf(async (world) => {
    world.hub.ask('look', 'exploration')
    await claim(world)
  })
  expect(commits).toMatchObject([{ outcome: 'failed', reply: null }])
})

/** Stops the machine in so many LOADs, before or after the hub has performed them. */
async function liveDangerously(
  world: World,
  state: DurableObjectState,
  deaths: number,
  when: 'before' | 'after',
): Promise<AgentShell> {
  const { api } = world.hub
  const { load } = api
  let dying = Promise.withResolvers<void>()
  let left = deaths
  api.load = async (request) => {
    if (left === 0) return load(request)
    if (when === 'after') await load(request)
    left--
    dying.resolve()
    return new Promise<never>(() => {})
  }
  let shell = world.boot(state)
  shell.wake(agentId)
  for (let death = 0; death < deaths; death++) {
    await dying.promise
    dying = Promise.withResolvers()
    shell = world.boot(state)
    void shell.alarm()
  }
  await shell.waitUntilIdle()
  return shell
}

/** Interruptions in a row after which a run that was alone is set aside. */
const setAsideAfter = 2

test('L36 L35: a LOAD that stops its machine twice ends as failed, and the requester gets a reply', () =>
  inObject(async (state) => {
    const world = new World(() => ({ text: 'In March.' }))
    world.hub.ask('@scout when?')
    const shell = await liveDangerously(world, state, setAsideAfter, 'after')
    expect(world.hub.commits).toMatchObject([
      {
        outcome: 'failed',
        error: { code: 'INTERRUPTED' },
        reply: { postId: 'post', content: expect.stringMatching(/^@mira I could not finish: /) },
        report: { title: 'scout failed: INTERRUPTED' },
        usage: [],
      },
    ])
    expect(world.asked).toEqual([])
    expect(world.hub.isIdle).toBe(true)
    world.hub.ask('@scout and now?')
    shell.wake(agentId)
    await shell.waitUntilIdle()
    expect(world.hub.commits.at(-1)).toMatchObject({ outcome: 'completed' })
  }))

test('L36: a LOAD that stops its machine once starts again, and the task is done', () =>
  inObject(async (state) => {
    const world = new World(() => ({ text: 'In March.' }))
    world.hub.ask('@scout when?')
    await liveDangerously(world, state, setAsideAfter - 1, 'after')
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed', error: null }])
  }))

test('L36: a LOAD that stops its machine before anything is claimed fails no task: the task starts again', () =>
  inObject(async (state) => {
    const world = new World(() => ({ text: 'In March.' }))
    world.hub.ask('@scout when?')
    await liveDangerously(world, state, setAsideAfter, 'before')
    expect(world.hub.commits).toMatchObject([{ outcome: 'completed', error: null }])
  }))

test.each([true, false])(
  'L36 L30: a LOAD that returns parked work and stops its machine twice fails nothing (LOAD repeats: %s)',
  (repeats) =>
    inObject(async (state) => {
      const world = new World((request) =>
        countResults(request) === 0 ? { calls: [callOf('a', 'act')] } : { text: 'Done.' },
      )
      world.hub.repeatsResumed = repeats
      world.hub.ask('@scout act')
      const first = world.boot(state)
      first.wake(agentId)
      await first.waitUntilIdle()
      approveAll(world)
      await liveDangerously(world, state, setAsideAfter, 'after')
      expect(world.hub.commits).toMatchObject([{ outcome: 'completed', error: null }])
      expect(world.ran.size).toBe(1)
    }),
)

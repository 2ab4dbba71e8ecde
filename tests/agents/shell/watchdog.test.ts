import { describe, expect, test } from 'vitest'
import { Watchdog } from '../../../src/agents/alarm'
import { initialState, type LoopState } from '../../../src/agents/loop/state'
import { scheduling } from '../../../src/shared/config'
import { agentId } from './fake-hub'
import { callOf, inObject, live, World } from './world'

const { graceMs, watchdogMs } = scheduling
const working: LoopState = {
  ...initialState,
  phase: 'reasoning',
  endsAt: Number.MAX_SAFE_INTEGER,
  pending: [{ id: 1, type: 'call_model', mustRenew: false }],
}
const asleep: LoopState = { ...working, pending: [{ id: 1, type: 'sleep', until: 60_000 }] }

/** A watchdog with a fake clock. */
function create() {
  const alarms: number[] = []
  const clock = { at: 1_000, now: () => clock.at, newId: <Id>() => '' as Id }
  const setAlarm = async (at: number | Date) => void alarms.push(Number(at))
  const watchdog = new Watchdog({ setAlarm }, clock)
  const begin = (state = working) => {
    watchdog.startGrace(() => watchdog.schedule(state))
    watchdog.schedule(state)
  }
  const isSure = () =>
    Promise.race([
      watchdog.waitUntilDurable().then(() => true),
      scheduler.wait(1).then(() => false),
    ])
  return { alarms, clock, watchdog, begin, isSure }
}

describe('the alarm of an agent (L36, S6)', () => {
  test('S6 L36: work that takes longer than a moment gets one, and only then is it certain to continue', async () => {
    const { alarms, begin, isSure } = create()
    begin()
    expect(alarms).toEqual([])
    expect(await isSure()).toBe(false)
    await scheduler.wait(graceMs + 50)
    expect(alarms).toEqual([1_000 + watchdogMs])
    expect(await isSure()).toBe(true)
  })

  test('S6 L36: work that is over in a moment gets none, and the caller need not wait', async () => {
    const { alarms, begin, isSure, watchdog } = create()
    begin()
    const sure = isSure()
    watchdog.schedule(initialState)
    expect(await sure).toBe(true)
    await scheduler.wait(graceMs + 50)
    expect(alarms).toEqual([])
  })

  test('an agent that is woken repeatedly has one alarm for all wakes, at once', () => {
    const { alarms, begin, clock, watchdog } = create()
    for (let call = 0; call < 5; call++) {
      begin()
      watchdog.schedule(initialState)
      clock.at += 10
    }
    expect(alarms).toEqual([1_010 + watchdogMs])
  })

  test('after a rest a short task gets no alarm again', async () => {
    const { alarms, begin, clock, watchdog } = create()
    begin()
    watchdog.schedule(initialState)
    clock.at += watchdogMs + 1
    begin()
    expect(alarms).toEqual([])
    await scheduler.wait(graceMs + 50)
    expect(alarms).toHaveLength(1)
  })

  test('a sleeping activation has its alarm at once', async () => {
    const { alarms, begin, isSure } = create()
    begin(asleep)
    expect(alarms).toEqual([60_000])
    expect(await isSure()).toBe(true)
  })

  test('an activation of another machine has its alarm at once', async () => {
    const { alarms, watchdog, isSure } = create()
    watchdog.schedule(working)
    expect(alarms).toEqual([1_000 + watchdogMs])
    expect(await isSure()).toBe(true)
  })
})

describe('an agent at rest', () => {
  test('L22: shows a late watcher what it did, though it holds nothing of it in memory', () =>
    inObject(async (state) => {
      const world = new World(({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? { text: 'In March.' }
          : { calls: [callOf('c1', 'look')] },
      )
      world.hub.ask('@scout when?')
      const shell = await live(world, state)
      const { events, isCommitted: isOver } = shell.readActivation()
      expect(isOver).toBe(true)
      expect(events.map(({ type }) => type)).toEqual([
        'woken',
        'loaded',
        'model_answered',
        'tool_returned',
        'model_answered',
        'committed',
      ])
      expect(world.boot(state).readActivation().events).toEqual(events)
    }))

  test('L22: shows the end of what it did before its alarm has written that', () =>
    inObject(async (state) => {
      const world = new World(() => ({ text: 'Yes.' }))
      const { load } = world.hub.api
      world.hub.api.load = async (request) => {
        // A task that takes longer than a moment has an alarm.
        while ((await state.storage.getAlarm()) === null) await scheduler.wait(1)
        return load(request)
      }
      world.hub.ask('@scout?')
      const shell = world.boot(state)
      shell.wake(agentId)
      await shell.waitUntilIdle()
      const { events, isCommitted } = shell.readActivation()
      expect(isCommitted).toBe(true)
      expect(events.map(({ type }) => type)).toEqual([
        'woken',
        'loaded',
        'model_answered',
        'committed',
      ])
      await state.storage.deleteAlarm()
    }))

  test('L36: a short task is not taken for a crash by the next machine', () =>
    inObject(async (state) => {
      const world = new World(() => ({ text: 'Yes.' }))
      world.hub.ask('@scout?')
      await live(world, state)
      const { loads, commits } = world.hub
      const before = [loads.length, commits.length]
      const shell = world.boot(state)
      expect(shell.readState().state).toBe('asleep')
      await shell.alarm()
      await shell.waitUntilIdle()
      expect([loads.length, commits.length]).toEqual(before)
      expect(await state.storage.getAlarm()).toBeNull()
      shell.wake(agentId)
      await shell.waitUntilIdle()
      expect(loads.length).toBe((before[0] ?? 0) + 1)
    }))
})

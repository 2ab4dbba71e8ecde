import { describe, expect, test } from 'vitest'
import { Scenario } from './scenario'

/** The money that is left is reserved by others, so the call is not made yet. */
function waitForMoney(scenario: Scenario): Scenario {
  const effectId = scenario.only('call_model')
  const at = scenario.at++
  scenario.apply({ type: 'model_waited', at, effectId, retryAt: at + 5 })
  return scenario.sleep()
}

describe('a call that waits for money', () => {
  test('L8 B4: waiting for money does not count as a step, however often', () => {
    const scenario = new Scenario().wake().load()
    for (let times = 0; times < 10; times++) waitForMoney(scenario)
    expect(scenario.pendingTypes()).toEqual(['call_model'])
    expect(scenario.state.iteration).toBe(1)
    scenario.answer('', ['a']).returnTool('a')
    expect(scenario.state.iteration).toBe(2)
    for (let times = 0; times < 10; times++) waitForMoney(scenario)
    expect(scenario.state.iteration).toBe(2)
    expect(scenario.answer('Done.').state.ending).toMatchObject({ outcome: 'completed' })
  })

  test('L8 B4: a retry that waits for money belongs to the step that it repeats', () => {
    const scenario = new Scenario().wake().load().failModel().sleep()
    waitForMoney(waitForMoney(scenario))
    expect(scenario.state.iteration).toBe(1)
    expect(scenario.answer('Done.').state).toMatchObject({
      iteration: 1,
      ending: { outcome: 'completed' },
    })
  })

  test('L8 B4: an activation that waits for money still times out', () => {
    const scenario = new Scenario().wake().load()
    while (scenario.pendingTypes()[0] === 'call_model') {
      scenario.at += 10_000
      waitForMoney(scenario)
    }
    expect(scenario.state.ending).toMatchObject({ outcome: 'max_duration', reply: 'partial' })
  })

  test('L37 B4: the reservation of LOAD was released during the wait, so it is renewed', () => {
    const scenario = waitForMoney(new Scenario().wake().load())
    expect(scenario.state.pending[0]).toMatchObject({ type: 'call_model', mustRenew: true })
  })
})

describe('a wait that would exceed the time limit', () => {
  const begin = () => {
    const scenario = new Scenario().wake().load().answer('So far: two herons.', ['a'])
    scenario.returnTool('a')
    scenario.at = scenario.state.endsAt - 1_000
    return scenario
  }

  test('L8 L24: a retry waits no longer than the time limit', () => {
    const scenario = begin()
    const { endsAt } = scenario.state
    scenario.failModel({ retryAfterMs: 30_000 })
    expect(scenario.state.pending).toMatchObject([{ type: 'sleep', until: endsAt }])
    expect(scenario.sleep().state.ending).toMatchObject({
      outcome: 'max_duration',
      reply: 'partial',
    })
  })

  test('L8 B4: a wait for money neither', () => {
    const scenario = begin()
    const { endsAt } = scenario.state
    const effectId = scenario.only('call_model')
    scenario.apply({ type: 'model_waited', at: endsAt - 500, effectId, retryAt: endsAt + 1_500 })
    expect(scenario.state.pending).toMatchObject([{ type: 'sleep', until: endsAt }])
    expect(scenario.sleep().state.ending).toMatchObject({ outcome: 'max_duration' })
  })
})

import { expect, test } from 'vitest'
import { Scenario } from './scenario'

test('L34: cancel before the loop is remembered until there is something to commit', () => {
  const scenario = new Scenario().wake()
  scenario.apply({ type: 'cancel_requested', at: 2, charge: null })
  scenario.load()
  expect(scenario.pendingTypes()).toEqual(['commit'])
  expect(scenario.state.ending).toMatchObject({ outcome: 'cancelled' })
})

test('L34: who stopped it is not told of a failure when the hub cannot be read then', () => {
  const scenario = new Scenario().wake()
  scenario.apply({ type: 'cancel_requested', at: 2, charge: null })
  const trouble = { code: 'HUB_UNREACHABLE', message: 'away', isHopeless: false } as const
  scenario.apply({ type: 'load_failed', at: 3, effectId: scenario.only('load'), ...trouble })
  expect(scenario.pendingTypes()).toEqual(['commit'])
  expect(scenario.state.ending).toMatchObject({ outcome: 'cancelled', error: null })
})

import { expect, test } from 'vitest'
import { Scenario } from './scenario'

test('L34: a cancel before the loop is deferred until there is something to commit', () => {
  const scenario = new Scenario().wake()
  scenario.apply({ type: 'cancel_requested', at: 2, charge: null })
  scenario.load()
  expect(scenario.pendingTypes()).toEqual(['commit'])
  expect(scenario.state.ending).toMatchObject({ outcome: 'cancelled' })
})

test('L34: a stopped activation does not report a failure when the hub then cannot be read', () => {
  const scenario = new Scenario().wake()
  scenario.apply({ type: 'cancel_requested', at: 2, charge: null })
  const failure = { code: 'HUB_UNREACHABLE', message: 'away', isHopeless: false } as const
  scenario.apply({ type: 'load_failed', at: 3, effectId: scenario.only('load'), ...failure })
  expect(scenario.pendingTypes()).toEqual(['commit'])
  expect(scenario.state.ending).toMatchObject({ outcome: 'cancelled', error: null })
})

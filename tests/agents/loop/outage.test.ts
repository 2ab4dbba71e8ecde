import { expect, test } from 'vitest'
import { composeReply } from '../../../src/agents/loop/reply'
import { facts, Scenario } from './scenario'

const outage = {
  provider: 'Fake',
  address: 'http://127.0.0.1:9/v1',
  setting: 'OPENAI_COMPATIBLE_BASE_URL',
}

/** A run whose provider cannot be reached, after its three retries. */
function findDown(): Scenario {
  const run = new Scenario().wake().load()
  for (let retry = 0; retry < 3; retry++) run.failModel({ outage }).sleep()
  return run.failModel({ outage })
}

test('T5: a run whose provider is down parks after its retries, and none of the calls counts', () => {
  const { state } = findDown()
  expect(state).toMatchObject({
    phase: 'parking',
    errors: 0,
    retries: 0,
    iteration: 0,
    tokens: 0,
    microusd: 0,
    outage: { ...outage, parks: 1 },
  })
  expect(state.pending).toMatchObject([{ type: 'park' }])
})

test('T5: an attempt that finds the provider down parks again at once, however often', () => {
  const run = findDown()
  for (let attempt = 2; attempt < 12; attempt++) {
    run.park().resume([]).failModel({ outage })
    expect(run.state).toMatchObject({ phase: 'parking', outage: { parks: attempt } })
    expect(run.state.iteration).toBe(0)
  }
  run.park().resume([]).answer('Here I am.')
  expect(run.state).toMatchObject({ outage: null, ending: { outcome: 'completed' } })
})

test('T5: a run parks while it has time left, rather than time out over its retries', () => {
  const run = new Scenario().wake().load({ limits: { ...facts().limits, durationMs: 3_000 } })
  run.failModel({ outage }).sleep().failModel({ outage })
  expect(run.state.phase).toBe('parking')
  run.park().resume([])
  expect(run.state.endsAt - run.at).toBeGreaterThanOrEqual(1_400)
})

test('T5: a run that is stopped while its provider is down ends with one reply', () => {
  const run = findDown().park().resume([], { isCancelled: true })
  expect(run.state.ending?.outcome).toBe('cancelled')
  const { ending } = run.state
  expect(ending && composeReply(ending, run.events, ['mira'])).toContain('asked to stop')
})

test.each([true, undefined])(
  'L35: a failure that asking again cannot help says so: %s',
  (isPermanent) => {
    const run = new Scenario().wake().load()
    run.failModel({ isRetryable: false, ...(isPermanent && { isPermanent }) })
    const { ending } = run.state
    const reply = ending && composeReply(ending, run.events, ['mira'])
    expect(reply?.includes('Asking me again may help.')).toBe(isPermanent !== true)
  },
)

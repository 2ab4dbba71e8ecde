import { runDurableObjectAlarm } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createModelRegistry } from '../../../src/agents/models/registry'
import { createReplayRunner } from '../../../src/agents/replay/replay-object'
import type { ActivationId } from '../../../src/shared/ids'
import { readSettings } from '../../../src/shared/settings'

const laneId = '019b7e5c-0001-7000-8000-0000000000bb' as ActivationId
const runner = createReplayRunner(env.REPLAYS, {
  settings: {},
  models: createModelRegistry(readSettings({})),
})

test('P11: a lane that the hub does not know is not run, and leaves no alarm', async () => {
  await runner.wakeLane(laneId)
  expect(await runDurableObjectAlarm(env.REPLAYS.getByName(laneId))).toBe(false)
  await runner.cancelLane(laneId)
})

test('P11: a lane is deleted, also when nothing of it is left', async () => {
  await runner.wakeLane(laneId)
  await runner.deleteLane(laneId)
  await runner.deleteLane(laneId)
  await runner.wakeLane(laneId)
  expect(await runDurableObjectAlarm(env.REPLAYS.getByName(laneId))).toBe(false)
})

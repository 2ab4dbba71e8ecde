import {
  applyD1Migrations,
  createScheduledController,
  type D1Migration,
  reset,
} from 'cloudflare:test'
import { env, exports } from 'cloudflare:workers'
import { beforeEach, expect, it } from 'vitest'
import worker from '../../src/worker'
import { call, waitForValue } from '../support/cast'

const readSweepAge = async () =>
  (await call<{ sweep_age_seconds: number | null }>('GET', '/healthz')).body.sweep_age_seconds

// The scheduler had no request yet, and no alarm is set.
beforeEach(async () => {
  await reset()
  const { TEST_MIGRATIONS } = env as unknown as { TEST_MIGRATIONS: D1Migration[] }
  await applyD1Migrations(env.DB, TEST_MIGRATIONS)
})

it('S2 S6: the first request to a hub starts its scheduler', async () => {
  expect(await env.SCHEDULER.getByName('scheduler').readSweepAge()).toBeNull()
  expect((await exports.default.fetch('http://hub.test/')).status).toBe(200)
  await waitForValue(async () => (await readSweepAge()) !== null, 'the first sweep')
})

it('S2 S6: the cron trigger alone starts it too', async () => {
  expect(await readSweepAge(), 'requests after the first start nothing').toBeNull()
  await worker.scheduled(createScheduledController(), env)
  expect(await readSweepAge()).not.toBeNull()
})
